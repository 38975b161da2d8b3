"""Runs that the chapter and its appendix share: both stages at finite width, lumped noise, controls.

Shapes as in `two_modality_flow`; at infinite width see `wide_training`. Stage 1 has a small τ², stage 2 a larger one.
"""

import math
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.alignment_and_balance.infinite_width_flow import WideState
from contrastive_dynamics.alignment_and_balance.model import Signs, initial_maps, model_scales
from contrastive_dynamics.alignment_and_balance.two_modality_flow import contrastive_flow, non_contrastive_flow
from contrastive_dynamics.alignment_and_balance.wide_training import WideStage, WideTraining, wide_training
from contrastive_dynamics.numerics.power_laws import fitted_power


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


def one_temperature(
    sigma: Tensor, noise: float, dims: list[float], taus: list[float], negatives: float
) -> tuple[list[tuple[float, float]], WideTraining]:
    """One τ² throughout, to t/d = 1000 at infinite width: the cases (τ², d), and the training `[time, case]`.

    Source: ren-li-2023, Section 5, "a uniform" τ.
    Args:
        sigma: σ_p > 0, `[1, r]`.
        noise: σ_ξ > 0.
        dims: each d ≥ r.
        taus: each τ² > 0.
        negatives: K > 0.
    Raises and Cost: one `wide_training`, at 0 and 140 times from 0.03 on.
    """
    cases = list(product(taus, dims))
    tau_squared, dim = torch.tensor(cases, dtype=sigma.dtype, device=sigma.device).unbind(1)
    clock = torch.cat([sigma.new_zeros(1), torch.logspace(-4.5, 0, 140, dtype=sigma.dtype, device=sigma.device)])
    stage = WideStage(1000.0, tau_squared)
    return cases, wide_training(sigma.expand(len(cases), -1), noise, dim, [stage], clock, negatives, rtol=1e-7)


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


def misalignment_and_noise(path: WideTraining) -> Tensor:
    """X = max(1 − min_p κ̂_p²/κ_p², κ_ξ²/Σκ_p²) `[time, run]`, 0 where training is aligned and no noise is left.

    Source: ren-li-2023, below Lemma 5.2: the progress still to be made in stage 1.
    """
    return torch.maximum(1 - path.agreement.amin(-1), path.noise_share / path.shares.sum(-1))


def first_time_at(values: Tensor, times: Tensor, level: float) -> Tensor:
    """When falling values `[time, run]` first reach the level, log-linear between rows; inf if they do not: `[run]`."""
    reached, runs = values <= level, torch.arange(values.shape[1], device=values.device)
    at = reached.to(torch.int64).argmax(0)
    before = (at - 1).clamp(min=0)
    high, low = values[before, runs], values[at, runs]
    part = torch.where(at > 0, (high / level).log() / (high / low).log(), 1.0)
    return torch.where(reached.any(0), torch.lerp(times[before, runs], times[at, runs], part), torch.inf)


def largest_change_of_a_flip(map_a: Tensor) -> Tensor:
    """max_p ‖f(u) − f(u')‖²/(4E‖f‖²), u' with sign p changed `[...]`: 1/d if all signs count alike.

    Source: ren-li-2023, Section 4, the example below Definition 4.2.
    Args:
        map_a: `[..., m, d]`, not 0; columns of signals alone, or all.
    """
    moved = 4 * map_a.square().sum(-2).amax(-1)  # over d, as is the mean square
    mean_square = map_a.square().sum((-2, -1))
    return moved / (4 * mean_square)


def unrelated_pairs(signs: Signs) -> Signs:
    """Every u_A with u_B and with −u_B: partners that share nothing on average, a control."""
    return Signs(torch.cat([signs.u_a, signs.u_a]), torch.cat([signs.u_b, -signs.u_b]))


def some_pairs(signs: Signs, count: int, generator: torch.Generator) -> Signs:
    """`count` positive pairs drawn without replacement: a training set in place of the population, a control."""
    chosen = torch.randperm(len(signs.u_a), generator=generator, device=generator.device)[:count]
    return Signs(signs.u_a[chosen], signs.u_b[chosen])


def maps_with_lumped_noise(
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


def ends_without_negatives(
    sigma: list[float],
    noise: list[float],
    columns: list[float],
    width: int,
    generators: list[torch.Generator],
    stop: float = math.inf,
) -> tuple[Tensor, Tensor]:
    """Where positive pairs alone end, from `maps_with_lumped_noise`: both maps at t = 10·d·(σ_max/min σ_ξ)².

    By then e^{−20} of the slowest noise is left: near rest κ_ξ² decays at the rate 2σ_ξ²/n², n² ≤ σ_max²d.
    Source: ren-li-2023, eq. (6), Theorem 4.3 (a).
    Args and Raises: as `maps_with_lumped_noise`; d = r + Σcolumns; `stop` in units of d, if training ends before.
    Returns: map_a, map_b `[run, ·, r + groups]`.
    Cost: one `non_contrastive_flow` of r + groups columns.
    """
    map_a, map_b, scales = maps_with_lumped_noise(sigma, noise, columns, width, generators)
    end = 10 * (len(sigma) + sum(columns)) * (max(sigma) / min(noise)) ** 2
    span = torch.tensor([0.0, min(end, stop * (len(sigma) + sum(columns)))], dtype=scales.dtype)
    path = non_contrastive_flow(map_a, map_b, scales, len(sigma), span.to(scales.device))
    return path.map_a[-1], path.map_b[-1]


def nearly_equal_maps(
    count: int,
    rank: int,
    condition: float,
    generator: torch.Generator,
    *,
    orthogonal: bool,
    noises: int = 2,
    size: float = 0.01,
) -> tuple[Tensor, Tensor]:
    """Random maps that meet the conditions of Lemma 4.4: K_A of one condition number C, K_B near it, little noise.

    ‖K_A‖_F = 1, singular values C^{0..1} evenly in the logarithm; noise columns of size·C^{−2} together, entries of
    K_B − K_A of size·C^{−2}/r. With `orthogonal` the columns of K_A are orthogonal, else they have any direction.
    Source: ren-li-2023, Lemma 4.4, whose formulas are lost in our copy.
    Args:
        count, rank, noises: number of maps, r ≥ 1, noise columns ≥ 1.
        condition: C ≥ 1.
        generator: one for all maps.
        orthogonal: whether the columns of K_A are.
        size: of what the lemma calls small, against C^{−2}.
    Returns: map_a, map_b `[count, r, r + noises]`.
    Raises: ValueError for C < 1.
    """
    if not condition >= 1:
        raise ValueError(f"condition must be ≥ 1, got {condition}")
    shape, how = (count, rank, rank), {"generator": generator, "dtype": torch.float64, "device": generator.device}
    left, right = (torch.linalg.qr(torch.randn(shape, **how)).Q for _ in range(2))
    values = condition ** torch.linspace(0, 1, rank, dtype=torch.float64, device=generator.device)
    signal = left * values if orthogonal else left * values @ right
    signal = signal / signal.norm(dim=(-2, -1), keepdim=True)
    tail = torch.randn(2, count, rank, noises, **how)
    tail = size / condition**2 * tail / tail.norm(dim=(-2, -1), keepdim=True)
    near = signal + size / condition**2 * torch.randn(shape, **how) / rank
    return torch.cat([signal, tail[0]], -1), torch.cat([near, tail[1]], -1)
