"""Gradient flow of multivariate regression: its outputs do not interact, and each goes to its own label.

Shapes: Θ `[..., z, d]`; points ψ(x_i) `[..., m, d]`, a linear model if ψ(x) = x and a kernel machine otherwise; labels
`[..., m, z]`; times `[t]`. The loss is ½ Σ_i ‖u(x_i) − y_i‖².
"""

import torch
from torch import Tensor


def regression_velocity(kernel: Tensor, u: Tensor, labels: Tensor) -> Tensor:
    """ů_l(x) = −Σ_i ⟨∇u_l(x), ∇u_l(x_i)⟩ (u_l(x_i) − y_il): eq. (3) with the kernel between outputs left out.

    Source: esser-2023, Remark 1.
    Args:
        kernel: the kernel of every output with itself, `[..., k, m, z]`, or `[..., k, m, 1]` if all have the same.
        u: outputs at the m training points, `[..., m, z]`.
        labels: `[..., m, z]`.
    Returns: `[..., k, z]`.
    Raises: ValueError for shapes that do not fit.
    Cost: 2·k·m·z flops.
    """
    fits = kernel.ndim >= 3 and kernel.shape[-1] in (1, u.shape[-1]) and kernel.shape[-2] == u.shape[-2]
    if not fits or u.shape != labels.shape:
        got = ", ".join(str(tuple(part.shape)) for part in (kernel, u, labels))
        raise ValueError(f"kernel, u, labels must be [..., k, m, z or 1], [..., m, z] and [..., m, z], got {got}")
    return -(kernel * (u - labels).unsqueeze(-3)).sum(-2)


def regression_flow(theta0: Tensor, points: Tensor, labels: Tensor, times: Tensor) -> Tensor:
    """Θ(t) = Θ(0)e^{−Gt} + YᵀΨ G⁻¹(I − e^{−Gt}), G = ΨᵀΨ: the exact flow Θ̊ = −(ΘG − YᵀΨ), row by row.

    A direction in which no point lies keeps its start. The outputs at the points tend to the projection of the labels
    on the columns of Ψ, so they have the rank of the labels if the labels can be fitted.

    Source: esser-2023, Remark 1 for u = Θx and u = Θψ(x).
    Args:
        theta0: Θ(0), `[..., z, d]`.
        points: Ψ, `[..., m, d]`.
        labels: Y, `[..., m, z]`.
        times: `[t]`, finite, ≥ 0, in any order.
    Returns: `[t, ..., z, d]`.
    Raises: ValueError for another argument.
    Error: ε·‖G‖·t, relative; eigenvalues of G below d·ε·‖G‖ count as 0.
    Cost: 9·d³ + 2·m·d·(d + z) + 2·t·z·d² flops.
    """
    fits = points.shape[-1] == theta0.shape[-1] and labels.shape[-2:] == (points.shape[-2], theta0.shape[-2])
    if not fits or times.ndim != 1:
        got = ", ".join(str(tuple(part.shape)) for part in (theta0, points, labels, times))
        raise ValueError(f"theta0, points, labels, times must be [z, d], [m, d], [m, z] and [t], got {got}")
    if not bool((times.isfinite() & (times >= 0)).all()):
        raise ValueError(f"times must be finite and ≥ 0, got {times.tolist()}")
    rates, vectors = torch.linalg.eigh(points.mT @ points)
    rates = torch.where(rates > points.shape[-1] * torch.finfo(rates.dtype).eps * rates[..., -1:], rates, 0)
    when = times.reshape(-1, *[1] * theta0.ndim)
    decay = -rates.unsqueeze(-2) * when
    pull = torch.where(rates > 0, 1 / rates, 0).unsqueeze(-2) * -decay.expm1()
    return (theta0 @ vectors * decay.exp() + labels.mT @ points @ vectors * pull) @ vectors.mT
