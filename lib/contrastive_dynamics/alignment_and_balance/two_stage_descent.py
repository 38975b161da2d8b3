"""Algorithm 3.1 whole: mini-batch gradient descent in two stages, with and without negatives, of several widths.

Shapes and the step as in `two_modality_descent`; runs of both losses and of several widths share one batch of runs.
A row of both maps that is 0 stays 0, as row i of a velocity is a combination of the rows i of the two maps. So a
narrower network is a wider one whose other rows are 0.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .model import initial_maps
from .two_modality_descent import descend


class DescentStage(NamedTuple):
    """One stage of the training."""

    steps: int  # ≥ 0
    tau_squared: float | Tensor | None  # τ² > 0 of the runs with negatives, a number or [run]; None if there are none


def initial_maps_of_widths(
    scales: Tensor, widths: list[int], generators: list[torch.Generator], rank: int
) -> tuple[Tensor, Tensor]:
    """`initial_maps` of another width for each run, with rows of 0 below those of the narrower networks.

    Source: ren-li-2023, Section 3.
    Args:
        scales: `[run, d]`.
        widths: m ≥ r of each run.
        generators: one per run, on the device of scales.
        rank: r ≥ 1.
    Returns: two of `[run, min(largest m, 2d), d]`; a run is the same alone, but for the rows of 0.
    Raises: ValueError for another number of widths or generators, and as `initial_maps`.
    """
    if not widths or not len(widths) == len(generators) == len(scales):
        got = f"{len(scales)}, {len(widths)} and {len(generators)}"
        raise ValueError(f"scales, widths and generators must be one or more, one per run, got {got}")
    each = zip(scales, widths, generators, strict=True)
    drawn = [initial_maps(row.unsqueeze(0), m, [g], rank) for row, m, g in each]
    rows = max(a.shape[1] for a, _ in drawn)
    padded = [[torch.nn.functional.pad(x, (0, 0, 0, rows - x.shape[1])) for x in pair] for pair in drawn]
    map_a, map_b = (torch.cat(side) for side in zip(*padded, strict=True))
    return map_a, map_b


def two_stage_descent(
    map_a: Tensor,
    map_b: Tensor,
    scales: Tensor,
    rank: int,
    generators: list[torch.Generator],
    stages: list[DescentStage],
    contrastive: Tensor,
    *,
    step_size: float | Tensor,
    batch: int,
    negatives: float | Tensor,
    keep: list[int],
) -> tuple[Tensor, Tensor]:
    """`descend` through all stages, each run by its own loss: −∂L/∂W/τ² with negatives, −∂L̂/∂W without.

    A run without negatives takes as many steps of the same size, so its stages are one; with K negatives of a small τ²
    the steps are 2K/(1 + K) times as long. Runs whose generators belong to the same stream see the same batches,
    whatever their losses and widths.
    Source: ren-li-2023, Algorithm 3.1, Theorem 4.3, Appendix D.
    Args:
        map_a, map_b: at the start, `[run, m, d]`.
        scales: `[run, d]`.
        rank: r, 1 to d.
        generators: one per run.
        stages: one or more.
        contrastive: whether a run has negatives, `[run]`, bool.
        step_size: η > 0, a number or `[run]`.
        batch: n ≥ 1 positive pairs, and n separate negatives of each modality, per step.
        negatives: K > 0, a number or `[run]`.
        keep: increasing step numbers, counted over all stages, from 0 (the start) to their sum.
    Returns: the maps after the kept steps, `[kept, run, m, d]` twice.
    Raises: ValueError for an argument outside its range.
    Cost: one `batch_velocity` per step and loss.
    """
    total = sum(stage.steps for stage in stages)
    _check(map_a, scales, generators, stages, contrastive, batch, keep, total)
    kept = map_a.new_empty(2, len(keep), *map_a.shape)
    for wanted in (True, False):
        runs = (contrastive == wanted).nonzero().squeeze(-1)
        if len(runs):
            own = [DescentStage(n, _of_runs(tau, runs)) if wanted else DescentStage(n, None) for n, tau in stages]
            how = {"step_size": _of_runs(step_size, runs), "negatives": _of_runs(negatives, runs), "batch": batch}
            draws = [generators[k] for k in runs.tolist()]
            kept[:, :, runs] = _train(map_a[runs], map_b[runs], scales[runs], rank, draws, own, keep, how)
    return kept[0], kept[1]


def _train(map_a, map_b, scales, rank, generators, stages, keep, how) -> Tensor:
    """Both maps of runs of one loss after the kept steps, `[2, kept, run, m, d]`."""
    begin, rows = 0, []
    for steps, tau_squared in stages:
        marks = [k - begin for k in keep if begin <= k < begin + steps]
        how_long = {"steps": steps, "keep": [*marks, steps], "tau_squared": tau_squared}
        path = torch.stack(descend(map_a, map_b, scales, rank, generators, **how_long, **how))
        rows.append(path[:, :-1])
        (map_a, map_b), begin = path[:, -1], begin + steps
    if keep[-1] == begin:
        rows.append(path[:, -1:])
    return torch.cat(rows, 1)


def _of_runs(value: float | Tensor, runs: Tensor) -> float | Tensor:
    return value[runs] if isinstance(value, Tensor) and value.ndim else value


def _check(
    map_a: Tensor,
    scales: Tensor,
    generators: list[torch.Generator],
    stages: list[DescentStage],
    contrastive: Tensor,
    batch: int,
    keep: list[int],
    total: int,
) -> None:
    if not stages or any(stage.steps < 0 for stage in stages):
        raise ValueError(f"stages must be one or more of ≥ 0 steps, got {[stage.steps for stage in stages]}")
    if map_a.ndim != 3 or scales.shape != map_a.shape[::2] or len(generators) != len(map_a):
        got = f"{list(map_a.shape)}, {list(scales.shape)} and {len(generators)}"
        raise ValueError(f"maps, scales and generators must be [run, m, d], [run, d] and one per run, got {got}")
    if contrastive.shape != map_a.shape[:1] or contrastive.dtype != torch.bool:
        got = f"{contrastive.dtype} {list(contrastive.shape)}"
        raise ValueError(f"contrastive must be torch.bool [{len(map_a)}], got {got}")
    if batch is None or batch < 1:
        raise ValueError(f"batch must be ≥ 1, got {batch}")
    if not keep or list(keep) != sorted(set(keep)) or keep[0] < 0 or keep[-1] > total:
        raise ValueError(f"keep must be increasing numbers from 0 to {total}, got {keep}")
