"""Augmentation by a one-parameter group of rotations, x = R(t)x0 with t uniform, and the energy that remains."""

import math

import torch
from torch import Tensor

from ...losses.activations import Activation


def plane_generator(a: Tensor, b: Tensor) -> Tensor:
    """Antisymmetric G with exp(tG) the rotation by t in the plane of a and b; its orbits close after 2π.

    Args:
        a, b: `[..., d]`, linearly independent; orthonormalised here.
    Returns: `[..., d, d]`.
    Raises: ValueError if a and b are parallel.
    """
    e = a / a.norm(dim=-1, keepdim=True)
    f = b - e * (e * b).sum(-1, keepdim=True)
    if not bool((f.norm(dim=-1) > torch.finfo(b.dtype).eps ** 0.5 * b.norm(dim=-1)).all()):
        raise ValueError("a and b must be linearly independent, got parallel vectors")
    f = f / f.norm(dim=-1, keepdim=True)
    return f.unsqueeze(-1) * e.unsqueeze(-2) - e.unsqueeze(-1) * f.unsqueeze(-2)


def rotations(generator: Tensor, t: Tensor) -> Tensor:
    """R(t) = exp(tG).

    Source: tian-2023, eq. (106).
    Args:
        generator: G `[..., d, d]`.
        t: `[T]`, radians.
    Returns: `[..., T, d, d]`.
    """
    return torch.linalg.matrix_exp(generator.unsqueeze(-3) * t[:, None, None])


def augmentation_angles(count: int, half_width: float, like: Tensor) -> Tensor:
    """Midpoints of equal parts of [−half_width, half_width]; half_width = π is the whole group of a plane.

    Args:
        count: number of parts, ≥ 1.
        half_width: in (0, π], radians.
        like: gives dtype and device.
    Returns: `[count]`, radians.
    Raises: ValueError for count or half_width outside its range.
    """
    if count < 1 or not 0 < half_width <= math.pi:
        raise ValueError(f"count must be ≥ 1, and half_width > 0 and ≤ π, got {count} and {half_width}")
    part = torch.arange(count, dtype=like.dtype, device=like.device)
    return half_width * ((2 * part + 1) / count - 1)


def augmented_activation(w: Tensor, x: Tensor, group: Tensor, act: Activation) -> Tensor:
    """b(w | x0) = mean over the augmentation of h(wᵀR(t)x0).

    Source: tian-2023, eqs. (105)–(107).
    Args:
        w: filters `[run, m, d]`.
        x: un-augmented points `[run, n, d]`.
        group: rotations R(t) `[run, T, d, d]`.
        act: the activation h.
    Returns: `[run, m, n]`.
    Error: against the integral over t, O(T⁻²) for ReLU.
    Cost: run·m·n·T·d flops; memory run·n·T·(d + m), looped over m.
    """
    views = torch.einsum("rtij,rnj->rnti", group, x)
    return torch.stack([act.h(views @ v[:, None, :, None]).squeeze(-1).mean(-1) for v in w.unbind(1)], dim=1)


def augmented_energy(w: Tensor, x: Tensor, group: Tensor, act: Activation, alpha: Tensor | None = None) -> Tensor:
    """E(w) = ¼ Σ_ij α_ij (b_i − b_j)²/n² with b_i = E_t h(wᵀR(t)x_i), the energy under augmentation by `group`.

    Uniform α gives ½ V[b].

    Source: tian-2023, eq. (105); points x0 equally likely, α a function of them alone.
    Args:
        w: filters `[run, m, d]`.
        x: un-augmented points `[run, n, d]`.
        group: rotations R(t) `[run, T, d, d]`.
        act: the activation h.
        alpha: α `[run, n, n]`, uniform by default.
    Returns: `[run, m]`.
    """
    b = augmented_activation(w, x, group, act)
    if alpha is None:
        return b.var(dim=-1, correction=0) / 2
    pairs = (b.unsqueeze(-1) - b.unsqueeze(-2)).square()
    return torch.einsum("rij,rmij->rm", alpha, pairs) / (4 * x.shape[-2] ** 2)


def orbit_variation(energy: Tensor) -> Tensor:
    """(max − min)/mean of the energy over an orbit: positive energy `[..., m]` to `[...]`."""
    return (energy.amax(-1) - energy.amin(-1)) / energy.mean(-1)
