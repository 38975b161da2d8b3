"""What a trained network keeps and drops: the same scores in every world, and the shares that the law predicts.

Shapes: outputs f of the second view `[run, n, z]`, centred; s the whitened shared latents; K = E[f sᵀ].
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.random_streams import streams
from ..numerics.ranks import effective_rank
from .canonical_correlations import moment_axes
from .encoders import Network, Parameters
from .experiment import Trained, Views
from .pairs import Moments, Pairs
from .worlds import World

NOISE = 0.1  # variance of a noisy probe's noise, of tr Cov(f)/S


class Scores(NamedTuple):
    """Each `[run]`."""

    align: Tensor  # correlation of f(x⁺) and f(x⁺⁺), tr Cov(f_A, f_B) over the root of both variances
    rank: Tensor  # effective rank of the outputs
    kept: Tensor  # mean R² of s from f with noise, over that from x without: plain R² cannot see a collapse
    balance: Tensor  # ‖K‖_F²/(S‖K‖₂²)
    cond: Tensor  # largest over smallest of the S singular values of K
    drop: Tensor  # private over shared variance in x, over the same in f


class Sample(NamedTuple):
    """Fresh pairs of a world, and what of the scores depends on them alone."""

    pairs: Pairs
    explained: Tensor | None  # R² of s from x, `[run]`; None where a sampler does not record its latents
    again: tuple[Tensor, Tensor]  # two second views with private latents of their own, whatever the pairs are
    private: Tensor  # private over shared variance in these, `[run]`


def draw_sample(world: World, views: Views, n: int, seeds: Sequence[int]) -> Sample:
    """What `score` needs to see of a world; arguments as there. Several networks may be scored on one sample."""
    pairs = views(world, n, streams(seeds, 1, "scores"))
    explained = None
    if pairs.shared.shape[-1]:
        x, s = _centred(pairs.second), _centred(pairs.shared)
        x, s = (y.to(torch.promote_types(x.dtype, s.dtype)) for y in (x, s))
        explained = _r_squared(x.mT @ x / n, x.mT @ s / n, s)
    generators = streams(seeds, 1, "scores of private latents")
    shared = world.shared(n, generators)
    again = world.render(shared, world.private(n, generators), 1), world.render(shared, world.private(n, generators), 1)
    return Sample(pairs, explained, again, _private_to_shared(*again))


def score(trained: Trained, views: Views, n: int, seeds: Sequence[int]) -> Scores:
    """Scores on n fresh pairs of each run.

    Args:
        trained: the networks.
        views: what makes the pairs; `drop` takes pairs with private latents of their own, whatever the views.
        n: ≥ 2, well above the number of inputs.
        seeds: those of the training.
    Returns: Scores; kept, balance and cond are nan where a sampler does not record its latents.
    Error: an R² is too high by D/n.
    Cost: 2n(D² + z²) flops per run.
    """
    return score_on(trained, draw_sample(trained.world, views, n, seeds))


def score_on(trained: Trained, sample: Sample) -> Scores:
    """Scores on pairs that are drawn already, with the runs of the networks. Cost: 2n(D·z + z²) flops per run."""
    first, second = (_centred(y) for y in trained.outputs(sample.pairs))
    spread = [y.square().sum((-2, -1)) for y in (first, second)]
    align = (first * second).sum((-2, -1)) / (spread[0] * spread[1]).sqrt()
    outputs = [trained.network(trained.encoders[-1], _like(x, trained))[0] for x in sample.again]
    drop = sample.private / _private_to_shared(*outputs)
    return Scores(align, effective_rank(second), *_of_shared(second, sample), drop)


def _of_shared(f: Tensor, sample: Sample) -> tuple[Tensor, Tensor, Tensor]:
    """kept, balance and cond."""
    if sample.explained is None:
        return (torch.full((len(f),), torch.nan, dtype=f.dtype, device=f.device),) * 3
    s, n = _centred(sample.pairs.shared).to(f.dtype), f.shape[1]
    count, second, cross = s.shape[-1], f.mT @ f / n, f.mT @ s / n
    noise = NOISE * second.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None] / count
    noisy = _r_squared(second + noise * torch.eye(f.shape[-1]).to(f), cross, s)
    gains = torch.linalg.svdvals(cross)
    gains = torch.nn.functional.pad(gains, (0, max(0, count - gains.shape[-1])))[..., :count]
    balance = gains.square().sum(-1) / (count * gains[..., 0].square())
    return noisy / sample.explained, balance, gains[..., 0] / gains[..., -1]


def _r_squared(second: Tensor, cross: Tensor, s: Tensor) -> Tensor:
    """Mean share of the variance of s that a linear probe explains."""
    explained = (cross * (torch.linalg.pinv(second, hermitian=True) @ cross)).sum((-2, -1))
    return explained / s.square().mean(1).sum(-1)


def _private_to_shared(first: Tensor, second: Tensor) -> Tensor:
    """Of two samples with the same shared latents: variance of what they do not share over that of what they do."""
    first, second = _centred(first), _centred(second)
    shared = (first * second).sum((-2, -1))
    return ((first - second).square().sum((-2, -1)) / 2) / shared


def linear_map(network: Network, params: Parameters, inputs: int) -> Tensor:
    """W `[run, z, D]` of a linear network, from its outputs on unit vectors.

    Raises: ValueError if its output on their sum is not the sum of the outputs.
    """
    some = next(iter(params.values()))
    unit = torch.eye(inputs, dtype=some.dtype, device=some.device)
    points = torch.cat([unit, unit.sum(0, keepdim=True)]).expand(len(some), -1, -1)
    outputs = network(params, points)[0]
    columns, whole = outputs[:, :-1], outputs[:, -1]
    if not torch.allclose(columns.sum(1), whole, rtol=1e-3, atol=1e-3 * float(whole.abs().max())):
        raise ValueError(f"linear_map: the network must be linear, got {type(network).__name__} that is not")
    return columns.mT


def shares(trained: Trained, moments: Moments) -> Tensor:
    """g_j `[run, k]` of linear networks: p_jᵀGq_j in the canonical directions of the views, in the order of ρ.

    G = UᵀV/(‖U‖‖V‖) of the whitened maps; `water_filling` of `canonical_correlations` of the same moments predicts it.
    Source: derived, see `soft_threshold`; G is `alignment_and_balance.model.correlation` in whitened coordinates.
    Args:
        trained: of linear networks.
        moments: of the views that it was trained on.
    Raises: ValueError for a network that is not linear.
    Cost: as `canonical_correlations`, and 2·z·D² flops.
    """
    first, second, size = _on_axes(trained, moments)
    return (first * second).sum(-2) / size.unsqueeze(-1)


def canonical_map(trained: Trained, moments: Moments) -> Tensor:
    """All of G `[run, k, k]`: p_iᵀGq_j in the canonical directions of the views; its diagonal are the shares.

    Args, Raises and Cost: as `shares`.
    """
    first, second, size = _on_axes(trained, moments)
    return first.mT @ second / size[:, None, None]


def _on_axes(trained: Trained, moments: Moments) -> tuple[Tensor, Tensor, Tensor]:
    """What both whitened maps make of the canonical directions, `[run, z, k]`, and the product of their norms."""
    axes = moment_axes(moments, tied=trained.world.tied)
    network, inputs = trained.network, trained.world.inputs
    maps = [linear_map(network, trained.encoders[k], inputs).to(axes.rho.dtype) for k in (0, -1)]
    on = [w @ (m @ a) for w, m, a in zip(maps, moments[:2], axes[1:], strict=True)]
    sizes = [((w @ m) * w).sum((-2, -1)) for w, m in zip(maps, moments[:2], strict=True)]
    return *on, (sizes[0] * sizes[1]).sqrt()


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(1, keepdim=True)


def _like(x: Tensor, trained: Trained) -> Tensor:
    return x.to(next(iter(trained.encoders[-1].values())).dtype)
