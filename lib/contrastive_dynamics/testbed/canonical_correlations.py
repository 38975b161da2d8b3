"""Canonical correlations of two views, from exact moments or from samples, and those of one encoder for both views.

Whitened views x̃ = Σ^{−1/2}x; C = E x̃_A x̃_Bᵀ. Two encoders see the singular values of C. One encoder sees the
eigenvalues of its symmetric part, each view whitened by the mean of both moments; they may be negative.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .pairs import Moments, Pairs, sample_moments

Views = Pairs | Moments | tuple[Tensor, Tensor]


class CanonicalAxes(NamedTuple):
    """ρ, descending, and the directions: aᵀx_A and bᵀx_B have variance 1 and correlation ρ."""

    rho: Tensor  # [..., k]
    first: Tensor  # a, [..., D_A, k]
    second: Tensor  # b, [..., D_B, k]


def canonical_correlations(views: Views, *, tied: bool = False) -> Tensor:
    """ρ_1 ≥ ρ_2 ≥ … of two views.

    From n samples every ρ is estimated too high: see `noise_correlation` and `held_out_correlations`.
    Source: Hotelling, Relations between two sets of variates (1936); for one encoder derived, see `soft_threshold`.
    Args:
        views: Moments, or a sample: Pairs, or both views `[..., n, D_A]` and `[..., n, D_B]`.
        tied: whether one encoder serves both views.
    Returns: `[..., k]`, k the largest rank of a view over the runs, at most min(D_A, D_B); runs of lower rank end with
        0, or with −1 if tied, as a direction without variance is no private one.
    Raises: ValueError for shapes that do not fit.
    Error: variances below D·ε of the largest count as 0.
    Cost: two symmetric eigenproblems and one of singular values.
    """
    return canonical_axes(views, tied=tied).rho


def canonical_axes(views: Views, *, tied: bool = False) -> CanonicalAxes:
    """Canonical correlations with their directions; arguments as `canonical_correlations`."""
    moments = views if isinstance(views, Moments) else sample_moments(views)
    _check(moments, tied)
    first, second, cross = moments
    if tied:
        first, cross = (first + second) / 2, (cross + cross.mT) / 2
        root, null = _inverse_root(first)
        rho, axes = torch.linalg.eigh(root.mT @ cross @ root - torch.diag_embed(null.to(root.dtype)))
        kept = int((~null).sum(-1).max())
        rho, axes = rho.flip(-1)[..., :kept], (root @ axes.flip(-1))[..., :kept]
        return CanonicalAxes(rho, axes, axes)
    (left, null_a), (right, null_b) = _inverse_root(first), _inverse_root(second)
    u, rho, vh = torch.linalg.svd(left.mT @ cross @ right, full_matrices=False)
    kept = min(int((~null).sum(-1).max()) for null in (null_a, null_b))
    return CanonicalAxes(rho[..., :kept], (left @ u)[..., :kept], (right @ vh.mT)[..., :kept])


def held_out_correlations(fitted: Pairs, held_out: Pairs, *, tied: bool = False) -> Tensor:
    """The correlations, on other pairs, of the directions found on some: 0 on average where nothing is shared.

    They underestimate ρ where the directions are uncertain.
    Args:
        fitted, held_out: independent samples of the same views.
        tied: as in `canonical_correlations`.
    Returns: `[run, k]`, in the order of the fitted ρ.
    """
    axes, moments = canonical_axes(fitted, tied=tied), sample_moments(held_out)

    def form(a: Tensor, m: Tensor, b: Tensor) -> Tensor:
        return (a * (m @ b)).sum(-2)

    sizes = form(axes.first, moments.first, axes.first) * form(axes.second, moments.second, axes.second)
    return form(axes.first, moments.cross, axes.second) / sizes.sqrt()


def noise_correlation(count: int, first: int, second: int) -> float:
    """√(a(1 − b)) + √(b(1 − a)), a = D_A/n, b = D_B/n: the largest ρ that n pairs of unrelated views show, at most 1.

    Source: Wachter, The limiting empirical measure of multiple discriminant ratios (1980).
    Args:
        count: n.
        first, second: D_A and D_B, ≥ 1.
    Error: of order n^{−2/3}.
    """
    a, b = first / count, second / count
    return 1.0 if a + b >= 1 else math.sqrt(a * (1 - b)) + math.sqrt(b * (1 - a))


def _inverse_root(moment: Tensor) -> tuple[Tensor, Tensor]:
    """W with WᵀΣW = I on the directions with variance, 0 on the others, and which are null, `[..., D]`."""
    values, vectors = torch.linalg.eigh(moment)
    null = values <= values.shape[-1] * torch.finfo(values.dtype).eps * values[..., -1:]
    return vectors * torch.where(null, 0, values.clamp(min=0).rsqrt()).unsqueeze(-2), null


def _check(moments: Moments, tied: bool) -> None:
    a, b = moments.cross.shape[-2:]
    if moments.first.shape[-2:] != (a, a) or moments.second.shape[-2:] != (b, b) or (tied and a != b):
        got = ", ".join(str(list(part.shape)) for part in moments)
        needed = "[..., D, D], thrice, for one encoder" if tied else "[..., D_A, D_A], [..., D_B, D_B], [..., D_A, D_B]"
        raise ValueError(f"canonical_correlations: moments must be {needed}, got {got}")
    if not all(bool(part.isfinite().all()) for part in moments):
        raise ValueError("canonical_correlations: moments must be finite, got an entry that is not")
