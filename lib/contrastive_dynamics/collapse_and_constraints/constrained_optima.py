"""The smallest losses Tr(W2ᵀW1 C W1ᵀW2) under constraints on the weights, in closed form.

Shapes: C `[..., d, d]`, symmetric, eigenvalues λ_1 ≤ … ≤ λ_d; W1 `[h, d]`, W2 `[h, z]`; W = W1ᵀW2 `[d, z]`, so that
the loss is Tr(C WWᵀ).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .pair_losses import require_trace_matrix


class Optimum(NamedTuple):
    """The minimum and the WWᵀ that attains it, a projector, unique if λ_rank < λ_{rank+1} (and no λ is 0)."""

    value: Tensor  # [...] sum of the `rank` smallest eigenvalues
    projector: Tensor  # [..., d, d] onto their eigenvectors
    rank: Tensor  # [...] int64


def frobenius_optimum(c: Tensor, c1: float | Tensor, c2: float | Tensor) -> Tensor:
    """min Tr(W2ᵀW1 C W1ᵀW2) under ‖W1‖_F ≤ c1, ‖W2‖_F ≤ c2:  c1² c2² min(λ_1, 0), attained at rank one.

    For given W1 the loss is Tr(M W2W2ᵀ), M = W1CW1ᵀ: at least c2² min(λ_1(M), 0), attained by W2 = c2 v e_1ᵀ. A unit v
    has vᵀMv ≥ λ_1 ‖W1ᵀv‖² ≥ λ_1 c1², attained by W1 = c1 v v_1ᵀ with v_1 the eigenvector of C. This holds for any
    h, z ≥ 1.

    Source: esser-2023, Proposition 2 for φ(x) = x.
    Args:
        c: C, `[..., d, d]`.
        c1: bound on ‖W1‖_F, ≥ 0, a number or `[...]`.
        c2: bound on ‖W2‖_F, ≥ 0, a number or `[...]`.
    Returns: `[...]`.
    Raises: ValueError for a C that is not symmetric or a negative bound.
    Cost: 9·d³ flops.
    """
    require_trace_matrix(c, "frobenius_optimum")
    if not all(bool((torch.as_tensor(bound) >= 0).all()) for bound in (c1, c2)):
        raise ValueError(f"c1 and c2 must be ≥ 0, got c1={c1}, c2={c2}")
    return torch.linalg.eigvalsh(c)[..., 0].clamp(max=0) * c1**2 * c2**2


def operator_optimum(c: Tensor, z: int) -> Optimum:
    """Sum of the k = min(d, z, #negative) most negative eigenvalues of C, where WWᵀ projects onto their eigenvectors.

    This is the minimum of problems 1 to 3 for h ≥ k: the ratio to ‖W1‖₂²‖W2‖₂², both norms ≤ 1, and ‖W2ᵀW1‖₂ ≤ 1. Each
    reduces to 0 ⪯ P = WWᵀ ⪯ I of rank at most z, and among these Tr(CP) is smallest at a projector (Ky Fan). k ≥ 2
    means that there is no collapse to one dimension. If no eigenvalue is negative, the minimum is 0, at W = 0.

    Source: esser-2023, Proposition 3, problems 1–3; the text prints the loss as a norm, where this trace is meant.
    Args:
        c: C, `[..., d, d]`.
        z: number of outputs, ≥ 1.
    Returns: Optimum. An eigenvalue within d·ε·‖C‖₂ of 0 does not count as negative.
    Raises: ValueError for a C that is not symmetric or z < 1.
    Cost: 9·d³ flops.
    """
    require_trace_matrix(c, "operator_optimum")
    if z < 1:
        raise ValueError(f"z must be ≥ 1, got {z}")
    eigenvalues, vectors = torch.linalg.eigh(c)
    return _lowest(eigenvalues, vectors, _negatives(eigenvalues).clamp(max=z))


def orthogonal_optimum(c: Tensor, z: int, h: int) -> Optimum:
    """Sum of the max(m, k) smallest eigenvalues, m = max(0, d + z − h), k = min(z, #negative): W1ᵀW1 = I, W2ᵀW2 = I.

    W1 and W2 are orthonormal frames of a d- and a z-dimensional subspace of ℝ^h, which meet in m dimensions or more, so
    at least m singular values of W (cosines of principal angles) are 1. There is no other restriction: W2 = W1W + N B,
    with N an orthonormal basis of the remaining h − d dimensions, needs BᵀB = I − WᵀW, of rank at most h − d. So P =
    WWᵀ has 0 ⪯ P ⪯ I, m ≤ Tr P, rank at most min(d, z), and Tr(CP) is smallest at a projector of rank max(m, k). For h
    ≥ d + z − k it equals `operator_optimum`; for smaller h it is larger by Σ_{k<i≤m} λ_i. The proof of Proposition 3
    obtains `operator_optimum` for every h: it pads W1 and W2 with zero rows, which for rank k < d violates W1ᵀW1 = I.

    Source: esser-2023, Proposition 3, problem 4.
    Args:
        c: C, `[..., d, d]`.
        z: number of outputs, ≥ 1; may exceed d.
        h: width, ≥ max(d, z).
    Returns: Optimum.
    Raises: ValueError for a C that is not symmetric, or z or h outside its range.
    Cost: 9·d³ flops.
    """
    require_trace_matrix(c, "orthogonal_optimum")
    d = c.shape[-1]
    if z < 1 or h < max(d, z):
        raise ValueError(f"z must be ≥ 1 and h ≥ max(d, z), got d={d}, z={z}, h={h}")
    eigenvalues, vectors = torch.linalg.eigh(c)
    return _lowest(eigenvalues, vectors, _negatives(eigenvalues).clamp(max=z).clamp(min=max(0, d + z - h)))


def _negatives(eigenvalues: Tensor) -> Tensor:
    rounding = eigenvalues.shape[-1] * torch.finfo(eigenvalues.dtype).eps * eigenvalues.abs().amax(-1, keepdim=True)
    return (eigenvalues < -rounding).sum(-1)


def _lowest(eigenvalues: Tensor, vectors: Tensor, rank: Tensor) -> Optimum:
    taken = torch.arange(eigenvalues.shape[-1], device=rank.device) < rank.unsqueeze(-1)
    kept = vectors * taken.unsqueeze(-2)
    return Optimum((eigenvalues * taken).sum(-1), kept @ kept.mT, rank)
