"""Training in stages at infinite width, for any number d of dimensions, with what a picture of it shows.

The right-hand sides of `infinite_width_flow` do not change if all squares are multiplied by one number. So the flow of
κ²/d, κ̂²/d, κ_ξ²/d in s = t/d is the flow of the squares in t, and runs of different d share the times s.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .infinite_width_flow import Scalar, WideState, wide_condition_number, wide_flow, wide_start

_REFINED = 32  # parts into which each search divides the interval of a crossing


class WideStage(NamedTuple):
    """One stage of training."""

    length: float  # in s = t/d, > 0
    tau_squared: Scalar | None  # τ² ≥ 0; None without negatives


class WideTraining(NamedTuple):
    """The flow at times s, the stages one after another; the end of one is the start of the next, in one row."""

    s: Tensor  # [time, run] t/d
    state: WideState  # [time, run, ...] κ_p²/d, κ̂_p²/d, κ_ξ²/d
    shares: Tensor  # [time, run, r] κ_p²/n², n² = Σκ_p² + κ_ξ²
    noise_share: Tensor  # [time, run] κ_ξ²/n²
    agreement: Tensor  # [time, run, r] κ̂_p²/κ_p², −1 to 1, 1 where the two columns are equal
    condition: Tensor  # [time, run] κ_max/κ_min
    stopped: Tensor  # [run] bool, whether the last stage was cut where the condition number fell to `stop`


def wide_training(
    sigma: Tensor,
    noise: Scalar,
    dim: Scalar,
    stages: list[WideStage],
    fractions: Tensor,
    negatives: Scalar = 1.0,
    *,
    stop: float | None = None,
    rtol: float = 1e-9,
) -> WideTraining:
    """Both stages, or any others, from `wide_start` with d − r noise columns.

    With `stop` the last stage of a run ends where its condition number falls to `stop` for good (`settling_time`); a
    run that stays above it, or that is below it throughout the last stage, keeps the whole length.
    Source: ren-li-2023, Algorithm 3.1 in continuous time, eq. (8), Corollary C.9 (noise), Section 5.
    Args:
        sigma: σ_p > 0, `[run, r]`.
        noise: σ_ξ > 0, a number or `[run]`; 0 only for d = r.
        dim: d ≥ r, a number or `[run]`, up to 1e12 and beyond.
        stages: one or more.
        fractions: of each stage, at which the flow is kept, `[f]`, increasing from 0 to 1.
        negatives: K > 0, a number or `[run]`.
        stop: condition number > 1, or None.
        rtol: relative tolerance per step.
    Returns: WideTraining, 1 + (f − 1)·stages rows.
    Raises: ValueError for an argument outside its range.
    Error: about rtol per step; the time of the stop about 1e-6 of the last stage.
    Cost: one `wide_flow` per stage, and with `stop` about three more of the last.
    """
    dim = torch.as_tensor(dim, dtype=sigma.dtype, device=sigma.device).expand(len(sigma))
    _check(sigma, dim, stages, fractions, stop)
    squares = wide_start(sigma, noise, dim - sigma.shape[-1])
    now = WideState(*(x / (dim.unsqueeze(-1) if x.ndim == 2 else dim) for x in squares))
    begin, times, parts = torch.zeros_like(dim), [], []
    stopped = torch.zeros_like(dim, dtype=torch.bool)
    for k, (length, tau_squared) in enumerate(stages):
        span, how = length * fractions, (tau_squared, negatives)
        if stop is not None and k + 1 == len(stages):
            ends = settling_time(now, sigma, noise, span, *how, level=stop, rtol=rtol)
            stopped = (ends > 0) & ends.isfinite()
            span = torch.where(stopped, ends, length) * fractions.unsqueeze(-1)
        path = wide_flow(now, sigma, noise, span, *how, rtol=rtol)
        first = 0 if k == 0 else 1
        times.append(begin + (span.unsqueeze(-1) if span.ndim == 1 else span)[first:])
        parts.append(WideState(*(x[first:] for x in path)))
        now, begin = WideState(*(x[-1] for x in path)), times[-1][-1]
    state = WideState(*(torch.cat(x) for x in zip(*parts, strict=True)))
    n2 = state.kappa_squared.sum(-1) + state.noise_squared
    return WideTraining(
        torch.cat(times),
        state,
        state.kappa_squared / n2.unsqueeze(-1),
        state.noise_squared / n2,
        state.kappa_hat_squared / state.kappa_squared,
        wide_condition_number(state),
        stopped,
    )


def settling_time(
    state: WideState,
    sigma: Tensor,
    noise: Scalar,
    times: Tensor,
    tau_squared: Scalar | None,
    negatives: Scalar = 1.0,
    *,
    level: float,
    rtol: float = 1e-9,
) -> Tensor:
    """The time from which the condition number stays at or below a level, as far as times go.

    The flow is followed at `times`; after the last of them at which the condition number is above the level, two finer
    searches of 32 parts each and a line between two points.
    Source: derived; the paper stops stage 2 where the condition number is close to 1 (ren-li-2023, Lemma 5.3).
    Args:
        state, sigma, noise, times, tau_squared, negatives, rtol: as in `wide_flow`; times of close enough rows, as a
            rise above the level between two rows is not seen.
        level: > 1.
    Returns: `[run]`: times[0] if it is never above the level, inf if it is at the end.
    Raises: as `wide_flow`; ValueError for level ≤ 1.
    Error: about 1e-6 of the distance between two times, and that of `wide_flow`.
    Cost: one `wide_flow` over times, and two over one interval with 32 rows each.
    """
    if not level > 1:
        raise ValueError(f"settling_time: level must be > 1, got {level}")
    runs = torch.arange(len(sigma), device=sigma.device)
    grid = times if times.ndim == 2 else times.unsqueeze(-1).expand(-1, len(sigma))
    path = wide_flow(state, sigma, noise, times, tau_squared, negatives, rtol=rtol)
    above = wide_condition_number(path) > level
    never, always = ~above.any(0), above[-1]
    parts = torch.linspace(0, 1, _REFINED + 1, dtype=sigma.dtype, device=sigma.device).unsqueeze(-1)
    for search in range(3):
        row = (above * torch.arange(len(above), device=above.device).unsqueeze(-1)).amax(0).clamp(max=len(above) - 2)
        left, right = grid[row, runs], grid[row + 1, runs]
        if search < 2:
            begin = WideState(*(x[row, runs] for x in path))
            grid = torch.lerp(left, right, parts)
            path = wide_flow(begin, sigma, noise, grid, tau_squared, negatives, rtol=rtol)
            above = wide_condition_number(path) > level
    high, low = (wide_condition_number(path)[k, runs] - level for k in (row, row + 1))
    crossing = torch.lerp(left, right, (high / (high - low)).clamp(0, 1))
    first = times[0] if times.ndim == 2 else times[0].expand(len(sigma))
    return torch.where(always, torch.inf, torch.where(never, first, crossing))


def _check(sigma: Tensor, dim: Tensor, stages: list[WideStage], fractions: Tensor, stop: float | None) -> None:
    if not bool((dim >= sigma.shape[-1]).all()):
        raise ValueError(f"dim must be ≥ r = {sigma.shape[-1]}, got {float(dim.min()):g}")
    if not stages or not all(stage.length > 0 for stage in stages):
        raise ValueError(f"stages must be one or more of length > 0, got {[stage.length for stage in stages]}")
    if fractions.ndim != 1 or len(fractions) < 2 or not bool((fractions.diff() > 0).all()):
        raise ValueError(f"fractions must be [f], f ≥ 2, increasing, got {list(fractions.shape)}")
    if fractions[0] != 0 or fractions[-1] != 1:
        raise ValueError(f"fractions must go from 0 to 1, got {float(fractions[0]):g} to {float(fractions[-1]):g}")
    if stop is not None and not stop > 1:
        raise ValueError(f"stop must be > 1 or None, got {stop}")
