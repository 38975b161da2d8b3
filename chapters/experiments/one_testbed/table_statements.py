"""The table: fourteen statements in words of no world, their statistic in each cell, and the word that a cell gets.

A statistic has one value per seed, and so has its control, a plausible mistake that has to miss the rule.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .table_plan import Trainings
from .table_scores import (
    constrained_rank,
    distance_from_white,
    dropped,
    matched,
    private_share,
    purity,
    strength_ratio,
    won,
)
from .table_trainings import Arms
from .table_worlds import COLUMNS


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

    return {_cell_name(w, of): cell(t[w][group]) for w in _worlds_of(t) for of, group in _TWO_LAYERS}


def constraint_keeps(t: Trainings) -> dict[str, Cell]:
    """E2: kept features of positives under the constraint, less those of InfoNCE. Control: no constraint."""

    def cell(arms: Arms) -> Cell:
        kept = {name: arms[name].scores.kept for name in ("orthogonal", "infonce", "positives")}
        return Cell(kept["orthogonal"] - kept["infonce"], kept["positives"] - kept["infonce"])

    return {
        _cell_name(w, of): cell(arms) for of, group in _TWO_LAYERS for w, arms in _arms_of_training(t, group).items()
    }


def constraint_shows_the_data(t: Trainings) -> dict[str, Cell]:
    """E3: relative distance of the effective rank under the constraint from that of the data in the top-z space of the
    cross moment. Control: the rank of InfoNCE, τ² = 1.
    """

    def cell(name: str) -> Cell:
        held, free = t[name]["deep"]["orthogonal"], t[name]["narrow"]["1"]
        expected = constrained_rank(held, name)
        return Cell(*((ended.scores.rank / expected - 1).abs() for ended in (held, free)))

    return {w: cell(w) for w in _worlds_of(t)}


def positives_are_unbalanced(t: Trainings) -> dict[str, Cell]:
    """R1: balance of InfoNCE over that of positives alone, and 0 if these align less, by more than 0.05.

    Control: the untrained network in the place of positives alone.
    """

    def ratio(arms: Arms, alone: str) -> Tensor:
        many, few = arms["3"].scores, arms[alone].scores
        return many.balance / few.balance * (few.align >= many.align - 0.05)

    return {w: Cell(*(ratio(t[w]["wide"], alone) for alone in ("positives", "untrained"))) for w in _worlds_of(t)}


def negatives_balance_fully(t: Trainings) -> dict[str, Cell]:
    """R2: root of the largest over the smallest share of a shared direction at τ² = 8, at most 100.

    Control: positives alone.
    """
    cells = {w: t[w]["wide"] for w in _worlds_of(t)} | _arms_of_training(t, "balanced")
    return {w: Cell(*(strength_ratio(arms[arm], w) for arm in ("8", "positives"))) for w, arms in cells.items()}


def dropped_unless_shared(t: Trainings) -> dict[str, Cell]:
    """W1: by how many factors of ten the outputs have less private variance, to shared, than with coupled views.

    Control: the untrained network.
    """

    def cell(arms: Arms) -> Cell:
        return Cell(*(purity(arms[arm]) - purity(arms["coupled"]) for arm in ("1", "untrained")))

    return {w: cell(t[w]["wide"]) for w in _worlds_of(t)}


def noise_alone_is_kept(t: Trainings) -> dict[str, Cell]:
    """W2: kept features with coupled views. Control: views with private latents of their own."""
    cells = {w: t[w]["wide"] for w in _worlds_of(t)}
    cells |= {w: arms for w, arms in _arms_of_training(t, "masked").items() if w == "modalities, many inputs"}
    return {w: Cell(arms["coupled"].scores.kept, arms["1"].scores.kept) for w, arms in cells.items()}


def a_neuron_for_each_feature(t: Trainings) -> dict[str, Cell]:
    """W3: share of features that a neuron wins with a threshold, less that without.

    Control: the untrained network, less that without.
    """

    def cell(arms: Arms) -> Cell:
        on, off, none = (won(arms[name]) for name in ("level 1", "level 0", "untrained"))
        return Cell(on - off, none - off)

    return {w: cell(arms) for w, arms in _arms_of_training(t, "thresholds").items()}


def masks_decouple(t: Trainings) -> dict[str, Cell]:
    """W4: log10 of drop where the views are masks. Control: the same without masks."""
    cells = {w: t[w]["wide"] for w in _worlds_of(t) if w != "modalities"} | _arms_of_training(t, "masked")
    cells = {w.removesuffix(", one encoder"): arms for w, arms in cells.items()}
    of = {w: "1" if w == "sparse codes" else "masked" for w in cells}  # whose own views are masks
    return {w: Cell(dropped(arms[of[w]]), dropped(arms["coupled"])) for w, arms in cells.items()}


def width_helps_relu(t: Trainings) -> dict[str, Cell]:
    """T1: growth of cover from β = 1 to 5 of ReLU, less that of a linear network. Control: linear less untrained."""

    def growth(arms: Arms, of: str) -> Tensor:
        return matched(arms[f"{of} 5"]).mean(-1) - matched(arms[f"{of} 1"]).mean(-1)

    def cell(arms: Arms) -> Cell:
        grown = [growth(arms, of) for of in ("relu", "linear", "untrained")]
        return Cell(grown[0] - grown[1], grown[1] - grown[2])

    return {w: cell(arms) for w, arms in _arms_of_two_widths(t).items()}


def relu_shows_single_features(t: Trainings) -> dict[str, Cell]:
    """T2: share of features won by ReLU, less that of a linear network, β = 5. Control: untrained less linear."""

    def cell(arms: Arms) -> Cell:
        at = [won(arms[f"{of} 5"]) for of in ("relu", "linear", "untrained")]
        return Cell(at[0] - at[1], at[2] - at[1])

    return {w: cell(arms) for w, arms in _arms_of_two_widths(t).items()}


def relu_keeps_more(t: Trainings) -> dict[str, Cell]:
    """T3: kept features of ReLU, less those of a linear network, β = 5. Control: untrained less linear."""

    def cell(arms: Arms) -> Cell:
        kept = {of: arms[f"{of} 5"].scores.kept for of in ("relu", "linear", "untrained")}
        return Cell(kept["relu"] - kept["linear"], kept["untrained"] - kept["linear"])

    return {w: cell(arms) for w, arms in _arms_of_two_widths(t).items()}


def noise_enters(t: Trainings) -> dict[str, Cell]:
    """L2: private share of the outputs' variance at τ² = 20 with outputs to spare, less that with z = S.

    Control: τ² = 1, which is below Σρ. In tokens z = S = 18 spares 1 to 3 outputs, which makes the difference smaller.
    """
    return {w: Cell(*(_private_share_gained(t[w], tau) for tau in ("20", "1"))) for w in _worlds_of(t)}


def _private_share_gained(groups: dict[str, Arms], tau: str) -> Tensor:
    return private_share(groups["wide"][tau]) - private_share(groups["narrow"][tau])


def coupled_views_whiten(t: Trainings) -> dict[str, Cell]:
    """L3: relative distance of shared over private variance of the outputs, coupled views, from its law Σρ/(D − Σρ).

    Coupled views have ρ = 1 in all directions, so that the optimum is white; ρ is that of views apart, D the
    rank of x. Control: views apart.
    """
    cells = _arms_of_training(t, "whitened")
    return {
        name: Cell(*(distance_from_white(arms[arm]) for arm in ("coupled", "apart"))) for name, arms in cells.items()
    }


_TWO_LAYERS = (("", "deep"), ("ReLU", "deep relu"))


def _cell_name(world: str, variant: str) -> str:
    return f"{world}, {variant}" if variant else world


def _arms_of_two_widths(t: Trainings) -> dict[str, Arms]:
    """Fully connected layers in four worlds, and with places where a world has them."""
    return _arms_of_training(t, "neurons") | _arms_of_training(t, "fields")


def _worlds_of(t: Trainings) -> list[str]:
    return [w for w in COLUMNS if w in t]


def _arms_of_training(t: Trainings, name: str) -> dict[str, Arms]:
    """The arms of a group wherever it was trained."""
    return {w: groups[name] for w, groups in t.items() if name in groups}


STATEMENTS: dict[str, Callable[[Trainings], dict[str, Cell]]] = {
    "e1": one_direction_is_left, "e2": constraint_keeps, "e3": constraint_shows_the_data,
    "r1": positives_are_unbalanced, "r2": negatives_balance_fully,
    "w1": dropped_unless_shared, "w2": noise_alone_is_kept, "w3": a_neuron_for_each_feature, "w4": masks_decouple,
    "t1": width_helps_relu, "t2": relu_shows_single_features, "t3": relu_keeps_more,
    "noise-enters": noise_enters, "coupled": coupled_views_whiten,
}  # fmt: skip
