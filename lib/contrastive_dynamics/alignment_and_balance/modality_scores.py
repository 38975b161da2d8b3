"""How good two linear maps of paired data are: alignment, balance, condition number, and how far from infinite width.

Shapes: map_a, map_b `[..., m, d]`, columns 1 to r of the signal, K_A and K_B, the others of noise, K_{A,ξ} and K_{B,ξ};
G `[..., d, d]` of `two_modality.correlation`, f_A·f_B = u_AᵀG u_B. Leading axes are batch axes. At infinite width all
columns are orthogonal but for the pairs [K_A]_p, [K_B]_p.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.ranks import stable_rank
from .model import sample_signs, sign_vectors

LARGEST_DIM = 13  # of the exact alignment: 2^12 sorts of 2^13 numbers
BLOCK = 2**22  # numbers in one block of it
TIE = 1e-9  # of the largest |f_A·f_B|: what differs by less is equal up to rounding


class DiscretisationErrors(NamedTuple):
    """How far the columns of two maps are from infinite width, each `[...]` and 0 there."""

    norms: Tensor  # max_p of ‖[K_A]_p‖²/‖[K_B]_p‖² or its inverse, the larger, minus 1
    noise_norms: Tensor  # largest over smallest squared norm of a noise column of A or B, minus 1
    signal: Tensor  # largest |cosine| of two signal columns of A or B, p ≠ q
    signal_noise: Tensor  # largest |cosine| of a signal column and a noise column of A or B
    noise: Tensor  # largest |cosine| of two noise columns of A or B, [K_{A,ξ}]_q and [K_{B,ξ}]_q among them


def exact_alignment(g: Tensor, rank: int, *, other_signal: bool = False) -> Tensor:
    """P[f_A⁺·f_B⁺ > f_A⁺·f_B⁻], u_A and u_B⁺ a positive pair, u_B⁻ independent; all sign vectors enumerated.

    A tie is no success, so G = 0 scores 0. Where u_B⁻ has the signal of u_B⁺, probability 2^{−r}, the two may be
    exchanged: a success half of the time that they differ. So the ceiling is 1 − 2^{−r} where no noise arrives, and
    1 − (2^{−r} + 2^{−d})/2 where any does, however little. K_A = K_B of orthogonal columns without noise reaches it.
    With other_signal the probability is that given that the signal of u_B⁻ is not that of u_B⁺: the ceiling is 1.
    Source: ren-li-2023, Definition 4.1. Args: g `[..., d, d]`, finite, d ≤ 13; rank r, 1 to d. Returns: `[...]`.
    Raises: ValueError for another g or rank. Error: values within 1e-9 of the largest count as equal.
    Cost: 2^{d−1} sorts of 2^d numbers a matrix, d = 12: about 1 s; memory 2^{d−1}·d numbers a matrix and blocks of 2²².
    """
    d = g.shape[-1]
    if not 1 <= rank <= d <= LARGEST_DIM or g.shape[-2:] != (d, d) or not bool(g.isfinite().all()):
        raise ValueError(
            f"exact_alignment: got g {list(g.shape)} and rank {rank}, "
            f"allowed are finite [..., d, d] with 1 ≤ rank ≤ d ≤ {LARGEST_DIM}; see sampled_alignment"
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
    """For each u_A the number of (u_B⁺, u_B⁻) where u_B⁺ has the larger value; values `[u_A, signal, noise]`."""
    positive = values[torch.arange(len(values), device=values.device), signal]
    beaten = positive - tie.unsqueeze(-1)
    wins = torch.searchsorted(values.flatten(1).sort(-1).values, beaten).sum(-1)
    return wins - torch.searchsorted(positive.sort(-1).values, beaten).sum(-1) if other_signal else wins


def _tie(largest: Tensor) -> Tensor:
    return max(TIE, 64 * torch.finfo(largest.dtype).eps) * largest


def sampled_alignment(g: Tensor, rank: int, count: int, generators: list[torch.Generator]) -> tuple[Tensor, int]:
    """Independent trials of the event of `exact_alignment`, for any d: a binomial count, so it has a Wilson interval.

    Source: ren-li-2023, Definition 4.1. Args: g `[run, d, d]`; rank r; count of trials a run; generators, one a run.
    Returns: successes `[run]`, int64, and the number of trials. Raises: ValueError for another g.
    Error: values within 1e-9 of the largest drawn count as equal. Cost: 2·count·d² flops a run, 4·count·d numbers.
    """
    d = g.shape[-1]
    if g.shape != (len(generators), d, d):
        raise ValueError(
            f"sampled_alignment: got g {list(g.shape)} and {len(generators)} generators, one a run allowed"
        )
    u_a, u_b = sample_signs(rank, d, count, generators, g.dtype)
    other, _ = sample_signs(d, d, count, generators, g.dtype)
    h = u_a @ g
    positive, negative = (h * u_b).sum(-1), (h * other).sum(-1)
    tie = _tie(torch.maximum(positive.abs(), negative.abs()).amax(-1, keepdim=True))
    return (positive > negative + tie).sum(-1), count


def alignment_condition(rank: int) -> float:
    """√((√r + 1)/(√r − 1)): below this condition number of K_A = K_B the noiseless alignment is 1 − 2^{−r}, and
    not always at it or above.

    For sign vectors z ≠ z' let S be where they differ: zᵀG(z − z') = 2 zᵀG z_S, G = KᵀK with eigenvalues in [λ, Λ].
    Write G = (Λ + λ)/2 + E, ‖E‖ ≤ (Λ − λ)/2. As z·z_S = |S| and ‖z‖‖z_S‖ = √(r|S|),
    2 zᵀG z_S ≥ (Λ + λ)|S| − (Λ − λ)√(r|S|), positive for all |S| iff it is for |S| = 1: √r < (Λ + λ)/(Λ − λ).
    `worst_alignment_map` reaches the bound for every r, so it is sharp. Columns that are orthogonal need no bound:
    2 zᵀG z_S = 2 Σ_{p∈S} κ_p². It falls to 1 as 1 + 1/√r: Lemma 4.4 bounds the condition number only, by what need
    not be near 1, and its reason is that z' ≠ z is at a distance, where Definition 4.1 compares inner products. So the
    lemma needs the near orthogonality of the columns that the flow keeps.
    Source: derived; ren-li-2023, Lemma 4.4. Args: rank r, 1 or more. Returns: above 1; infinite for r = 1.
    Raises: ValueError for another rank.
    """
    if rank < 1:
        raise ValueError(f"alignment_condition: got rank {rank}, allowed are 1 or more")
    root = math.sqrt(rank)
    return math.sqrt((root + 1) / (root - 1)) if rank > 1 else math.inf


def sufficient_alignment_margin(map_a: Tensor, rank: int) -> Tensor:
    """[Λ + λ − √r(Λ − λ)]/‖K_A‖_F², Λ and λ the extreme eigenvalues of K_AᵀK_A.

    Where it is positive it is a lower bound of f_A⁺·f_B⁺ − f_A⁺·f_B⁻ over all z' ≠ z, for K_B = K_A without noise:
    2/r for orthogonal columns of one length. Positive iff the condition number is below `alignment_condition(r)`.
    Source: derived, see there. Args: map_a `[..., m, d]`; rank r. Returns: `[...]`.
    Raises and cost: as `condition_number`.
    """
    values = _singular_values(map_a, rank, "sufficient_alignment_margin").square()
    high, low = values[..., 0], values[..., -1]
    return (high + low - math.sqrt(rank) * (high - low)) / values.sum(-1)


def worst_alignment_map(
    rank: int, condition: float, device: torch.device | str | None = None, dtype: torch.dtype = torch.float64
) -> Tensor:
    """K = Kᵀ of condition number κ with the least zᵀKᵀK(z − z') for z = (1, …, 1) and z' of the first sign changed.

    With x = z/√r and y = e_1 its eigenvectors are x − y for κ, x + y for 1, and all orthogonal ones for √κ. Then
    E of `alignment_condition` maps x to −y(κ² − 1)/2. Just beyond that bound this z and −z lose to one z' each:
    the alignment falls by 2^{1−2r}.
    Source: derived, see there. Args: rank r, 2 or more; condition κ, 1 or more. Returns: `[r, r]`.
    Raises: ValueError for others.
    """
    if rank < 2 or not condition >= 1:
        raise ValueError(
            f"worst_alignment_map: got rank {rank}, condition {condition}, allowed are rank ≥ 2, condition ≥ 1"
        )
    unit = torch.eye(rank, device=device, dtype=dtype)
    x, y, middle = unit.sum(0) / math.sqrt(rank), unit[0], math.sqrt(condition)
    high, low = ((v / v.norm()).outer(v / v.norm()) for v in (x - y, x + y))
    return middle * unit + (condition - middle) * high + (1 - middle) * low


def balance(map_a: Tensor, rank: int | None = None) -> Tensor:
    """‖Σ‖_F²/‖Σ‖_2² = Σ_i s_i⁴/max s_i⁴, Σ = E[f_A f_Aᵀ] = map_a map_aᵀ/(d·N_A²), s_i the singular values of map_a.

    It is the stable rank of the covariance, not of the map: 1 to d, r for equal s_i of r signal columns alone.
    Source: ren-li-2023, Definition 4.2. Args: map_a `[..., m, d]`; rank, r for the signal columns alone.
    Returns: `[...]`, 0 for a map 0. Raises: ValueError for another rank, or a map that is not finite.
    Cost: 2·m·d² flops and the singular values of a d×d matrix.
    """
    k = map_a if rank is None else _signal(map_a, rank, "balance")
    return stable_rank(k.mT @ k)


def condition_number(map_a: Tensor, rank: int) -> Tensor:
    """s_max/s_min of the signal columns K_A, infinite where they are dependent.

    Source: ren-li-2023, Lemmas 4.4 and 4.5. Args: map_a `[..., m, d]`, m ≥ r; rank r, 1 to d. Returns: `[...]`.
    Raises: ValueError for another rank. Cost: about 4·m·r² flops.
    """
    values = _singular_values(map_a, rank, "condition_number")
    return values[..., 0] / values[..., -1]


def column_ratio(map_a: Tensor, rank: int) -> Tensor:
    """max_p ‖[K_A]_p‖/min_p ‖[K_A]_p‖ of the signal columns: the condition number where they are orthogonal, else
    not above it.

    Source: ren-li-2023, κ_max/κ_min of (8). Args, Returns and Raises: as `condition_number`. Cost: 2·m·r flops.
    """
    norms = _signal(map_a, rank, "column_ratio").norm(dim=-2)
    return norms.amax(-1) / norms.amin(-1)


def noise_signal_ratio(map_a: Tensor, rank: int) -> Tensor:
    """‖K_{A,ξ}‖_F²/‖K_A‖_F². Source: ren-li-2023, Lemma 5.1.

    Args and Raises: as `condition_number`. Returns: `[...]`, 0 for r = d. Cost: 2·m·d flops.
    """
    squares = map_a.square().sum(-2)
    return squares[..., rank:].sum(-1) / _signal(squares, rank, "noise_signal_ratio").sum(-1)


def column_alignment(map_a: Tensor, map_b: Tensor, rank: int) -> Tensor:
    """κ̂_p²/κ_p² = 2⟨[K_A]_p, [K_B]_p⟩/(‖[K_A]_p‖² + ‖[K_B]_p‖²), −1 to 1; 1 iff the two columns are equal.

    Source: ren-li-2023, Lemma 5.1, with κ_p² the mean of both modalities. Args: map_a, map_b `[..., m, d]`; rank r.
    Returns: `[..., r]`. Raises: ValueError for another rank. Cost: 6·m·r flops.
    """
    a, b = (_signal(x, rank, "column_alignment") for x in (map_a, map_b))
    return 2 * (a * b).sum(-2) / (a.square() + b.square()).sum(-2)


def discretisation_errors(map_a: Tensor, map_b: Tensor, rank: int) -> DiscretisationErrors:
    """Relative differences of norms and cosines of columns that are 0 at infinite width.

    The text at hand has lost (11) and (17); these follow its words (norms of corresponding columns alike, columns of
    all four matrices orthogonal) and the lemmas on each. Between noises it has all pairs, q = q of A and B too.
    Source: ren-li-2023, eqs. (11), (17), Lemmas B.13 to B.16, C.12 to C.17.
    Args: map_a, map_b `[..., m, d]`; rank r, 1 to d. Returns: DiscretisationErrors; what needs a noise column, or a
    second signal, is 0 without one, and a column 0 has cosine 0. Raises: ValueError for another rank.
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
    """Largest over smallest, minus 1; 0 where there is none or all are 0."""
    if squares.shape[-1] == 0:
        return squares.sum(-1)
    high, low = squares.amax(-1), squares.amin(-1)
    return torch.where(high > 0, high / low, 1) - 1


def _signal(columns: Tensor, rank: int, name: str) -> Tensor:
    if not 1 <= rank <= columns.shape[-1]:
        raise ValueError(f"{name}: got rank {rank} of {columns.shape[-1]} columns, allowed are 1 ≤ rank ≤ d")
    return columns[..., :rank]


def _singular_values(map_a: Tensor, rank: int, name: str) -> Tensor:
    if map_a.shape[-2] < rank:
        raise ValueError(f"{name}: got {map_a.shape[-2]} rows for rank {rank}, allowed are rank or more")
    return torch.linalg.svdvals(_signal(map_a, rank, name))
