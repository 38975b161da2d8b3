"""Runs that the chapter and its appendix share: both stages of training, their infinite-width limit, lumped noise.

Shapes as in `two_modality_flow` and `infinite_width_flow`. Stage 1 has a small τ², stage 2 a larger one.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.power_laws import fitted_power
from .infinite_width_flow import Scalar, WideState, wide_flow
from .model import Signs, initial_maps, model_scales
from .two_modality_flow import contrastive_flow


class TwoStages(NamedTuple):
    """What both stages are trained with."""

    tau_squared: tuple[float, float]
    negatives: float
    times: tuple[Tensor, Tensor]  # of either stage, increasing from 0


def require_sizes(least: int, **lists: list) -> None:
    """Raise ValueError unless each list has `least` or more values, ascending: powers are fitted without the first."""
    for name, values in lists.items():
        if len(values) < least or list(values) != sorted(set(values)):
            raise ValueError(f"{name}: must be {least} or more values, ascending, got {values}")


def both_times(plan: TwoStages) -> Tensor:
    """The times of both stages in one row; stage 2 follows stage 1, and its first time is left out."""
    first, second = plan.times
    return torch.cat([first, first[-1] + second[1:]])


def train_two_stages(
    map_a: Tensor, map_b: Tensor, scales: Tensor, signs: Signs, plan: TwoStages, *, rtol: float = 1e-7
) -> tuple[Tensor, Tensor, Tensor]:
    """Both stages of the contrastive flow, one after the other.

    Source: ren-li-2023, Algorithm 3.1 in continuous time.
    Args:
        map_a, map_b, scales, signs, rtol: as `contrastive_flow`.
        plan: τ² and times of both stages, and K.
    Returns: map_a and map_b `[time, run, m, d]` at `both_times`, and the larger of the two errors `[run]`.
    Raises: as `contrastive_flow`.
    Cost: two `contrastive_flow`.
    """
    (first, second), (early, late) = plan.tau_squared, plan.times
    one = contrastive_flow(map_a, map_b, scales, signs, early, first, plan.negatives, rtol=rtol)
    two = contrastive_flow(one.map_a[-1], one.map_b[-1], scales, signs, late, second, plan.negatives, rtol=rtol)
    path_a, path_b = (torch.cat([x, y[1:]]) for x, y in ((one.map_a, two.map_a), (one.map_b, two.map_b)))
    return path_a, path_b, torch.maximum(one.error, two.error)


def wide_two_stages(
    start: WideState, sigma: Tensor, noise: Scalar, plan: TwoStages, scale: Scalar = 1.0, *, rtol: float = 1e-9
) -> WideState:
    """Both stages at infinite width.

    Source: ren-li-2023, eq. (8).
    Args:
        start: `[run, ...]`, as from `wide_start`.
        sigma, noise, rtol: as `wide_flow`.
        plan: τ² and times of both stages, and K; τ² may be None for the loss without negatives.
        scale: times are multiplied by it, a number or `[run]`, above 0; d makes runs of different d comparable.
    Returns: WideState `[time, run, ...]` at `both_times(plan)` times `scale`.
    Raises: as `wide_flow`.
    Cost: two `wide_flow`.
    """
    stretch = torch.as_tensor(scale, dtype=sigma.dtype, device=sigma.device)

    def stage(state: WideState, times: Tensor, tau_squared: Scalar | None) -> WideState:
        clock = times.unsqueeze(-1) * stretch if stretch.ndim else times * stretch
        return wide_flow(state, sigma, noise, clock, tau_squared, plan.negatives, rtol=rtol)

    one = stage(start, plan.times[0], plan.tau_squared[0])
    two = stage(WideState(*(x[-1] for x in one)), plan.times[1], plan.tau_squared[1])
    return WideState(*(torch.cat([x, y[1:]]) for x, y in zip(one, two, strict=True)))


def distance_from_limit(limit: WideState, map_a: Tensor, map_b: Tensor) -> Tensor:
    """max_t ‖(κ², κ̂²) − (κ², κ̂²)_∞‖/(Σκ²)_∞ of networks from the infinite-width curve.

    Args:
        limit: `[time, 1, r]`.
        map_a, map_b: `[time, run, m, d]`.
    Returns: `[run]`.
    """
    r = limit.kappa_squared.shape[-1]
    mine = torch.stack([map_a.square().sum(-2), (map_a * map_b).sum(-2)])[..., :r]
    distance = (mine - torch.stack(limit[:2])).norm(dim=(0, -1))
    return (distance / limit.kappa_squared.sum(-1)).amax(0)


def unrelated_pairs(signs: Signs) -> Signs:
    """Every u_A with u_B and with −u_B: partners that share nothing on average, a control."""
    return Signs(torch.cat([signs.u_a, signs.u_a]), torch.cat([signs.u_b, -signs.u_b]))


def some_pairs(signs: Signs, count: int, generator: torch.Generator) -> Signs:
    """`count` positive pairs drawn without replacement: a training set in place of the population, a control."""
    chosen = torch.randperm(len(signs.u_a), generator=generator, device=generator.device)[:count]
    return Signs(signs.u_a[chosen], signs.u_b[chosen])


def lumped_maps(
    sigma: list[float],
    noise: list[float],
    columns: list[float],
    width: int,
    generators: list[torch.Generator],
) -> tuple[Tensor, Tensor, Tensor]:
    """Maps at the start whose last columns stand for many noise columns each, and their scales.

    In the non-contrastive flow no force acts on a noise column, so all columns of one σ_ξ shrink by one factor, and
    only their total length counts: one column of length σ_ξ·√χ²/√m stands for them, χ² with m·(number) degrees of
    freedom, in its normal approximation.
    Source: derived from ren-li-2023, eq. (6).
    Args:
        sigma: σ_p > 0, r of them.
        noise: σ_ξ > 0 of each group of noise columns.
        columns: number of columns of each group, ≥ 0, not whole where it stands for a mean.
        width: m ≥ r.
        generators: one per run.
    Returns: map_a, map_b `[run, ·, r + groups]` and scales `[run, r + groups]`.
    Raises: ValueError for groups that do not match, or as `model_scales` and `initial_maps`.
    """
    if len(noise) != len(columns) or not noise or min(columns) < 0 or min(noise) <= 0:
        raise ValueError(f"noise and columns must be > 0 and ≥ 0, one of each per group, got {noise} and {columns}")
    runs, r = len(generators), len(sigma)
    signal = model_scales(torch.tensor(sigma, dtype=torch.float64), 0.0, r).expand(runs, -1)
    maps = initial_maps(signal, width, generators, r)
    count, size = torch.tensor(columns, dtype=torch.float64), torch.tensor(noise, dtype=torch.float64)
    spread = (2 / (width * count.clamp(min=1))).sqrt()
    draws = torch.stack([torch.randn(2, len(noise), generator=g, dtype=torch.float64) for g in generators], 1)
    lengths = size * (count * (1 + spread * draws).clamp(min=0)).sqrt()  # [A or B, run, group]
    first = (torch.arange(maps[0].shape[1]) == 0).double()[None, :, None]  # which row holds it does not matter
    full = [torch.cat([k, first * n[:, None]], -1) for k, n in zip(maps, lengths.to(maps[0].device), strict=True)]
    return *full, torch.cat([signal, size.expand(runs, -1)], -1)


def power_with_and_without(values: Tensor, sizes: list) -> dict[str, Tensor]:
    """The fitted power of all sizes, and of all but the smallest; values `[size, run]`."""
    return {"": fitted_power(values, sizes), "without the smallest": fitted_power(values[1:], sizes[1:])}


def stopped(values: Tensor, condition: Tensor, level: float) -> Tensor:
    """`values` `[time, run]` up to the first time at which a run's condition number is at most `level`, then −∞."""
    over = (condition <= level).cumsum(0) - (condition <= level).to(torch.int64)
    return torch.where(over == 0, values, -math.inf)
