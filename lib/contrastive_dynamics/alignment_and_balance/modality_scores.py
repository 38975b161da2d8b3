"""Scores of two linear maps of paired data: alignment, balance, condition number, and distance from infinite width.

Shapes: map_a, map_b `[..., m, d]`: columns 1 to r are the signal's, K_A and K_B; the others are the noise's, K_{A,ξ}
and K_{B,ξ}; G `[..., d, d]` of `model.correlation`, f_A·f_B = u_AᵀG u_B. Leading axes are batch axes. At
infinite width all columns are orthogonal except for the pairs [K_A]_p, [K_B]_p.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.ranks import stable_rank
from .model import sign_vectors

LARGEST_DIM = 13  # for the exact alignment: 2^12 sorts of 2^13 numbers
BLOCK = 2**22  # numbers sorted in one block
TIE = 1e-9  # relative to the largest |f_A·f_B|: values that differ by less are equal up to rounding


class DiscretisationErrors(NamedTuple):
    """How far the columns of two maps are from their limit at infinite width, each `[...]`; 0 in that limit."""

    norms: Tensor  # max_p of ‖[K_A]_p‖²/‖[K_B]_p‖² or its inverse, the larger, minus 1
    noise_norms: Tensor  # largest over smallest squared norm of a noise column of A or B, minus 1
    signal: Tensor  # largest |cosine| of two signal columns of A or B, p ≠ q
    signal_noise: Tensor  # largest |cosine| of a signal column and a noise column of A or B
    noise: Tensor  # largest |cosine| of two noise columns of A or B, [K_{A,ξ}]_q and [K_{B,ξ}]_q among them


def exact_alignment(g: Tensor, rank: int, *, other_signal: bool = False) -> Tensor:
    """P[f_A⁺·f_B⁺ > f_A⁺·f_B⁻], u_A and u_B⁺ a positive pair, u_B⁻ independent; all sign vectors are enumerated.

    A tie is not a success, so G = 0 scores 0. Where u_B⁻ has the signal of u_B⁺, with probability 2^{−r}, the two may
    be exchanged: a success in half of the cases in which they differ. So the ceiling is 1 − 2^{−r} if no noise arrives,
    and 1 − (2^{−r} + 2^{−d})/2 if any does, however little. K_A = K_B of orthogonal columns without noise reaches it.
    With other_signal the probability is conditional on u_B⁻ having another signal than u_B⁺: the ceiling is 1.
    Source: ren-li-2023, Definition 4.1.
    Args:
        g: G, `[..., d, d]`, finite, d ≤ 13.
        rank: r, 1 to d.
        other_signal: whether to condition on another signal.
    Returns: `[...]`.
    Raises: ValueError for another g or rank.
    Error: values within 1e-9 of the largest count as equal.
    Cost: 2^{d−1} sorts of 2^d numbers per matrix, about 1 s at d = 12; memory for 2^{d−1}·d numbers per matrix and for
        blocks of 2²².
    """
    d = g.shape[-1]
    if not 1 <= rank <= d <= LARGEST_DIM or g.shape[-2:] != (d, d) or not bool(g.isfinite().all()):
        raise ValueError(
            f"g and rank must be finite [..., d, d] and 1 ≤ rank ≤ d ≤ {LARGEST_DIM}, got {list(g.shape)} and {rank}"
        )
    u = sign_vectors(d, g.device, g.dtype) / math.sqrt(d)
    half, noises = 2 ** (d - 1), 2 ** (d - rank)
    h = u[:half] @ g.reshape(-1, d, d)  # u_AᵀG; −u_A wins as often as u_A
    tie = _tie(h.abs().sum(-1).amax(-1) / math.sqrt(d)).repeat_interleave(half)
    signal = (torch.arange(half, device=g.device) // noises).repeat(len(h))
    rows = zip(*(x.split(max(1, BLOCK // 2**d)) for x in (h.flatten(0, 1), signal, tie)), strict=True)
    wins = [_wins((b @ u.mT).unflatten(-1, (-1, noises)), z, margin, other_signal) for b, z, margin in rows]
    negatives = 2**d - noises if other_signal else 2**d
    share = torch.cat(wins).view(-1, half).sum(-1).to(g.dtype) / (half * noises * negatives)
    return share.view(g.shape[:-2])


def _wins(values: Tensor, signal: Tensor, tie: Tensor, other_signal: bool) -> Tensor:
    """For each u_A the number of (u_B⁺, u_B⁻) for which u_B⁺ has the larger value; values `[u_A, signal, noise]`."""
    positive = values[torch.arange(len(values), device=values.device), signal]
    beaten = positive - tie.unsqueeze(-1)
    wins = torch.searchsorted(values.flatten(1).sort(-1).values, beaten).sum(-1)
    return wins - torch.searchsorted(positive.sort(-1).values, beaten).sum(-1) if other_signal else wins


def _tie(largest: Tensor) -> Tensor:
    return max(TIE, 64 * torch.finfo(largest.dtype).eps) * largest


def alignment_condition(rank: int) -> float:
    """√((√r + 1)/(√r − 1)), the sharp bound on the condition number of K_A = K_B for noiseless alignment 1 − 2^{−r}.

    Below it the alignment is 1 − 2^{−r}; at it or above, not always.
    For sign vectors z ≠ z' let S be the set where they differ: zᵀG(z − z') = 2 zᵀG z_S, G = KᵀK with eigenvalues in
    [λ, Λ]. Write G = (Λ + λ)/2 + E, ‖E‖ ≤ (Λ − λ)/2. As z·z_S = |S| and ‖z‖‖z_S‖ = √(r|S|),
    2 zᵀG z_S ≥ (Λ + λ)|S| − (Λ − λ)√(r|S|), positive for all |S| iff it is for |S| = 1: √r < (Λ + λ)/(Λ − λ).
    `worst_alignment_map` reaches the bound for every r, so it is sharp. Orthogonal columns need no bound:
    2 zᵀG z_S = 2 Σ_{p∈S} κ_p². The bound decreases to 1 as 1 + 1/√r: Lemma 4.4 bounds the condition number only, by a
    constant that need not be near 1, and argues that z' ≠ z is at a distance, whereas Definition 4.1 compares inner
    products. So the lemma needs the near orthogonality of the columns that the flow preserves.
    Source: derived; ren-li-2023, Lemma 4.4.
    Args:
        rank: r ≥ 1.
    Returns: above 1; infinite for r = 1.
    Raises: ValueError for another rank.
    """
    if rank < 1:
        raise ValueError(f"rank must be ≥ 1, got {rank}")
    root = math.sqrt(rank)
    return math.sqrt((root + 1) / (root - 1)) if rank > 1 else math.inf


def worst_alignment_map(
    rank: int, condition: float, device: torch.device | str | None = None, dtype: torch.dtype = torch.float64
) -> Tensor:
    """K = Kᵀ of condition number κ with the least zᵀKᵀK(z − z') for z = (1, …, 1) and z' with the first sign changed.

    With x = z/√r and y = e_1 its eigenvectors are x − y for κ, x + y for 1, and all vectors orthogonal to both for √κ.
    Then E of `alignment_condition` maps x to −y(κ² − 1)/2. Just beyond that bound, z and −z each lose to one z': the
    alignment falls by 2^{1−2r}.
    Source: derived, see there.
    Args:
        rank: r ≥ 2.
        condition: κ ≥ 1.
        device, dtype: those of the result.
    Returns: `[r, r]`.
    Raises: ValueError for a value outside its range.
    """
    if rank < 2 or not condition >= 1:
        raise ValueError(f"rank and condition must be ≥ 2 and ≥ 1, got {rank} and {condition}")
    unit = torch.eye(rank, device=device, dtype=dtype)
    x, y, middle = unit.sum(0) / math.sqrt(rank), unit[0], math.sqrt(condition)
    high, low = ((v / v.norm()).outer(v / v.norm()) for v in (x - y, x + y))
    return middle * unit + (condition - middle) * high + (1 - middle) * low


def balance(map_a: Tensor, rank: int | None = None) -> Tensor:
    """‖Σ‖_F²/‖Σ‖_2² = Σ_i s_i⁴/max s_i⁴, Σ = E[f_A f_Aᵀ] = map_a map_aᵀ/(d·N_A²), s_i the singular values of map_a.

    It is the stable rank of the covariance, not of the map: 1 to d; r for r signal columns alone with equal s_i.
    Source: ren-li-2023, Definition 4.2.
    Args:
        map_a: `[..., m, d]`.
        rank: r, to use the signal columns alone; by default all columns.
    Returns: `[...]`, 0 for a zero map.
    Raises: ValueError for another rank, or a map that is not finite.
    Cost: 2·m·d² flops and the singular values of a d×d matrix.
    """
    k = map_a if rank is None else _signal(map_a, rank, "balance")
    return stable_rank(k.mT @ k)


def condition_number(map_a: Tensor, rank: int) -> Tensor:
    """s_max/s_min of the signal columns K_A, infinite where they are linearly dependent.

    Source: ren-li-2023, Lemmas 4.4 and 4.5.
    Args:
        map_a: `[..., m, d]`, m ≥ r.
        rank: r, 1 to d.
    Returns: `[...]`.
    Raises: ValueError for another rank.
    Cost: about 4·m·r² flops.
    """
    values = _singular_values(map_a, rank, "condition_number")
    return values[..., 0] / values[..., -1]


def column_ratio(map_a: Tensor, rank: int) -> Tensor:
    """max_p ‖[K_A]_p‖/min_p ‖[K_A]_p‖ of the signal columns.

    It equals the condition number where the columns are orthogonal and does not exceed it elsewhere.
    Source: ren-li-2023, κ_max/κ_min of (8).
    Args, Returns and Raises: as `condition_number`.
    Cost: 2·m·r flops.
    """
    norms = _signal(map_a, rank, "column_ratio").norm(dim=-2)
    return norms.amax(-1) / norms.amin(-1)


def noise_signal_ratio(map_a: Tensor, rank: int) -> Tensor:
    """‖K_{A,ξ}‖_F²/‖K_A‖_F².

    Source: ren-li-2023, Lemma 5.1.
    Args and Raises: as `condition_number`.
    Returns: `[...]`, 0 for r = d.
    Cost: 2·m·d flops.
    """
    squares = map_a.square().sum(-2)
    return squares[..., rank:].sum(-1) / _signal(squares, rank, "noise_signal_ratio").sum(-1)


def column_alignment(map_a: Tensor, map_b: Tensor, rank: int) -> Tensor:
    """κ̂_p²/κ_p² = 2⟨[K_A]_p, [K_B]_p⟩/(‖[K_A]_p‖² + ‖[K_B]_p‖²), −1 to 1; 1 iff the two columns are equal.

    Source: ren-li-2023, Lemma 5.1, with κ_p² the mean of both modalities.
    Args:
        map_a, map_b: `[..., m, d]`.
        rank: r, 1 to d.
    Returns: `[..., r]`.
    Raises: ValueError for another rank.
    Cost: 6·m·r flops.
    """
    a, b = (_signal(x, rank, "column_alignment") for x in (map_a, map_b))
    return 2 * (a * b).sum(-2) / (a.square() + b.square()).sum(-2)


def discretisation_errors(map_a: Tensor, map_b: Tensor, rank: int) -> DiscretisationErrors:
    """Relative differences of norms and cosines of columns that are 0 at infinite width.

    Our copy of the text has lost (11) and (17); these scores follow its words (equal norms of corresponding columns,
    orthogonal columns of all four matrices) and the lemmas on each. Among the noise columns all pairs count, including
    those of A and B with equal q.
    Source: ren-li-2023, eqs. (11), (17), Lemmas B.13 to B.16, C.12 to C.17.
    Args:
        map_a, map_b: `[..., m, d]`.
        rank: r, 1 to d.
    Returns: DiscretisationErrors; scores that need a noise column, or a second signal, are 0 without one, and a zero
        column has cosine 0.
    Raises: ValueError for another rank.
    Cost: 8·m·d² flops, 4·d² numbers.
    """
    d, columns = map_a.shape[-1], torch.cat([map_a, map_b], -1)
    squares = columns.square().sum(-2).unflatten(-1, (2, d))
    ratio = _signal(squares, rank, "discretisation_errors")
    ratio, noise = ratio[..., 0, :] / ratio[..., 1, :], squares[..., rank:].flatten(-2)
    unit = columns / torch.where(squares > 0, squares, 1).sqrt().flatten(-2).unsqueeze(-2)
    cosines = (unit.mT @ unit).abs()
    index = torch.arange(2 * d, device=map_a.device)
    column, is_signal = index % d, index % d < rank
    both, neither = is_signal & is_signal[:, None], ~is_signal & ~is_signal[:, None]
    masks = (both & (column != column[:, None]), is_signal != is_signal[:, None], neither & (index != index[:, None]))
    return DiscretisationErrors(
        torch.maximum(ratio, 1 / ratio).amax(-1) - 1,
        _spread(noise),
        *((cosines * mask).amax((-2, -1)) for mask in masks),
    )


def _spread(squares: Tensor) -> Tensor:
    """Largest over smallest, minus 1; 0 if there are none or all are 0."""
    if squares.shape[-1] == 0:
        return squares.sum(-1)
    high, low = squares.amax(-1), squares.amin(-1)
    return torch.where(high > 0, high / low, 1) - 1


def _signal(columns: Tensor, rank: int, name: str) -> Tensor:
    if not 1 <= rank <= columns.shape[-1]:
        raise ValueError(f"{name}: rank must be 1 to d = {columns.shape[-1]}, got {rank}")
    return columns[..., :rank]


def _singular_values(map_a: Tensor, rank: int, name: str) -> Tensor:
    if map_a.shape[-2] < rank:
        raise ValueError(f"{name}: map_a must have ≥ rank = {rank} rows, got {map_a.shape[-2]}")
    return torch.linalg.svdvals(_signal(map_a, rank, name))
