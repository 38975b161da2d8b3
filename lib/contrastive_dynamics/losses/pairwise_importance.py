"""Pairwise importance α: uniform, Gaussian and InfoNCE weights of pairs, and the Gaussian's kernel expansion."""

import math
from itertools import combinations

import torch
from torch import Tensor

ALL = slice(None)
LEAST = 1e-30  # temperature


def require_temperature(name: str, value: float) -> None:
    """Raise ValueError unless the value is ≥ LEAST and finite, which NaN is not.

    Over a smaller one a similarity leaves single precision, and ∞ − ∞ is no loss; at τ = ∞ nothing is learned.
    """
    if not LEAST <= value < math.inf:
        raise ValueError(f"{name} must be > 0 (at least {LEAST}) and finite, got {value}")


def require_weight(name: str, value: float) -> None:
    """Raise ValueError unless the value is ≥ 0 and finite."""
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be ≥ 0 and finite, got {value}")


def half_squared_distances(f: Tensor, rows: slice = ALL) -> Tensor:
    """Squared distances with the paper's ½, d²_ij = ‖f_i − f_j‖²/2, for the given rows i and every j.

    Source: tian-2023, Section 2.
    Args:
        f: outputs, `[..., N, d]`.
        rows: slice of 0 to N − 1; by default all.
    Returns: `[..., rows, N]`.
    Error: rounding of eps·max‖f_i − mean‖², so that a distance of 0 may come out as that much above 0, never below.
    Cost: 2·rows·N·d flops; no array of N×N×d.
    """
    f = f - f.mean(-2, keepdim=True)  # the mean does not affect the distances, only their rounding
    half = f.square().sum(-1, keepdim=True) / 2
    one = torch.ones_like(half)
    # one product of vectors (−f_i, ‖f_i‖²/2, 1) and (f_j, 1, ‖f_j‖²/2): the N² numbers are written once
    return (torch.cat([-f, half, one], -1)[..., rows, :] @ torch.cat([f, one, half], -1).mT).clamp_(min=0)


def uniform_importance(f: Tensor, rows: slice = ALL) -> Tensor:
    """Uniform importance α_ij = 1, that of the quadratic loss.

    Source: tian-2023, Definition 1.
    Args:
        f: `[..., N, d]`; gives N, dtype and device.
        rows: as in `half_squared_distances`.
    Returns: ones, `[..., rows, N]`.
    """
    return f.new_ones(f.shape[:-1])[..., rows, None].expand(*f.shape[:-2], -1, f.shape[-2])


def gaussian_importance(g: Tensor, tau: float, rows: slice = ALL, stop_gradient: bool = True) -> Tensor:
    """Gaussian importance α_ij = exp(−‖g_i − g_j‖²/2τ) of the un-augmented samples, g_i = g(x0[i]).

    Source: tian-2023, Lemma 1.
    Args:
        g: `[..., N, m]`.
        tau: temperature, > 0.
        rows: as in `half_squared_distances`.
        stop_gradient: whether to detach α.
    Returns: `[..., rows, N]`, 0 to 1, as the formula has it; without rounding α_ii = 1.
    Raises: ValueError unless tau > 0.
    Error: a factor of e^{±δ/τ}, δ that of `half_squared_distances`, cut at 1. Where δ is not small beside τ, α_ij of
        two equal samples, and α_ii, may lie well below 1: such a τ is too small for the dtype.
    Cost: 2·rows·N·m flops.
    """
    require_temperature("gaussian_importance: tau", tau)
    g = g.detach() if stop_gradient else g
    return half_squared_distances(g, rows).div_(-tau).exp_()


def infonce_logits(f: Tensor, f_view: Tensor, tau: float, eps: float, rows: slice = ALL) -> Tensor:
    """Logarithms of the terms in the denominator of InfoNCE, with the positive pair on the diagonal.

    −d²_ij/τ for j ≠ i, and log ε − d²_i/τ with d²_i = ‖f_i − f_i'‖²/2 at j = i, an entry that the sum over negatives
    does not use.

    Source: tian-2023, eq. (1).
    Args:
        f, f_view: first and second views, `[..., N, d]`, N ≥ 2.
        tau: temperature, > 0.
        eps: weight of the positive pair, ≥ 0.
        rows: as in `half_squared_distances`.
    Returns: `[..., rows, N]`; −∞ where d²/τ is beyond the dtype, 65,504 in half precision and 3e38 in single, and if
        all of a row are, its importance is NaN.
    Raises: ValueError for tau or eps outside its range, N < 2 or two shapes that differ.
    """
    require_temperature("infonce: tau", tau)
    require_weight("infonce: eps", eps)
    if f.shape != f_view.shape or f.shape[-2] < 2:
        raise ValueError(
            f"f and f_view must have one shape [..., N, d], N ≥ 2, got {tuple(f.shape)} and {tuple(f_view.shape)}"
        )
    logits = half_squared_distances(f, rows).div_(-tau)
    positive = (f - f_view)[..., rows, :].square().sum(-1) / (-2 * tau)
    _diagonal(logits, rows).copy_(positive + (math.log(eps) if eps else -math.inf))
    return logits


def _diagonal(block: Tensor, rows: slice) -> Tensor:
    """The entries (i, i) of a block of rows, as a view."""
    return block.diagonal(offset=rows.indices(block.shape[-1])[0], dim1=-2, dim2=-1)


def infonce_importance(
    f: Tensor, f_view: Tensor, tau: float, eps: float = 0.0, rows: slice = ALL, stop_gradient: bool = True
) -> Tensor:
    """InfoNCE importance, the weight of the pair (i, j) in the denominator of InfoNCE.

    α_ij = e^{−d²_ij/τ} / (ε e^{−d²_i/τ} + Σ_{k≠i} e^{−d²_ik/τ}) for j ≠ i, and α_ii = 0.
    Rows sum to 1 − ε e^{−d²_i/τ}/denominator; α is not symmetric.

    Source: tian-2023, Section 2 (there for ε = 0).
    Args:
        f, f_view, tau, eps, rows: as in `infonce_logits`.
        stop_gradient: whether to detach α.
    Returns: `[..., rows, N]`.
    Raises: as `infonce_logits`.
    Cost: 2·rows·N·d flops.
    """
    if stop_gradient:
        f, f_view = f.detach(), f_view.detach()
    alpha = infonce_logits(f, f_view, tau, eps, rows).softmax(-1)
    alpha = alpha.clone() if alpha.requires_grad else alpha  # the gradient of softmax needs its output unchanged
    _diagonal(alpha, rows).zero_()
    return alpha


def infonce_loss(f: Tensor, f_view: Tensor, tau: float, eps: float = 0.0) -> Tensor:
    """InfoNCE, L = −τ Σ_i log( e^{−d²_i/τ} / (ε e^{−d²_i/τ} + Σ_{j≠i} e^{−d²_ij/τ}) ).

    Source: tian-2023, eq. (1); the negatives are first views only, and the sum over i is not averaged.
    Args:
        f, f_view, tau, eps: as in `infonce_logits`.
    Returns: `[...]`.
    Raises: as `infonce_logits`.
    Cost: 2·N²·d flops, N² numbers.
    """
    logits = infonce_logits(f, f_view, tau, eps)
    positive = (f - f_view).square().sum(-1) / 2
    return (positive + tau * logits.logsumexp(-1)).sum(-1)


def multi_indices(dim: int, order: int) -> Tensor:
    """All multi-indices n of `dim` parts with |n| ≤ order, by increasing |n|.

    The first C(dim + k, k) are those with |n| ≤ k.

    Args:
        dim: number of parts, ≥ 1.
        order: largest |n|, ≥ 0.
    Returns: integers, `[C(dim + order, order), dim]`.
    Raises: ValueError for dim or order outside its range.
    """
    if dim < 1 or order < 0:
        raise ValueError(f"dim must be ≥ 1 and order ≥ 0, got dim={dim}, order={order}")
    found = []
    for total in range(order + 1):  # stars and bars: dim − 1 bars among total + dim − 1 places
        for bars in combinations(range(total + dim - 1), dim - 1):
            edges = (-1, *bars, total + dim - 1)
            found.append([b - a - 1 for a, b in zip(edges, edges[1:], strict=False)])
    return torch.tensor(found)


def gaussian_features(g: Tensor, order: int, tau: float, shift: Tensor | float | None = None) -> Tensor:
    """Feature map of the Gaussian importance up to a given order: α_ij = Σ_n φ_n(x0[i]) φ_n(x0[j]).

    φ_n = e^{−‖y‖²/2τ} Π_k y_k^{n_k} / √(τ^{n_k} n_k!), y = g − v, one feature per multi-index n: the |n|!/Πn_k! equal
    products of AllChoose, each divided by √|n|!, are merged into one. The error at (i, j) is at most
    P[Poisson(‖y_i‖‖y_j‖/τ) > order].

    Source: tian-2023, eqs. (20)-(22).
    Args:
        g: `[..., N, m]`.
        order: largest |n|, ≥ 0.
        tau: temperature, > 0.
        shift: v, `[..., 1, m]` or a number; by default the smallest g of each component, so that every φ_n ≥ 0.
    Returns: `[..., N, C(m + order, order)]`, in the order of `multi_indices`.
    Raises: ValueError for tau or order outside its range.
    Cost: N·m numbers per feature; e^{−y²/2τ} must not underflow.
    """
    require_temperature("gaussian_features: tau", tau)
    index = multi_indices(g.shape[-1], order).to(g.device)
    y = g - (g.amin(-2, keepdim=True) if shift is None else shift)
    powers = [torch.exp(y.square() / (-2 * tau))]
    for k in range(1, order + 1):  # the recursion never forms τ^k k!, which would overflow
        powers.append(powers[-1] * y / (tau * k) ** 0.5)
    table = torch.stack(powers, -1)
    phi = table[..., 0, :][..., index[:, 0]]
    for part in range(1, g.shape[-1]):
        phi = phi * table[..., part, :][..., index[:, part]]
    return phi
