"""How well filters match the tokens of their place: the scores χ̄₊ and χ̄₋, and the token that each filter shows.

Shapes: filters w `[..., K, M, d]` on tokens u_a = ‖u_a‖ e_a; candidates bool `[..., K, d]`, tokens of the generators.
"""

import torch
from torch import Tensor


def cosines(w: Tensor, absolute: bool | Tensor = False, padding: float = 0.0) -> Tensor:
    """cos(w_km, u_a) = w_kma/‖w_km‖; the norm of a token cancels.

    Args:
        w: filters `[..., K, M, d]`.
        absolute: take |cos|, for linear filters, whose sign is free; a bool, or a bool tensor `[...]`.
        padding: the share of the largest |weight| of the place that is added to ‖w_km‖, which discounts filters that
            have decayed (1e-3 in the author's score).
    Returns: `[..., K, M, d]`.
    Cost: 3·K·M·d flops.
    """
    length = w.norm(dim=-1, keepdim=True) + padding * w.abs().amax((-2, -1), keepdim=True)
    cosine = w / length.clamp_min(torch.finfo(w.dtype).tiny)
    if isinstance(absolute, Tensor):
        return torch.where(absolute.view(*absolute.shape, 1, 1, 1), cosine.abs(), cosine)
    return cosine.abs() if absolute else cosine


def place_scores(
    w: Tensor, candidates: Tensor, absolute: bool | Tensor = False, padding: float = 0.0
) -> tuple[Tensor, Tensor]:
    """χ₊(R_k) and χ₋(R_k): mean over tokens a of max_m cos(w_km, u_a), a among or outside the candidates of place k.

    Source: tian-2023, eqs. (16), (180), (181); (181) prints 1/P, although the mean over the d − P other tokens is
        meant.
    Args:
        w: filters `[..., K, M, d]`.
        candidates: bool `[..., K, d]`.
        absolute, padding: as in `cosines`.
    Returns: `[..., K]` twice, in [−1, 1]; NaN for a place without tokens of that kind.
    """
    best = cosines(w, absolute, padding).amax(-2)  # [..., K, d]
    return tuple(torch.where(kind, best, 0).sum(-1) / kind.sum(-1) for kind in (candidates, ~candidates))


def matching_scores(
    w: Tensor, candidates: Tensor, absolute: bool | Tensor = False, padding: float = 0.0
) -> tuple[Tensor, Tensor]:
    """χ̄₊ and χ̄₋, the means of `place_scores` over the places that have tokens of that kind.

    Args:
        w: filters `[..., K, M, d]`.
        candidates: bool `[..., K, d]`.
        absolute, padding: as in `cosines`.
    Returns: `[...]` twice.
    """
    return tuple(score.nanmean(-1) for score in place_scores(w, candidates, absolute, padding))


def shows_candidate(w: Tensor, candidates: Tensor, least: float = 0.9, absolute: bool = False) -> Tensor:
    """Whether a filter shows one candidate token: cos(w_km, u_a) ≥ least for a candidate a.

    Args:
        w: filters `[..., K, M, d]`.
        candidates: bool `[..., K, d]`.
        least: 1/√2 < least ≤ 1, so that no filter shows two tokens.
        absolute: as in `cosines`.
    Returns: bool `[..., K, M, d]`; entry a of the last axis belongs to token a.
    Raises: ValueError for least outside its range.
    """
    if not 0.5**0.5 < least <= 1:
        raise ValueError(f"least must be > 1/√2 and ≤ 1, got {least}")
    return (cosines(w, absolute) >= least) & candidates.unsqueeze(-2)
