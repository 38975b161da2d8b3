"""Lottery tickets of token networks: which filters to keep of a wide layer, and what they cover when trained alone.

Source of the question: tian-2023, Section 3.3, which leaves "a thorough empirical study" to future work.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.given_starts import chunks, side_by_side, trained_from
from contrastive_dynamics.nonlinearity.networks.matching_score import cosines, shows_candidate
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.token_coverage import coverage
from contrastive_dynamics.numerics.random_streams import stream

ARMS = ("one per candidate", "magnitude", "shortest", "random", "fresh")
AT_ONCE = 5  # seeds whose tickets, one network per arm, are trained as one program


def kept_filters(w: Tensor, candidates: Tensor, count: int, draws: list[torch.Generator]) -> dict[str, Tensor]:
    """The filters that each way of pruning keeps of a trained layer, `count` a place.

    "one per candidate": for every candidate that some filter shows, the filter nearest to it, then random others.
    "magnitude": the longest. "shortest": the shortest, as a sign in the order would have it. "random": any.

    Args:
        w: trained filters `[run, K, M, d]`.
        candidates: bool `[run, K, d]`.
        count: filters to keep, number of candidates of a place ≤ count ≤ M.
        draws: random streams, one per run.
    Returns: for each way, indices `[run, K, count]` of filters, all different.
    Raises: ValueError for count outside its range.
    """
    if not int(candidates.sum(-1).max()) <= count <= w.shape[2]:
        raise ValueError(f"count must be from {int(candidates.sum(-1).max())} to {w.shape[2]}, got {count}")
    how = {"dtype": torch.float32, "device": w.device}  # not the default: a chapter's is float64, its workers' is not
    lots = torch.stack([torch.rand(w.shape[1:3], generator=g, **how) for g in draws]).to(w.dtype)
    shown = shows_candidate(w, candidates)
    nearest = torch.where(shown, cosines(w), 0)
    best = shown & (nearest == nearest.amax(-2, keepdim=True))  # of the filters that show a token, the nearest
    first, length = best.any(-1).to(w.dtype), w.norm(dim=-1)
    value = {"one per candidate": lots + 2 * first, "magnitude": length, "shortest": -length, "random": lots}
    return {way: of.topk(count, -1).indices for way, of in value.items()}


def kept(weights: Weights, index: Tensor) -> Weights:
    """The weights of the filters `index` `[run, K, count]` alone, above and below; copies."""
    return Weights(*(part.gather(2, index.unsqueeze(-1).expand(-1, -1, -1, part.shape[-1])) for part in weights))


def ticket_coverage(
    training: TokenTraining,
    seeds: Sequence[int],
    steps: int,
    *,
    device: torch.device | str | None = None,
    workers: int | None = None,
    watch: Callable[[list[tuple]], Iterable[tuple]] = iter,
) -> dict[str, Tensor]:
    """Train wide networks, prune each to P filters a place in every way, and train what is left from the same start.

    "fresh" starts the tickets from the weights of another wide network, so that no filter knows its outcome and the
    scales agree. Tickets see the minibatches of their wide network, so all arms of a seed are compared in pairs.

    Args:
        training: the wide network, β ≥ 2.
        seeds: one per wide network.
        steps: number of minibatches of either training.
        device: where to train, by default torch's default device.
        workers, watch: as in `side_by_side`.
    Returns: coverage `[seed]` of "wide" and of each of ARMS; and, of the filters that are kept and showed a candidate
        in the wide network, the share that show the same one in the ticket, "ARM, returned" `[seed]`. For fresh starts
        that is what chance gives.
    Raises: as `trained_from`.
    Cost: a training with βP and five with P filters a place, per seed.
    """
    device = torch.get_default_device() if device is None else torch.device(device)
    parts = [(training, part, steps) for part in chunks(seeds, AT_ONCE)]
    return side_by_side(_tickets, parts, device, workers, watch)


def _tickets(training: TokenTraining, seeds: tuple[int, ...], steps: int, device: torch.device) -> dict[str, Tensor]:
    """`ticket_coverage` of a few seeds."""

    runs = [(training, seed) for seed in seeds]
    own, fresh = starting_weights(runs, device), starting_weights(runs, device, purpose="fresh weights")
    candidates = training.pool(seeds, device).candidates()
    wide = trained_from(runs, Weights(*(part.clone() for part in own)), steps).w
    draws = [stream(seed, 0, "tickets", device) for seed in seeds]
    index = kept_filters(wide, candidates, training.candidates, draws)
    index["fresh"] = index["one per candidate"]  # the same filters, so that what returns by chance is seen
    tickets = [kept(fresh if arm == "fresh" else own, index[arm]) for arm in ARMS]
    weights = trained_from(runs * len(ARMS), Weights(*(torch.cat(part) for part in zip(*tickets, strict=True))), steps)
    shown_wide = shows_candidate(wide, candidates)
    found = {"wide": coverage(shown_wide, candidates)}
    for arm, w in zip(ARMS, weights.w.split(len(seeds)), strict=True):
        shown = shows_candidate(w, candidates)
        before = shown_wide.gather(2, index[arm].unsqueeze(-1).expand(*index[arm].shape, shown.shape[-1]))
        returned = (before & shown).sum((1, 2, 3)).double() / before.sum((1, 2, 3)).clamp(min=1)
        found |= {arm: coverage(shown, candidates), f"{arm}, returned": returned}
    return found
