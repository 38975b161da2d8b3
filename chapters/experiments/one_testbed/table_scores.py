"""Scores that the table's rows compare, beside those of `scores`: of arms whose world knows its features."""

import torch
from torch import Tensor

from contrastive_dynamics.testbed.canonical_correlations import moment_axes, moment_correlations
from contrastive_dynamics.testbed.scores import linear_map, shares
from contrastive_dynamics.testbed.view_makers import Apart

from .table_arms import Ended
from .table_worlds import NATIVE, SHARED, feature_directions

WON = 0.8  # cos² from which on a neuron is a single feature's
UNSHARED = 1e-3  # ρ from which on views share a direction: float32 rounds a zero
MOST_UNEQUAL = 100.0  # of shares: larger ratios only say that a direction is not learned
MOST = 1e6  # of a ratio of private to shared variance: beyond it float32 sees no private part


def matched(ended: Ended) -> Tensor:
    """cos² of each shared feature's direction with the neuron next to it, `[run, S]`.

    A pool of tokens may leave one or two of 18 candidates unused; they count as features that no training can find.
    """
    params = ended.trained.encoders[-1]
    w = params["w1"] if "w1" in params else params["w"]
    if w.ndim == 4:  # [run, place, filter, d]: each filter sees its place alone
        w = torch.stack([torch.block_diag(*of) for of in w])
    directions = feature_directions(ended.trained.world).to(w)
    cosines = torch.nn.functional.normalize(w, dim=-1) @ torch.nn.functional.normalize(directions, dim=-1).mT
    return cosines.square().amax(1).double()


def won(ended: Ended) -> Tensor:
    """Share of features with a neuron of cos² > 0.8, `[run]`."""
    return (matched(ended) > WON).double().mean(-1)


def constrained_rank(ended: Ended, name: str) -> Tensor:
    """Effective rank of x in the space of the z largest singular values of the cross moment, `[run or 1]`.

    The limit of descent on −tr(W C Wᵀ) over WWᵀ = I. Source: derived; z = S of the world. In tokens 1 to 3 of the z
    singular values are 0, and their directions may be any.
    """
    world = ended.trained.world
    cross, second = NATIVE[name].moments(world).cross.double(), Apart().moments(world).second.double()
    if world.tied:
        values, vectors = torch.linalg.eigh((cross + cross.mT) / 2)
        space = vectors[..., -SHARED[name] :]
    else:
        space = torch.linalg.svd(cross).Vh.mT[..., : SHARED[name]]
    p = torch.linalg.eigvalsh(space.mT @ second @ space)
    return torch.special.entr(p / p.sum(-1, keepdim=True)).sum(-1).exp()


def strength_ratio(ended: Ended, name: str) -> Tensor:
    """Root of the largest over the smallest share of a shared direction, ρ > 1e-3, at most 100, `[run]`."""
    moments = NATIVE[name.partition(",")[0]].moments(ended.trained.world)
    shared = moment_correlations(moments, tied=ended.trained.world.tied) > UNSHARED
    g = shares(ended.trained, moments).double()
    most, least = g.where(shared, -torch.inf).amax(1), g.where(shared, torch.inf).amin(1)
    return (most / least.clamp(min=1e-9)).sqrt().clamp(max=MOST_UNEQUAL)


def private_share(ended: Ended) -> Tensor:
    """Share of the variance of a linear network's outputs in the directions with ρ = 0, `[run]`."""
    trained = ended.trained
    moments = Apart().moments(trained.world)
    axes = moment_axes(moments, tied=trained.world.tied)
    w = linear_map(trained.network, trained.encoders[-1], trained.world.inputs).to(axes.second.dtype)
    along = (w @ (moments.second @ axes.second)).square().sum(-2)  # the variance of each direction
    private = (axes.rho < UNSHARED).to(along)
    return ((along * private).sum(-1) / along.sum(-1)).double()


def purity(ended: Ended) -> Tensor:
    """log10 of the variance in directions that the views share over that in private ones, at most 6."""
    private = private_share(ended).clamp(1 / MOST, 1 - 1 / MOST)
    return ((1 - private) / private).log10()


def dropped(ended: Ended) -> Tensor:
    """log10 of drop, at most 6."""
    return ended.scores.drop.clamp(1 / MOST, MOST).log10()


def distance_from_white(ended: Ended) -> Tensor:
    """Relative distance of shared over private variance of the outputs from Σρ/(D − Σρ), D the rank of x, `[run]`."""
    world = ended.trained.world
    moments = Apart().moments(world)
    rho = moment_correlations(moments, tied=world.tied).double().clamp(min=0)
    cross, second = (m.double().diagonal(dim1=-2, dim2=-1).sum(-1) for m in (moments.cross, moments.second))
    shared_over_private = ended.scores.drop * cross / (second - cross)
    return (shared_over_private / (rho.sum(-1) / (rho.shape[-1] - rho.sum(-1))) - 1).abs()
