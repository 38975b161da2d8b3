"""Locally maximal eigenvectors of a matrix field A(w) on the sphere: gap, roughness, and stability under the flow."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ...losses.gated_covariance import project_out
from .sphere_flow import MatrixField, sphere_velocity


@dataclass(frozen=True)
class EigenCheck:
    """How far each w is from a locally maximal eigenvector (LME) of its own A(w). All fields `[run]`."""

    residual: Tensor  # ‖P⊥A(w)w‖ / λ1, 0 at a fixed point
    eigenvalue: Tensor  # wᵀA(w)w
    lambda1: Tensor  # largest eigenvalue of A(w)
    gap: Tensor  # λ1 − λ2, 0 or more
    is_lme: Tensor  # bool: eigenvector, of the largest eigenvalue, which is distinct


def eigen_check(matrix_field: MatrixField, w: Tensor, tol: float = 1e-8) -> EigenCheck:
    """Whether w is a locally maximal eigenvector: A(w)w = λ1(A(w))w with λ1 distinct.

    Source: tian-2023, Definition 3 and the notation of Section 3.2.
    Args:
        matrix_field: `[run, d] -> [run, d, d]`.
        w: `[run, d]`, unit.
        tol: tolerance for residual and gap, relative to λ1.
    Returns: EigenCheck.
    Cost: one field, one symmetric eigenproblem (9·d³ flops).
    """
    a = matrix_field(w)
    values = torch.linalg.eigvalsh(a)
    image = torch.einsum("rij,rj->ri", a, w)
    eigenvalue = (w * image).sum(-1)
    top, gap = values[..., -1], values[..., -1] - values[..., -2]
    residual = (image - eigenvalue.unsqueeze(-1) * w).norm(dim=-1) / top
    is_lme = (residual <= tol) & (eigenvalue >= (1 - tol) * top) & (gap > tol * top)
    return EigenCheck(residual, eigenvalue, top, gap, is_lme)


def tangent_basis(w: Tensor) -> Tensor:
    """Orthonormal basis of the tangent space of the sphere at w: `[run, d]` to `[run, d, d − 1]`."""
    return torch.linalg.qr(w.unsqueeze(-1), mode="complete").Q[..., 1:]


def _sphere_derivative(f: Callable[[Tensor], Tensor], w: Tensor, step: float) -> Tensor:
    """Central differences of f `[run, d] -> [run, k]` along great circles of the tangent basis; `[run, k, d − 1]`."""
    if not 0 < step < 0.5:
        raise ValueError(f"step must be > 0 and < 0.5 radians, got {step}")
    s = torch.as_tensor(step, dtype=w.dtype, device=w.device)
    columns = [
        (f(s.cos() * w + s.sin() * u) - f(s.cos() * w - s.sin() * u)) / (2 * step) for u in tangent_basis(w).unbind(-1)
    ]
    return torch.stack(columns, dim=-1)


def roughness(matrix_field: MatrixField, w: Tensor, step: float = 1e-3) -> Tensor:
    """Local roughness ρ(w), measured: the spectral norm of the tangential derivative of v ↦ A(v)w at v = w.

    ρ is the smallest number with ‖(A(v) − A(w))w‖ ≤ ρ‖v − w‖ + O(‖v − w‖²) for v on the sphere.

    Source: tian-2023, notation of Section 3.2.
    Args:
        matrix_field: differentiable at w.
        w: `[run, d]`, unit.
        step: step of the central difference, radians, 0 < step < 0.5.
    Returns: `[run]`, 0 or more.
    Raises: ValueError for step outside its range.
    Error: O(step²) + O(eps/step).
    Cost: 2(d − 1) fields.
    """
    change = _sphere_derivative(lambda v: torch.einsum("rij,rj->ri", matrix_field(v), w), w, step)
    return torch.linalg.matrix_norm(change, ord=2)


def flow_jacobian(matrix_field: MatrixField, w: Tensor, step: float = 1e-3) -> Tensor:
    """Jacobian of the sphere flow ẇ = P⊥A(w)w at a fixed point, in the tangent basis, measured.

    Source: tian-2023, proof of Theorem 1 (eqs. 57–65).
    Args:
        matrix_field: differentiable at w.
        w: the fixed point `[run, d]`, unit.
        step: as in `roughness`.
    Returns: `[run, d − 1, d − 1]`.
    Raises: as `roughness`.
    Error: O(step²) + O(eps/step).
    Cost: 2(d − 1) fields.
    """
    return tangent_basis(w).mT @ _sphere_derivative(lambda v: sphere_velocity(matrix_field, v), w, step)


def newton_fixed_points(
    matrix_field: MatrixField, w0: Tensor, steps: int = 40, tol: float = 1e-10, reach: float = 0.3
) -> tuple[Tensor, Tensor]:
    """Fixed points of the sphere flow, stable or not, by Newton's method on P⊥A(w)w = 0 along great circles.

    Args:
        matrix_field: differentiable.
        w0: `[run, d]`, normalised here.
        steps: largest number of steps, ≥ 1.
        tol: tolerance on ‖P⊥A(w)w‖/‖A(w)‖, > 0.
        reach: longest move in radians, 0 < reach < π/2, which keeps a step near a singular Jacobian on its side of the
            sphere.
    Returns: the ends `[run, d]` and whether each one is a fixed point, bool `[run]`. Newton may not settle.
    Raises: ValueError for steps, tol or reach outside their range.
    Error: linear convergence with a factor of order 1e-6, that of the measured Jacobian.
    Cost: 2d fields per step.
    """
    if steps < 1 or not tol > 0 or not 0 < reach < math.pi / 2:
        raise ValueError(
            f"steps must be ≥ 1, tol > 0, and reach > 0 and < π/2, got steps={steps}, tol={tol}, reach={reach}"
        )
    w = w0 / w0.norm(dim=-1, keepdim=True)
    for step in range(steps + 1):
        a = matrix_field(w)
        velocity = project_out(w, torch.einsum("rij,rj->ri", a, w))
        rest = velocity.norm(dim=-1) <= tol * a.norm(dim=(-2, -1))
        if step == steps or bool(rest.all()):
            break
        t = tangent_basis(w)
        jacobian = t.mT @ _sphere_derivative(lambda v: sphere_velocity(matrix_field, v), w, 1e-3)
        move = -torch.linalg.lstsq(jacobian, t.mT @ velocity.unsqueeze(-1), driver="gelsd").solution.squeeze(-1)
        length = move.norm(dim=-1, keepdim=True)
        move = torch.einsum("rdk,rk->rd", t, move * (reach / length).clamp(max=1))
        w = w + move
        w = w / w.norm(dim=-1, keepdim=True)
    return w, rest


def growth_rate(jacobian: Tensor) -> Tensor:
    """Largest eigenvalue of the symmetric part, the fastest growth of ‖w − w*‖; negative means stable. `[run]`."""
    return torch.linalg.eigvalsh((jacobian + jacobian.mT) / 2)[..., -1]
