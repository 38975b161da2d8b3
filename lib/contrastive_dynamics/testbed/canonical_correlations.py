"""Canonical correlations of two views, from exact moments or from samples, and those of one encoder for both views.

Whitened views x̃ = Σ^{−1/2}x; C = E x̃_A x̃_Bᵀ. Two encoders see the singular values of C. One encoder sees the
eigenvalues of its symmetric part, each view whitened by the mean of both moments; they may be negative.

Of a sample, columns of variance 1 are whitened by QR and SVD in double precision, never by moments: the condition
number enters once and not squared, and no unit of an input changes a correlation.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .pairs import Moments, Pairs

Views = Pairs | Moments | tuple[Tensor, Tensor]
_EPS = torch.finfo(torch.float64).eps


class CanonicalAxes(NamedTuple):
    """ρ, descending, and the directions: aᵀx_A and bᵀx_B have variance 1 and correlation ρ."""

    rho: Tensor  # [..., k]
    first: Tensor  # a, [..., D_A, k]
    second: Tensor  # b, [..., D_B, k]


def canonical_correlations(views: Views, *, tied: bool = False) -> Tensor:
    """ρ_1 ≥ ρ_2 ≥ … of two views; no unit of an input changes them.

    From n samples every ρ is estimated too high: see `noise_correlation` and `held_out_correlations`.
    Source: Hotelling, Relations between two sets of variates (1936); for one encoder derived, see `soft_threshold`. Of
        samples by QR and SVD: Björck and Golub, Numerical methods for computing angles between linear subspaces (1973).
    Args:
        views: Moments, or a sample: Pairs, or both views `[..., n, D_A]` and `[..., n, D_B]`, n ≥ 2.
        tied: whether one encoder serves both views.
    Returns: `[..., k]`, k the largest rank of a view over the runs, at most min(D_A, D_B); runs of lower rank end with
        0, or with −1 if tied, as a direction without variance is no private one: `ranks` of the axes tells them. Of a
        sample in double precision and at most 1.
    Raises: ValueError for shapes that do not fit, for entries that are not finite, and for moments of no two views.
    Error: of a sample, singular values of its standardised columns below max(n·ε, D·ε′) of the largest count as 0, ε of
        double precision and ε′ of the sample's own; of moments see `moment_axes`.
    Cost: of moments two symmetric eigenproblems and one of singular values; of a sample also 6n(D_A² + D_B²) flops.
    """
    return canonical_axes(views, tied=tied).rho


def canonical_axes(views: Views, *, tied: bool = False) -> CanonicalAxes:
    """Canonical correlations with their directions; arguments as `canonical_correlations`."""
    return moment_axes(views, tied=tied) if isinstance(views, Moments) else _sample_axes(*views[:2], tied=tied)


def moment_correlations(views: Moments, *, tied: bool = False) -> Tensor:
    """ρ_1 ≥ ρ_2 ≥ … of views with these moments; arguments and results as `canonical_correlations`."""
    return moment_axes(views, tied=tied).rho


def moment_axes(moments: Moments, *, tied: bool = False) -> CanonicalAxes:
    """Canonical correlations of moments with their directions, in the precision of the moments.

    Args, Returns: as `canonical_correlations`.
    Raises: ValueError for moments that do not fit, are not finite, or have a ρ above 1 + √ε: those of no two views.
    Error: variances below D·ε of the largest count as 0. So that no unit decides which, inputs whose variances differ
        by more than 1/√ε are brought to variance 1 first.
    Cost: two symmetric eigenproblems and one of singular values.
    """
    _check(moments, tied)
    first, second, cross = moments
    if tied:
        first, cross = (first + second) / 2, (cross + cross.mT) / 2
        unit = _unit(first)
        root, null = _inverse_root(first * unit * unit.mT)
        inner = root.mT @ (cross * unit * unit.mT) @ root
        rho, axes = torch.linalg.eigh(inner - torch.diag_embed(null.to(root.dtype)))
        kept = int((~null).sum(-1).max())
        rho, axes = rho.flip(-1)[..., :kept], unit * (root @ axes.flip(-1))[..., :kept]
        return _possible(CanonicalAxes(rho, axes, axes))
    units = [_unit(moment) for moment in (first, second)]
    (left, null_a), (right, null_b) = (
        _inverse_root(m * unit * unit.mT) for m, unit in zip((first, second), units, strict=True)
    )
    u, rho, vh = torch.linalg.svd(left.mT @ (cross * units[0] * units[1].mT) @ right, full_matrices=False)
    kept = min(int((~null).sum(-1).max()) for null in (null_a, null_b))
    axes = [unit * on[..., :kept] for unit, on in zip(units, (left @ u, right @ vh.mT), strict=True)]
    return _possible(CanonicalAxes(rho[..., :kept], *axes))


def ranks(axes: CanonicalAxes) -> Tensor:
    """How many directions of a run have variance, the smaller of both views', `[...]`; the later ones are 0."""
    return (axes.first != 0).any(-2).logical_and((axes.second != 0).any(-2)).sum(-1)


def held_out_correlations(fitted: Pairs, held_out: Pairs, *, tied: bool = False) -> Tensor:
    """The correlations, on other pairs, of the directions found on some: 0 on average where nothing is shared.

    They underestimate ρ where the directions are uncertain.
    Args:
        fitted, held_out: independent samples of the same views, as in `canonical_correlations`.
        tied: as in `canonical_correlations`.
    Returns: `[run, k]` in double precision, −1 to 1, in the order of the fitted ρ; 0 for a direction without variance.
    Raises: ValueError as `canonical_correlations`.
    """
    axes = canonical_axes(fitted, tied=tied)
    _check_sample(*held_out[:2], tied)
    f, g = (_centred(x) @ axis for x, axis in zip(held_out[:2], axes[1:], strict=True))
    sizes = (f.square().sum(-2) * g.square().sum(-2)).sqrt()
    return ((f * g).sum(-2) / sizes.where(sizes > 0, 1)).clamp(-1, 1)


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


def _sample_axes(first: Tensor, second: Tensor, *, tied: bool) -> CanonicalAxes:
    _check_sample(first, second, tied)
    count = first.shape[-2]
    views = [_centred(x) for x in (first, second)]
    least = max(count * _EPS, *(x.shape[-1] * torch.finfo(x.dtype).eps for x in (first, second)))
    if tied:
        whitened, root, null = _whitened(torch.cat(views, -2), least)
        a, b = whitened.split(count, -2)
        cross = a.mT @ b  # the basis of both together is orthonormal, so that each view has half of its variance
        rho, axes = torch.linalg.eigh(cross + cross.mT - torch.diag_embed(null.to(cross.dtype)))
        kept = int((~null).sum(-1).max())
        axes = math.sqrt(2 * (count - 1)) * (root @ axes.flip(-1))[..., :kept]
        return CanonicalAxes(rho.flip(-1)[..., :kept].clamp(-1, 1), axes, axes)
    (a, left, null_a), (b, right, null_b) = (_whitened(x, least) for x in views)
    u, rho, vh = torch.linalg.svd(a.mT @ b, full_matrices=False)
    kept = min(int((~null).sum(-1).max()) for null in (null_a, null_b))
    axes = [math.sqrt(count - 1) * on[..., :kept] for on in (left @ u, right @ vh.mT)]
    return CanonicalAxes(rho[..., :kept].clamp(max=1), *axes)


def _centred(x: Tensor) -> Tensor:
    """Columns of mean 0 in double precision; one that varies by less than the rounding of its mean becomes 0."""
    x = x.double()
    largest = x.abs().amax(-2, keepdim=True)
    for _ in range(2):  # the first mean of equal numbers is off by a rounding, which would look like a variance
        x = x - x.mean(-2, keepdim=True)
    return x.where(x.abs().amax(-2, keepdim=True) > _EPS * largest, 0)


def _whitened(x: Tensor, least: float) -> tuple[Tensor, Tensor, Tensor]:
    """Q = xW with QᵀQ = I on the directions that vary, W = 0 on the others; Q, W, and which are null, `[..., D]`."""
    largest = x.abs().amax(-2, keepdim=True)
    unit = 1 / largest.where(largest > 0, 1)  # lest a square be too large, or 0
    size = (x * unit).square().mean(-2, keepdim=True).sqrt()
    unit = (unit / size.where(size > 0, 1)).mT
    q, r = torch.linalg.qr(x * unit.mT)
    u, values, vh = torch.linalg.svd(r, full_matrices=False)
    null = values <= least * values[..., :1]
    basis = (q @ u).masked_fill(null.unsqueeze(-2), 0)
    return basis, unit * (vh.mT * torch.where(null, 0, 1 / values.where(~null, 1)).unsqueeze(-2)), null


def _unit(moment: Tensor) -> Tensor:
    """1 over each input's standard deviation where variances differ by more than 1/√ε, else 1; `[..., D, 1]`."""
    sizes = moment.diagonal(dim1=-2, dim2=-1)
    varies = sizes > 0
    least = sizes.where(varies, torch.inf).amin(-1, keepdim=True)
    wide = least < math.sqrt(torch.finfo(sizes.dtype).eps) * sizes.amax(-1, keepdim=True)
    return torch.where(wide & varies, sizes.where(varies, 1).rsqrt(), 1).unsqueeze(-1)


def _inverse_root(moment: Tensor) -> tuple[Tensor, Tensor]:
    """W with WᵀΣW = I on the directions with variance, 0 on the others, and which are null, `[..., D]`."""
    values, vectors = torch.linalg.eigh(moment)
    null = values <= values.shape[-1] * torch.finfo(values.dtype).eps * values[..., -1:]
    return vectors * torch.where(null, 0, values.clamp(min=0).rsqrt()).unsqueeze(-2), null


def _possible(axes: CanonicalAxes) -> CanonicalAxes:
    most = axes.rho.max() if axes.rho.numel() else axes.rho.sum()
    if most > 1 + math.sqrt(torch.finfo(most.dtype).eps):
        raise ValueError(f"canonical_correlations: moments must be those of two views, got a ρ of {float(most):.6g}")
    return axes


def _check(moments: Moments, tied: bool) -> None:
    a, b = moments.cross.shape[-2:]
    if moments.first.shape[-2:] != (a, a) or moments.second.shape[-2:] != (b, b) or (tied and a != b):
        got = ", ".join(str(list(part.shape)) for part in moments)
        needed = "[..., D, D], thrice, for one encoder" if tied else "[..., D_A, D_A], [..., D_B, D_B], [..., D_A, D_B]"
        raise ValueError(f"canonical_correlations: moments must be {needed}, got {got}")
    if not all(bool(part.isfinite().all()) for part in moments):
        raise ValueError("canonical_correlations: moments must be finite, got an entry that is not")


def _check_sample(first: Tensor, second: Tensor, tied: bool) -> None:
    got = f"{list(first.shape)} and {list(second.shape)}"
    empty = 0 in (*first.shape, *second.shape)
    if first.ndim < 2 or first.shape[:-1] != second.shape[:-1] or first.shape[-2] < 2 or empty:
        raise ValueError(f"views must be [..., n, D_A] and [..., n, D_B], n ≥ 2, got {got}")
    if tied and first.shape != second.shape:
        raise ValueError(f"canonical_correlations: one encoder makes views of one size, got {got}")
    if not bool(first.isfinite().all() and second.isfinite().all()):
        raise ValueError("canonical_correlations: views must be finite, got an entry that is not")
