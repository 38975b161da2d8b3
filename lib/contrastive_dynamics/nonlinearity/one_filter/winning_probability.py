"""The odds P[E_l] that component l starts positive and ahead: Y_l > 0, Y_l + ε_l ≥ Y_l' + ε_l', Y ~ U[−1, 1]^d."""

import numpy as np
import torch
from torch import Generator, Tensor


def single_modulation(epsilon: Tensor, d: int) -> Tensor:
    """P[E_l] in closed form when only ε_l = epsilon is nonzero.

    ε ≥ 1: 1/2;  0 ≤ ε ≤ 1: (1 − ((1+ε)/2)^d)/d + ε/2;  ε < 0: ((1 + ε/2)^d − ((1+ε)/2)₊^d)/d, and 0 below −2.
    The paper stops at ε > −1; for −2 < ε ≤ −1 the second power is cut at 0, as F is.

    Source: tian-2023, eq. (155).
    Args:
        epsilon: ε_l, any shape.
        d: number of components, ≥ 1.
    Returns: probabilities of the shape of epsilon.
    """
    up = (1 - ((1 + epsilon) / 2) ** d) / d + epsilon / 2
    down = ((1 + epsilon / 2).clamp_min(0) ** d - ((1 + epsilon) / 2).clamp_min(0) ** d) / d
    return torch.where(epsilon >= 1, 0.5, torch.where(epsilon >= 0, up, down))


def winning_probability(epsilon: Tensor) -> Tensor:
    """P[E_l] of every component for any modulation vector, exact up to rounding.

    P[E_l] = ½ ∫_0^1 Π_{l'≠l} F(y + ε_l − ε_l') dy,  F(x) = (x + 1)/2 cut to [0, 1]: a polynomial of degree ≤ d − 1
    between the knots y = ±1 + ε_l' − ε_l, for which Gauss–Legendre with ⌈d/2⌉ nodes is exact.

    Source: tian-2023, eq. (154) and the general case below it.
    Args:
        epsilon: ε `[..., d]`, d ≥ 2; may carry a gradient.
    Returns: `[..., d]`.
    Cost: about d⁴ flops and numbers per vector.
    """
    d = epsilon.shape[-1]
    shift = epsilon.unsqueeze(-1) - epsilon.unsqueeze(-2)  # [..., l, l'] = ε_l − ε_l'
    ends = torch.stack([torch.zeros_like(epsilon), torch.ones_like(epsilon)], -1)
    knots = torch.cat([ends, (1 - shift).clamp(0, 1), (-1 - shift).clamp(0, 1)], -1).sort(-1).values
    nodes, weights = (
        torch.as_tensor(a, dtype=epsilon.dtype, device=epsilon.device)
        for a in np.polynomial.legendre.leggauss((d + 1) // 2)
    )
    width = knots.diff(dim=-1)
    y = knots[..., :-1, None] + width.unsqueeze(-1) * (1 + nodes) / 2  # [..., l, piece, node]
    below = ((1 + y.unsqueeze(-1) + shift[..., None, None, :]) / 2).clamp(0, 1)
    itself = torch.eye(d, dtype=torch.bool, device=epsilon.device)[:, None, None, :]
    density = below.masked_fill(itself, 1.0).prod(-1)
    return torch.einsum("...pn,n,...p->...", density, weights / 2, width) / 2


def winning_count(epsilon: Tensor, n: int, generator: Generator, start_positive: bool = True) -> Tensor:
    """How often each E_l happens in n draws of Y ~ U[−1, 1]^d.

    Source: tian-2023, eq. (152).
    Args:
        epsilon: ε `[d]`.
        n: number of draws.
        generator: source of the draws.
        start_positive: False drops the condition Y_l > 0.
    Returns: int64 `[d]`.
    Cost: n·d numbers.
    """
    y = 2 * torch.rand(n, len(epsilon), dtype=epsilon.dtype, device=epsilon.device, generator=generator) - 1
    leader = (y + epsilon).argmax(-1)
    counted = y.gather(-1, leader.unsqueeze(-1)).squeeze(-1) > 0
    return torch.bincount(leader[counted] if start_positive else leader, minlength=len(epsilon))


def count_score(count: Tensor, n: int, probability: Tensor) -> Tensor:
    """Standard score (count − n p)/√(n p (1 − p)) of a binomial count; shapes broadcast, 0 < p < 1."""
    return (count - n * probability) / (n * probability * (1 - probability)).sqrt()


def leader_bound(epsilon: Tensor) -> Tensor:
    """Printed lower bound on P[E] of the largest ε: half its gap to the second largest. True only for gaps ≤ 1.

    Source: tian-2023, eq. (156).
    Args:
        epsilon: ε `[..., d]`.
    Returns: `[...]`.
    """
    top = epsilon.topk(2, -1).values
    return (top[..., 0] - top[..., 1]) / 2


def leader_bound_mended(epsilon: Tensor) -> Tensor:
    """Lower bound that holds for every gap: ½ min(gap, 1), since P[E_l] ≤ P[Y_l > 0] = ½. Else as `leader_bound`."""
    return leader_bound(epsilon).clamp_max(0.5)


def rank_bound(epsilon: Tensor) -> Tensor:
    """Printed upper bounds on P[E] by rank:  min_{r'<r} (1 − (ε_c(r') − ε_c(r))/2)^{r'+1} / (r'+1), r = 2 … d.

    Source: tian-2023, eq. (157); negative, and so wrong, when a gap to an even rank r' exceeds 2.
    Args:
        epsilon: ε `[..., d]`.
    Returns: `[..., d − 1]`, by descending ε from rank 2 on.
    Cost: d² flops.
    """
    return _rank_bound(epsilon, cut=False)


def rank_bound_mended(epsilon: Tensor) -> Tensor:
    """`rank_bound` with 1 − gap/2 cut at 0, where the probability is 0, so that it holds for every ε."""
    return _rank_bound(epsilon, cut=True)


def _rank_bound(epsilon: Tensor, cut: bool) -> Tensor:
    ordered = epsilon.sort(-1, descending=True).values
    d = ordered.shape[-1]
    rank = torch.arange(1, d, dtype=epsilon.dtype, device=epsilon.device)
    base = 1 - (ordered[..., None, :-1] - ordered[..., 1:, None]) / 2  # [..., r = 2 … d, r' = 1 … d − 1]
    bound = (base.clamp_min(0) if cut else base) ** (rank + 1) / (rank + 1)
    allowed = torch.ones(d - 1, d - 1, dtype=torch.bool, device=epsilon.device).tril()
    return bound.masked_fill(~allowed, torch.inf).min(-1).values


def leader_excess(epsilon: Tensor, bound=leader_bound) -> Tensor:
    """Bound minus P[E] of the largest ε: positive where a lower bound fails.

    Args:
        epsilon: ε `[..., d]`.
        bound: the lower bound, such as `leader_bound`.
    Returns: `[...]`.
    """
    probability = winning_probability(epsilon).gather(-1, epsilon.argmax(-1, keepdim=True)).squeeze(-1)
    return bound(epsilon) - probability


def rank_excess(epsilon: Tensor, bound=rank_bound) -> Tensor:
    """Largest P[E] − bound over ranks 2 … d: positive where an upper bound fails.

    Args:
        epsilon: ε `[..., d]`.
        bound: the upper bound, such as `rank_bound`.
    Returns: `[...]`.
    """
    order = epsilon.argsort(-1, descending=True)
    probability = winning_probability(epsilon).gather(-1, order[..., 1:])
    return (probability - bound(epsilon)).amax(-1)
