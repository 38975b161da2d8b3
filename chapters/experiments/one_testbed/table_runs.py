"""Which worlds the table has, which trainings each of them gets, and their runs side by side."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.paper_worlds import Modalities
from contrastive_dynamics.testbed.worlds import World

from .table_arms import Training
from .table_trainings import Arms, train_by_name
from .table_worlds import (
    SHARED,
    SparseModalities,
    SpreadModality,
    moons,
    placed_sparse_codes,
    signal,
    small_sparse_codes,
    table_worlds,
)

Trainings = dict[str, dict[str, Arms]]  # world or variant -> group of arms -> arms


def half_more_seeds(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """The seeds, and half as many that follow the last: filters in places differ more from seed to seed."""
    return *seeds, *(max(seeds) + 1 + k for k in range(len(seeds) // 2))


def with_half_more_seeds_and_steps(how: Training) -> Training:
    return replace(how, seeds=half_more_seeds(how.seeds), steps=3 * how.steps // 2)


def plan(seeds: tuple[int, ...]) -> dict[str, tuple[World, tuple[str, ...]]]:
    """Every world and variant with the groups of arms that are trained in it."""
    more = half_more_seeds(seeds)
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
TRAININGS_OF_NEGATIVES = {
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
    cases = [
        (group, planned[name][0], column, with_half_more_seeds_and_steps(how) if group == "fields" else how)
        for name, group in jobs
    ]
    ended: Trainings = {}
    for (name, group), arms in zip(jobs, side_by_side(train_by_name, cases, watch), strict=True):
        ended.setdefault(name, {})["wide" if group == "few" else group] = arms
    return ended
