"""How many candidate tokens a layer of filters covers, and what independent throws of the filters would cover.

Shapes: shown bool `[..., K, M, d]`, filter m of place k shows token a, at most one token per filter (as from
`matching_score.shows_candidate`); candidates bool `[..., K, d]`, the tokens that some generator uses.
"""

import torch
from torch import Tensor


def coverage(shown: Tensor, candidates: Tensor) -> Tensor:
    """Share of the candidates of a network that some filter shows: Σ_k #{a : some filter shows a} / Σ_k n_k.

    Args:
        shown: bool `[..., K, M, d]`, no filter showing a token that is not a candidate.
        candidates: bool `[..., K, d]`, with one or more candidates.
    Returns: `[...]`, 0 to 1, float64.
    """
    return shown.any(-2).sum((-2, -1)).double() / candidates.sum((-2, -1))


def coupon_coverage(thrown: Tensor | int, candidates: Tensor) -> Tensor:
    """Expected coverage if every filter shows one candidate of its place, each as likely as any other, independently.

    A candidate of a place with n_k of them is missed by all M_k throws with probability (1 − 1/n_k)^M_k, so the
    expected share is Σ_k n_k (1 − (1 − 1/n_k)^M_k) / Σ_k n_k. For equal n_k = P and M_k = βP it is
    1 − (1 − 1/P)^(βP).

    It bounds every independent way of ending: if a filter shows candidate a with probability p_a, Σ_a p_a ≤ 1, the
    share Σ_a (1 − (1 − p_a)^M) / n is concave in p, so equal p_a = 1/n are best. Candidates that differ in their odds
    and filters that show nothing only lose.

    Source: the coupon collector, ours; tian-2023, Section 3.3, only says that different starts may reach different
        optima.
    Args:
        thrown: number of throws M, or `[..., K]` for each place.
        candidates: bool `[..., K, d]`, with one or more candidates.
    Returns: `[...]`, 0 to 1, float64.
    """
    n = candidates.sum(-1).double()
    covered = torch.where(n > 0, n * (1 - (1 - 1 / n.clamp(min=1)) ** thrown), 0)  # without candidates nothing
    return covered.sum(-1) / n.sum(-1)


def independent_throws(shown: Tensor, candidates: Tensor, draw: torch.Generator) -> Tensor:
    """`shown` with the candidate of every filter that shows one drawn anew, uniformly among those of its place.

    Args:
        shown: bool `[..., K, M, d]`.
        candidates: bool `[..., K, d]`.
        draw: the random stream.
    Returns: bool `[..., K, M, d]`, with as many filters that show a candidate.
    """
    lots = torch.rand(shown.shape, generator=draw, device=shown.device, dtype=torch.float64)
    token = torch.where(candidates.unsqueeze(-2), lots, -1).argmax(-1, keepdim=True)
    return torch.zeros_like(shown).scatter(-1, token, shown.any(-1, keepdim=True))


def relative_dispersion(shown: Tensor, candidates: Tensor) -> Tensor:
    """Dispersion of the filters per candidate, over that of independent throws of the same number of filters.

    Of the M_k filters of a place that show a candidate, N_a show candidate a. For independent throws N is multinomial
    given M_k, so E Σ_a (N_a − M_k/n_k)² = M_k (1 − 1/n_k), and
    Σ_k Σ_a (N_a − M_k/n_k)² / Σ_k M_k (1 − 1/n_k) has expectation 1 whatever the M_k. Below 1 the filters share the
    work; above 1 they crowd, as they do if some candidates are likelier than others.

    Args:
        shown: bool `[..., K, M, d]`.
        candidates: bool `[..., K, d]`.
    Returns: `[...]`, ≥ 0, float64; 1 if no filter shows a candidate of a place with two or more.
    """
    n, counts = candidates.sum(-1).double().clamp(min=1), shown.sum(-2).double()
    shared = counts.sum(-1) / n
    squares = torch.where(candidates, (counts - shared.unsqueeze(-1)).square(), 0)
    scatter, thrown = squares.sum((-2, -1)), (shared * (n - 1)).sum(-1)
    return torch.where(thrown > 0, scatter / thrown, 1)
