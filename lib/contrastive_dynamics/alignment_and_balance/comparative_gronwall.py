"""Comparative Gronwall, X' = −cA_tX and Y' = bA_tXY with one A_t > 0, and bounds on the condition number.

Y_T = Y_0 e^{(b/c)(X_0 − X_T)} ≤ Y_0 e^{bX_0/c}: log Y + (b/c)X is conserved, whatever A_t is. X is the progress still
to be made, Y an error. With a different B_t in Y' the exponent is b∫BX dt ≤ (b/c)X_0 sup B/A, which may be larger.
Shapes: processes a `[run, knot]`, > 0, linear between the knots at times `[knot]`; X_0, Y_0, b, c floats or `[run]`.
The states and sigma of the bounds are as in `infinite_width_flow`.
"""

import math

import torch
from torch import Tensor

from .infinite_width_flow import Scalar, WideState, negative_factors, wide_velocity


def draw_process(knots: int, generators: list[torch.Generator], spread: float = 1.0) -> Tensor:
    """Independent positive values e^{spread·N(0, 1)} at the knots.

    Args:
        knots: number of knots, ≥ 2.
        generators: one per run.
        spread: standard deviation of the logarithm, ≥ 0.
    Returns: `[run, knot]`, float64.
    Raises: ValueError for fewer than 2 knots, no generator or a spread below 0.
    """
    if knots < 2 or not generators or not spread >= 0:
        got = f"{knots} knots, {len(generators)} generators, spread {spread:g}"
        raise ValueError(f"knots, generators and spread must be ≥ 2, ≥ 1 and ≥ 0, got {got}")
    draws = [torch.randn(knots, generator=g, device=g.device, dtype=torch.float64) for g in generators]
    return (spread * torch.stack(draws)).exp()


def solve(
    a: Tensor, times: Tensor, x0: Scalar, y0: Scalar, b: Scalar, c: Scalar, other: Tensor | None = None, *, rtol=1e-10
) -> tuple[Tensor, Tensor]:
    """X and Y at the knots, by numerical integration of both equations.

    Source: ren-li-2023, Lemma 5.2.
    Args:
        a: process A at the knots, `[run, knot]`, > 0.
        times: times of the knots, `[knot]`, increasing.
        x0, y0: initial values X_0 and Y_0, > 0, a number or `[run]`.
        b, c: constants of the equations, > 0, a number or `[run]`.
        other: a second process B in Y' = bBXY, `[run, knot]`, > 0; by default B = A.
        rtol: tolerance per step, relative and absolute.
    Returns: X and Y, `[knot, run]` each.
    Raises: ValueError for a or other ≤ 0 or of other shapes, times that do not increase, X_0, Y_0, b or c ≤ 0.
    Error: about rtol per step, relative and absolute; Dormand–Prince of order 5 with a step at each knot.
    """
    from torchdiffeq import odeint

    x0, y0, b, c = _require_pair("solve", a, times, x0, y0, b, c)
    other = a if other is None else other
    if other.shape != a.shape or not bool((other > 0).all()):
        raise ValueError(
            f"other must be > 0 and of shape {tuple(a.shape)}, got {tuple(other.shape)} from {other.min():g}"
        )
    both = torch.stack([-c.unsqueeze(-1) * a, b.unsqueeze(-1) * other])

    def velocity(t: Tensor, state: Tensor) -> Tensor:
        k = int(torch.searchsorted(times, t, right=True).clamp(1, len(times) - 1))
        share = (t - times[k - 1]) / (times[k] - times[k - 1])
        fall, growth = torch.lerp(both[..., k - 1], both[..., k], share)
        x, y = state
        return torch.stack([fall * x, growth * x * y])

    how = {"norm": lambda error: error.square().mean(0).max().sqrt(), "step_t": times[1:-1]}  # kinks at the knots
    path = odeint(velocity, torch.stack([x0, y0]), times, rtol=rtol, atol=rtol, method="dopri5", options=how)
    return path[:, 0], path[:, 1]


def closed_form(a: Tensor, times: Tensor, x0: Scalar, y0: Scalar, b: Scalar, c: Scalar) -> tuple[Tensor, Tensor]:
    """X_T = X_0 e^{−c∫A} and Y_T = Y_0 e^{(b/c)(X_0 − X_T)} at the knots, exact.

    Source: ren-li-2023, Lemmas 5.2, B.2.
    Args and Raises: as `solve`.
    Returns: X and Y, `[knot, run]` each.
    """
    x0, y0, b, c = _require_pair("closed_form", a, times, x0, y0, b, c)
    integral = torch.nn.functional.pad(torch.cumulative_trapezoid(a, times), (1, 0)).mT
    return x0 * (-c * integral).exp(), y0 * (-b / c * x0 * (-c * integral).expm1()).exp()


def bound(x0: Scalar, y0: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """Y_0 e^{bX_0/c}, an upper bound of Y_T at every T and its limit as X → 0.

    Source: ren-li-2023, Lemma 5.2.
    Args:
        x0, y0: initial values X_0 and Y_0, a number or `[run]`.
        b, c: constants of the equations, a number or `[run]`.
    Returns: a number or `[run]`.
    """
    exponent = b * x0 / c
    return y0 * (exponent.exp() if isinstance(exponent, Tensor) else math.exp(exponent))


def condition_growth_bound(sigma: Tensor, columns: Scalar) -> Tensor:
    """Upper bound at all times on the condition number of the non-contrastive flow from `wide_start`.

    It is (σ_max/σ_min)e^{ΔΘ/2} with Δ = σ_max² − σ_min², Θ ≤ min{log(2C − r + 1)/σ_max², log(2C/r)/mean σ_p²}; C = d,
    or r without noise: then it is at most (σ_max/σ_min)(r + 1)^{(1 − σ_min²/σ_max²)/2}. Proved with the Θ of
    `non_contrastive_solution`: Σe^{σ_p²Θ} ≤ 2C (largest term; Jensen); κ_p² = x(e^{xΘ} + e^{−xH})/2 at x = σ_p², H ≥ 0,
    increases in x since 1 + e^{−y}(1 − y) > 0; and d log(κ_p²/x)/dx ≤ Θ.
    Source: derived; ren-li-2023, Lemma B.12 and Section 5.3, which say only that the bound is polynomial.
    Args:
        sigma: σ_p of the signal, `[run, r]`.
        columns: C ≥ r, a number or `[run]`.
    Returns: `[run]`.
    Raises: ValueError for C < r.
    """
    c, square = torch.as_tensor(columns, dtype=sigma.dtype, device=sigma.device), sigma.square()
    high, low, r = square.amax(-1), square.amin(-1), sigma.shape[-1]
    if not bool((c >= r).all()):
        raise ValueError(f"columns must be ≥ r = {r}, got {float(c.min()):g}")
    grown = torch.minimum((2 * c - r + 1).log() / high, (2 * c / r).log() / square.mean(-1))
    return (high / low).sqrt() * ((high - low) * grown / 2).exp()


def coupled_growth_bound(state: WideState, sigma: Tensor) -> Tensor:
    """Y_0 e^{σ_max²X_0/(2σ_min²)}, which the condition number of the noiseless flow without negatives never exceeds.

    `bound` of Lemma 5.2 for the progress still to be made, X = 1 − min κ̂_p²/κ_p², and the error Y = κ_max/κ_min. With
    A = 2/n², c = σ_min², b = σ_max²/2: X' ≤ −cAX and Y' ≤ bAXY, so d(log Y + (b/c)X)/dt ≤ 0. For ρ_p = κ̂_p²/κ_p²,
    ρ_p' = Aσ_p²(1 − ρ_p²) ≥ Aσ_min²(1 − ρ_p) if ρ_p ≥ 0, and (log κ_p²)' = Aσ_p²(ρ_p − a), a a mean of the ρ_q: of two
    columns (log Y)' ≤ bA(max ρ − min ρ) ≤ bAX. From `wide_start` X_0 = 1.
    Source: ren-li-2023, Lemma 5.2 and Section 5.3, below it (its formulas are lost in our text); the constants are
        derived.
    Args:
        state: without noise, `[..., run, r]`, κ̂_p² ≥ 0.
        sigma: σ_p, `[run, r]`.
    Returns: `[..., run]`.
    Raises: ValueError for a state with noise or with κ̂_p² < 0.
    """
    _require_noiseless("coupled_growth_bound", state)
    k, rho = state.kappa_squared, state.kappa_hat_squared / state.kappa_squared
    low, high = sigma.amin(-1).square(), sigma.amax(-1).square()
    return bound(1 - rho.amin(-1), (k.amax(-1) / k.amin(-1)).sqrt(), high / 2, low)


def condition_rate_bound(
    state: WideState, sigma: Tensor, tau_squared: Scalar, negatives: Scalar
) -> tuple[Tensor, Tensor]:
    """dR/dt of R = κ_1²/κ_r², 1 the largest, r the smallest, and its bound −4(1 − S)(σ_min²/n²)(T_1 − T_r)R.

    For an aligned state without noise the rate is 4(1 − S)/n² · [σ_1²(T̄ − T_1) − σ_r²(T̄ − T_r)]R with T̄ = Σg_qT_q
    between T_r and T_1, so the bound holds; elsewhere (σ_1² − σ_r²)(1 − Σg) and other terms add to the bracket and it
    may fail.
    Source: ren-li-2023, Lemma C.19.
    Args:
        state: `[..., run, r]`.
        sigma: σ_p of the signal, `[run, r]`.
        tau_squared: τ² ≥ 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
    Returns: rate and bound, `[..., run]` each.
    Raises: ValueError for τ² < 0 or K ≤ 0.
    """
    velocity = wide_velocity(state, sigma, 0.0, tau_squared, negatives)
    k, n2 = state.kappa_squared, state.kappa_squared.sum(-1) + state.noise_squared
    ends = torch.stack([k.argmax(-1), k.argmin(-1)], -1)
    growth, ratio = (velocity.kappa_squared / k).gather(-1, ends), k.amax(-1) / k.amin(-1)
    one_minus_s, t = negative_factors(state.kappa_hat_squared / n2.unsqueeze(-1), tau_squared, negatives)
    t = t.gather(-1, ends)
    fall = -4 * one_minus_s * sigma.amin(-1).square() / n2 * (t[..., 0] - t[..., 1])
    return (growth[..., 0] - growth[..., 1]) * ratio, fall * ratio


def convergence_time_bound(
    state: WideState, sigma: Tensor, tau_squared: Scalar, negatives: Scalar, tolerance: float
) -> Tensor:
    """A time by which R = κ_1²/κ_r² ≤ 1 + ε, from an aligned state without noise: log(R_0/(1 + ε))/rate.

    rate = 4(1 − S*)σ_min²F/(σ_max²C), C = Σκ_p²/σ_p² conserved, so n² ≤ σ_max²C. S* = S at g_p = 1/r, the largest, as
    Σg = 1 and log cosh is convex. T_1 − T_r ≥ F = min{tanh((1 + ε)y) − tanh y, tanh y − tanh(y/(1 + ε))}, y = τ²/r,
    since g_1 ≥ 1/r ≥ g_r, g_1 ≥ (1 + ε)g_r, and tanh((1 + ε)x) − tanh x rises, then falls. So the time is linear in C,
    log R_0 and σ_max²/σ_min², and in r/(τ²ε) at fixed τ² and large r. A large τ is slow because of F ~ e^{−2τ²/r}, not
    of S*: 1/(1 − S*) ≤ 1 + 2^r/K.
    Source: derived from Lemma C.19; the formula of ren-li-2023, Corollary C.20, is lost in our text.
    Args:
        state: aligned, without noise, `[..., run, r]`.
        sigma: σ_p of the signal, `[run, r]`.
        tau_squared: τ² > 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
        tolerance: ε > 0.
    Returns: `[..., run]`, 0 where R ≤ 1 + ε already.
    Raises: ValueError for ε ≤ 0, τ² ≤ 0 or K ≤ 0.
    """
    tau, k_neg = (torch.as_tensor(x, dtype=sigma.dtype, device=sigma.device) for x in (tau_squared, negatives))
    low = min(tolerance, float(tau.min()), float(k_neg.min()))
    if not low > 0:
        raise ValueError(f"tolerance, τ² and K must be > 0, got {low:g}")
    k, square, y, e = state.kappa_squared, sigma.square(), tau / sigma.shape[-1], 1 + tolerance
    fall = torch.minimum((e * y).tanh() - y.tanh(), y.tanh() - (y / e).tanh())
    one_minus_s, _ = negative_factors(torch.full_like(sigma, 1 / sigma.shape[-1]), tau, k_neg)
    rate = 4 * one_minus_s * square.amin(-1) * fall / (square.amax(-1) * (k / square).sum(-1))
    return (k.amax(-1) / k.amin(-1) / e).log().clamp(min=0) / rate


def _require_noiseless(name: str, state: WideState) -> None:
    if not bool((state.noise_squared == 0).all() and (state.kappa_hat_squared >= 0).all()):
        low = f"{float(state.noise_squared.max()):g} and {float(state.kappa_hat_squared.min()):g}"
        raise ValueError(f"{name}: κ_ξ² and κ̂_p² must be 0 and ≥ 0, got {low}")


def _require_pair(name: str, a: Tensor, times: Tensor, *scalars: Scalar) -> list[Tensor]:
    """X_0, Y_0, b, c as `[run]`, after the checks."""
    if a.ndim != 2 or times.shape != a.shape[1:] or len(times) < 2 or not bool((times.diff() > 0).all()):
        got = f"a {tuple(a.shape)}, times {tuple(times.shape)}"
        raise ValueError(f"{name}: a and times must be [run, knot] and [knot], ≥ 2 increasing knots, got {got}")
    parts = [torch.as_tensor(x, dtype=a.dtype, device=a.device).expand(len(a)) for x in scalars]
    low = min(float(x.min()) for x in (a, *parts))
    if not low > 0:
        raise ValueError(f"{name}: a, X_0, Y_0, b and c must be > 0, got {low:g}")
    return parts
