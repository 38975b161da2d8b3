"""The eleven trainings behind the table, each of a few arms that its statements compare; TRAININGS names them."""

from collections.abc import Callable
from dataclasses import replace

from contrastive_dynamics.testbed.encoders import Fields, Linear, TwoLayers
from contrastive_dynamics.testbed.losses import Alignment, Bilinear, InfoNCE
from contrastive_dynamics.testbed.optimisers import semi_orthogonal
from contrastive_dynamics.testbed.view_makers import Apart, Coupled, Masked, Shuffled
from contrastive_dynamics.testbed.worlds import World

from .table_arms import Arm, Ended, RelativeThreshold, Training, trained_arms, untrained, with_sample
from .table_worlds import NATIVE, SHARED

OUTPUTS = 32  # z of the wide networks, above the number of shared features of every world
TEMPERATURES = (0.2, 1.0, 3.0, 8.0, 20.0)  # τ²
USUAL = InfoNCE(1.0)  # τ² = 1 is below Σρ in every world, so that no private direction has to come in
Arms = dict[str, Ended]


def train_positives_and_temperatures(world: World, name: str, how: Training) -> Arms:
    """One linear layer with outputs to spare: positives alone, every τ², and views that share too much or nothing."""
    arms = {"positives": Arm(NATIVE[name], Alignment())}
    arms |= {f"{tau:g}": Arm(NATIVE[name], InfoNCE(tau)) for tau in TEMPERATURES}
    arms |= {"coupled": Arm(Coupled(), USUAL), "shuffled": Arm(Shuffled(NATIVE[name]), USUAL)}
    if name in ("tokens", "moons"):
        arms["masked"] = Arm(Masked(), USUAL)
    network = Linear(OUTPUTS)
    return trained_arms(world, arms, network, how) | {"untrained": untrained(world, network, how)}


def train_coupled_and_two_temperatures(world: World, name: str, how: Training) -> Arms:
    """Of `train_positives_and_temperatures` what the table's negatives, and the home cells of their rows, compare."""
    arms = {"positives": Arm(NATIVE[name], Alignment()), "coupled": Arm(Coupled(), USUAL)}
    arms |= {f"{tau:g}": Arm(NATIVE[name], InfoNCE(tau)) for tau in (1.0, 8.0)}
    return trained_arms(world, arms, Linear(OUTPUTS), how)


def train_outputs_equal_shared(world: World, name: str, how: Training) -> Arms:
    """The same with as many outputs as shared features."""
    arms = {f"{tau:g}": Arm(NATIVE[name], InfoNCE(tau)) for tau in (1.0, 20.0)}
    return trained_arms(world, arms, Linear(SHARED[name]), how)


def train_positives_and_infonce(world: World, name: str, how: Training) -> Arms:
    """Positives alone and τ² = 8, where that is all that a row compares."""
    arms = {"positives": Arm(NATIVE[name], Alignment()), "8": Arm(NATIVE[name], InfoNCE(8.0))}
    return trained_arms(world, arms, Linear(OUTPUTS), how)


def train_masked_and_whole_views(world: World, name: str, how: Training) -> Arms:
    """Masks, no augmentation, and private latents redrawn, in a world with one encoder."""
    views = {"masked": Masked(), "coupled": Coupled(), "1": NATIVE[name]}
    return trained_arms(world, {of: Arm(maker, USUAL) for of, maker in views.items()}, Linear(OUTPUTS), how)


def train_outputs_equal_inputs(world: World, name: str, how: Training) -> Arms:
    """As many outputs as inputs: coupled views, and views apart. Weak directions of x grow slowly: twice the steps."""
    arms = {"coupled": Arm(Coupled(), USUAL), "apart": Arm(Apart(), USUAL)}
    return trained_arms(world, arms, Linear(world.inputs), replace(how, steps=2 * how.steps))


def train_two_layers(world: World, name: str, how: Training, act: str = "linear") -> Arms:
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


def train_two_relu_layers(world: World, name: str, how: Training) -> Arms:
    """The same with ReLUs."""
    return train_two_layers(world, name, how, "relu")


def train_with_and_without_threshold(world: World, name: str, how: Training) -> Arms:
    """Neurons with a threshold of one standard deviation, and without: longer, as neurons part slowly."""
    arms, how, ended = {"": Arm(NATIVE[name], InfoNCE(0.3))}, replace(how, steps=5 * how.steps // 2), {}
    for level in (0.0, 1.0):
        network = RelativeThreshold(OUTPUTS, level)
        ended[f"level {level:g}"] = trained_arms(world, arms, network, how)[""]
    return ended | {"untrained": untrained(world, network, how)}


def train_two_widths(world: World, name: str, how: Training) -> Arms:
    """Two layers of β neurons per shared feature, ReLU and linear, β = 1 and 5."""
    return _train_widths(world, name, how, lambda count, act: TwoLayers(count, SHARED[name], act))


def train_two_widths_of_fields(world: World, name: str, how: Training) -> Arms:
    """The same with disjoint receptive fields, 3 or 4 features in each."""
    places = {"tokens": 6, "sparse codes": 4}[name]
    return _train_widths(world, name, how, lambda count, act: Fields(places, count // places, SHARED[name], act))


def _train_widths(world: World, name: str, how: Training, network: Callable) -> Arms:
    ended = {}
    for beta in (1, 5):
        of = {act: network(beta * SHARED[name], act) for act in ("linear", "relu")}
        for act, layers in of.items():
            ended[f"{act} {beta}"] = trained_arms(world, {"": Arm(NATIVE[name], USUAL)}, layers, how)[""]
        ended[f"untrained {beta}"] = untrained(world, of["relu"], how)
    return ended


TRAININGS = {
    "wide": train_positives_and_temperatures,
    "few": train_coupled_and_two_temperatures,
    "narrow": train_outputs_equal_shared,
    "balanced": train_positives_and_infonce,
    "masked": train_masked_and_whole_views,
    "whitened": train_outputs_equal_inputs,
    "deep": train_two_layers,
    "deep relu": train_two_relu_layers,
    "thresholds": train_with_and_without_threshold,
    "neurons": train_two_widths,
    "fields": train_two_widths_of_fields,
}


def train_by_name(group: str, world: World, column: str, how: Training) -> Arms:
    """A group of arms, by its name in TRAININGS."""
    return TRAININGS[group](world, column, with_sample(how, world))
