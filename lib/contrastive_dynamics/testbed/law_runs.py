"""Runs of the law at a fixed temperature: trained networks beside shares that follow from ρ and τ² alone.

Each run returns what a claim reads, per seed. In an arm's name "untrained" is the network's start.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.random_streams import streams
from .canonical_correlations import canonical_correlations
from .encoders import Linear, Network, TwoLayers
from .experiment import Trained, train
from .four_worlds import four_worlds
from .losses import InfoNCE
from .optimisers import Relative
from .pairs import Moments
from .scores import linear_map, shares
from .soft_threshold import effective_rank_of_shares, water_filling
from .view_makers import Apart
from .worlds import GivenCorrelations

Watch = Callable[[Iterable], Iterable]


class Arms(NamedTuple):
    """What a claim reads: the statistic of the claim and of its control, by case, `[seed]` each."""

    observed: dict[str, Tensor]
    control: dict[str, Tensor]


class Cells(NamedTuple):
    """Networks of one world at several τ². Shares are in the order of ρ, ranks those of the outputs' covariance."""

    rho: Tensor  # [seed, k]
    shares: dict[str, Tensor]  # [tau, seed, k]: trained, untrained, law, and variances in place of ρ
    ranks: dict[str, Tensor]  # [tau, seed], by the same names

    def share_error(self, of: str = "trained", law: str = "law") -> Tensor:
        """½Σ_j|difference of shares|, the share that is elsewhere: the largest over τ², `[seed]`, 0 to 1."""
        return (self.shares[of] - self.shares[law]).abs().sum(-1).amax(0) / 2

    def rank_error(self, of: str = "trained", law: str = "law") -> Tensor:
        """|Relative difference| of the effective ranks, its mean over τ², `[seed]`."""
        return (self.ranks[of] / self.ranks[law] - 1).abs().mean(0)


def law_in_a_world(
    name: str,
    seeds: Sequence[int],
    taus: Sequence[float],
    *,
    network: Network = Linear(32),  # noqa: B008, it is frozen
    steps: int = 300,
    batch: int = 192,
    rate: float = 0.1,
) -> Cells:
    """Linear networks trained by InfoNCE at each τ², all in one batch, and what the law predicts of them.

    Args:
        name: a key of `four_worlds`.
        seeds: one network each at every τ².
        taus: τ² > 0.
        network: linear, of any depth, z ≥ 2.
        steps, batch, rate: of the training, N pairs and `Relative` steps η.
    Returns: Cells.
    Raises: ValueError as `train`.
    Cost: as `train`; a second per four networks at the default sizes.
    """
    every = list(seeds) * len(taus)  # the runs of a seed have one world, one start and the same pairs
    world, views = four_worlds(every)[name]
    loss = InfoNCE(tuple(tau for tau in taus for _ in seeds))
    how = {"steps": steps, "batch": batch, "optimiser": Relative(rate), "dtype": torch.float32}
    trained = train(world, views, network, loss, seeds=every, **how)
    moments = views.moments(world)
    rho = canonical_correlations(moments, tied=world.tied)
    tau = torch.tensor(taus, dtype=rho.dtype).repeat_interleave(len(seeds))
    found = {"trained": trained, "untrained": untrained(trained, every)}
    spectra = {"law": rho, "variances": variances_as_correlations(moments, rho)}
    g = {of: shares(one, moments) for of, one in found.items()}
    g |= {of: water_filling(r, tau, network.outputs, tied=world.tied) for of, r in spectra.items()}
    ranks = {of: output_rank(one, moments) for of, one in found.items()}
    ranks |= {of: effective_rank_of_shares(g[of]) for of in spectra}
    shape = len(taus), len(seeds)
    cells = ({of: x.unflatten(0, shape) for of, x in part.items()} for part in (g, ranks))
    return Cells(rho.expand(len(every), -1)[: len(seeds)], *cells)


def law_in_four_worlds(
    seeds: Sequence[int], taus: Sequence[float], sparse_taus: Sequence[float], *, watch: Watch = iter, **sizes
) -> dict[str, Cells]:
    """`law_in_a_world` of every world.

    Args:
        seeds: one network each at every τ².
        taus: τ² of the worlds whose correlations are far apart.
        sparse_taus: τ² of sparse codes, whose 16 largest ρ lie within 0.01.
        watch: wraps the worlds in a progress bar.
        sizes: steps, batch and rate.
    """
    grids = {name: taus for name in four_worlds(seeds)} | {"sparse codes": sparse_taus}
    return {name: law_in_a_world(name, seeds, grid, **sizes) for name, grid in watch(grids.items())}


def law_in_two_layers(seeds: Sequence[int], tau_squared: float = 1.0, **sizes) -> dict[str, Cells]:
    """`law_in_a_world` of two linear layers, 48 hidden units and 32 outputs, in the world of moons.

    Steps are half as long: both layers move.
    """
    cells = law_in_a_world("moons", seeds, [tau_squared], network=TwoLayers(48, 32), rate=0.05, **sizes)
    return {"moons, two layers": cells}


def rank_errors(cells: dict[str, Cells]) -> Arms:
    """Each world's `rank_error`; controls, the best world of each: variances in place of ρ, and untrained networks."""
    return _errors(cells, Cells.rank_error)


def share_errors(cells: dict[str, Cells]) -> Arms:
    """Each world's `share_error`, with the controls of `rank_errors`."""
    return _errors(cells, Cells.share_error)


def _errors(cells: dict[str, Cells], error: Callable[..., Tensor]) -> Arms:
    control = {
        "variances in place of ρ": torch.stack([error(one, law="variances") for one in cells.values()]).amin(0),
        "untrained": torch.stack([error(one, of="untrained") for one in cells.values()]).amin(0),
    }
    return Arms({name: error(one) for name, one in cells.items()}, control)


def slow_directions(
    seeds: Sequence[int], *, tau_squared: float = 3.0, steps: int = 100, batch: int = 128, rate: float = 0.1
) -> Arms:
    """Sparse codes near τ² = Σρ_j, where noise lies just below the level: what twice the steps leave of the error.

    The error is that of the effective rank. A losing direction leaves at the rate 8τ²(μ − ρ_j), see `share_velocity`,
    so that time decides. Control: twice the pairs per step.
    Args:
        seeds: one network each.
        tau_squared: τ², below Σρ_j = 3.15.
        steps, batch, rate: as in `law_in_a_world`.
    Returns: Arms, of the error over that without doubling.
    """

    def excess(**sizes) -> Tensor:
        ranks = law_in_a_world("sparse codes", seeds, [tau_squared], rate=rate, **sizes).ranks
        return (ranks["trained"] / ranks["law"] - 1)[0]

    base = excess(steps=steps, batch=batch)
    longer, larger = excess(steps=2 * steps, batch=batch), excess(steps=steps, batch=2 * batch)
    return Arms({"twice the steps": longer / base}, {"twice the pairs": larger / base})


def private_shares(
    seeds: Sequence[int],
    rho: Sequence[float] = (0.5, 0.4, 0.3, 0.2),
    *,
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
    return Arms(observed, {"no private directions in the law": alone})


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
