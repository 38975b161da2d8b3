"""Matrices with orthonormal columns, WᵀW = I: uniform draws, two retractions, the projected gradient.

Shapes: W `[..., h, d]`, h ≥ d; the leading axes are batch axes.
"""

import torch
from torch import Tensor


def haar(generators: list[torch.Generator], h: int, d: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Haar-uniform semi-orthogonal matrices, one per generator: Q of Z = QR with R_ii > 0, Z of independent N(0, 1).

    Z and UZ have the same distribution for every orthogonal U, and Q(UZ) = U Q(Z) because R_ii > 0 makes the
    factorisation unique. With LAPACK's signs of R_ii, which depend on Z, Q_11 is never positive, so Q would not be
    uniform.

    Source: esser-2023, Lemma 2; Mezzadri, How to generate random matrices from the classical compact groups (2007).
    Args:
        generators: one per run.
        h: rows, ≥ d.
        d: columns, ≥ 1.
        dtype: dtype of the result.
    Returns: `[run, h, d]`, on the generators' device.
    Raises: ValueError for other sizes.
    Cost: 4·h·d² flops per run.
    """
    if not 1 <= d <= h:
        raise ValueError(f"h and d must satisfy 1 ≤ d ≤ h, got h = {h}, d = {d}")
    return qr(torch.stack([torch.randn(h, d, generator=g, dtype=dtype, device=g.device) for g in generators]))


def inverse_root(gram: Tensor) -> Tensor:
    """A^{-1/2} = U diag(a^{-1/2}) Uᵀ of a symmetric positive definite A = U diag(a) Uᵀ.

    Args:
        gram: A, `[..., d, d]`.
    Returns: `[..., d, d]`, not finite where an eigenvalue is not positive.
    Error: κ(A)·ε, relative; no autograd, since eigenvectors are not differentiable where eigenvalues meet, as at A = I.
    Cost: one symmetric eigenproblem (about 9·d³ flops) and 2·d³.
    """
    values, vectors = torch.linalg.eigh(gram)
    return (vectors * values.rsqrt().unsqueeze(-2)) @ vectors.mT


def polar(w: Tensor) -> Tensor:
    """The nearest semi-orthogonal matrix in every unitarily invariant norm: W (WᵀW)^{-1/2}, the polar factor.

    Equivariant on both sides: polar(U W O) = U polar(W) O for orthogonal U, O.

    Source: esser-2023, "projecting the weights back", below eq. (11).
    Args:
        w: `[..., h, d]`, of rank d.
    Returns: as w; not finite where rank d is lost to rounding.
    Error: the Gram matrix squares the condition number, so ‖QᵀQ − I‖ is about κ(W)²·ε, where an SVD gives ε. After a
        gradient step κ is near 1; κ = 10⁴ leaves 8 digits of float64, κ ≥ 10⁸ none.
    Cost: 4·h·d² flops, one d×d eigenproblem (about 9·d³) and 2·d³; d² numbers besides the result.
    """
    return w @ inverse_root(w.mT @ w)


def qr(w: Tensor) -> Tensor:
    """Q of W = QR with R_ii > 0, R upper triangular: Gram–Schmidt on the columns, by Householder reflections.

    qr(U W) = U qr(W), but qr(W O) ≠ qr(W) O: the first columns move least.

    Args:
        w: `[..., h, d]`, h ≥ d, of rank d.
    Returns: as w.
    Error: ‖QᵀQ − I‖ is about ε at any condition number.
    Cost: about 4·h·d² flops.
    """
    q, r = torch.linalg.qr(w)
    diagonal = r.diagonal(dim1=-2, dim2=-1)
    return q * torch.where(diagonal < 0, -1.0, 1.0).to(w.dtype).unsqueeze(-2)


RETRACTIONS = {"polar": polar, "qr": qr}


def grassmann_gradient(w: Tensor, g: Tensor) -> Tensor:
    """(I − WWᵀ) G = G − W(WᵀG), the part of a gradient that leaves the column space of W.

    It is the Riemannian gradient if the loss depends only on the column space of W. On the Stiefel manifold the
    Riemannian gradient of the embedded metric is G − W sym(WᵀG), which also keeps the rotations W·skew(WᵀG).

    Source: esser-2023, proof of Theorem 2, after Edelman, Arias, Smith, The geometry of algorithms with orthogonality
        constraints (1998).
    Args:
        w: `[..., h, d]`, semi-orthogonal.
        g: gradient, `[..., h, d]`.
    Returns: as w, orthogonal to the columns of w.
    Cost: 4·h·d² flops, d² numbers; no h×h matrix.
    """
    return g - w @ (w.mT @ g)
