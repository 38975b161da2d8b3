"""Dynamics of filters on the unit sphere: the projected flow ẇ = P⊥A(w)w and power iteration w ← A(w)w/‖A(w)w‖."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ...losses.gated_covariance import project_out

MatrixField = Callable[[Tensor], Tensor]  # w [run, d] -> A(w) [run, d, d], symmetric


def uniform_on_sphere(generators: list[torch.Generator], d: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Uniform unit vectors `[run, d]`, one per generator, so that a run starts at the same point in any batch."""
    return _unit(torch.stack([torch.randn(d, generator=g, dtype=dtype, device=g.device) for g in generators]))


def sphere_velocity(matrix_field: MatrixField, w: Tensor) -> Tensor:
    """P⊥_w A(w) w, the gradient flow of one unit filter at learning rate 1.

    Source: tian-2023, eq. (7), Lemma 3.
    Args:
        matrix_field: `[run, d] -> [run, d, d]`.
        w: `[run, d]`, unit.
    Returns: `[run, d]`, orthogonal to w.
    """
    return project_out(w, torch.einsum("rij,rj->ri", matrix_field(w), w))


@dataclass(frozen=True)
class SphereFlow:
    """Ends of a projected flow: where each start arrived, how fast it still moves, how long it took."""

    w: Tensor  # [run, d] last point, unit
    speed: Tensor  # [run] ‖P⊥A(w)w‖ / ‖A(w)‖ at the last point
    steps: Tensor  # [run] int64, steps taken
    path: Tensor  # [kept, run, d]; the start, every `keep_every`-th point, and the last; empty if keep_every = 0

    @property
    def converged(self) -> Tensor:
        """Whether each start came to rest before the steps ran out. `[run]`, bool."""
        return self.steps >= 0


def sphere_flow(
    matrix_field: MatrixField,
    w0: Tensor,
    step: float = 0.5,
    tol: float = 1e-10,
    max_steps: int = 20_000,
    keep_every: int = 0,
) -> SphereFlow:
    """Follow ẇ = P⊥A(w)w from every start until ‖P⊥A(w)w‖ ≤ tol·‖A(w)‖ or the steps run out.

    Fourth-order Runge–Kutta in the rescaled time ds = ‖A(w)‖ dt (the same orbits and the same stable points), with a
    return to the sphere after each step. A start that has come to rest is frozen, so it ends where it would alone.

    Source: tian-2023, eq. (7), Lemma 3.
    Args:
        matrix_field: `[run, d] -> [run, d, d]`.
        w0: `[run, d]`, d ≥ 2, normalised here.
        step: in units of 1/‖A‖ (Frobenius), 0 < step ≤ 2.
        tol: > 0.
        max_steps: number of steps after which to stop.
        keep_every: steps between the points kept in `path`; 0 keeps none.
    Returns: SphereFlow; `steps` is −1 for a start that did not come to rest in time.
    Raises: ValueError for step, tol or shape outside its range, and for a zero vector in w0.
    Error: O(step⁴) along the path; at rest the angle error is about tol·‖A‖/(rate of approach), whatever the step.
        Where A(w)w jumps (ReLU on finite data) a path may slide along the jump, within a step of it, and never rest.
    Cost: 4 evaluations of the field per step.
    """
    _check_start(w0, "sphere_flow")
    if not (0 < step <= 2 and tol > 0):
        raise ValueError(f"step must be > 0 and ≤ 2, and tol > 0, got step={step} and tol={tol}")
    w = w0 / w0.norm(dim=-1, keepdim=True)
    steps = torch.full(w.shape[:1], -1, dtype=torch.int64, device=w.device)
    path = [w]
    for k in range(max_steps + 1):
        k1 = _scaled_velocity(matrix_field, w)
        speed = k1.norm(dim=-1)
        steps = torch.where((steps < 0) & (speed <= tol), k, steps)
        if k == max_steps or bool((steps >= 0).all()):
            break
        k2 = _scaled_velocity(matrix_field, _unit(w + step / 2 * k1))
        k3 = _scaled_velocity(matrix_field, _unit(w + step / 2 * k2))
        k4 = _scaled_velocity(matrix_field, _unit(w + step * k3))
        moved = _unit(w + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        w = torch.where((steps < 0).unsqueeze(-1), moved, w)
        if keep_every and (k + 1) % keep_every == 0:
            path.append(w)
    kept = torch.stack([*path, w]) if keep_every else w.new_empty(0, *w.shape)
    return SphereFlow(w, speed, steps, kept)


@dataclass(frozen=True)
class PowerIteration:
    """A power iteration and the quantities of Theorem 3; the first axis is the iteration t."""

    w: Tensor  # [steps + 1, run, d] iterates, unit
    discrepancy: Tensor  # [steps, run] ‖w(t+1) − w(t)‖
    alignment: Tensor  # [steps + 1, run] c_t = |w(t)ᵀφ1(w(t))|
    lambda1: Tensor  # [steps + 1, run] largest eigenvalue of A(w(t))
    gap: Tensor  # [steps + 1, run] λ1 − λ2 of A(w(t))


def power_iteration(matrix_field: MatrixField, w0: Tensor, steps: int) -> PowerIteration:
    """Iterate w(t+1) = A(w(t))w(t) / ‖A(w(t))w(t)‖ and keep the whole history.

    Source: tian-2023, eq. (PI), eq. (101), eq. (102).
    Args:
        matrix_field: `[run, d] -> [run, d, d]`, symmetric positive semidefinite.
        w0: `[run, d]`, d ≥ 2, normalised here.
        steps: ≥ 1.
    Returns: PowerIteration. The sign of c_t is dropped, as φ1 has none.
    Raises: ValueError for bad shapes, a zero vector in w0 or bad steps, or if A(w)w = 0 occurs, which leaves the next
        iterate undefined.
    Cost: one field and one symmetric eigenproblem (about 9·d³ flops) per step.
    """
    _check_start(w0, "power_iteration")
    if steps < 1:
        raise ValueError(f"steps must be ≥ 1, got {steps}")
    w = w0 / w0.norm(dim=-1, keepdim=True)
    ws, cs, tops, gaps = [w], [], [], []
    for t in range(steps + 1):
        a = matrix_field(w)
        values, vectors = torch.linalg.eigh(a)
        cs.append((vectors[..., -1] * w).sum(-1).abs())
        tops.append(values[..., -1])
        gaps.append(values[..., -1] - values[..., -2])
        if t < steps:
            image = torch.einsum("rij,rj->ri", a, w)
            if bool((image.norm(dim=-1) == 0).any()):
                raise ValueError(f"A(w)w must be nonzero, got A(w)w = 0 at iteration {t}")
            w = _unit(image)
            ws.append(w)
    w_all = torch.stack(ws)
    discrepancy = (w_all[1:] - w_all[:-1]).norm(dim=-1)
    return PowerIteration(w_all, discrepancy, torch.stack(cs), torch.stack(tops), torch.stack(gaps))


def distinct_points(w: Tensor, angle: float = 1e-3, signed: bool = True) -> Tensor:
    """Labels of the distinct points among unit vectors: equal labels for points within `angle` of a first one.

    Args:
        w: `[run, d]`, unit.
        angle: radians.
        signed: False counts w and −w as one.
    Returns: int64 `[run]`, labels 0, 1, … in order of appearance.
    Cost: run·(distinct points)·d.
    """
    labels = torch.full(w.shape[:1], -1, dtype=torch.int64, device=w.device)
    count = 0
    while bool((labels < 0).any()):
        first = w[labels < 0][0]
        # 2 sin(θ/2) = ‖w − first‖ keeps its digits where 1 − cos θ loses them.
        near = (w - first).norm(dim=-1) <= 2 * math.sin(angle / 2)
        if not signed:
            near |= (w + first).norm(dim=-1) <= 2 * math.sin(angle / 2)
        labels = torch.where((labels < 0) & near, count, labels)
        count += 1
    return labels


def _unit(w: Tensor) -> Tensor:
    return w / w.norm(dim=-1, keepdim=True)


def _scaled_velocity(matrix_field: MatrixField, w: Tensor) -> Tensor:
    a = matrix_field(w)
    norm = a.norm(dim=(-2, -1)).clamp(min=torch.finfo(w.dtype).tiny)
    return project_out(w, torch.einsum("rij,rj->ri", a, w)) / norm.unsqueeze(-1)


def _check_start(w0: Tensor, name: str) -> None:
    if w0.ndim != 2 or w0.shape[-1] < 2:
        raise ValueError(f"{name}: w0 must have shape [run, d] with d ≥ 2, got {list(w0.shape)}")
    if not bool((w0.norm(dim=-1) > 0).all()):
        raise ValueError(f"{name}: w0 must hold vectors of length > 0, got a zero or NaN vector")
