"""A world, views, a network and a loss of one's own choice: what is learned as the noise and the temperature change."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.testbed.canonical_correlations import moment_correlations
from contrastive_dynamics.testbed.encoders import Linear, Threshold, TwoLayers
from contrastive_dynamics.testbed.experiment import Trained, train
from contrastive_dynamics.testbed.losses import Alignment, InfoNCE, Spectral
from contrastive_dynamics.testbed.optimisers import Relative
from contrastive_dynamics.testbed.scores import Sample, Scores, draw_sample, score_on
from contrastive_dynamics.testbed.soft_threshold import effective_rank_of_shares, water_filling
from contrastive_dynamics.testbed.view_makers import Apart, Coupled, Masked, Native, Noisy, Shuffled

from .four_worlds import four_worlds

OUTPUTS, _SCORED = 16, 2000  # outputs of every network, and fresh pairs on which it is scored
WORLDS = ("tokens", "moons", "modalities", "sparse-codes")
VIEWS = {"native": Native(), "apart": Apart(), "coupled": Coupled(), "masked": Masked(), "shuffled": Shuffled()}
NETWORKS = {
    "linear": Linear(OUTPUTS), "two-layers": TwoLayers(64, OUTPUTS), "relu": TwoLayers(64, OUTPUTS, "relu"),
    "threshold": Threshold(OUTPUTS, 0.5),
}  # fmt: skip
LOSSES = {
    "infonce": InfoNCE, "unit-infonce": lambda tau: InfoNCE(tau, norm="unit"), "spectral": Spectral,
    "alignment": lambda tau: Alignment(),
}  # fmt: skip
LINEAR = ("linear", "two-layers")


class Map(NamedTuple):
    """Means over seeds, each `[noise, tau]`."""

    rank: Tensor  # effective rank of the outputs on the views that were trained on
    kept: Tensor  # R² of the shared features from noisy outputs on whole views, over that from the views, see `Scores`
    law: Tensor | None  # the effective rank that the law predicts, where it does


@dataclass(frozen=True)
class Plan:
    """What is trained, checked before anything runs.

    Args:
        world, views, network, loss: a name of WORLDS, VIEWS, NETWORKS and LOSSES.
        taus: τ² > 0.
        noises: standard deviations ≥ 0 of noise that is added to every input of both views.
        seeds: one network each at every τ² and noise.
        steps, batch: of each training.
    Raises: ValueError for an unknown name, and for parts that do not fit.
    """

    world: str
    views: str
    network: str
    loss: str
    taus: tuple[float, ...]
    noises: tuple[float, ...]
    seeds: tuple[int, ...]
    steps: int = 200
    batch: int = 128

    def __post_init__(self):
        named = {"world": WORLDS, "views": VIEWS, "network": NETWORKS, "loss": LOSSES}
        for part, known in named.items():
            if getattr(self, part) not in known:
                raise ValueError(f"{part} must be one of {', '.join(known)}, got {getattr(self, part)!r}")
        for tau in self.taus:
            LOSSES[self.loss](tau)
        if not (self.taus and self.noises and self.seeds and min(self.noises) >= 0):
            raise ValueError(
                f"taus, noises ≥ 0 and seeds must not be empty, got {self.taus}, {self.noises}, {self.seeds}"
            )

    @property
    def cost(self) -> tuple[int, float]:
        """How many networks, and how many multiplications their training takes, without the draws of the data."""
        inputs = self._setting(self.seeds[:1]).world.inputs
        hidden = 0 if self.network in ("linear", "threshold") else 64
        layers = inputs * OUTPUTS if not hidden else (inputs + OUTPUTS) * hidden
        networks = len(self.taus) * len(self.noises) * len(self.seeds)
        return networks, 1.0 * networks * self.steps * (6 * self.batch * layers + 3 * self.batch**2 * OUTPUTS)

    def _setting(self, seeds: Sequence[int]):
        return four_worlds(seeds)[self.world.replace("-", " ")]


def own_map(plan: Plan, watch: Callable[[Iterable], Iterable] = iter) -> Map:
    """Train and score a network at every noise, τ² and seed of a plan.

    Of linear networks under InfoNCE of mean norm, or the spectral loss, the law predicts the effective rank; beyond
    τ² = Σρ it speaks of G alone where each view has an encoder, and no rank is predicted.
    Args:
        plan: what to train.
        watch: wraps the noises in a progress bar.
    Returns: Map.
    Raises: ValueError as `train`.
    """
    rows = [_map_row(plan, noise) for noise in watch(plan.noises)]
    return Map(*(None if None in of else torch.stack(of) for of in zip(*rows, strict=True)))


def _map_row(plan: Plan, noise: float) -> tuple[Tensor, Tensor, Tensor | None]:
    """A row of the map: every τ² and seed in one batch."""
    world = plan._setting(plan.seeds).world
    views = VIEWS[plan.views] if noise == 0 else Noisy(noise, VIEWS[plan.views])
    losses = [LOSSES[plan.loss](tau) for tau in plan.taus]
    trained = train(
        world, views, NETWORKS[plan.network], losses, seeds=plan.seeds, steps=plan.steps, batch=plan.batch,
        optimiser=Relative(0.1), dtype=torch.float32,
    )  # fmt: skip
    arms = trained.arms(len(losses))
    rank, kept = (_mean_scores(arms, draw_sample(world, of, _SCORED, plan.seeds)) for of in (views, Apart()))
    return rank.rank, kept.kept, _predicted_ranks(plan, world, views)


def _mean_scores(arms: list[Trained], sample: Sample) -> Scores:
    """Scores `[tau]`, means over seeds."""
    return Scores(*(torch.stack(of).double().mean(-1) for of in zip(*(score_on(a, sample) for a in arms), strict=True)))


def _predicted_ranks(plan: Plan, world, views) -> Tensor | None:
    """The predicted effective rank `[tau]`, or None where the law does not speak of it."""
    if plan.network not in LINEAR or plan.loss not in ("infonce", "spectral"):
        return None
    try:
        rho = moment_correlations(views.moments(world), tied=world.tied)
    except ValueError:  # views whose moments are not known exactly
        return None
    tau = torch.tensor(plan.taus, dtype=rho.dtype)
    each = rho.expand(len(plan.seeds), -1).repeat(len(plan.taus), 1)
    shares = water_filling(each, tau.repeat_interleave(len(plan.seeds)), OUTPUTS, tied=world.tied)
    if float(shares.sum(-1).min()) < 1 - 1e-9:
        return None
    return effective_rank_of_shares(shares).view(len(plan.taus), -1).mean(-1)


def headline(plan: Plan, found: Map) -> str:
    """What a map shows, for its picture: how far the law is from the ranks, if there is one, and the parts by name."""
    parts = f"{plan.world}, {plan.views} views, {plan.network}, {plan.loss}, {plan.steps} steps"
    if found.law is None:
        return f"No law for these parts:\n{parts}"
    worst = float(((found.rank - found.law).abs() / found.law).max())
    return f"The law (dashed) misses the rank by {worst:.0%} at most:\n{parts}"
