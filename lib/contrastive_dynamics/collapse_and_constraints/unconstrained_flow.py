"""Gradient flow of losses on pairs without a constraint: the outputs diverge and their direction collapses.

Shapes: Θ `[..., z, d]`, C `[..., d, d]` with eigenvalues λ_1 ≤ … ≤ λ_d, W1 `[run, h, d]`, W2 `[run, h, z]`, stacked
outputs `[..., m, z]`, times `[t]`; results have the time first. For u = Θx the loss is Tr(ΘCΘᵀ) and
d log‖Θ‖/dt = −2Tr(ΘCΘᵀ)/‖Θ‖² tends to −2λ_1, which is 2|λ_1| where λ_1 < 0, if Θ(0)v_1 ≠ 0. Proposition 1 says that
each output has the same dynamics, hence collapse "at convergence": nothing converges for λ_1 < 0, only Θ/‖Θ‖ does,
and its limit Θ(0)P/‖Θ(0)P‖, P the projector on the eigenspace of λ_1, has rank one only if λ_1 is simple or
rank Θ(0)P = 1; for C = −I no direction is lost at all.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .pair_losses import pairing_product, require_pairs, require_trace_matrix


class Direction(NamedTuple):
    """A matrix that may be too large or small for its floats, as direction · exp(log_norm)."""

    direction: Tensor  # [t, ..., rows, columns], Frobenius norm 1
    log_norm: Tensor  # [t, ...]


def linear_flow(theta0: Tensor, c: Tensor, times: Tensor) -> Direction:
    """Θ(t) = Θ(0) exp(−2Ct), the exact flow Θ̊ = −2ΘC of u = Θx. Source: esser-2023, Proposition 1, linear model.

    Args: theta0 `[..., z, d]`, not 0; c `[..., d, d]`, symmetric; times `[t]`, finite, in any order and of any sign.
    Returns: Direction of Θ, `[t, ..., z, d]`. Raises: ValueError for another argument. Error: ε·|λ|t, relative;
    a start off v_1 moves there by rounding once exp(2(λ_2 − λ_1)t) > 1/ε. Cost: 9·d³ + 2·(t + 1)·z·d² flops.
    """
    require_trace_matrix(c, "linear_flow")
    _check_start(theta0, times, "linear_flow", theta0.shape[-1:] == c.shape[-1:])
    values, vectors = torch.linalg.eigh(c)
    grown, log_norm = _grow(theta0 @ vectors, -2 * values.unsqueeze(-2), times)
    return Direction(grown @ vectors.mT, log_norm)


def projected_flow(theta0: Tensor, a: Tensor, c: Tensor, times: Tensor) -> Direction:
    """AΘ(t) of u = AΘx with A fixed: Θ̊ = −2AᵀAΘC, so U = AΘ follows Ů = −2AAᵀUC, exact in both eigenbases.

    With AAᵀ = Σ μ_i p_i p_iᵀ the output p_iᵀu grows at 2μ_i|λ_1|: "identical learning dynamics" only for AAᵀ ∝ I, else
    those of the largest μ_i outgrow others; for simple λ_1 < 0 u collapses either way. Source: esser-2023, Remark 3.
    Args: theta0 `[..., z, d]` with AΘ(0) ≠ 0; a `[..., r, z]`; c, times as `linear_flow`.
    Returns: Direction of AΘ, `[t, ..., r, d]`. Raises, error: as `linear_flow`. Cost: 9·(d³ + r³) + 2·t·r·d·(r + d).
    """
    require_trace_matrix(c, "projected_flow")
    if a.ndim < 2 or a.shape[-1:] != theta0.shape[-2:-1]:
        raise ValueError(f"projected_flow: got a {tuple(a.shape)}, allowed are [..., r, z] with z of theta0")
    _check_start(a @ theta0, times, "projected_flow", theta0.shape[-1:] == c.shape[-1:])
    values, vectors = torch.linalg.eigh(c)
    mu, left = torch.linalg.eigh(a @ a.mT)
    rates = -2 * mu.clamp(min=0).unsqueeze(-1) * values.unsqueeze(-2)
    grown, log_norm = _grow(left.mT @ (a @ theta0) @ vectors, rates, times)
    return Direction(left @ grown @ vectors.mT, log_norm)


def kernel_flow(u0: Tensor, kernel: Tensor, n: int, p: int, q: int, times: Tensor) -> Direction:
    """Outputs of a kernel machine on its own stacked points: Ů = −2KSU, exact: U = F exp(−2FᵀSF t) F⁺U(0), K = FFᵀ.

    FᵀSF is symmetric, S that of `pair_trace.pairing`. For K ≻ 0 it has n negative eigenvalues (Sylvester), so the
    machine diverges, from all starts but a null set. Eigenvalues of K up to m·ε·max count as 0, as repeated points make
    them; outputs Θψ(x) lie in the range of K, others are refused. Source: esser-2023, Proposition 1, kernel models.
    Args: u0 `[..., m, z]`, not 0, in the range of K up to m·√ε·‖u0‖, as F a is; kernel `[..., m, m]`, positive
    semidefinite; n, p, q and the order of points as `pairing_product`; times as `linear_flow`.
    Returns: Direction of U, `[t, ..., m, z]`. Raises: ValueError for another argument.
    Error: as `linear_flow`, and what U(0) has outside is dropped. Cost: 20·m³ + 2·t·m²·z flops, 6·m² numbers.
    """
    require_trace_matrix(kernel, "kernel_flow")
    _check_start(u0, times, "kernel_flow", u0.shape[-2:-1] == kernel.shape[-1:] == (n * (1 + p + q),))
    values, vectors = torch.linalg.eigh(kernel)
    top, eps, m = values[..., -1:], torch.finfo(kernel.dtype).eps, kernel.shape[-1]
    if bool((values < -(eps**0.5) * top.abs()).any()):
        raise ValueError("kernel_flow: got a kernel with a negative eigenvalue, allowed are positive semidefinite ones")
    kept = values > m * eps * top
    root = torch.where(kept, values, 0).sqrt()
    parts = vectors.mT @ u0
    inside = torch.where(kept.unsqueeze(-1), parts, 0)
    if bool(((parts - inside).norm(dim=(-2, -1)) > m * eps**0.5 * u0.norm(dim=(-2, -1))).any()):
        raise ValueError("kernel_flow: got outputs outside the range of the kernel, allowed are those within, as K a")
    factor = vectors * root.unsqueeze(-2)
    rates, modes = torch.linalg.eigh(factor.mT @ pairing_product(factor, n, p, q))
    coefficients = modes.mT @ (inside / torch.where(kept, root, 1).unsqueeze(-1))
    grown, log_norm = _grow(coefficients, -2 * rates.unsqueeze(-1), times)
    outputs = factor @ modes @ grown
    size = outputs.norm(dim=(-2, -1))
    return Direction(outputs / size[..., None, None], log_norm + size.log())


def output_velocity_by_kernel(k_xm: Tensor, u: Tensor, n: int, p: int, q: int) -> Tensor:
    """ů_l(x) = −2 Σ_m k(x, x_m)(Su)_ml at any point x, with k(x, x') = xᵀx' for u = Θx; each output l on its own.

    For p = q = 1 it is Σ_i k(x, x_i)(u_l(x_i⁺) − u_l(x_i⁻)) + (k(x, x_i⁺) − k(x, x_i⁻))u_l(x_i), the printed sum.
    Source: esser-2023, Proposition 1. Args: k_xm `[..., k, m]`, kernel of k points with the stacked ones; u, n, p, q as
    `pairing_product`. Returns: `[..., k, z]`. Raises: ValueError for shapes that do not fit. Cost: 2·k·m·z flops.
    """
    if k_xm.shape[-1:] != u.shape[-2:-1]:
        raise ValueError(
            f"output_velocity_by_kernel: got k_xm {tuple(k_xm.shape)}, allowed are [..., k, {u.shape[-2]}]"
        )
    return -2 * k_xm @ pairing_product(u, n, p, q)


def spectral_contrastive_loss(u: Tensor, u_positives: Tensor, u_negatives: Tensor) -> Tensor:
    """−2 mean_ij u_iᵀu_ij⁺ + mean_ij (u_iᵀu_ij⁻)², means over the n·p and the n·q pairs, not sums as in loss (1).

    Source: HaoChen et al. (2021); esser-2023, Remark 2. Args: `[..., n, z]`, `[..., n, p, z]`, `[..., n, q, z]`.
    Returns: `[...]`. Raises: ValueError for shapes that do not fit. Cost: 2·n·(p + q)·z flops.
    """
    require_pairs(u, u_positives, u_negatives, "spectral_contrastive_loss")
    anchors = u.unsqueeze(-2)
    alike, unlike = (anchors * u_positives).sum(-1), (anchors * u_negatives).sum(-1)
    return unlike.square().mean((-2, -1)) - 2 * alike.mean((-2, -1))


def spectral_gradient(theta: Tensor, x: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
    """∂/∂Θ of the spectral contrastive loss of u = Θx: 2Θ(B + Bᵀ − A − Aᵀ), which couples the outputs through B.

    A = mean_ij x_i x_ij⁺ᵀ, B = mean_ij (x_iᵀΘᵀΘx_ij⁻) x_i x_ij⁻ᵀ. Source: HaoChen et al. (2021).
    Args: theta `[..., z, d]`; points as `trace_matrix`. Returns: `[..., z, d]`. Cost: 2·n·q·d·(z + 1) + 4·n·d² flops.
    """
    unlike = ((x @ theta.mT).unsqueeze(-2) * (negatives @ theta.mT.unsqueeze(-3))).sum(-1, keepdim=True)
    b_minus_a = x.mT @ ((unlike * negatives).mean(-2) - positives.mean(-2)) / x.shape[-2]
    return 2 * theta @ (b_minus_a + b_minus_a.mT)


def spectral_flow(
    theta0: Tensor, x: Tensor, positives: Tensor, negatives: Tensor, times: Tensor, tol: float = 1e-9
) -> Tensor:
    """Θ̊ = −∂L/∂Θ of the spectral contrastive loss of u = Θx, which keeps several dimensions.

    It settles if all x_i x_ij⁻ᵀ + x_ij⁻x_iᵀ span the symmetric matrices (n·q ≥ d(d + 1)/2), else it may grow, stiffly.
    Source: esser-2023, Remark 2. Args: theta0 `[run, z, d]`; points `[run, n, d]`, `[run, n, p, d]`, `[run, n, q, d]`;
    times `[t]`, ascending from 0 on, where Θ(0) = theta0; tol, relative and absolute, above 100·ε.
    Returns: `[t, run, z, d]`. Raises: ValueError for another argument. Error: tol a step (dopri5) in every run; runs
    share the steps, so a run is the same alone and in a batch up to that. Cost: 6 gradients a step.
    """
    require_pairs(x, positives, negatives, "spectral_flow")
    _check_start(theta0, times, "spectral_flow", (*theta0.shape[:-2], theta0.shape[-1]) == (*x.shape[:-2], x.shape[-1]))
    if times[0] < 0 or bool((times.diff() <= 0).any()) or tol <= 100 * torch.finfo(theta0.dtype).eps:
        raise ValueError(f"spectral_flow: got times from {times[0]:g}, tol={tol}, allowed are 0 and up, above 100·ε")
    from torchdiffeq import odeint

    grid = times if times[0] == 0 else torch.cat([torch.zeros_like(times[:1]), times])
    how = {"rtol": tol, "atol": tol, "options": {"norm": lambda y: y.square().mean((-2, -1)).amax().sqrt()}}
    return odeint(lambda _, y: -spectral_gradient(y, x, positives, negatives), theta0, grid, **how)[-len(times) :]


class BlowUp(NamedTuple):
    """Where the unconstrained two-layer flow blows up, and its path there; the first axis of a path is the step."""

    time: Tensor  # [run] t*, an upper bound up to the error of the steps; NaN where `largest` was not reached
    gap: Tensor  # [run] how far below it t* can lie; NaN as well
    elapsed: Tensor  # [steps + 1, run] physical time t
    time_left: Tensor  # [steps + 1, run] t* − t without cancellation
    log_norm: Tensor  # [steps + 1, run] log ‖W2ᵀW1‖_F
    direction: Tensor  # [steps + 1, run, z, d] W2ᵀW1, norm 1 (0 for W2ᵀW1 = 0)


def blow_up(
    w1_0: Tensor, w2_0: Tensor, c: Tensor, largest: float = 1e6, step: float = 0.02, max_steps: int = 5000
) -> BlowUp:
    """Follow Ẇ1 = −2W2W2ᵀW1C, Ẇ2 = −2W1CW1ᵀW2 until ‖W2ᵀW1‖_F ≥ largest; the flow reaches ∞ at a finite t*.

    Runge–Kutta of order four in ds = R²‖C‖₂dt, R² = ‖W1‖² + ‖W2‖², where log R moves at most at rate 1 and R is kept
    as a logarithm. With ℓ = −L/R⁴: dR²/dt = 8ℓR⁴, ℓ never falls (‖∇L‖R ≥ 4|L|) and ℓ ≤ |λ_1|/4 (‖W1‖‖W2‖ ≤ R²/2), so
    once L < 0 the time left is from 1/(2|λ_1|R²) to 1/(8ℓR²): `time` takes the upper end, `gap` is the difference.
    They agree for balanced rank-one layers along v_1, W1 = a e v_1ᵀ, W2 = a e fᵀ: ȧ = 2|λ_1|a³, t* = 1/(4|λ_1|a(0)²),
    ‖W2ᵀW1‖ = 1/(4|λ_1|(t* − t)). W1W1ᵀ − W2W2ᵀ is constant, so generic starts end so, some late: W2ᵀW1 along v_i,
    λ_1 < λ_i < 0, blows up as well, and a part along v_1 gains on it only as R^(λ_1/λ_i − 1). For h < d a start may
    rest at W2 = 0, W1CW1ᵀ ⪰ 0 instead, and has no t*. Source: esser-2023, Example 1 ("L diverges").
    Args: w1_0 `[run, h, d]`, w2_0 `[run, h, z]`, not both 0; c `[d, d]` or `[run, d, d]`, symmetric, λ_1 < 0;
    largest > 0; 0 < step ≤ 0.2; max_steps ≥ 1, of which log(largest)·‖C‖₂/(2|λ_1|·step) or more are taken.
    Returns: BlowUp; a run stands still once there. Raises: ValueError for another argument.
    Error: O(step⁴), 2e-8 of t* for the default. Cost: 24·h·z·d + 8·z·d² flops a step; steps·run·z·d numbers.
    """
    scale, lowest, w, log_r = _start_blow_up(w1_0, w2_0, c, largest, step, max_steps)
    d, unit = w1_0.shape[-1], c / scale[:, None, None]
    spent, log_norms, directions = [torch.zeros_like(log_r)], [], []
    for k in range(max_steps + 1):
        product = w[..., d:].mT @ w[..., :d]
        size = product.norm(dim=(-2, -1), keepdim=True)
        log_norms.append(2 * log_r + size[:, 0, 0].log())
        directions.append(product / torch.where(size > 0, size, 1))
        share = -(product @ unit * product).sum((-2, -1))  # ℓ/‖C‖₂
        there = (log_norms[-1] >= math.log(largest)) & (share > 0)
        if k == max_steps or bool(there.all()):
            break
        moved, grown, clock = _rescaled_step(w, unit, d, step)
        spent.append(torch.where(there, 0, clock * (-2 * log_r).exp() / scale))
        w = torch.where(there[:, None, None], w, moved)
        log_r = torch.where(there, log_r, log_r + grown)
    left = torch.where(there, (-2 * log_r).exp() / (8 * share * scale), math.nan)
    gap = (left - (-2 * log_r).exp() / (2 * lowest)).clamp(min=0)
    time_left = torch.stack([left, *reversed(spent[1:])]).cumsum(0).flip(0)  # from the end back: small ones stay exact
    paths = (torch.stack(part) for part in (log_norms, directions))
    return BlowUp(time_left[0], gap, torch.stack(spent).cumsum(0), time_left, *paths)


def _start_blow_up(w1: Tensor, w2: Tensor, c: Tensor, largest: float, step: float, max_steps: int):
    """‖C‖₂ and |λ_1| of each run, W/R and log R with W = [W1, W2] and R = ‖W‖."""
    require_trace_matrix(c, "blow_up")
    fits = w1.ndim == w2.ndim == 3 and w1.shape[:2] == w2.shape[:2] and w1.shape[-1] == c.shape[-1]
    if not fits or c.shape[:-2] not in ((), w1.shape[:1]):
        got = ", ".join(str(tuple(part.shape)) for part in (w1, w2, c))
        raise ValueError(f"blow_up: got {got}, allowed are [run, h, d], [run, h, z], [d, d] or [run, d, d]")
    if not (largest > 0 and 0 < step <= 0.2 and max_steps >= 1):
        allowed = "largest above 0, step above 0 up to 0.2, max_steps of 1 or more"
        raise ValueError(f"blow_up: got largest={largest}, step={step}, max_steps={max_steps}, allowed are {allowed}")
    values, w = torch.linalg.eigvalsh(c).expand(w1.shape[0], -1), torch.cat([w1, w2], -1)
    r = w.norm(dim=(-2, -1))
    if not bool(((values[:, 0] < 0) & (r > 0) & r.isfinite()).all()):
        raise ValueError("blow_up: got λ_1 >= 0 or a start of 0, NaN or infinity, allowed are λ_1 < 0, finite not 0")
    return values.abs().amax(-1), -values[:, 0], w / r[:, None, None], r.log()


def _rescaled_step(w: Tensor, unit: Tensor, d: int, step: float) -> tuple[Tensor, Tensor, Tensor]:
    """A Runge–Kutta step from ‖W‖ = 1 in ds = R²dt: the new W of norm 1, the growth of log R, the time t it took."""

    def velocity(v: Tensor) -> tuple[Tensor, Tensor]:
        rate = 1 / v.square().sum((-2, -1))
        product = v[..., d:].mT @ v[..., :d] @ unit  # W2ᵀW1C
        flow = torch.cat([v[..., d:] @ product, v[..., :d] @ product.mT], -1)
        return -2 * rate[:, None, None] * flow, rate

    k1, t1 = velocity(w)
    k2, t2 = velocity(w + step / 2 * k1)
    k3, t3 = velocity(w + step / 2 * k2)
    k4, t4 = velocity(w + step * k3)
    moved = w + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    r = moved.norm(dim=(-2, -1))
    return moved / r[:, None, None], r.log(), step / 6 * (t1 + 2 * t2 + 2 * t3 + t4)


def _grow(coefficients: Tensor, rates: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
    """coefficients · exp(rates · t) of norm 1 and the log of the norm; the largest term is taken out before exp."""
    exponents = coefficients.abs().log() + rates * times.reshape(-1, *[1] * coefficients.ndim)
    largest = exponents.amax((-2, -1), keepdim=True)
    grown = coefficients.sign() * (exponents - largest).exp()
    size = grown.norm(dim=(-2, -1), keepdim=True)
    return grown / size, (largest + size.log())[..., 0, 0]


def _check_start(start: Tensor, times: Tensor, name: str, fits: bool) -> None:
    if not (fits and start.ndim >= 2 and bool(start.isfinite().all() & start.flatten(-2).any(-1).all())):
        raise ValueError(f"{name}: got a start {tuple(start.shape)}, allowed are finite ones of fitting sizes, not 0")
    if times.ndim != 1 or times.numel() == 0 or not bool(times.isfinite().all()):
        raise ValueError(f"{name}: got times {tuple(times.shape)}, allowed are finite ones [t], t of 1 or more")
