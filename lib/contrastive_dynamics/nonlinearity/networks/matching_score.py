"""How well filters match the tokens of their place: the scores χ̄₊ and χ̄₋, and the token that each filter shows.

Shapes: filters w `[..., K, M, d]` on tokens u_a = ‖u_a‖ e_a; candidates bool `[..., K, d]`, tokens of the generators.
"""

import torch
from torch import Tensor


def cosines(w: Tensor, absolute: bool | Tensor = False, padding: float = 0.0) -> Tensor:
    """cos(w_km, u_a) = w_kma/‖w_km‖ `[..., K, M, d]`; the norm of a token drops out. Cost: 3·K·M·d flops.

    Args: absolute takes |cos|, for linear filters, whose sign is free, or says so for each `[...]`; padding adds that
    share of the largest |weight| of the place to ‖w_km‖, which discounts filters that have decayed (1e-3 in the
    author's score).
    """
    length = w.norm(dim=-1, keepdim=True) + padding * w.abs().amax((-2, -1), keepdim=True)
    cosine = w / length.clamp_min(torch.finfo(w.dtype).tiny)
    if isinstance(absolute, Tensor):
        return torch.where(absolute.view(*absolute.shape, 1, 1, 1), cosine.abs(), cosine)
    return cosine.abs() if absolute else cosine


def place_scores(
    w: Tensor, candidates: Tensor, absolute: bool | Tensor = False, padding: float = 0.0
) -> tuple[Tensor, Tensor]:
    """χ₊(R_k) and χ₋(R_k): mean over tokens a of max_m cos(w_km, u_a), for a in and outside the candidates of place k.

    Source: tian-2023, eqs. (16), (180), (181); (181) prints 1/P where the mean over the d − P other tokens is meant.
    Args: as `cosines`. Returns: `[..., K]` twice, in [−1, 1]; nan for a place without tokens of a kind.
    """
    best = cosines(w, absolute, padding).amax(-2)  # [..., K, d]
    return tuple(torch.where(kind, best, 0).sum(-1) / kind.sum(-1) for kind in (candidates, ~candidates))


def matching_scores(
    w: Tensor, candidates: Tensor, absolute: bool | Tensor = False, padding: float = 0.0
) -> tuple[Tensor, Tensor]:
    """χ̄₊ and χ̄₋, the means of `place_scores` over the places that have tokens of the kind; `[...]` twice."""
    return tuple(score.nanmean(-1) for score in place_scores(w, candidates, absolute, padding))


def shows_candidate(w: Tensor, candidates: Tensor, least: float = 0.9, absolute: bool = False) -> Tensor:
    """Whether a filter is one candidate token: cos(w_km, u_a) ≥ least for a candidate a, bool `[..., K, M, d]`.

    Entry a of the last axis is that token. Args: 1/√2 < least ≤ 1, so that no filter shows two tokens.
    Raises: ValueError outside.
    """
    if not 0.5**0.5 < least <= 1:
        raise ValueError(f"shows_candidate: least: got {least}, allowed are numbers above 1/√2, up to 1")
    return (cosines(w, absolute) >= least) & candidates.unsqueeze(-2)
