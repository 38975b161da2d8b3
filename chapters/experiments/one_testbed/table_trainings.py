"""The eleven trainings behind the table, each of a few arms that its statements compare.

Each takes a world, the name of its column in COLUMNS, and settings of the training; `table_plan` says where it is run.
"""

from collections.abc import Callable
from dataclasses import replace

from contrastive_dynamics.testbed.encoders import Fields, Linear, Network, TwoLayers
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
Train = Callable[[World, str, Training], Arms]


def train_positives_and_temperatures(world: World, column: str, training: Training) -> Arms:
    """One linear layer with outputs to spare: positives alone, every τ², and views that share too much or nothing."""
    arms = {"positives": Arm(NATIVE[column], Alignment())}
    arms |= {f"{tau:g}": Arm(NATIVE[column], InfoNCE(tau)) for tau in TEMPERATURES}
    arms |= {"coupled": Arm(Coupled(), USUAL), "shuffled": Arm(Shuffled(NATIVE[column]), USUAL)}
    if column in ("tokens", "moons"):
        arms["masked"] = Arm(Masked(), USUAL)
    network = Linear(OUTPUTS)
    return trained_arms(world, arms, network, training) | {"untrained": untrained(world, network, training)}


def train_coupled_and_two_temperatures(world: World, column: str, training: Training) -> Arms:
    """Of `train_positives_and_temperatures` what the table's negatives, and the home cells of their rows, compare."""
    arms = {"positives": Arm(NATIVE[column], Alignment()), "coupled": Arm(Coupled(), USUAL)}
    arms |= {f"{tau:g}": Arm(NATIVE[column], InfoNCE(tau)) for tau in (1.0, 8.0)}
    return trained_arms(world, arms, Linear(OUTPUTS), training)


def train_outputs_equal_shared(world: World, column: str, training: Training) -> Arms:
    """The same with as many outputs as shared features."""
    arms = {f"{tau:g}": Arm(NATIVE[column], InfoNCE(tau)) for tau in (1.0, 20.0)}
    return trained_arms(world, arms, Linear(SHARED[column]), training)


def train_positives_and_infonce(world: World, column: str, training: Training) -> Arms:
    """Positives alone and τ² = 8, where that is all that a row compares."""
    arms = {"positives": Arm(NATIVE[column], Alignment()), "8": Arm(NATIVE[column], InfoNCE(8.0))}
    return trained_arms(world, arms, Linear(OUTPUTS), training)


def train_masked_and_whole_views(world: World, column: str, training: Training) -> Arms:
    """Masks, no augmentation, and private latents redrawn, in a world with one encoder."""
    views = {"masked": Masked(), "coupled": Coupled(), "1": NATIVE[column]}
    return trained_arms(world, {arm: Arm(maker, USUAL) for arm, maker in views.items()}, Linear(OUTPUTS), training)


def train_outputs_equal_inputs(world: World, column: str, training: Training) -> Arms:
    """As many outputs as inputs: coupled views, and views apart. Weak directions of x grow slowly: twice the steps."""
    arms = {"coupled": Arm(Coupled(), USUAL), "apart": Arm(Apart(), USUAL)}
    return trained_arms(world, arms, Linear(world.inputs), replace(training, steps=2 * training.steps))


def train_two_layers(world: World, column: str, training: Training, act: str = "linear") -> Arms:
    """Two layers, z = S: a loss linear in similarities, without and with negatives; InfoNCE; and the constraint.

    A loss without a norm only grows, so that twice the rate is twice the time.
    """
    size, native = (max(world.inputs, SHARED[column]), SHARED[column], act), NATIVE[column]
    network, alone = TwoLayers(*size), Arm(native, Bilinear(False))
    unbounded = {"positives": alone, "negatives": Arm(native, Bilinear(True))}
    arms = trained_arms(world, unbounded, network, replace(training, rate=2 * training.rate))
    arms |= trained_arms(world, {"infonce": Arm(native, InfoNCE(3.0))}, network, training)
    constrained = TwoLayers(*size, orthogonal=True)
    return arms | trained_arms(world, {"orthogonal": alone}, constrained, training, semi_orthogonal)


def train_two_relu_layers(world: World, column: str, training: Training) -> Arms:
    """The same with ReLUs."""
    return train_two_layers(world, column, training, "relu")


def train_with_and_without_threshold(world: World, column: str, training: Training) -> Arms:
    """Neurons with a threshold of one standard deviation, and without: longer, as neurons part slowly."""
    longer, arms = replace(training, steps=5 * training.steps // 2), {}
    for level in (0.0, 1.0):
        network = RelativeThreshold(OUTPUTS, level)
        arms[f"level {level:g}"] = _trained_alone(world, Arm(NATIVE[column], InfoNCE(0.3)), network, longer)
    return arms | {"untrained": untrained(world, network, longer)}


def train_two_widths(world: World, column: str, training: Training) -> Arms:
    """Two layers of β neurons per shared feature, ReLU and linear, β = 1 and 5."""
    return _train_widths(world, column, training, lambda count, act: TwoLayers(count, SHARED[column], act))


def train_two_widths_of_fields(world: World, column: str, training: Training) -> Arms:
    """The same with disjoint receptive fields, 3 or 4 features in each."""
    places = {"tokens": 6, "sparse codes": 4}[column]
    return _train_widths(
        world, column, training, lambda count, act: Fields(places, count // places, SHARED[column], act)
    )


def _train_widths(world: World, column: str, training: Training, network: Callable[[int, str], Network]) -> Arms:
    """Linear, ReLU and untrained networks of β·S neurons, β = 1 and 5; `network` takes neurons and activation."""
    arms = {}
    for beta in (1, 5):
        for act in ("linear", "relu"):
            layers = network(beta * SHARED[column], act)
            arms[f"{act} {beta}"] = _trained_alone(world, Arm(NATIVE[column], USUAL), layers, training)
        arms[f"untrained {beta}"] = untrained(world, layers, training)
    return arms


def _trained_alone(world: World, arm: Arm, network: Network, training: Training) -> Ended:
    return trained_arms(world, {"alone": arm}, network, training)["alone"]


def train_in_world(train: Train, world: World, column: str, training: Training) -> Arms:
    """One of these trainings, whose arms are scored on one sample."""
    return train(world, column, with_sample(training, world))
