"""The trace matrix C of a loss on pairs of samples: for u(x) = Θx the losses (1) and (2) are Tr(ΘCΘᵀ).

Shapes: anchors x `[..., n, d]`, positives `[..., n, p, d]` and negatives `[..., n, q, d]` of each anchor, or None for
the loss without negatives (2); outputs u of the same points with z in place of d; leading axes are batch axes.
"""

import torch
from torch import Tensor


def trace_matrix(x: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """C = (C̃ + C̃ᵀ)/2 with C̃ = Σ_i x_i (Σ_j x_ij⁻ − Σ_j x_ij⁺)ᵀ, so that the loss of u(x) = Θx is Tr(ΘCΘᵀ).

    Without negatives C̃ = −Σ_i x_i (Σ_j x_ij⁺)ᵀ; the text prints Σ_i x_i x_i⁺ᵀ, without the minus sign that the loss (2)
    asks for. Source: esser-2023, eq. (7) and the paragraph below it.
    Args: x `[..., n, d]`; positives `[..., n, p, d]`; negatives `[..., n, q, d]` or None; n, p, q ≥ 1.
    Returns: `[..., d, d]`, symmetric bit for bit. Raises: ValueError for shapes that do not fit.
    Cost: n·(p + q)·d + 2·n·d² flops.
    """
    require_pairs(x, positives, negatives, "trace_matrix")
    c = x.mT @ _contrast(positives, negatives)
    return (c + c.mT) / 2


def pair_loss(u: Tensor, u_positives: Tensor, u_negatives: Tensor | None = None) -> Tensor:
    """Σ_i u_iᵀ(Σ_j u_ij⁻ − Σ_j u_ij⁺), or −Σ_i u_iᵀ Σ_j u_ij⁺ without negatives; a sum over the anchors, not a mean.

    Source: esser-2023, eqs. (1), (2). Args: outputs, shaped as the points with z in place of d. Returns: `[...]`.
    Raises: ValueError for shapes that do not fit. Cost: n·(p + q + 2)·z flops.
    """
    require_pairs(u, u_positives, u_negatives, "pair_loss")
    return (u * _contrast(u_positives, u_negatives)).sum((-2, -1))


def stacked(x: Tensor, positives: Tensor, negatives: Tensor | None = None) -> Tensor:
    """All points in one matrix X: the n anchors, the n·p positives anchor by anchor, the n·q negatives.

    C = XᵀSX with S of `pairing`. Args: as `trace_matrix`. Returns: `[..., m, d]`, m = n(1 + p + q), q = 0 without
    negatives. Raises: ValueError for shapes that do not fit.
    """
    require_pairs(x, positives, negatives, "stacked")
    others = [positives] if negatives is None else [positives, negatives]
    return torch.cat([x, *(part.flatten(-3, -2) for part in others)], -2)


def pairing_product(u: Tensor, n: int, p: int, q: int) -> Tensor:
    """S u, half the gradient of the loss in the stacked outputs: L = Tr(uᵀSu), ∂L/∂u = 2Su; S is not built.

    (Su)_i = ½(Σ_j u_ij⁻ − Σ_j u_ij⁺) for an anchor, −½u_i for a positive of it, ½u_i for a negative.
    Source: esser-2023, eqs. (4), (5), the factors beside the tangent kernels. Args: u `[..., m, z]`, stacked as
    `stacked` does, m = n(1 + p + q); n, p ≥ 1; q ≥ 0, with 0 for the loss (2). Returns: `[..., m, z]`.
    Raises: ValueError for another m. Cost: 2·m·z flops.
    """
    _check_counts(n, p, q, "pairing_product")
    if u.ndim < 2 or u.shape[-2] != n * (1 + p + q):
        raise ValueError(f"pairing_product: got u {tuple(u.shape)}, allowed are [..., {n * (1 + p + q)}, z]")
    anchors, positives, negatives = u.split([n, n * p, n * q], -2)
    contrast = negatives.unflatten(-2, (n, q)).sum(-2) - positives.unflatten(-2, (n, p)).sum(-2)
    repeated = (-anchors.repeat_interleave(p, -2), anchors.repeat_interleave(q, -2))
    return torch.cat([contrast, *repeated], -2) / 2


def pairing(
    n: int, p: int, q: int, dtype: torch.dtype = torch.float64, device: torch.device | str | None = None
) -> Tensor:
    """The matrix S `[m, m]` of L = Tr(uᵀSu): −½ where anchor and positive of it meet, ½ for a negative, else 0.

    Its eigenvalues are ±½√(p + q), n times each, and 0. Args: as `pairing_product`.
    Raises: ValueError for n or p below 1 or q below 0. Cost: m² numbers.
    """
    _check_counts(n, p, q, "pairing")
    eye = torch.eye(n, dtype=dtype, device=device)
    block = torch.cat([-eye.repeat_interleave(p, -1), eye.repeat_interleave(q, -1)], -1) / 2
    s = torch.zeros(n * (1 + p + q), n * (1 + p + q), dtype=dtype, device=device)
    s[:n, n:] = block
    s[n:, :n] = block.mT
    return s


def expected_trace_matrix(mean: Tensor, second_moment: Tensor, n: int, p: int = 1, q: int = 1) -> Tensor:
    """E[C] = n(q μμᵀ − p E[xxᵀ]), for x⁻ independent of x with its law and x⁺ = x + centred noise of any size.

    The text prints E[C̃] = −n E[xxᵀ], which is this for μ = 0 and p = 1. For p = q = 1 and data that are not centred it
    is −n Cov(x). It is negative semidefinite for q ≤ p; for q > p data far off centre give one positive eigenvalue.
    It holds for anchors drawn at random and for anchors that run through a finite population once.
    Source: esser-2023, the display of E[C̃] below Theorem 3. Args: mean `[..., d]`; second_moment `[..., d, d]`, not
    centred; n, p ≥ 1; q ≥ 0. Returns: `[..., d, d]`. Raises: ValueError for shapes that do not fit. Cost: 3·d² flops.
    """
    _check_counts(n, p, q, "expected_trace_matrix")
    if mean.ndim < 1 or second_moment.shape[-2:] != (mean.shape[-1],) * 2:
        got = f"mean {tuple(mean.shape)}, second_moment {tuple(second_moment.shape)}"
        raise ValueError(f"expected_trace_matrix: got {got}, allowed are [..., d], [..., d, d]")
    return n * (q * mean.unsqueeze(-1) * mean.unsqueeze(-2) - p * second_moment)


def require_trace_matrix(c: Tensor, name: str) -> None:
    """Refuse what is no symmetric matrix, up to rounding: 1e-10 of the largest entry, 1e-4 for float32.

    Args: c `[..., d, d]`; name of the function that was given it. Raises: ValueError, one line. Cost: 3·d² flops.
    """
    if c.ndim < 2 or c.shape[-1] != c.shape[-2] or c.shape[-1] == 0 or not c.is_floating_point():
        raise ValueError(f"{name}: got a matrix {tuple(c.shape)} of {c.dtype}, allowed are square ones of floats")
    if not bool(c.isfinite().all()):
        raise ValueError(f"{name}: got a matrix with an entry that is NaN or infinite, allowed are finite ones")
    largest = c.abs().amax((-2, -1))
    off = ((c - c.mT).abs().amax((-2, -1)) / largest.clamp(min=torch.finfo(c.dtype).tiny)).max()
    if bool(off > (1e-10 if c.dtype == torch.float64 else 1e-4)):
        raise ValueError(
            f"{name}: got a matrix {float(off):.1e} of its largest entry off symmetric, allowed is rounding"
        )


def require_pairs(x: Tensor, positives: Tensor, negatives: Tensor | None, name: str) -> None:
    """Refuse shapes other than `[..., n, d]`, `[..., n, p, d]`, `[..., n, q, d]` with equal batch axes, none of them 0.

    Args: anchors, positives, negatives or None; name of the function that was given them. Raises: ValueError.
    """
    parts = [positives] if negatives is None else [positives, negatives]
    fits = x.ndim >= 2 and all(part.ndim == x.ndim + 1 for part in parts)
    fits = fits and all((*part.shape[:-2], part.shape[-1]) == tuple(x.shape) for part in parts)
    if not fits or any(part.numel() == 0 for part in parts):
        got = ", ".join(str(tuple(part.shape)) for part in [x, *parts])
        raise ValueError(f"{name}: got {got}, allowed are [..., n, d], [..., n, p, d], [..., n, q, d] or None")


def _contrast(positives: Tensor, negatives: Tensor | None) -> Tensor:
    total = positives.sum(-2)
    return -total if negatives is None else negatives.sum(-2) - total


def _check_counts(n: int, p: int, q: int, name: str) -> None:
    if n < 1 or p < 1 or q < 0:
        raise ValueError(f"{name}: got n={n}, p={p}, q={q}, allowed are n and p of 1 or more, q of 0 or more")
