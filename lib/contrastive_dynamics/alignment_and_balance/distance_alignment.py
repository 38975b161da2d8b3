"""Definition 4.1 by distances, P[‖f_A⁺ − f_B⁺‖ < ‖f_A⁺ − f_B⁻‖], for two linear maps; by products in `modality_scores`.

Where every ‖f_B‖ is the same the two agree, as ‖f_A − f_B‖² = ‖f_A‖² + ‖f_B‖² − 2f_A·f_B. Here only the mean square
of the outputs is 1. Shapes: map_a, map_b `[..., m, d]`, f = map u/N, N² = ‖map‖_F²/d, as in `model`.
"""

import math

import torch
from torch import Tensor

from .modality_scores import BLOCK, LARGEST_DIM, TIE
from .model import sign_vectors


def exact_alignment_by_distance(map_a: Tensor, map_b: Tensor, rank: int, *, other_signal: bool = False) -> Tensor:
    """P[‖f_A⁺ − f_B⁺‖ < ‖f_A⁺ − f_B⁻‖], u_A and u_B⁺ a positive pair, u_B⁻ independent; all signs are enumerated.

    A tie is not a success, so equal outputs score 0; the ceilings are those of `exact_alignment`. For K_A = K_B = K
    without noise a positive pair is at distance 0 and a negative whose signal differs in n signs at
    2√(n/d)·σ_min(K)/N at least: independent columns reach the ceiling, whatever their directions.
    Source: ren-li-2023, Definition 4.1 read by distances; Lemma 4.4.
    Args:
        map_a, map_b: `[..., m, d]`, finite, d ≤ 13; a map of 0 has the outputs 0.
        rank: r, 1 to d.
        other_signal: whether to condition on u_B⁻ having another signal than u_B⁺.
    Returns: `[...]`.
    Raises: ValueError for other maps or another rank.
    Error: distances that differ by at most 1e-9 times the largest ‖f_A‖ + ‖f_B‖ are ties.
    Cost: 2^{d−1} sorts of 2^d numbers and 3m·2^{2d−1} flops per pair of maps, m ≤ 2d as in `initial_maps` at best;
        memory for 2^{d+1}·m numbers per pair and for blocks of 2²².
    """
    d = map_a.shape[-1]
    if not 1 <= rank <= d <= LARGEST_DIM:
        raise ValueError(f"rank and d must be 1 ≤ rank ≤ d ≤ {LARGEST_DIM}, got {rank} and {d}")
    _require_maps("exact_alignment_by_distance", map_a, map_b)
    u, half, noises = sign_vectors(d, map_a.device, map_a.dtype) / math.sqrt(d), 2 ** (d - 1), 2 ** (d - rank)
    signal = torch.arange(half, device=map_a.device) // noises  # of u_A: −u_A wins as often
    wins = []
    for a, b in zip(map_a.reshape(-1, *map_a.shape[-2:]), map_b.reshape(-1, *map_b.shape[-2:]), strict=True):
        f_a, f_b = _outputs(a, u[:half]), _outputs(b, u)
        tie = _tie(f_a, f_b)
        rows = zip(*(x.split(max(1, BLOCK // 2**d)) for x in (f_a, signal)), strict=True)
        wins.append(sum(_wins(_distances(f, f_b).unflatten(-1, (-1, noises)), z, tie, other_signal) for f, z in rows))
    negatives = 2**d - noises if other_signal else 2**d
    share = torch.stack(wins).to(map_a.dtype) / (half * noises * negatives)
    return share.view(map_a.shape[:-2])


def _outputs(map_: Tensor, u: Tensor) -> Tensor:
    """map u/N `[..., u, m]`, 0 for a map of 0."""
    size = torch.linalg.matrix_norm(map_, keepdim=True) / math.sqrt(map_.shape[-1])
    return u @ (map_ / torch.where(size > 0, size, 1)).mT


def _distances(f_a: Tensor, f_b: Tensor) -> Tensor:
    """By differences: products would lose every distance below √ε."""
    return torch.cdist(f_a, f_b, compute_mode="donot_use_mm_for_euclid_dist")


def _tie(f_a: Tensor, f_b: Tensor) -> Tensor:
    largest = sum(f.norm(dim=-1).amax(-1) for f in (f_a, f_b))
    return max(TIE, 64 * torch.finfo(f_a.dtype).eps) * largest


def _wins(distances: Tensor, signal: Tensor, tie: Tensor, other_signal: bool) -> Tensor:
    """Number of (u_A, u_B⁺, u_B⁻) in which u_B⁺ is nearer; distances `[u_A, signal, noise]`, signal that of u_A."""
    positive = distances[torch.arange(len(distances), device=distances.device), signal]
    reach = positive + tie
    every = torch.searchsorted(distances.flatten(1).sort(-1).values, reach, right=True).sum()
    same = torch.searchsorted(positive.sort(-1).values, reach, right=True).sum() if other_signal else 0
    counted = distances[0].numel() - (positive.shape[-1] if other_signal else 0)
    return counted * positive.numel() - every + same


def _require_maps(name: str, map_a: Tensor, map_b: Tensor) -> None:
    if map_a.ndim < 2 or map_a.shape != map_b.shape or not bool(map_a.isfinite().all() & map_b.isfinite().all()):
        got = f"{list(map_a.shape)} and {list(map_b.shape)}"
        raise ValueError(f"{name}: map_a and map_b must be finite, [..., m, d] and of one shape, got {got}")
