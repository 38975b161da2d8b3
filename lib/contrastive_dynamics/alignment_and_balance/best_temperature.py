"""Which τ² levels the columns fastest, at infinite width, aligned and without noise.

Then (log κ_p²)' = 4(1 − S)(σ_p²/n²)(T̄ − T_p), g_p = κ_p²/n², T_p = tanh(y g_p), T̄ = Σg_qT_q, y = τ². Near balance,
g_p = 1/r, T_p − T̄ is y sech²(y/r)/r times the deviation of log κ_p² from its mean, so whatever σ is all deviations
decay at rates proportional to y(1 − S)sech²(y/r), S = e^y/(e^y + K cosh^r(y/r)): a softer contrast weighs all negatives
alike, a sharper one has tanh ≈ 1 for every column, or 1 − S ≈ 0. Shapes as in `infinite_width_flow`.
"""

import math

import torch
from torch import Tensor

from .comparative_gronwall import convergence_time_bound
from .infinite_width_flow import Scalar, WideState, negative_factors, wide_condition_number
from .wide_training import settling_time

_FIRST = 1e-4  # of the horizon: the first row of the search, which is by powers


def balancing_rate(tau_squared: Scalar, negatives: Scalar, rank: int) -> Tensor:
    """4y(1 − S)sech²(y/r)/r, the rate per t/C at which log(κ_p²/κ_q²) decays near balance if all σ are equal.

    C = Σκ_p²/σ_p² is conserved, d at `wide_start`. If the σ differ, the rates are those of the matrix with entries
    σ_p²(δ_pq − 1/r)·Σσ^{−2}/r times this, so the same y is the best, and σ_min²·Σσ^{−2}/r times this is the least.
    Source: derived from ren-li-2023, eq. (8).
    Args:
        tau_squared: y = τ² > 0, a number or a tensor.
        negatives: K > 0, of a shape that fits.
        rank: r ≥ 2.
    Returns: as the two together, float64 for numbers.
    Raises: ValueError for r < 2.
    """
    if rank < 2:
        raise ValueError(f"balancing_rate: rank must be ≥ 2, got {rank}")
    y, k = torch.broadcast_tensors(*(torch.as_tensor(x, dtype=torch.float64) for x in (tau_squared, negatives)))
    one_minus_s, _ = negative_factors(y.new_full((*y.shape, rank), 1 / rank), y, k)
    return 4 * y * one_minus_s / (y / rank).cosh().square() / rank


def best_tau_squared(negatives: float, rank: int) -> float:
    """The y = τ² of the largest y(1 − S)sech²(y/r), where 1/y = S(1 − t) + 2t/r, t = tanh(y/r).

    h(y) = y[S(1 − t) + 2t/r] is 1 once only. From y = 0.772r on 2yt/r ≥ 1, so h > 1. Below, h' is positive if
    (y/r)(1 + t) ≤ 1, which holds up to y = 0.639r; between the two, h' ≥ 1.99/r − 0.096S + 0.09rS(1 − S) > 0 for
    r ≤ 20, and for S ≤ 1/2; and for r > 20, S > 1/2 h > 1. The limits: 0.772r, where 2yt/r = 1, as K → ∞, and
    `best_tau_squared_many_signals` as r → ∞.
    Source: derived.
    Args:
        negatives: K > 0.
        rank: r ≥ 2.
    Returns: τ².
    Raises: ValueError for an argument outside its range.
    Error: 1e-12, relative.
    """
    from scipy.optimize import brentq

    if rank < 2 or not 0 < negatives < math.inf:
        raise ValueError(f"negatives and rank must be > 0, finite and ≥ 2, got {negatives:g} and {rank}")

    def excess(y: float) -> float:
        x = y / rank
        t = math.tanh(x)
        odds = math.log(negatives) + rank * (math.log1p(math.exp(-2 * x)) - math.log(2))  # log((1 − S)/S)
        s = 1 / (1 + math.exp(odds)) if odds < 700 else 0.0
        return y * (s * (1 - t) + 2 * t / rank) - 1

    return brentq(excess, 0, 0.78 * rank, xtol=1e-14, rtol=1e-12)


def best_tau_squared_many_signals(negatives: float) -> float:
    """1 + W(K/e), the limit of `best_tau_squared` for r → ∞: there t = 0 and 1/y = S = e^y/(e^y + K).

    So (y − 1)e^{y−1} = K/e, W Lambert's function. It is about log K − log log K for large K.
    Source: derived; Corless et al., On the Lambert W function (1996).
    Args:
        negatives: K > 0.
    Returns: τ² > 1.
    Raises: ValueError for K ≤ 0 or not finite.
    """
    from scipy.special import lambertw

    if not 0 < negatives < math.inf:
        raise ValueError(f"negatives must be > 0 and finite, got {negatives:g}")
    return 1 + float(lambertw(negatives / math.e).real)


def aligned_state(sigma: Tensor, ratio: float, *, lost: int | None = None) -> WideState:
    """An aligned state without noise: κ̂² = κ², max κ_p²/min κ_p² = R, and C = Σκ_p²/σ_p² = 1.

    The κ_p² fall by equal factors from the first to the last; with `lost` = n the last n are small, all others R times
    as large. As the flow does not know the scale of the squares, times of it are times t/C of any other state.
    Args:
        sigma: σ_p > 0, `[run, r]`, r ≥ 2.
        ratio: R ≥ 1.
        lost: 1 to r − 1, or None.
    Returns: WideState `[run, ...]`.
    Raises: ValueError for an argument outside its range.
    """
    r = sigma.shape[-1]
    if r < 2 or not bool((sigma > 0).all()) or not ratio >= 1 or (lost is not None and not 1 <= lost < r):
        got = f"{float(sigma.min()):g}, {r}, {ratio:g} and {lost}"
        raise ValueError(f"sigma, r, ratio and lost must be > 0, ≥ 2, ≥ 1 and 1 to r − 1 or None, got {got}")
    place = torch.arange(r, dtype=sigma.dtype, device=sigma.device)
    fall = place / (r - 1) if lost is None else (place >= r - lost).to(sigma.dtype)
    k = (-math.log(ratio) * fall).exp().expand_as(sigma)
    k = k / (k / sigma.square()).sum(-1, keepdim=True)
    return WideState(k, k.clone(), k.new_zeros(len(sigma)))


def balancing_time(
    state: WideState, sigma: Tensor, tau_squared: Scalar, negatives: Scalar, ratio: float, *, rtol: float = 1e-8
) -> Tensor:
    """The time at which κ_max²/κ_min² of an aligned state without noise falls to a ratio, by the flow.

    `convergence_time_bound` says how far to follow it.
    Source: ren-li-2023, Lemma C.19, Corollary C.20.
    Args:
        state: aligned, without noise, `[run, ...]`.
        sigma: σ_p, `[run, r]`.
        tau_squared: τ² > 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
        ratio: > 1.
        rtol: relative tolerance per step.
    Returns: `[run]`, 0 where it is at most the ratio at the start.
    Raises: ValueError for a state with noise or not aligned, and as `convergence_time_bound`.
    Error: about 1e-4 of the time, and rtol per step.
    Cost: three `wide_flow`.
    """
    if not bool((state.noise_squared == 0).all() and (state.kappa_hat_squared == state.kappa_squared).all()):
        raise ValueError("balancing_time: state must be aligned and without noise, got another")
    begin = wide_condition_number(state).square() > ratio
    horizon = convergence_time_bound(state, sigma, tau_squared, negatives, ratio - 1)
    horizon = 1.01 * torch.where(begin, horizon, (state.kappa_squared / sigma.square()).sum(-1))
    powers = torch.linspace(math.log(_FIRST), 0, 60, dtype=sigma.dtype, device=sigma.device).exp()
    times = horizon * torch.cat([powers.new_zeros(1), powers]).unsqueeze(-1)
    found = settling_time(state, sigma, 0.0, times, tau_squared, negatives, level=math.sqrt(ratio), rtol=rtol)
    return torch.where(begin, found, 0)
