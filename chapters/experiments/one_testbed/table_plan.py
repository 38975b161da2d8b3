"""The plan of the table: its worlds and their variants, what is trained in each, and the runs side by side.

`table_trainings` says which arms a training compares; `table_statements` reads them by the names that they have here.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.worlds import World

from .table_arms import Training
from .table_trainings import (
    Arms,
    Train,
    train_coupled_and_two_temperatures,
    train_in_world,
    train_masked_and_whole_views,
    train_outputs_equal_inputs,
    train_outputs_equal_shared,
    train_positives_and_infonce,
    train_positives_and_temperatures,
    train_two_layers,
    train_two_relu_layers,
    train_two_widths,
    train_two_widths_of_fields,
    train_with_and_without_threshold,
)
from .table_worlds import (
    SHARED,
    SparseModalities,
    modalities,
    moons,
    placed_sparse_codes,
    signal,
    small_sparse_codes,
    sparse_codes,
    spread_modality,
    tokens,
)

Trainings = dict[str, dict[str, Arms]]  # world or variant -> name of a training -> its arms


def as_given(training: Training) -> Training:
    """The same settings."""
    return training


def half_more_seeds_and_steps(training: Training) -> Training:
    """Half as many seeds that follow the last, as filters in places differ more from seed to seed; and longer."""
    seeds = training.seeds
    more = (max(seeds) + 1 + k for k in range(len(seeds) // 2))
    return replace(training, seeds=(*seeds, *more), steps=3 * training.steps // 2)


class Planned(NamedTuple):
    """A world or a variant of one, and what is trained in it.

    Args:
        world: seeds -> the world, with a run per seed or one for all.
        trainings: by the names that statements read.
        settings: what becomes of seeds and steps of the column.
    """

    world: Callable[[tuple[int, ...]], World]
    trainings: dict[str, Train]
    settings: Callable[[Training], Training] = as_given


# By the names that statements read: which of them read each is said behind.
ONE_LAYER: dict[str, Train] = {
    "wide": train_positives_and_temperatures,  # R1, R2, W1, W2, W4 and "noise-enters"
    "narrow": train_outputs_equal_shared,  # E3 and "noise-enters"
}
TWO_LAYERS: dict[str, Train] = {
    "deep": train_two_layers,  # E1 to E3
    "deep relu": train_two_relu_layers,  # E1, E2
}
BALANCE: dict[str, Train] = {"balanced": train_positives_and_infonce}  # R2
MASKS: dict[str, Train] = {"masked": train_masked_and_whole_views}  # W2, W4
THRESHOLDS: dict[str, Train] = {"thresholds": train_with_and_without_threshold}  # W3
NEURONS: dict[str, Train] = {"neurons": train_two_widths}  # T1 to T3
FIELDS: dict[str, Train] = {"fields": train_two_widths_of_fields}  # T1 to T3
WHITENING: dict[str, Train] = {"whitened": train_outputs_equal_inputs}  # "coupled"
IN_EACH_WORLD = ONE_LAYER | TWO_LAYERS | THRESHOLDS | NEURONS

PLAN = {
    "tokens": Planned(tokens, IN_EACH_WORLD),
    "moons": Planned(moons, IN_EACH_WORLD | WHITENING),
    "modalities": Planned(lambda seeds: modalities(), IN_EACH_WORLD | WHITENING),
    "sparse codes": Planned(sparse_codes, IN_EACH_WORLD),
    "moons, louder noise": Planned(lambda seeds: moons(seeds, 0.1 * 3.0**2), WHITENING),
    "modalities, louder noise": Planned(lambda seeds: modalities(3.0), WHITENING),
    "sparse codes, few inputs": Planned(small_sparse_codes, WHITENING),
    "sparse codes, few inputs and louder noise": Planned(lambda seeds: small_sparse_codes(seeds, 3.0), WHITENING),
    "moons, hardly any noise": Planned(lambda seeds: moons(seeds, 1e-4), BALANCE),
    "modalities, sparse signal": Planned(lambda seeds: SparseModalities(signal(), 0.8, 16), THRESHOLDS),
    "modalities, one encoder": Planned(lambda seeds: modalities(tied=True), MASKS),
    "modalities, many inputs": Planned(spread_modality, MASKS),
    "tokens, places": Planned(tokens, FIELDS, half_more_seeds_and_steps),
    "sparse codes, places": Planned(placed_sparse_codes, FIELDS, half_more_seeds_and_steps),
}

# What the negatives of `table.ROWS`, and the home cells of their rows, need: a quarter of the table's arms.
FEW_ARMS: dict[str, Train] = {"wide": train_coupled_and_two_temperatures} | THRESHOLDS
PLAN_OF_NEGATIVES = {
    "tokens": Planned(tokens, FEW_ARMS | NEURONS),
    "moons": Planned(moons, FEW_ARMS | {"deep": train_two_layers} | NEURONS),
    "modalities": Planned(lambda seeds: modalities(), FEW_ARMS),
    "sparse codes": Planned(sparse_codes, FEW_ARMS | {"deep relu": train_two_relu_layers} | NEURONS),
    "modalities, one encoder": PLAN["modalities, one encoder"],
    "tokens, places": PLAN["tokens, places"],
    "sparse codes, places": PLAN["sparse codes, places"],
}


def train_column(
    training: Training,
    column: str,
    watch: Callable[[Iterable], Iterable] = iter,
    plan: dict[str, Planned] = PLAN,
) -> Trainings:
    """Everything that a plan has for one column of the table, trained once, side by side.

    Args:
        training: seeds, steps, batch and rate.
        column: one of COLUMNS.
        watch: wraps an iterable in a progress bar.
        plan: PLAN, or one with fewer trainings.
    Returns: world or variant -> name of a training -> its arms.
    Raises: ValueError for another column, and as `train`.
    """
    if column not in SHARED:
        raise ValueError(f"column must be one of {', '.join(SHARED)}, got {column!r}")
    names, cases = [], []
    for world_name, planned in plan.items():
        if world_name.partition(",")[0] == column:
            settings = planned.settings(training)
            world = planned.world(settings.seeds)
            for name, train in planned.trainings.items():
                names.append((world_name, name))
                cases.append((train, world, column, settings))
    trained: Trainings = {}
    in_time = side_by_side(train_in_world, cases[::-1], watch)  # the last take longest
    for (world_name, name), arms in zip(names[::-1], in_time, strict=True):
        trained.setdefault(world_name, {})[name] = arms
    return trained
