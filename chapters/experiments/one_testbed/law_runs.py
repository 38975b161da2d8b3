"""Runs of the law at a fixed temperature: trained networks beside shares that follow from ρ and τ² alone.

Runs return plain dictionaries, which a record can keep. `Arms` is what a claim reads, `observed` and `control`: the
statistic by case, `[seed]` each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.canonical_correlations import moment_correlations
from contrastive_dynamics.testbed.encoders import Linear, Network, TwoLayers
from contrastive_dynamics.testbed.experiment import Trained, train
from contrastive_dynamics.testbed.losses import Distances, InfoNCE
from contrastive_dynamics.testbed.optimisers import Relative
from contrastive_dynamics.testbed.pairs import Moments
from contrastive_dynamics.testbed.scores import canonical_map, linear_map, shares
from contrastive_dynamics.testbed.soft_threshold import effective_rank_of_shares, water_filling
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.whole_map import map_distance, principal_map
from contrastive_dynamics.testbed.worlds import GivenCorrelations

from .four_worlds import Setting, four_worlds

Watch = Callable[[Iterable], Iterable]
Arms = dict[str, dict[str, Tensor]]
Cells = dict[str, dict[str, Tensor]]


def law_in_a_world(
    name: str,
    seeds: Sequence[int],
    taus: Sequence[float],
    steps: int = 300,
    batch: int = 192,
    rate: float = 0.1,
    network: Network = Linear(32),  # noqa: B008, it is frozen
    *,
    watch: Watch = iter,
) -> Cells:
    """Linear networks trained by InfoNCE at each τ², and what the law predicts of them.

    Args:
        name: a key of `four_worlds`.
        seeds: one network each at every τ².
        taus: τ² > 0.
        steps, batch, rate: of the training, N pairs and `Relative` steps η.
        network: linear, of any depth, z ≥ 2.
        watch: wraps both halves of the τ², which are trained side by side, in a progress bar.
    Returns: "shares" `[tau, seed, k]` in the order of ρ and "ranks" `[tau, seed]`, effective ranks of the outputs, each
        of networks "trained" and "untrained", and predicted by the "law", and with "variances" in place of ρ. "maps"
        `[tau, seed]`, how far all of G is from the law's, of networks "trained" and "untrained", and of trained ones
        from the prediction of "variances" in principal axes. And "spectrum", ρ `[seed, k]`.
    Raises: ValueError as `train`.
    Cost: as `train`; a second per four networks at the default sizes.
    """
    half = (len(taus) + 1) // 2
    parts = [part for part in (taus[:half], taus[half:]) if part]
    setting = four_worlds(seeds)[name]
    cases = [(setting, seeds, part, steps, batch, rate, network) for part in parts]
    (*found, rho), *others = side_by_side(_at_some, cases, watch)
    arms = sum((of[:-1] for of in others), tuple(found))
    cells = {
        part: {of: torch.stack([arm[part][of] for arm in arms]) for of in first} for part, first in arms[0].items()
    }
    return cells | {"spectrum": {"ρ": rho}}


def _at_some(setting, seeds, taus, steps, batch, rate, network) -> tuple:
    """`_beside_the_law` at each τ², all in one batch, and ρ `[seed, k]`."""
    losses = [InfoNCE(tau) for tau in taus]
    trained, moments, rho = trained_in(setting, losses, seeds, steps, batch, rate, network)
    start = untrained(trained[0], seeds)
    return *(_beside_the_law(arm, start, moments, rho, tau) for arm, tau in zip(trained, taus, strict=True)), rho


def trained_in(
    setting: Setting,
    losses: Sequence[InfoNCE] | Sequence[Distances],
    seeds: Sequence[int],
    steps: int,
    batch: int,
    rate: float = 0.1,
    network: Network = Linear(32),  # noqa: B008, it is frozen
) -> tuple[list[Trained], Moments, Tensor]:
    """Networks of each loss, of one seed on the same pairs, with the moments of the pairs and their ρ `[seed, k]`."""
    world, views = setting
    how = {"steps": steps, "batch": batch, "optimiser": Relative(rate), "dtype": torch.float32}
    trained = train(world, views, network, losses, seeds=seeds, **how)
    moments = views.moments(world)
    return trained.arms(len(losses)), moments, moment_correlations(moments, tied=world.tied).expand(len(seeds), -1)


def _beside_the_law(trained: Trained, start: Trained, moments: Moments, rho: Tensor, tau: float) -> Cells:
    """Shares, effective ranks and distances of G at one τ², measured and predicted, `[seed]` first."""
    found = {"trained": trained, "untrained": start}
    spectra = {"law": rho, "variances": variances_as_correlations(moments, rho)}
    g = {of: shares(one, moments) for of, one in found.items()}
    outputs, tied = trained.network.outputs, trained.world.tied
    g |= {of: water_filling(r.expand_as(rho), tau, outputs, tied=tied) for of, r in spectra.items()}
    ranks = {of: output_rank(one, moments) for of, one in found.items()}
    ranks |= {of: effective_rank_of_shares(g[of]) for of in spectra}
    return {"shares": g, "ranks": ranks, "maps": _map_distances(found, moments, g)}


def _map_distances(found: dict[str, Trained], moments: Moments, g: dict[str, Tensor]) -> dict[str, Tensor]:
    """½‖G − Ĝ‖_* `[run]` of networks from the law, and of trained ones from variances in principal axes."""
    maps = {of: canonical_map(one, moments) for of, one in found.items()}
    by_variance = principal_map(moments, g["variances"], tied=found["trained"].world.tied)
    of_law = {of: map_distance(one, torch.diag_embed(g["law"])) for of, one in maps.items()}
    return of_law | {"variances": map_distance(maps["trained"], by_variance)}


def law_in_two_layers(
    seeds: Sequence[int], tau_squared: float = 1.0, steps: int = 300, batch: int = 192, *, watch: Watch = iter
) -> Cells:
    """`law_in_a_world` of two linear layers, 48 hidden units and 32 outputs, in the world of moons.

    Steps are half as long, as both layers move.
    """
    return law_in_a_world("moons", seeds, [tau_squared], steps, batch, 0.05, TwoLayers(48, 32), watch=watch)


def rank_error(cells: Cells, of: str = "trained", law: str = "law") -> Tensor:
    """|Relative difference| of the effective ranks, its mean over τ², `[seed]`."""
    return (cells["ranks"][of] / cells["ranks"][law] - 1).abs().mean(0)


def share_error(cells: Cells, of: str = "trained", law: str = "law") -> Tensor:
    """½Σ_j|difference of shares|, the share that is elsewhere: the largest over τ², `[seed]`, 0 to 1."""
    return (cells["shares"][of] - cells["shares"][law]).abs().sum(-1).amax(0) / 2


def map_error(cells: Cells, of: str = "trained", law: str = "law") -> Tensor:
    """½‖G − Ĝ‖_*, the share that is elsewhere in any directions: the largest over τ², `[seed]`, 0 to 1."""
    return cells["maps"][of if law == "law" else law].amax(0)


def rank_errors(cells: dict[str, Cells]) -> Arms:
    """`rank_error` of each case; controls, each in the case where it does best: variances for ρ, untrained networks."""
    return _errors(cells, rank_error)


def share_errors(cells: dict[str, Cells]) -> Arms:
    """`share_error` of each case, with the controls of `rank_errors`."""
    return _errors(cells, share_error)


def map_errors(cells: dict[str, Cells]) -> Arms:
    """`map_error` of each case, with the controls of `rank_errors`; variances are in principal axes."""
    return _errors(cells, map_error)


def _errors(cells: dict[str, Cells], error: Callable[..., Tensor]) -> Arms:
    control = {
        "variances in place of ρ": torch.stack([error(one, law="variances") for one in cells.values()]).amin(0),
        "untrained": torch.stack([error(one, of="untrained") for one in cells.values()]).amin(0),
    }
    return {"observed": {name: error(one) for name, one in cells.items()}, "control": control}


def slow_directions(
    seeds: Sequence[int], tau_squared: float = 3.0, steps: int = 100, batch: int = 128, rate: float = 0.1
) -> Arms:
    """Sparse codes near τ² = Σρ_j, where noise lies just below the level: what twice the steps leave of the error.

    The error is that of the effective rank. A losing direction leaves at the rate 8τ²(μ − ρ_j), see `share_velocity`,
    so that time decides. Control: twice the pairs per step.
    Args:
        seeds: one network each.
        tau_squared: τ², below Σρ_j = 3.15.
        steps, batch, rate: as in `law_in_a_world`; so few that the error is still large.
    Returns: Arms, of the error over that without doubling.
    """

    sizes = (2 * steps, batch), (steps, 2 * batch), (steps, batch)
    longer, larger, base = side_by_side(_excess, [(seeds, tau_squared, *size, rate) for size in sizes])
    return {"observed": {"twice the steps": longer / base}, "control": {"twice the pairs": larger / base}}


def _excess(seeds, tau_squared, steps, batch, rate) -> Tensor:
    ranks = law_in_a_world("sparse codes", seeds, [tau_squared], steps, batch, rate)["ranks"]
    return (ranks["trained"] / ranks["law"] - 1)[0]


def private_shares(
    seeds: Sequence[int],
    rho: Sequence[float] = (0.5, 0.4, 0.3, 0.2),
    inputs: int = 12,
    factors: Sequence[float] = (0.5, 2.0),
    steps: int = 300,
    batch: int = 128,
) -> Arms:
    """The share of private directions at τ² below and above Σρ_j, with outputs to spare and without: |found − law|.

    Control: the law without private directions, whose share is 0, where the outputs are to spare and τ² is above.
    Args:
        seeds: one network each.
        rho: ρ of the S shared directions.
        inputs: D, S of them shared.
        factors: τ² over Σρ_j, below 1 and above.
        steps, batch: of the trainings, with `Relative` steps.
    Returns: Arms; the predicted share is 0 but for the last factor with z = D.
    """
    every, count = list(seeds) * len(factors), len(rho)
    world = GivenCorrelations(rho, inputs)
    taus = [factor * sum(rho) for factor in factors]
    how = {"steps": steps, "batch": batch, "optimiser": Relative(0.1), "dtype": torch.float32}
    observed = {}
    for z in (inputs, count):
        loss = InfoNCE(tuple(tau for tau in taus for _ in seeds))
        found = shares(train(world, Apart(), Linear(z), loss, seeds=every, **how), world.moments())
        law = water_filling(world.rho.view(-1).expand(len(taus), -1), torch.tensor(taus).double(), z)
        private = found[:, count:].sum(-1).view(len(taus), -1)
        for factor, of, predicted in zip(factors, private, law[:, count:].sum(-1), strict=True):
            observed[f"τ² = {factor:g} Σρ, z = {z}"] = (of - predicted).abs()
            if z == inputs:
                alone = of
    return {"observed": observed, "control": {"no private directions in the law": alone}}


def untrained(trained: Trained, seeds: Sequence[int]) -> Trained:
    """The same networks at their start."""
    purposes = ("start", "start of the second")[: len(trained.encoders)]
    starts = (trained.network.start(trained.world.inputs, streams(seeds, 1, purpose)) for purpose in purposes)
    return replace(trained, encoders=tuple(starts))


def variances_as_correlations(moments: Moments, rho: Tensor) -> Tensor:
    """The variances of the second view's principal components, as many as ρ, scaled so that the largest is ρ_1."""
    values = torch.linalg.eigvalsh(moments.second).flip(-1)[..., : rho.shape[-1]].clamp(min=0)
    return values / values[..., :1] * rho[..., :1]


def output_rank(trained: Trained, moments: Moments) -> Tensor:
    """Effective rank of the second view's outputs, from their exact covariance WΣWᵀ, `[run]`."""
    w = linear_map(trained.network, trained.encoders[-1], trained.world.inputs).to(moments.second)
    return effective_rank_of_shares(torch.linalg.eigvalsh(w @ moments.second @ w.mT).clamp(min=0))
