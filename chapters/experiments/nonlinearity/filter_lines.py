"""How near to one line the filters of a place end, against importance and the pace of the top layer.

Theorem 4 of tian-2023 lets linear filters of a place hear one message only, b_k, if S = VᵀV has rank one. Here both are
measured at the end of a training: σ₂/σ₁ of the filters of a place, and the stable rank of V.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import torch
from torch import Tensor

from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.given_starts import chunks, side_by_side, trained_from
from contrastive_dynamics.nonlinearity.networks.importance_mixture import Variation, check_variations
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.numerics.ranks import stable_rank

from .matching_curves import BLOCK


def off_line(w: Tensor) -> Tensor:
    """σ₂/σ₁ of the filters of a place, mean over the places: 0 if those of each place lie on a line through 0.

    Args:
        w: filters `[..., K, M, d]`, M and d ≥ 2.
    Returns: `[...]`, 0 to 1; a place whose filters are all 0 counts as 0.
    Cost: a singular value decomposition of M×d per place.
    """
    sigma = torch.linalg.svdvals(w)
    largest = torch.where(sigma[..., 0] > 0, sigma[..., 0], 1)
    return (sigma[..., 1] / largest).mean(-1)


def line_ends(
    training: TokenTraining,
    seeds: Sequence[int],
    mixtures: Sequence[tuple[float, float]],
    paces: Sequence[float],
    steps: int,
    *,
    device: torch.device | str | None = None,
    workers: int | None = None,
    watch: Callable[[list[tuple]], Iterable[tuple]] = iter,
) -> dict[str, Tensor]:
    """Train every seed with every importance and every pace; `off_line` and the stable rank of V, before and after.

    Networks of one seed start from the same weights and see the same minibatches, so they are compared in pairs.

    Args:
        training: the configuration; its loss is not used.
        seeds: one per network and case.
        mixtures: s and ε of `ImportanceMixture`: (0, 1) is InfoNCE, (0, 0) InfoNCE with rows of α that sum to 1, and
            (1, 1) the uniform importance.
        paces: multiples of the rate for the top layer, > 0.
        steps: number of minibatches.
        device: where to train, by default torch's default device.
        workers, watch: as in `side_by_side`.
    Returns: `off_line` and `rank` `[mixture, pace, seed]` at the end, `off_line_before` and `rank_before` `[seed]`.
    Raises: ValueError for s outside its range or a pace ≤ 0; FloatingPointError if training diverged.
    Cost: 6.5 Mflop per step and network with 25 filters a place.
    """
    check_variations([Variation(*mixture, pace) for mixture, pace in product(mixtures, paces)])
    if not mixtures or not paces:
        raise ValueError(f"mixtures and paces must be one or more, got {len(mixtures)} and {len(paces)}")
    device = torch.get_default_device() if device is None else torch.device(device)
    together = max(1, BLOCK // (len(mixtures) * len(paces)))
    parts = [(training, part, tuple(mixtures), tuple(paces), steps) for part in chunks(seeds, together)]
    return side_by_side(_ends_of_some, parts, device, workers, watch)


def _ends_of_some(
    training: TokenTraining, seeds: tuple[int, ...], mixtures: tuple, paces: tuple, steps: int, device: torch.device
) -> dict[str, Tensor]:
    """`line_ends` of a few seeds, trained as one program."""
    runs = [(training, seed) for seed in seeds]
    start = starting_weights(runs, device)
    before = {"off_line_before": off_line(start.w), "rank_before": _rank(start.v)}
    cases = [Variation(*mixture, pace) for mixture, pace in product(mixtures, paces)]
    weights = Weights(*(part.repeat(len(cases), *[1] * (part.ndim - 1)) for part in start))
    each = [case for case in cases for _ in seeds]
    weights = trained_from(runs * len(cases), weights, steps, each)
    shape = len(mixtures), len(paces), len(seeds)
    return {"off_line": off_line(weights.w).view(shape), "rank": _rank(weights.v).view(shape)} | before


def _rank(v: Tensor) -> Tensor:
    return stable_rank(v.flatten(1, 2))  # [run, K·M, j]
