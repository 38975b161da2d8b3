"""A kernel machine u = Θψ(x) with orthonormal outputs, ΘΘᵀ = I, trained by projected gradients: its equation closes.

With features Ψ `[m, D]` of the stacked points, K = ΨΨᵀ, outputs U = ΨΘᵀ `[m, z]` and L = Tr(UᵀSU), the gradient in Θᵀ
is 2ΨᵀSU. Projected by I − ΘᵀΘ it gives

    U̇ = −2KSU + 2U(UᵀSU),

in which neither ψ nor Θ occurs. If the rows of Θ lie in the span of the features, ΘΘᵀ = I reads UᵀK⁻¹U = I, which the
equation preserves. In Y = R⁻¹U with K = RRᵀ it is Oja's flow Ẏ = −2(I − YYᵀ)MY of M = RᵀSR, whose column space moves
linearly, span Y(t) = e^{−2Mt} span Y(0).

Shapes: U `[..., m, z]`, K and S `[..., m, m]`, symmetric, K positive definite.
"""

import torch
from torch import Tensor


def constrained_velocity(u: Tensor, k: Tensor, s: Tensor) -> Tensor:
    """U̇ = −2KSU + 2U(UᵀSU).

    Source: derived, beyond the paper; esser-2023 names constraints in the kernel regime as open.
    Args:
        u: outputs U on all points, `[..., m, z]`.
        k: kernel K of the points, `[..., m, m]`.
        s: pairing S, `[..., m, m]`, as `pair_losses.pairing`.
    Returns: as u.
    Cost: 4·m²·z flops.
    """
    half = s @ u
    return 2 * (u @ (u.mT @ half) - k @ half)


def constrained_path(u0: Tensor, k: Tensor, s: Tensor, times: Tensor, rtol: float = 1e-12) -> Tensor:
    """Follow `constrained_velocity` from U0 by Dormand and Prince's method: U at the given times.

    While UᵀSU is negative definite the constraint attracts, at the rates 4|vᵀUᵀSUv|; a positive direction of it repels.

    Source: derived, beyond the paper.
    Args:
        u0: start, `[m, z]`.
        k, s: as in `constrained_velocity`.
        times: `[t]`, t ≥ 2, increasing, the first that of u0.
        rtol: relative tolerance per step; the absolute one is a hundredth of it.
    Returns: `[t, m, z]`.
    Raises: ValueError for other times.
    Cost: 6 velocities per step.
    """
    from torchdiffeq import odeint

    if times.ndim != 1 or len(times) < 2 or not bool((times.diff() > 0).all()):
        raise ValueError(f"times must be [t], t ≥ 2, and increase, got {times.tolist()}")
    return odeint(lambda _, u: constrained_velocity(u, k, s), u0, times, rtol=rtol, atol=rtol / 100, method="dopri5")


def constrained_gram(u0: Tensor, k: Tensor, s: Tensor, time: float) -> Tensor:
    """UUᵀ at a time, in closed form: R Q Qᵀ Rᵀ with K = RRᵀ and Q an orthonormal basis of e^{−2Mt}R⁻¹U0, M = RᵀSR.

    In the eigenbasis of M, ascending, write R⁻¹U0 as the z×z matrix A above the rest B. Then the space is that of the
    identity above e^{−2(μ_j − μ_i)t}(BA⁻¹)_ji, which shows the limit: the z lowest eigenvectors, whatever their signs.
    So exactly z dimensions are kept; no direction goes to 0, as in a two-layer network those with λ > 0 do.

    Source: derived, beyond the paper.
    Args:
        u0: start, `[m, z]`, U0ᵀK⁻¹U0 = I, with A invertible, as for almost every start.
        k: kernel, `[m, m]`, positive definite.
        s: pairing, `[m, m]`.
        time: t ≥ 0; inf gives the limit, if μ_z < μ_{z+1}.
    Returns: `[m, m]`, of rank z.
    Raises: ValueError for time < 0 or a start that does not satisfy the constraint to 1e-6.
    Error: (κ(K) + κ(A))·ε.
    Cost: one eigenproblem of size m, and 4·m³ flops.
    """
    root, z = torch.linalg.cholesky(k), u0.shape[-1]
    start = torch.linalg.solve_triangular(root, u0, upper=False)
    eye = torch.eye(z, dtype=u0.dtype, device=u0.device)
    off = float((start.mT @ start - eye).abs().max())
    if not time >= 0 or not off <= 1e-6:
        raise ValueError(f"time must be ≥ 0 and UᵀK⁻¹U the identity, got time {time} and a distance of {off:.1e}")
    values, vectors = torch.linalg.eigh(root.mT @ s @ root)
    above, below = (vectors.mT @ start).split([z, len(values) - z])
    shrink = torch.exp(-2 * time * (values[z:, None] - values[:z]))
    basis = vectors @ torch.linalg.qr(torch.cat([eye, shrink * torch.linalg.solve(above, below, left=False)]))[0]
    side = root @ basis
    return side @ side.mT
