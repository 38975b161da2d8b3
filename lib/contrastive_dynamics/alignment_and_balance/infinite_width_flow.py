"""The infinitely wide flow (8) of two modalities, with noise, from orthogonal columns: 2r + 1 numbers per run.

κ_p², κ̂_p²: squared norm of signal column p and its inner product between the two modalities; κ_ξ²: all noise columns.
n² = Σκ_p² + κ_ξ², g_p = κ̂_p²/n², T_p = tanh(τ²g_p), a = Σ(1 − T_q)g_q, c = 2(1 − S); without contrast c = 1, T = 0.
  d(κ_p²)/dt = 2cσ_p²[(1 − T_p)κ̂_p² − aκ_p²]/n², d(κ̂_p²)/dt with κ², κ̂² exchanged, d(κ_ξ²)/dt = −2cσ_ξ²aκ_ξ²/n².
In θ, dθ = 2dt/n²: d log(κ_p² ± κ̂_p²)/dθ = ±cσ_p²[(1 − T_p) ∓ a], so |κ̂_p²| ≤ κ_p² is preserved.
C = Σκ_p²/σ_p² + κ_ξ²/σ_ξ² is conserved (d at `wide_start`), hence σ_min²C ≤ n² ≤ σ_max²C if σ_ξ is among the σ: time
scales as d. Shapes: sigma `[run, r]`; noise σ_ξ, τ² and K floats or `[run]`; states may have leading axes.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

Scalar = float | Tensor  # one for all runs, or [run]


class WideState(NamedTuple):
    """The squares that the flow evolves; also used for their velocity."""

    kappa_squared: Tensor  # [..., run, r] κ_p², above 0
    kappa_hat_squared: Tensor  # [..., run, r] κ̂_p², in (−κ_p², κ_p²]
    noise_squared: Tensor  # [..., run] κ_ξ² = ‖K_ξ‖_F², 0 for none


def wide_start(sigma: Tensor, noise: Scalar, noise_columns: Scalar) -> WideState:
    """κ_p² = σ_p², κ̂_p² = 0, κ_ξ² = (d − r)σ_ξ²: W of variance 1/m, m → ∞.

    Source: ren-li-2023, eq. (7).
    Args:
        sigma: σ_p > 0, `[run, r]`.
        noise: σ_ξ ≥ 0, a number or `[run]`.
        noise_columns: d − r ≥ 0, a number or `[run]`, up to 1e12 and beyond.
    Returns: WideState `[run, ...]`.
    Raises: ValueError for σ ≤ 0, σ_ξ < 0, d − r < 0.
    """
    noise, columns = (_of_run(x, sigma) for x in (noise, noise_columns))
    if not (bool((sigma > 0).all()) and bool((noise >= 0).all()) and bool((columns >= 0).all())):
        low = ", ".join(f"{float(x.min()):g}" for x in (sigma, noise, columns))
        raise ValueError(f"sigma, noise and noise_columns must be > 0, ≥ 0 and ≥ 0, got {low}")
    square = sigma.square()
    return WideState(square, torch.zeros_like(square), (columns * noise.square()).expand(len(sigma)))


def negative_factors(g: Tensor, tau_squared: Scalar, negatives: Scalar) -> tuple[Tensor, Tensor]:
    """1 − S `[..., run]` and T_p = tanh(τ²g_p) `[..., run, r]`, 1 − S without cancellation at any τ².

    S = e^{τ²Σg}/(e^{τ²Σg} + KΠcosh(τ²g_p)), the same for every pair.
    Source: ren-li-2023, below eq. (8), Lemma C.2.
    Args:
        g: g_p, `[..., run, r]`.
        tau_squared: τ² ≥ 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
    """
    x = _of_run(tau_squared, g).unsqueeze(-1) * g
    excess = torch.logaddexp(-2 * x, torch.zeros_like(x)) - math.log(2)  # log cosh x − x
    return torch.sigmoid(_of_run(negatives, g).log() + excess.sum(-1)), x.tanh()


def wide_velocity(
    state: WideState, sigma: Tensor, noise: Scalar, tau_squared: Scalar | None, negatives: Scalar = 1.0
) -> WideState:
    """d(κ², κ̂², κ_ξ²)/dt by the formulas at the top.

    As τ → 0 it is 2K/(1 + K) times the non-contrastive velocity (Lemma B.9).
    Source: ren-li-2023, eqs. (8), (6), Lemma A.7; noise: Corollary C.9.
    Args:
        state: `[..., run, r]`.
        sigma: σ_p, `[run, r]`.
        noise: σ_ξ, a number or `[run]`.
        tau_squared: τ² ≥ 0, a number or `[run]`; None for the non-contrastive flow.
        negatives: K > 0, a number or `[run]`.
    Returns: WideState of derivatives.
    Raises: ValueError for τ² < 0 or K ≤ 0.
    Cost: about 30·r flops.
    """
    _require_loss("wide_velocity", sigma, tau_squared, negatives)
    u, w, nu = _sums(state)
    n2, up, down, decay = _log_rates(u, w, nu, sigma, _of_run(noise, sigma), tau_squared, negatives)
    up, down = up * u, down * w
    return WideState((up + down) / n2.unsqueeze(-1), (up - down) / n2.unsqueeze(-1), 2 * decay * nu / n2)


def wide_flow(
    state: WideState,
    sigma: Tensor,
    noise: Scalar,
    times: Tensor,
    tau_squared: Scalar | None,
    negatives: Scalar = 1.0,
    *,
    rtol: float = 1e-9,
) -> WideState:
    """The state at times t, by Dormand–Prince of order 5 in the logarithms of growth.

    Source: ren-li-2023, eq. (8).
    Args:
        state: at times[0], `[run, ...]`.
        sigma, noise, tau_squared, negatives: as `wide_velocity`; σ_ξ > 0 where there are noise columns.
        times: `[time]`, or `[time, run]` as d differs between runs; at least 2, increasing.
        rtol: relative tolerance per step.
    Returns: WideState `[time, run, ...]`.
    Raises: ValueError for other times, τ² < 0, K ≤ 0, or noise columns where σ_ξ = 0.
    Error: about rtol per step, relative, in the worst run.
    Cost: 6 velocities per step; about 500 steps to θ = 1000 at σ_max = 3, τ² = 1, and at least one from row to row of
        `[time, run]`.
    """
    from torchdiffeq import odeint

    _require_loss("wide_flow", sigma, tau_squared, negatives)
    noise = _require_noise("wide_flow", state, sigma, noise)
    if times.ndim not in (1, 2) or len(times) < 2 or not bool((times.diff(dim=0) > 0).all()):
        raise ValueError(f"wide_flow: times must be [time] or [time, run], ≥ 2, increasing, got {list(times.shape)}")
    (u0, w0, nu0), r = _sums(state), sigma.shape[-1]
    lengths = times.diff(dim=0)
    grid = times if times.ndim == 1 else torch.arange(len(times), dtype=sigma.dtype, device=sigma.device)

    def grown(y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        factors = y.clamp(max=500).exp()  # beyond what C allows: a trial step that is too long is rejected, not NaN
        return u0 * factors[..., :r], w0 * factors[..., r:-1], nu0 * factors[..., -1]

    def velocity(x: Tensor, y: Tensor) -> Tensor:
        n2, up, down, decay = _log_rates(*grown(y), sigma, noise, tau_squared, negatives)
        rates = torch.cat([up, down, decay.unsqueeze(-1)], -1) * (2 / n2).unsqueeze(-1)
        return rates if times.ndim == 1 else rates * lengths[min(int(x), len(lengths) - 1)].unsqueeze(-1)

    how = {"norm": lambda error: error.square().mean(-1).max().sqrt()}
    if times.ndim == 2:
        how["jump_t"] = grid[1:-1]  # the clock of a run changes its pace there
    y = odeint(velocity, u0.new_zeros(len(u0), 2 * r + 1), grid, rtol=rtol, atol=rtol, method="dopri5", options=how)
    u, w, nu = grown(y)
    return WideState((u + w) / 2, (u - w) / 2, nu)


def wide_condition_number(state: WideState) -> Tensor:
    """κ_max/κ_min `[..., run]` of the signal columns, which are orthogonal."""
    return (state.kappa_squared.amax(-1) / state.kappa_squared.amin(-1)).sqrt()


def non_contrastive_solution(state: WideState, sigma: Tensor, noise: Scalar, thetas: Tensor) -> WideState:
    """The exact non-contrastive flow at rescaled times θ; θ = ∞ gives its limit.

    With Θ = ∫(1 − a)dθ: u_p = κ_p² + κ̂_p² = u_p(0)e^{σ_p²Θ}, w_p = κ_p² − κ̂_p² = w_p(0)e^{−σ_p²(2θ − Θ)},
    κ_ξ² = κ_ξ²(0)e^{−σ_ξ²(θ − Θ)}, and C, which increases with Θ, determines Θ. At θ = ∞: Σu_p(0)e^{σ_p²Θ}/(2σ_p²) = C,
    from `wide_start` Σe^{σ_p²Θ} = 2d (2r without noise), whatever σ_ξ > 0 is; then everything is aligned and no noise
    is left.
    Source: derived, ren-li-2023, Lemma B.10.
    Args:
        state: at θ = 0, `[run, ...]`.
        sigma: σ_p, `[run, r]`.
        noise: σ_ξ, a number or `[run]`, > 0 where there are noise columns.
        thetas: `[time]` or `[time, run]`, ≥ 0.
    Returns: WideState `[time, run, ...]`.
    Raises: ValueError for θ < 0, or noise columns where σ_ξ = 0.
    Error: rounding.
    Cost: about 10 Newton steps.
    """
    noise = _require_noise("non_contrastive_solution", state, sigma, noise)
    if not bool((thetas >= 0).all()):
        raise ValueError(f"thetas must be ≥ 0, got {float(thetas.min()):g}")
    theta = (thetas if thetas.ndim == 2 else thetas.unsqueeze(-1)).expand(-1, len(sigma)).unsqueeze(-1)
    u, w, nu = _sums(state)
    start = torch.cat([u, w, nu.unsqueeze(-1)], -1)
    twice, square = 2 * sigma.square(), torch.where(nu > 0, noise.square(), 1).unsqueeze(-1)  # 1 without noise
    rates = torch.cat([twice / 2, twice / 2, square], -1)
    weights = (start / torch.cat([twice, twice, square], -1)).log()
    delay = torch.cat([torch.zeros_like(u + theta), (2 * theta).expand_as(u + theta), theta], -1)
    level = torch.logsumexp(weights, -1)
    big = torch.minimum(((level.unsqueeze(-1) - weights) / rates)[..., : u.shape[-1]].amin(-1), 2 * theta.squeeze(-1))
    for _ in range(60):  # Newton from above on a convex rising function
        terms = weights + rates * (big.unsqueeze(-1) - delay)
        step = (torch.logsumexp(terms, -1) - level) / (terms.softmax(-1) * rates).sum(-1)
        big = big - step
        if bool((step <= 4 * torch.finfo(big.dtype).eps * big).all()):
            break
    parts = start * (rates * (big.unsqueeze(-1) - delay)).exp()
    u, w, nu = parts.split([u.shape[-1], u.shape[-1], 1], -1)
    return WideState((u + w) / 2, (u - w) / 2, nu.squeeze(-1))


def non_contrastive_exponent(sigma_max: float, sigma_min: float, rank_power: float = 0.0) -> float:
    """The power of d in the final condition number without contrast: one σ_max, r − 1 times σ_min, r ~ d^rank_power.

    (1 − q)/2 · min(1, (1 − rank_power)/q), q = σ_min²/σ_max². Derived: log u_p = σ_p²Θ + const grows until the signal
    holds all of C, x + (r − 1)x^q = 2d with x = e^{σ_max²Θ} (`non_contrastive_solution`). So x ~ 2d while
    r(2d)^q ≪ d, else x ~ (2d/r)^{1/q}; the condition number is x^{(1 − q)/2}/√q at the limit, whatever σ_ξ > 0 is.
    Stopped at a noise-signal ratio δ, C is replaced by C/(1 + δσ_max²/σ_ξ²).
    Source: ren-li-2023, Lemma B.17.
    Args:
        sigma_max, sigma_min: 0 < σ_min ≤ σ_max.
        rank_power: from 0, below 1.
    Returns: the exponent.
    Raises: ValueError outside these ranges.
    """
    if not (0 < sigma_min <= sigma_max and 0 <= rank_power < 1):
        got = f"{sigma_max:g}, {sigma_min:g}, {rank_power:g}"
        raise ValueError(f"sigma_max, sigma_min, rank_power must be 0 < σ_min ≤ σ_max, in [0, 1), got {got}")
    q = (sigma_min / sigma_max) ** 2
    return (1 - q) / 2 * min(1.0, (1 - rank_power) / q)


def _of_run(x: Scalar, like: Tensor) -> Tensor:
    return torch.as_tensor(x, dtype=like.dtype, device=like.device)


def _sums(state: WideState) -> tuple[Tensor, Tensor, Tensor]:
    """κ² + κ̂², κ² − κ̂² (0 where rounding makes it less), κ_ξ²."""
    k, k_hat, nu = state
    return k + k_hat, (k - k_hat).clamp(min=0), nu


def _gap(u: Tensor, w: Tensor, nu: Tensor, tau_squared: Scalar | None, negatives: Scalar = 1.0):
    """1 − T_p − a = (1 − Σg) + Σg_qT_q − T_p, which does not cancel where everything is aligned; a, T, c and n²."""
    n2 = (u + w).sum(-1) / 2 + nu
    slack, g = (w.sum(-1) + nu) / n2, (u - w) / (2 * n2).unsqueeze(-1)
    if tau_squared is None:
        c, t = torch.ones_like(n2), torch.zeros_like(g)
    else:
        one_minus_s, t = negative_factors(g, tau_squared, negatives)
        c = 2 * one_minus_s
    left = slack + (g * t).sum(-1)
    return left.unsqueeze(-1) - t, 1 - left, t, c, n2


def _log_rates(u, w, nu, sigma, noise, tau_squared, negatives):
    """n² and d log(u, w, κ_ξ²)/dθ."""
    gap, a, t, c, n2 = _gap(u, w, nu, tau_squared, negatives)
    speed = c.unsqueeze(-1) * sigma.square()
    return n2, speed * gap, -speed * (1 - t + a.unsqueeze(-1)), -c * noise.square() * a


def _require_loss(name: str, sigma: Tensor, tau_squared: Scalar | None, negatives: Scalar) -> None:
    tau_squared, negatives = (_of_run(x, sigma) for x in (0.0 if tau_squared is None else tau_squared, negatives))
    if not (bool((tau_squared >= 0).all()) and bool((negatives > 0).all())):
        got = f"{float(tau_squared.min()):g}, {float(negatives.min()):g}"
        raise ValueError(f"{name}: τ² and K must be ≥ 0 (or None: no negatives) and > 0, got {got}")


def _require_noise(name: str, state: WideState, sigma: Tensor, noise: Scalar) -> Tensor:
    noise = _of_run(noise, sigma)
    if bool(((noise == 0) & (state.noise_squared > 0)).any()):
        raise ValueError(f"{name}: σ_ξ must be > 0 where there are noise columns, got 0")
    return noise
