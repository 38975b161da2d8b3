"""The trace matrix C of a loss on pairs of samples: for u(x) = Θx the losses (1) and (2) are Tr(ΘCΘᵀ).

Shapes: anchors x `[..., n, d]`, positives `[..., n, p, d]` and negatives `[..., n, q, d]` of each anchor, or None for
the loss without negatives (2); outputs u of the same points, with z in place of d; leading axes are batch axes.
"""

import torch
from torch import Tensor


def trace_matrix(x: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """C = (C̃ + C̃ᵀ)/2 with C̃ = Σ_i x_i (Σ_j x_ij⁻ − Σ_j x_ij⁺)ᵀ, so that the loss of u(x) = Θx is Tr(ΘCΘᵀ).

    Without negatives C̃ = −Σ_i x_i (Σ_j x_ij⁺)ᵀ; the text prints Σ_i x_i x_i⁺ᵀ, without the minus sign that the loss
    (2) requires.

    Source: esser-2023, eq. (7) and the paragraph below it.
    Args:
        x: anchors, `[..., n, d]`, n ≥ 1.
        positives: `[..., n, p, d]`, p ≥ 1.
        negatives: `[..., n, q, d]`, q ≥ 1, or None.
    Returns: `[..., d, d]`, symmetric bit for bit.
    Raises: ValueError for shapes that do not fit.
    Cost: n·(p + q)·d + 2·n·d² flops.
    """
    require_pairs(x, positives, negatives, "trace_matrix")
    c = x.mT @ _contrast(positives, negatives)
    return (c + c.mT) / 2


def pair_loss(u: Tensor, u_positives: Tensor, u_negatives: Tensor | None = None) -> Tensor:
    """Σ_i u_iᵀ(Σ_j u_ij⁻ − Σ_j u_ij⁺), or −Σ_i u_iᵀ Σ_j u_ij⁺ without negatives; a sum over the anchors, not a mean.

    Source: esser-2023, eqs. (1), (2).
    Args:
        u: outputs of the anchors, `[..., n, z]`.
        u_positives: outputs of the positives, `[..., n, p, z]`.
        u_negatives: outputs of the negatives, `[..., n, q, z]`, or None.
    Returns: `[...]`.
    Raises: ValueError for shapes that do not fit.
    Cost: n·(p + q + 2)·z flops.
    """
    require_pairs(u, u_positives, u_negatives, "pair_loss")
    return (u * _contrast(u_positives, u_negatives)).sum((-2, -1))


def stacked(x: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """All points in one matrix X: the n anchors, then the n·p positives anchor by anchor, then the n·q negatives.

    C = XᵀSX with S of `pairing`.

    Args: as `trace_matrix`.
    Returns: `[..., m, d]`, m = n(1 + p + q), where q = 0 without negatives.
    Raises: ValueError for shapes that do not fit.
    """
    require_pairs(x, positives, negatives, "stacked")
    others = [positives] if negatives is None else [positives, negatives]
    return torch.cat([x, *(part.flatten(-3, -2) for part in others)], -2)


def pairing_product(u: Tensor, n: int, p: int, q: int) -> Tensor:
    """S u, half the gradient of the loss in the stacked outputs, L = Tr(uᵀSu), ∂L/∂u = 2Su, without building S.

    (Su)_i = ½(Σ_j u_ij⁻ − Σ_j u_ij⁺) for an anchor, −½u_i for one of its positives, ½u_i for one of its negatives.

    Source: esser-2023, eqs. (4), (5), the factors beside the tangent kernels.
    Args:
        u: outputs in the order of `stacked`, `[..., m, z]`, m = n(1 + p + q).
        n: number of anchors, ≥ 1.
        p: positives per anchor, ≥ 1.
        q: negatives per anchor, ≥ 0; 0 for the loss (2).
    Returns: `[..., m, z]`.
    Raises: ValueError for another m.
    Cost: 2·m·z flops.
    """
    _check_counts(n, p, q, "pairing_product")
    if u.ndim < 2 or u.shape[-2] != n * (1 + p + q):
        raise ValueError(f"u must be [..., {n * (1 + p + q)}, z], got {tuple(u.shape)}")
    anchors, positives, negatives = u.split([n, n * p, n * q], -2)
    contrast = negatives.unflatten(-2, (n, q)).sum(-2) - positives.unflatten(-2, (n, p)).sum(-2)
    repeated = (-anchors.repeat_interleave(p, -2), anchors.repeat_interleave(q, -2))
    return torch.cat([contrast, *repeated], -2) / 2


def pairing(
    n: int, p: int, q: int, dtype: torch.dtype = torch.float64, device: torch.device | str | None = None
) -> Tensor:
    """The matrix S `[m, m]` of L = Tr(uᵀSu): −½ where an anchor meets its positive, ½ for its negative, else 0.

    Its eigenvalues are ±½√(p + q), n times each, and 0.

    Args:
        n, p, q: as in `pairing_product`.
        dtype: dtype of the result.
        device: device of the result.
    Returns: `[m, m]`, m = n(1 + p + q).
    Raises: ValueError for n or p < 1 or q < 0.
    Cost: m² numbers.
    """
    _check_counts(n, p, q, "pairing")
    eye = torch.eye(n, dtype=dtype, device=device)
    block = torch.cat([-eye.repeat_interleave(p, -1), eye.repeat_interleave(q, -1)], -1) / 2
    s = torch.zeros(n * (1 + p + q), n * (1 + p + q), dtype=dtype, device=device)
    s[:n, n:] = block
    s[n:, :n] = block.mT
    return s


def expected_trace_matrix(mean: Tensor, second_moment: Tensor, n: int, p: int = 1, q: int = 1) -> Tensor:
    """E[C] = n(q μμᵀ − p E[xxᵀ]), for x⁻ independent of x with the same law and x⁺ = x + centred noise of any size.

    The text prints E[C̃] = −n E[xxᵀ], which is this for μ = 0 and p = 1. For p = q = 1 and data that are not centred it
    is −n Cov(x). It is negative semidefinite for q ≤ p; for q > p data far from centred give one positive eigenvalue.
    It holds for anchors drawn at random and for anchors that run through a finite population once.

    Source: esser-2023, the display of E[C̃] below Theorem 3.
    Args:
        mean: μ, `[..., d]`.
        second_moment: E[xxᵀ], `[..., d, d]`, not centred.
        n: number of anchors, ≥ 1.
        p: positives per anchor, ≥ 1.
        q: negatives per anchor, ≥ 0.
    Returns: `[..., d, d]`.
    Raises: ValueError for shapes that do not fit.
    Cost: 3·d² flops.
    """
    _check_counts(n, p, q, "expected_trace_matrix")
    if mean.ndim < 1 or second_moment.shape[-2:] != (mean.shape[-1],) * 2:
        got = f"mean {tuple(mean.shape)}, second_moment {tuple(second_moment.shape)}"
        raise ValueError(f"mean and second_moment must be [..., d] and [..., d, d], got {got}")
    return n * (q * mean.unsqueeze(-1) * mean.unsqueeze(-2) - p * second_moment)


def mean_factor(c: Tensor, expected: Tensor) -> float:
    """⟨mean C, E⟩/‖E‖²: 1 if the mean over the first axis has the expectation E, and the factor that it lacks if not.

    Args:
        c: `[draw, ..., d, d]`.
        expected: E, `[..., d, d]`, not 0.
    """
    return float((c.mean(0) * expected).sum() / expected.square().sum())


def require_trace_matrix(c: Tensor, name: str) -> None:
    """Raise a one-line ValueError unless c is symmetric up to rounding.

    It must be square, of floats and finite; |c − cᵀ| may be 1e-10 of its largest entry, or 1e-4 for float32.

    Args:
        c: `[..., d, d]`.
        name: the function that was given c, for the message.
    Cost: 3·d² flops.
    """
    if c.ndim < 2 or c.shape[-1] != c.shape[-2] or c.shape[-1] == 0 or not c.is_floating_point():
        raise ValueError(f"{name}: the matrix must be square and of floats, got {tuple(c.shape)} of {c.dtype}")
    if not bool(c.isfinite().all()):
        raise ValueError(f"{name}: the matrix must be finite, got an entry that is NaN or infinite")
    largest = c.abs().amax((-2, -1))
    off = ((c - c.mT).abs().amax((-2, -1)) / largest.clamp(min=torch.finfo(c.dtype).tiny)).max()
    if bool(off > (1e-10 if c.dtype == torch.float64 else 1e-4)):
        raise ValueError(
            f"{name}: the matrix must be symmetric, got a difference of {float(off):.1e} of its largest entry"
        )


def require_pairs(x: Tensor, positives: Tensor, negatives: Tensor | None, name: str) -> None:
    """Raise ValueError unless the shapes are `[..., n, d]`, `[..., n, p, d]` and `[..., n, q, d]`.

    The leading axes must be equal, and no axis may have size 0.

    Args:
        x: anchors.
        positives: positives.
        negatives: negatives, or None.
        name: the function that was given them, for the message.
    """
    parts = [positives] if negatives is None else [positives, negatives]
    fits = x.ndim >= 2 and all(part.ndim == x.ndim + 1 for part in parts)
    fits = fits and all((*part.shape[:-2], part.shape[-1]) == tuple(x.shape) for part in parts)
    if not fits or any(part.numel() == 0 for part in parts):
        got = ", ".join(str(tuple(part.shape)) for part in [x, *parts])
        raise ValueError(f"{name}: the parts must be [..., n, d], [..., n, p, d], [..., n, q, d] or None, got {got}")


def _contrast(positives: Tensor, negatives: Tensor | None) -> Tensor:
    total = positives.sum(-2)
    return -total if negatives is None else negatives.sum(-2) - total


def _check_counts(n: int, p: int, q: int, name: str) -> None:
    if n < 1 or p < 1 or q < 0:
        raise ValueError(f"{name}: n and p must be ≥ 1 and q ≥ 0, got n={n}, p={p}, q={q}")
