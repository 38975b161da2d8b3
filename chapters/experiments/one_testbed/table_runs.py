"""The trainings behind the table: in each of the four worlds the arms that its rows compare."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.encoders import Fields, Linear, TwoLayers
from contrastive_dynamics.testbed.losses import Alignment, Bilinear, InfoNCE
from contrastive_dynamics.testbed.optimisers import semi_orthogonal
from contrastive_dynamics.testbed.paper_worlds import Modalities
from contrastive_dynamics.testbed.view_makers import Apart, Coupled, Masked, Shuffled
from contrastive_dynamics.testbed.worlds import World

from .table_arms import Arm, Ended, RelativeThreshold, Training, trained_arms, untrained, with_sample
from .table_worlds import (
    NATIVE,
    SHARED,
    SparseModalities,
    SpreadModality,
    moons,
    placed_sparse_codes,
    signal,
    small_sparse_codes,
    table_worlds,
)

OUTPUTS = 32  # z of the wide networks, above the number of shared features of every world
TEMPERATURES = (0.2, 1.0, 3.0, 8.0, 20.0)  # τ²
USUAL = InfoNCE(1.0)  # τ² = 1 is below Σρ in every world, so that no private direction has to come in
Arms = dict[str, Ended]
Trainings = dict[str, dict[str, Arms]]  # world or variant -> group of arms -> arms


def wide(world: World, name: str, how: Training) -> Arms:
    """One linear layer with outputs to spare: positives alone, every τ², and views that share too much or nothing."""
    arms = {"positives": Arm(NATIVE[name], Alignment())}
    arms |= {f"{tau:g}": Arm(NATIVE[name], InfoNCE(tau)) for tau in TEMPERATURES}
    arms |= {"coupled": Arm(Coupled(), USUAL), "shuffled": Arm(Shuffled(NATIVE[name]), USUAL)}
    if name in ("tokens", "moons"):
        arms["masked"] = Arm(Masked(), USUAL)
    network = Linear(OUTPUTS)
    return trained_arms(world, arms, network, how) | {"untrained": untrained(world, network, how)}


def few(world: World, name: str, how: Training) -> Arms:
    """Of `wide` what the table's negatives, and the home cells of their rows, compare."""
    arms = {"positives": Arm(NATIVE[name], Alignment()), "coupled": Arm(Coupled(), USUAL)}
    arms |= {f"{tau:g}": Arm(NATIVE[name], InfoNCE(tau)) for tau in (1.0, 8.0)}
    return trained_arms(world, arms, Linear(OUTPUTS), how)


def narrow(world: World, name: str, how: Training) -> Arms:
    """The same with as many outputs as shared features."""
    arms = {f"{tau:g}": Arm(NATIVE[name], InfoNCE(tau)) for tau in (1.0, 20.0)}
    return trained_arms(world, arms, Linear(SHARED[name]), how)


def balanced(world: World, name: str, how: Training) -> Arms:
    """Positives alone and τ² = 8, where that is all that a row compares."""
    arms = {"positives": Arm(NATIVE[name], Alignment()), "8": Arm(NATIVE[name], InfoNCE(8.0))}
    return trained_arms(world, arms, Linear(OUTPUTS), how)


def masked(world: World, name: str, how: Training) -> Arms:
    """Masks, no augmentation, and private latents redrawn, in a world with one encoder."""
    views = {"masked": Masked(), "coupled": Coupled(), "1": NATIVE[name]}
    return trained_arms(world, {of: Arm(maker, USUAL) for of, maker in views.items()}, Linear(OUTPUTS), how)


def whitened(world: World, name: str, how: Training) -> Arms:
    """As many outputs as inputs: coupled views, and views apart. Weak directions of x grow slowly: twice the steps."""
    arms = {"coupled": Arm(Coupled(), USUAL), "apart": Arm(Apart(), USUAL)}
    return trained_arms(world, arms, Linear(world.inputs), replace(how, steps=2 * how.steps))


def deep(world: World, name: str, how: Training, act: str = "linear") -> Arms:
    """Two layers, z = S: a loss linear in similarities, without and with negatives; InfoNCE; and the constraint.

    A loss without a norm only grows, so that twice the rate is twice the time.
    """
    size, native = (max(world.inputs, SHARED[name]), SHARED[name], act), NATIVE[name]
    network, alone = TwoLayers(*size), Arm(native, Bilinear(False))
    unbounded = {"positives": alone, "negatives": Arm(native, Bilinear(True))}
    ended = trained_arms(world, unbounded, network, replace(how, rate=2 * how.rate))
    ended |= trained_arms(world, {"infonce": Arm(native, InfoNCE(3.0))}, network, how)
    held = {"orthogonal": alone}
    return ended | trained_arms(world, held, TwoLayers(*size, orthogonal=True), how, semi_orthogonal)


def deep_relu(world: World, name: str, how: Training) -> Arms:
    """The same with ReLUs."""
    return deep(world, name, how, "relu")


def thresholds(world: World, name: str, how: Training) -> Arms:
    """Neurons with a threshold of one standard deviation, and without: longer, as neurons part slowly."""
    arms, how, ended = {"": Arm(NATIVE[name], InfoNCE(0.3))}, replace(how, steps=5 * how.steps // 2), {}
    for level in (0.0, 1.0):
        network = RelativeThreshold(OUTPUTS, level)
        ended[f"level {level:g}"] = trained_arms(world, arms, network, how)[""]
    return ended | {"untrained": untrained(world, network, how)}


def neurons(world: World, name: str, how: Training) -> Arms:
    """Two layers of β neurons per shared feature, ReLU and linear, β = 1 and 5."""
    return _over_widths(world, name, how, lambda count, act: TwoLayers(count, SHARED[name], act))


def fields(world: World, name: str, how: Training) -> Arms:
    """The same with disjoint receptive fields, 3 or 4 features in each."""
    places = {"tokens": 6, "sparse codes": 4}[name]
    return _over_widths(world, name, how, lambda count, act: Fields(places, count // places, SHARED[name], act))


def _over_widths(world: World, name: str, how: Training, network: Callable) -> Arms:
    ended = {}
    for beta in (1, 5):
        of = {act: network(beta * SHARED[name], act) for act in ("linear", "relu")}
        for act, layers in of.items():
            ended[f"{act} {beta}"] = trained_arms(world, {"": Arm(NATIVE[name], USUAL)}, layers, how)[""]
        ended[f"untrained {beta}"] = untrained(world, of["relu"], how)
    return ended


GROUPS = {
    "wide": wide, "few": few, "narrow": narrow, "balanced": balanced, "masked": masked, "whitened": whitened,
    "deep": deep, "deep relu": deep_relu, "thresholds": thresholds, "neurons": neurons, "fields": fields,
}  # fmt: skip


def more_seeds(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """The seeds, and half as many that follow the last: filters in places differ more from seed to seed."""
    return *seeds, *(max(seeds) + 1 + k for k in range(len(seeds) // 2))


def _longer(how: Training) -> Training:
    return replace(how, seeds=more_seeds(how.seeds), steps=3 * how.steps // 2)


def plan(seeds: tuple[int, ...]) -> dict[str, tuple[World, tuple[str, ...]]]:
    """Every world and variant with the groups of arms that are trained in it."""
    more = more_seeds(seeds)
    worlds, loud = table_worlds(seeds), table_worlds(seeds, 3.0)
    in_each = ("wide", "narrow", "deep", "deep relu", "thresholds", "neurons")
    own = {"moons": ("whitened",), "modalities": ("whitened",)}
    rotations = streams(list(seeds), 1, "rotation of a modality")
    return {name: (world, in_each + own.get(name, ())) for name, world in worlds.items()} | {
        "moons, louder noise": (loud["moons"], ("whitened",)),
        "modalities, louder noise": (loud["modalities"], ("whitened",)),
        "sparse codes, few inputs": (small_sparse_codes(seeds), ("whitened",)),
        "sparse codes, few inputs and louder noise": (small_sparse_codes(seeds, 3.0), ("whitened",)),
        "moons, hardly any noise": (moons(seeds, 1e-4), ("balanced",)),
        "modalities, sparse signal": (SparseModalities(signal(), 0.8, 16), ("thresholds",)),
        "modalities, one encoder": (Modalities(signal(), 0.8, 16, tied=True), ("masked",)),
        "modalities, many inputs": (SpreadModality(64, rotations), ("masked",)),
        "tokens, places": (table_worlds(more)["tokens"], ("fields",)),
        "sparse codes, places": (placed_sparse_codes(more), ("fields",)),
    }


# What the negatives of `table.ROWS` and the home cells of their rows need: a quarter of the table's arms.
FOR_NEGATIVES = {
    "tokens": ("few", "thresholds", "neurons"),
    "tokens, places": ("fields",),
    "moons": ("few", "deep", "thresholds", "neurons"),
    "modalities": ("few", "thresholds"),
    "modalities, one encoder": ("masked",),
    "sparse codes": ("few", "deep relu", "thresholds", "neurons"),
    "sparse codes, places": ("fields",),
}


def trainings(
    how: Training,
    column: str,
    watch: Callable[[Iterable], Iterable] = iter,
    only: dict[str, tuple[str, ...]] | None = None,
) -> Trainings:
    """Everything that a column of the table needs, trained once, side by side: world or variant -> group -> arms.

    Args:
        how: seeds, steps, batch and rate.
        column: one of COLUMNS.
        watch: wraps an iterable in a progress bar.
        only: world or variant -> groups, where fewer are wanted; None for all.
    Raises: ValueError for another column, and as `train`.
    """
    if column not in SHARED:
        raise ValueError(f"column must be one of {', '.join(SHARED)}, got {column!r}")
    planned = {name: of for name, of in plan(how.seeds).items() if name.partition(",")[0] == column}
    wanted = {name: groups for name, (_, groups) in planned.items()} if only is None else only
    jobs = [(name, group) for name in planned for group in wanted.get(name, ())][::-1]  # the longest are last
    cases = [(group, planned[name][0], column, _longer(how) if group == "fields" else how) for name, group in jobs]
    ended: Trainings = {}
    for (name, group), arms in zip(jobs, side_by_side(train_group, cases, watch), strict=True):
        ended.setdefault(name, {})["wide" if group == "few" else group] = arms
    return ended


def train_group(group: str, world: World, column: str, how: Training) -> Arms:
    """A group of arms, by its name in GROUPS."""
    return GROUPS[group](world, column, with_sample(how, world))
