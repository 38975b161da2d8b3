"""The table: fourteen statements in words of no world, their statistic in each cell, and the word that a cell gets.

A statistic has one value per seed, and so has its control, a plausible mistake that has to miss the rule.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .canonical_correlations import canonical_axes, canonical_correlations
from .scores import linear_map, shares
from .table_arms import Ended
from .table_runs import Arms, Trainings, matched
from .table_worlds import NATIVE, SHARED, WORLDS
from .view_makers import Apart

WON = 0.8  # cos² from which on a neuron is a single feature's
MOST_UNEQUAL = 100.0  # of shares: larger ratios only say that a direction is not learned
MOST = 1e6  # of a ratio of private to shared variance: beyond it float32 sees no private part


class Cell(NamedTuple):
    """A statement in one world, or in a variant of it; one value per seed."""

    value: Tensor
    control: Tensor


def one_direction_is_left(t: Trainings) -> dict[str, Cell]:
    """E1: effective rank after two layers and a loss linear in similarities, the larger of without and with negatives.

    Control: the constraint.
    """

    def cell(arms: Arms) -> Cell:
        ranks = [arms[name].scores.rank for name in ("positives", "negatives")]
        return Cell(torch.maximum(*ranks), arms["orthogonal"].scores.rank)

    return {_named(w, of): cell(t[w][group]) for w in WORLDS for of, group in _DEEP}


def constraint_keeps(t: Trainings) -> dict[str, Cell]:
    """E2: kept features of positives under the constraint, less those of InfoNCE. Control: no constraint."""

    def cell(arms: Arms) -> Cell:
        kept = {name: arms[name].scores.kept for name in ("orthogonal", "infonce", "positives")}
        return Cell(kept["orthogonal"] - kept["infonce"], kept["positives"] - kept["infonce"])

    return {_named(w, of): cell(t[w][group]) for w in WORLDS for of, group in _DEEP}


def constraint_does_not_balance(t: Trainings) -> dict[str, Cell]:
    """E3: relative distance of the effective rank under the constraint from that of the data in the top-z space of the
    cross moment. Control: the rank of InfoNCE, τ² = 1.
    """

    def cell(name: str) -> Cell:
        held, free = t[name]["deep"]["orthogonal"], t[name]["narrow"]["1"]
        expected = constrained_rank(held, name)
        return Cell(*((ended.scores.rank / expected - 1).abs() for ended in (held, free)))

    return {w: cell(w) for w in WORLDS}


def constrained_rank(ended: Ended, name: str) -> Tensor:
    """Effective rank of x in the space of the z largest singular values of the cross moment, `[run or 1]`.

    The limit of descent on −tr(W C Wᵀ) over WWᵀ = I. Source: derived; z = S of the world.
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


def positives_are_unbalanced(t: Trainings) -> dict[str, Cell]:
    """R1: balance of InfoNCE over that of positives alone, and 0 if these align less, by more than 0.05.

    Control: the untrained network in the place of positives alone.
    """

    def ratio(arms: Arms, alone: str) -> Tensor:
        many, few = arms["3"].scores, arms[alone].scores
        return many.balance / few.balance * (few.align >= many.align - 0.05)

    return {w: Cell(*(ratio(t[w]["wide"], alone) for alone in ("positives", "untrained"))) for w in WORLDS}


def negatives_balance_fully(t: Trainings) -> dict[str, Cell]:
    """R2: root of the largest over the smallest share of a shared direction at τ² = 8, at most 100.

    Control: positives alone.
    """
    cells = {w: t[w]["wide"] for w in WORLDS} | {"moons, hardly any noise": t["moons, hardly any noise"]["balanced"]}
    return {w: Cell(*(_conditioning(arms[arm], w) for arm in ("8", "positives"))) for w, arms in cells.items()}


def _conditioning(ended: Ended, name: str) -> Tensor:
    name = name.partition(",")[0]
    g = shares(ended.trained, NATIVE[name].moments(ended.trained.world))[:, : SHARED[name]]
    return (g.amax(1) / g.amin(1).clamp(min=1e-9)).sqrt().clamp(max=MOST_UNEQUAL)


def dropped_unless_shared(t: Trainings) -> dict[str, Cell]:
    """W1: by how many factors of ten the outputs have less private variance, to shared, than with coupled views.

    Control: the untrained network.
    """

    def cell(arms: Arms) -> Cell:
        return Cell(*(_purity(arms[arm]) - _purity(arms["coupled"]) for arm in ("1", "untrained")))

    return {w: cell(t[w]["wide"]) for w in WORLDS}


def _purity(ended: Ended) -> Tensor:
    """log10 of the variance in directions that the views share over that in private ones, at most 6."""
    private = private_share(ended).clamp(1 / MOST, 1 - 1 / MOST)
    return ((1 - private) / private).log10()


def noise_alone_is_kept(t: Trainings) -> dict[str, Cell]:
    """W2: kept features with coupled views. Control: views with private latents of their own."""
    cells = {w: t[w]["wide"] for w in WORLDS} | {"modal, many inputs": t["modal, many inputs"]["masked"]}
    return {w: Cell(arms["coupled"].scores.kept, arms["1"].scores.kept) for w, arms in cells.items()}


def a_neuron_for_each_feature(t: Trainings) -> dict[str, Cell]:
    """W3: share of features that a neuron wins with a threshold, less that without.

    Control: the untrained network, less that without.
    """

    def cell(arms: Arms) -> Cell:
        on, off, none = (won(arms[name]) for name in ("level 1", "level 0", "untrained"))
        return Cell(on - off, none - off)

    return {w: cell(t[w]["thresholds"]) for w in (*WORLDS, "modal, sparse signal")}


def won(ended: Ended) -> Tensor:
    """Share of features with a neuron of cos² > 0.8, `[run]`."""
    return (matched(ended) > WON).double().mean(-1)


def masks_decouple(t: Trainings) -> dict[str, Cell]:
    """W4: log10 of drop where the views are masks. Control: the same without masks."""
    cells = {
        "tokens": (t["tokens"]["wide"], "masked"), "moons": (t["moons"]["wide"], "masked"),
        "modal": (t["modal, one modality"]["masked"], "masked"), "sparse": (t["sparse"]["wide"], "1"),
        "modal, many inputs": (t["modal, many inputs"]["masked"], "masked"),
    }  # fmt: skip
    return {w: Cell(_decades(arms[arm]), _decades(arms["coupled"])) for w, (arms, arm) in cells.items()}


def _decades(ended: Ended) -> Tensor:
    """log10 of drop, at most 6."""
    return ended.scores.drop.clamp(1 / MOST, MOST).log10()


def width_helps_relu(t: Trainings) -> dict[str, Cell]:
    """T1: growth of cover from β = 1 to 5 of ReLU, less that of a linear network. Control: linear less untrained."""

    def growth(arms: Arms, of: str) -> Tensor:
        return matched(arms[f"{of} 5"]).mean(-1) - matched(arms[f"{of} 1"]).mean(-1)

    def cell(arms: Arms) -> Cell:
        grown = [growth(arms, of) for of in ("relu", "linear", "untrained")]
        return Cell(grown[0] - grown[1], grown[1] - grown[2])

    return {w: cell(arms) for w, arms in _neurons(t).items()}


def relu_shows_single_features(t: Trainings) -> dict[str, Cell]:
    """T2: share of features won by ReLU, less that of a linear network, β = 5. Control: untrained less linear."""

    def cell(arms: Arms) -> Cell:
        at = [won(arms[f"{of} 5"]) for of in ("relu", "linear", "untrained")]
        return Cell(at[0] - at[1], at[2] - at[1])

    return {w: cell(arms) for w, arms in _neurons(t).items()}


def relu_keeps_more(t: Trainings) -> dict[str, Cell]:
    """T3: kept features of ReLU, less those of a linear network, β = 5. Control: untrained less linear."""

    def cell(arms: Arms) -> Cell:
        kept = {of: arms[f"{of} 5"].scores.kept for of in ("relu", "linear", "untrained")}
        return Cell(kept["relu"] - kept["linear"], kept["untrained"] - kept["linear"])

    return {w: cell(arms) for w, arms in _neurons(t).items()}


def noise_enters(t: Trainings) -> dict[str, Cell]:
    """L2: private share of the outputs' variance at τ² = 20 with outputs to spare, less that with z = S.

    Control: τ² = 1, which is below Σρ.
    """
    return {w: Cell(*(_entered(t[w], tau) for tau in ("20", "1"))) for w in WORLDS}


def _entered(groups: dict[str, Arms], tau: str) -> Tensor:
    return private_share(groups["wide"][tau]) - private_share(groups["narrow"][tau])


def private_share(ended: Ended) -> Tensor:
    """Share of the variance of a linear network's outputs in the directions with ρ = 0, `[run]`."""
    trained = ended.trained
    moments = Apart().moments(trained.world)
    axes = canonical_axes(moments, tied=trained.world.tied)
    w = linear_map(trained.network, trained.encoders[-1], trained.world.inputs).to(axes.second.dtype)
    along = (w @ (moments.second @ axes.second)).square().sum(-2)  # the variance of each direction
    private = (axes.rho < 1e-3).to(along)  # float32 rounds a zero
    return ((along * private).sum(-1) / along.sum(-1)).double()


def coupled_views_whiten(t: Trainings) -> dict[str, Cell]:
    """L3: relative distance of shared over private variance of the outputs, coupled views, from its law Σρ/(D − Σρ).

    Coupled views have ρ = 1 in all directions, so that the optimum is white; ρ is that of views apart, D the
    rank of x. Control: views apart.
    """
    cells = {name: groups["whitened"] for name, groups in t.items() if "whitened" in groups}
    return {name: Cell(*(_from_white(arms[arm]) for arm in ("coupled", "apart"))) for name, arms in cells.items()}


def _from_white(ended: Ended) -> Tensor:
    world = ended.trained.world
    moments = Apart().moments(world)
    rho = canonical_correlations(moments, tied=world.tied).double().clamp(min=0)
    cross, second = (m.double().diagonal(dim1=-2, dim2=-1).sum(-1) for m in (moments.cross, moments.second))
    shared_over_private = ended.scores.drop * cross / (second - cross)
    return (shared_over_private / (rho.sum(-1) / (rho.shape[-1] - rho.sum(-1))) - 1).abs()


_DEEP = (("", "deep"), ("ReLU", "deep relu"))


def _named(world: str, variant: str) -> str:
    return f"{world}, {variant}" if variant else world


def _neurons(t: Trainings) -> dict[str, Arms]:
    """Fully connected layers in four worlds, and with places where a world has them."""
    cells = {w: t[w]["neurons"] for w in WORLDS}
    return cells | {"tokens, places": t["tokens, places"]["fields"], "sparse, places": t["sparse, places"]["fields"]}
