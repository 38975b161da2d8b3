"""The trainings behind the table: in each of the four worlds the arms that its rows compare."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ..numerics.random_streams import streams
from .encoders import Fields, Linear, TwoLayers
from .losses import Alignment, Bilinear, InfoNCE
from .optimisers import semi_orthogonal
from .paper_worlds import Modalities
from .table_arms import Arm, Ended, RelativeThreshold, Training, trained_arms, untrained
from .table_worlds import (
    NATIVE,
    SHARED,
    SparseModalities,
    SpreadModality,
    feature_directions,
    moons,
    placed_sparse_codes,
    signal,
    small_sparse_codes,
    table_worlds,
)  # fmt: skip
from .view_makers import Apart, Coupled, Masked, Shuffled
from .worlds import World

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
    """Two layers, z = S: a loss linear in similarities, without and with negatives; InfoNCE; and the constraint."""
    size, native = (max(world.inputs, SHARED[name]), SHARED[name], act), NATIVE[name]
    network, alone = TwoLayers(*size), Arm(native, Bilinear(False))
    arms = {"positives": alone, "negatives": Arm(native, Bilinear(True)), "infonce": Arm(native, InfoNCE(3.0))}
    held = trained_arms(world, {"orthogonal": alone}, TwoLayers(*size, orthogonal=True), how, semi_orthogonal)
    return trained_arms(world, arms, network, how) | held | {"untrained": untrained(world, network, how)}


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
    places = {"tokens": 6, "sparse": 4}[name]
    return _over_widths(world, name, how, lambda count, act: Fields(places, count // places, SHARED[name], act))


def _over_widths(world: World, name: str, how: Training, network: Callable) -> Arms:
    ended = {}
    for beta in (1, 5):
        of = {act: network(beta * SHARED[name], act) for act in ("linear", "relu")}
        for act, layers in of.items():
            ended[f"{act} {beta}"] = trained_arms(world, {"": Arm(NATIVE[name], USUAL)}, layers, how)[""]
        ended[f"untrained {beta}"] = untrained(world, of["relu"], how)
    return ended


def matched(ended: Ended) -> Tensor:
    """cos² of each shared feature's direction with the neuron next to it, `[run, S]`."""
    params = ended.trained.encoders[-1]
    w = params["w1"] if "w1" in params else params["w"]
    if w.ndim == 4:  # [run, place, filter, d]: each filter sees its place alone
        w = torch.stack([torch.block_diag(*of) for of in w])
    directions = feature_directions(ended.trained.world).to(w)
    cosines = torch.nn.functional.normalize(w, dim=-1) @ torch.nn.functional.normalize(directions, dim=-1).mT
    return cosines.square().amax(1).double()


GROUPS = {
    "wide": wide, "narrow": narrow, "balanced": balanced, "masked": masked, "whitened": whitened, "deep": deep,
    "deep relu": deep_relu, "thresholds": thresholds, "neurons": neurons, "fields": fields,
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
    own = {"moons": ("whitened",), "modal": ("whitened",)}
    rotations = streams(list(seeds), 1, "rotation of a modality")
    return {name: (world, in_each + own.get(name, ())) for name, world in worlds.items()} | {
        "moons, louder noise": (loud["moons"], ("whitened",)),
        "modal, louder noise": (loud["modal"], ("whitened",)),
        "sparse, few inputs": (small_sparse_codes(seeds), ("whitened",)),
        "sparse, few inputs and louder noise": (small_sparse_codes(seeds, 3.0), ("whitened",)),
        "moons, hardly any noise": (moons(seeds, 1e-4), ("balanced",)),
        "modal, sparse signal": (SparseModalities(signal(), 0.8, 16), ("thresholds",)),
        "modal, one modality": (Modalities(signal(), 0.8, 16, tied=True), ("masked",)),
        "modal, many inputs": (SpreadModality(64, rotations), ("masked",)),
        "tokens, places": (table_worlds(more)["tokens"], ("fields",)),
        "sparse, places": (placed_sparse_codes(more), ("fields",)),
    }


def trainings(how: Training) -> Trainings:
    """Everything that the table needs, trained once: world or variant -> group -> arms."""
    jobs = [(name, world, group) for name, (world, groups) in plan(how.seeds).items() for group in groups]
    ended: Trainings = {}
    for name, world, group in how.watch(jobs):
        of = _longer(how) if group == "fields" else how
        ended.setdefault(name, {})[group] = GROUPS[group](world, name.partition(",")[0], of)
    return ended
