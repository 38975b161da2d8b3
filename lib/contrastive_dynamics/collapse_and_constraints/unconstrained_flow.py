"""Gradient flow of losses on pairs without a constraint: the outputs diverge and their direction collapses.

Shapes: Θ `[..., z, d]`, C `[..., d, d]` with eigenvalues λ_1 ≤ … ≤ λ_d, W1 `[run, h, d]`, W2 `[run, h, z]`, stacked
outputs `[..., m, z]`, times `[t]`; in results the time axis comes first. For u = Θx the loss is Tr(ΘCΘᵀ) and
d log‖Θ‖/dt = −2Tr(ΘCΘᵀ)/‖Θ‖² tends to −2λ_1, which is 2|λ_1| where λ_1 < 0, if Θ(0)v_1 ≠ 0. Proposition 1 says that
each output has the same dynamics, hence collapse "at convergence". But for λ_1 < 0 nothing converges except Θ/‖Θ‖,
and its limit Θ(0)P/‖Θ(0)P‖, P the projector on the eigenspace of λ_1, has rank one only if λ_1 is simple or
rank Θ(0)P = 1; for C = −I no direction is lost at all.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .pair_losses import pairing_product, require_pairs, require_trace_matrix


class Direction(NamedTuple):
    """A matrix that may be too large or too small for its floats, as direction · exp(log_norm)."""

    direction: Tensor  # [t, ..., rows, columns], Frobenius norm 1
    log_norm: Tensor  # [t, ...]


def linear_flow(theta0: Tensor, c: Tensor, times: Tensor) -> Direction:
    """Θ(t) = Θ(0) exp(−2Ct), the exact flow Θ̊ = −2ΘC of u = Θx.

    Source: esser-2023, Proposition 1, linear model.
    Args:
        theta0: Θ(0), `[..., z, d]`, not 0.
        c: C, `[..., d, d]`, symmetric.
        times: `[t]`, finite, in any order and of any sign.
    Returns: Direction of Θ, `[t, ..., z, d]`.
    Raises: ValueError for another argument.
    Error: ε·|λ|t, relative; rounding moves a start orthogonal to v_1 towards it once exp(2(λ_2 − λ_1)t) > 1/ε.
    Cost: 9·d³ + 2·(t + 1)·z·d² flops.
    """
    require_trace_matrix(c, "linear_flow")
    _check_start(theta0, times, "linear_flow", theta0.shape[-1:] == c.shape[-1:])
    values, vectors = torch.linalg.eigh(c)
    grown, log_norm = _grow(theta0 @ vectors, -2 * values.unsqueeze(-2), times)
    return Direction(grown @ vectors.mT, log_norm)


def projected_flow(theta0: Tensor, a: Tensor, c: Tensor, times: Tensor) -> Direction:
    """AΘ(t) of u = AΘx with A fixed: Θ̊ = −2AᵀAΘC, so U = AΘ follows Ů = −2AAᵀUC, exact in both eigenbases.

    With AAᵀ = Σ μ_i p_i p_iᵀ the output p_iᵀu grows at 2μ_i|λ_1|: the "identical learning dynamics" hold only if
    AAᵀ ∝ I; otherwise the outputs with the largest μ_i outgrow the others. For simple λ_1 < 0, u collapses either way.

    Source: esser-2023, Remark 3.
    Args:
        theta0: Θ(0), `[..., z, d]`, with AΘ(0) ≠ 0.
        a: A, `[..., r, z]`.
        c: as in `linear_flow`.
        times: as in `linear_flow`.
    Returns: Direction of AΘ, `[t, ..., r, d]`.
    Raises and Error: as `linear_flow`.
    Cost: 9·(d³ + r³) + 2·t·r·d·(r + d) flops.
    """
    require_trace_matrix(c, "projected_flow")
    if a.ndim < 2 or a.shape[-1:] != theta0.shape[-2:-1]:
        raise ValueError(f"a must be [..., r, z] with the z of theta0, got {tuple(a.shape)}")
    _check_start(a @ theta0, times, "projected_flow", theta0.shape[-1:] == c.shape[-1:])
    values, vectors = torch.linalg.eigh(c)
    mu, left = torch.linalg.eigh(a @ a.mT)
    rates = -2 * mu.clamp(min=0).unsqueeze(-1) * values.unsqueeze(-2)
    grown, log_norm = _grow(left.mT @ (a @ theta0) @ vectors, rates, times)
    return Direction(left @ grown @ vectors.mT, log_norm)


def kernel_flow(u0: Tensor, kernel: Tensor, n: int, p: int, q: int, times: Tensor) -> Direction:
    """Outputs of a kernel machine on its own stacked points: Ů = −2KSU, exact: U = F exp(−2FᵀSF t) F⁺U(0), K = FFᵀ.

    FᵀSF is symmetric, with S of `pair_losses.pairing`. For K ≻ 0 it has n negative eigenvalues (Sylvester), so the
    machine diverges from all starts except a null set. Eigenvalues of K up to m·ε·max count as 0; repeated points
    produce such eigenvalues. Outputs Θψ(x) lie in the range of K; others are refused.

    Source: esser-2023, Proposition 1, kernel models.
    Args:
        u0: U(0), `[..., m, z]`, not 0, in the range of K up to m·√ε·‖u0‖, as F a is.
        kernel: K, `[..., m, m]`, positive semidefinite.
        n, p, q: numbers of points and their order, as in `pairing_product`.
        times: as in `linear_flow`.
    Returns: Direction of U, `[t, ..., m, z]`.
    Raises: ValueError for another argument.
    Error: as `linear_flow`; the part of U(0) outside the range is dropped.
    Cost: 20·m³ + 2·t·m²·z flops, 6·m² numbers.
    """
    require_trace_matrix(kernel, "kernel_flow")
    _check_start(u0, times, "kernel_flow", u0.shape[-2:-1] == kernel.shape[-1:] == (n * (1 + p + q),))
    values, vectors = torch.linalg.eigh(kernel)
    top, eps, m = values[..., -1:], torch.finfo(kernel.dtype).eps, kernel.shape[-1]
    if bool((values < -(eps**0.5) * top.abs()).any()):
        raise ValueError("kernel must be positive semidefinite, got a negative eigenvalue")
    kept = values > m * eps * top
    root = torch.where(kept, values, 0).sqrt()
    parts = vectors.mT @ u0
    inside = torch.where(kept.unsqueeze(-1), parts, 0)
    if bool(((parts - inside).norm(dim=(-2, -1)) > m * eps**0.5 * u0.norm(dim=(-2, -1))).any()):
        raise ValueError("u0 must be in the range of the kernel, as K a is, got outputs outside it")
    factor = vectors * root.unsqueeze(-2)
    rates, modes = torch.linalg.eigh(factor.mT @ pairing_product(factor, n, p, q))
    coefficients = modes.mT @ (inside / torch.where(kept, root, 1).unsqueeze(-1))
    grown, log_norm = _grow(coefficients, -2 * rates.unsqueeze(-1), times)
    outputs = factor @ modes @ grown
    size = outputs.norm(dim=(-2, -1))
    return Direction(outputs / size[..., None, None], log_norm + size.log())


def output_velocity_by_kernel(k_xm: Tensor, u: Tensor, n: int, p: int, q: int) -> Tensor:
    """ů_l(x) = −2 Σ_m k(x, x_m)(Su)_ml at any point x, with k(x, x') = xᵀx' for u = Θx; each output l separately.

    For p = q = 1 it is Σ_i k(x, x_i)(u_l(x_i⁺) − u_l(x_i⁻)) + (k(x, x_i⁺) − k(x, x_i⁻))u_l(x_i), the printed sum.

    Source: esser-2023, Proposition 1.
    Args:
        k_xm: kernel of k points with the stacked ones, `[..., k, m]`.
        u: stacked outputs, `[..., m, z]`.
        n, p, q: as in `pairing_product`.
    Returns: `[..., k, z]`.
    Raises: ValueError for shapes that do not fit.
    Cost: 2·k·m·z flops.
    """
    if k_xm.shape[-1:] != u.shape[-2:-1]:
        raise ValueError(f"k_xm must be [..., k, {u.shape[-2]}], got {tuple(k_xm.shape)}")
    return -2 * k_xm @ pairing_product(u, n, p, q)


def spectral_contrastive_loss(u: Tensor, u_positives: Tensor, u_negatives: Tensor) -> Tensor:
    """−2 mean_ij u_iᵀu_ij⁺ + mean_ij (u_iᵀu_ij⁻)², means over the n·p and the n·q pairs, not sums as in loss (1).

    Source: HaoChen et al. (2021); esser-2023, Remark 2.
    Args:
        u: outputs of the anchors, `[..., n, z]`.
        u_positives: outputs of the positives, `[..., n, p, z]`.
        u_negatives: outputs of the negatives, `[..., n, q, z]`.
    Returns: `[...]`.
    Raises: ValueError for shapes that do not fit.
    Cost: 2·n·(p + q)·z flops.
    """
    require_pairs(u, u_positives, u_negatives, "spectral_contrastive_loss")
    anchors = u.unsqueeze(-2)
    alike, unlike = (anchors * u_positives).sum(-1), (anchors * u_negatives).sum(-1)
    return unlike.square().mean((-2, -1)) - 2 * alike.mean((-2, -1))


def spectral_gradient(theta: Tensor, x: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
    """∂/∂Θ of the spectral contrastive loss of u = Θx: 2Θ(B + Bᵀ − A − Aᵀ), which couples the outputs through B.

    A = mean_ij x_i x_ij⁺ᵀ, B = mean_ij (x_iᵀΘᵀΘx_ij⁻) x_i x_ij⁻ᵀ.

    Source: HaoChen et al. (2021).
    Args:
        theta: Θ, `[..., z, d]`.
        x, positives, negatives: points, as in `trace_matrix`.
    Returns: `[..., z, d]`.
    Cost: 2·n·q·d·(z + 1) + 4·n·d² flops.
    """
    unlike = ((x @ theta.mT).unsqueeze(-2) * (negatives @ theta.mT.unsqueeze(-3))).sum(-1, keepdim=True)
    b_minus_a = x.mT @ ((unlike * negatives).mean(-2) - positives.mean(-2)) / x.shape[-2]
    return 2 * theta @ (b_minus_a + b_minus_a.mT)


def spectral_flow(
    theta0: Tensor, x: Tensor, positives: Tensor, negatives: Tensor, times: Tensor, tol: float = 1e-9
) -> Tensor:
    """Θ̊ = −∂L/∂Θ of the spectral contrastive loss of u = Θx, which keeps several dimensions.

    It settles if all x_i x_ij⁻ᵀ + x_ij⁻x_iᵀ together span the symmetric matrices (n·q ≥ d(d + 1)/2); otherwise it may
    grow, and the equation becomes stiff.

    Source: esser-2023, Remark 2.
    Args:
        theta0: Θ(0), `[run, z, d]`.
        x: anchors, `[run, n, d]`.
        positives: `[run, n, p, d]`.
        negatives: `[run, n, q, d]`.
        times: `[t]`, ascending, ≥ 0; Θ = theta0 at time 0.
        tol: relative and absolute tolerance per step, above 100·ε.
    Returns: `[t, run, z, d]`.
    Raises: ValueError for another argument.
    Error: tol per step (dopri5) in every run. Runs share the steps, so up to this error a run is the same alone and in
        a batch.
    Cost: 6 gradients per step.
    """
    require_pairs(x, positives, negatives, "spectral_flow")
    _check_start(theta0, times, "spectral_flow", (*theta0.shape[:-2], theta0.shape[-1]) == (*x.shape[:-2], x.shape[-1]))
    if times[0] < 0 or bool((times.diff() <= 0).any()) or tol <= 100 * torch.finfo(theta0.dtype).eps:
        raise ValueError(f"times must ascend, all ≥ 0, and tol be > 100·ε, got times from {times[0]:g}, tol={tol}")
    from torchdiffeq import odeint

    grid = times if times[0] == 0 else torch.cat([torch.zeros_like(times[:1]), times])
    how = {"rtol": tol, "atol": tol, "options": {"norm": lambda y: y.square().mean((-2, -1)).amax().sqrt()}}
    return odeint(lambda _, y: -spectral_gradient(y, x, positives, negatives), theta0, grid, **how)[-len(times) :]


class BlowUp(NamedTuple):
    """Where the unconstrained two-layer flow blows up, and its path there; the first axis of a path is the step."""

    time: Tensor  # [run] t_∞, an upper bound up to the error of the steps; NaN if `largest` was not reached
    gap: Tensor  # [run] how far below `time` t_∞ can lie; NaN likewise
    elapsed: Tensor  # [steps + 1, run] physical time t
    time_left: Tensor  # [steps + 1, run] t_∞ − t without cancellation
    log_norm: Tensor  # [steps + 1, run] log ‖W2ᵀW1‖_F
    direction: Tensor  # [steps + 1, run, z, d] W2ᵀW1, norm 1 (0 for W2ᵀW1 = 0)


def blow_up(
    w1_0: Tensor, w2_0: Tensor, c: Tensor, largest: float = 1e6, step: float = 0.02, max_steps: int = 5000
) -> BlowUp:
    """Follow Ẇ1 = −2W2W2ᵀW1C, Ẇ2 = −2W1CW1ᵀW2 until ‖W2ᵀW1‖_F ≥ largest; the flow reaches ∞ at a finite t_∞.

    Runge–Kutta of order four in ds = R²‖C‖₂dt, R² = ‖W1‖² + ‖W2‖², where log R moves at most at rate 1 and R is stored
    as a logarithm. With ℓ = −L/R⁴: dR²/dt = 8ℓR⁴, ℓ never falls (‖∇L‖R ≥ 4|L|) and ℓ ≤ |λ_1|/4 (‖W1‖‖W2‖ ≤ R²/2), so
    once L < 0 the time left is from 1/(2|λ_1|R²) to 1/(8ℓR²): `time` takes the upper end, `gap` is the difference. They
    agree for balanced rank-one layers along v_1, W1 = a e v_1ᵀ, W2 = a e fᵀ: ȧ = 2|λ_1|a³, t_∞ = 1/(4|λ_1|a(0)²),
    ‖W2ᵀW1‖ = 1/(4|λ_1|(t_∞ − t)). W1W1ᵀ − W2W2ᵀ is constant, so generic starts end this way, some of them late: W2ᵀW1
    along v_i, λ_1 < λ_i < 0, blows up as well, and a part along v_1 gains on it only as R^(λ_1/λ_i − 1). For h < d a
    start may instead come to rest at W2 = 0, W1CW1ᵀ ⪰ 0, and then has no t_∞.

    Source: esser-2023, Example 1 ("L diverges").
    Args:
        w1_0: start, `[run, h, d]`; w1_0 and w2_0 are not both 0.
        w2_0: start, `[run, h, z]`.
        c: C, `[d, d]` or `[run, d, d]`, symmetric, λ_1 < 0.
        largest: norm at which to stop, > 0.
        step: step in s, in (0, 0.2].
        max_steps: ≥ 1; at least log(largest)·‖C‖₂/(2|λ_1|·step) are taken.
    Returns: BlowUp; a run that has reached `largest` moves no further.
    Raises: ValueError for another argument.
    Error: O(step⁴), 2e-8 of t_∞ for the default.
    Cost: 24·h·z·d + 8·z·d² flops per step; steps·run·z·d numbers.
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
    time_left = (
        torch.stack([left, *reversed(spent[1:])]).cumsum(0).flip(0)
    )  # summed from the end, so that small ones stay exact
    paths = (torch.stack(part) for part in (log_norms, directions))
    return BlowUp(time_left[0], gap, torch.stack(spent).cumsum(0), time_left, *paths)


def _start_blow_up(w1: Tensor, w2: Tensor, c: Tensor, largest: float, step: float, max_steps: int):
    """‖C‖₂ and |λ_1| of each run, W/R and log R with W = [W1, W2] and R = ‖W‖."""
    require_trace_matrix(c, "blow_up")
    fits = w1.ndim == w2.ndim == 3 and w1.shape[:2] == w2.shape[:2] and w1.shape[-1] == c.shape[-1]
    if not fits or c.shape[:-2] not in ((), w1.shape[:1]):
        got = ", ".join(str(tuple(part.shape)) for part in (w1, w2, c))
        raise ValueError(f"w1_0, w2_0, c must be [run, h, d], [run, h, z], [d, d] or [run, d, d], got {got}")
    if not (largest > 0 and 0 < step <= 0.2 and max_steps >= 1):
        allowed = "largest above 0, step above 0 up to 0.2, max_steps of 1 or more"
        raise ValueError(f"blow_up must have {allowed}, got largest={largest}, step={step}, max_steps={max_steps}")
    values, w = torch.linalg.eigvalsh(c).expand(w1.shape[0], -1), torch.cat([w1, w2], -1)
    r = w.norm(dim=(-2, -1))
    if not bool(((values[:, 0] < 0) & (r > 0) & r.isfinite()).all()):
        raise ValueError(
            "c must have λ_1 < 0, the start be finite and not 0, got λ_1 ≥ 0 or a start of 0, NaN or infinity"
        )
    return values.abs().amax(-1), -values[:, 0], w / r[:, None, None], r.log()


def _rescaled_step(w: Tensor, unit: Tensor, d: int, step: float) -> tuple[Tensor, Tensor, Tensor]:
    """A Runge–Kutta step from ‖W‖ = 1 in ds = R²dt: the new W of norm 1, the growth of log R, the elapsed time t."""

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
    """coefficients · exp(rates · t) of norm 1 and the log of the norm; the largest term is factored out before exp."""
    exponents = coefficients.abs().log() + rates * times.reshape(-1, *[1] * coefficients.ndim)
    largest = exponents.amax((-2, -1), keepdim=True)
    grown = coefficients.sign() * (exponents - largest).exp()
    size = grown.norm(dim=(-2, -1), keepdim=True)
    return grown / size, (largest + size.log())[..., 0, 0]


def _check_start(start: Tensor, times: Tensor, name: str, fits: bool) -> None:
    if not (fits and start.ndim >= 2 and bool(start.isfinite().all() & start.flatten(-2).any(-1).all())):
        raise ValueError(f"{name}: the start must be finite, not 0 and of fitting size, got shape {tuple(start.shape)}")
    if times.ndim != 1 or times.numel() == 0 or not bool(times.isfinite().all()):
        raise ValueError(f"{name}: times must be finite and [t], t ≥ 1, got shape {tuple(times.shape)}")
