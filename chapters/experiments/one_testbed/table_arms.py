"""Arms of the table: several views and losses for one network, trained in one batch, and parts that only the table has.

Every arm has the same seeds, so that arms are paired: the same world, start and, for the same views, the same pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.feature_decoupling.symmetrised_relu import features
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.encoders import Linear, Network
from contrastive_dynamics.testbed.experiment import Trained, Views, train
from contrastive_dynamics.testbed.optimisers import Constraint, Relative, free
from contrastive_dynamics.testbed.scores import Sample, Scores, draw_sample, score_on
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import World


class Arm(NamedTuple):
    """What an arm sees and minimises."""

    views: Views
    loss: Callable[..., Tensor]


@dataclass(frozen=True)
class Training:
    """How every arm is trained.

    Args:
        seeds: one run each.
        steps: ≥ 1.
        batch: pairs per step, ≥ 2.
        rate: η of `Relative`.
        scored: fresh pairs on which the scores are taken.
        sample: these pairs, where several trainings in one world share them; else each draws them.
    """

    seeds: tuple[int, ...]
    steps: int = 160
    batch: int = 128
    rate: float = 0.1
    scored: int = 2000
    sample: Sample | None = None


class Ended(NamedTuple):
    """The networks of an arm, and their scores on whole views with private latents of their own."""

    trained: Trained
    scores: Scores


def trained_arms(
    world: World, arms: dict[str, Arm], network: Network, training: Training, constraint: Constraint = free
) -> dict[str, Ended]:
    """Train one network on every arm, all in one batch; an arm's numbers do not depend on the others.

    Args:
        world: with one run per seed, or one for all.
        arms: by name.
        network: of all arms.
        training: seeds, steps, batch and rate.
        constraint: of all arms.
    Returns: what became of each arm.
    Raises: ValueError as `train`.
    """
    views, losses = zip(*arms.values(), strict=True)
    training = with_sample(training, world)
    done = train(
        world, views, network, losses, seeds=training.seeds, steps=training.steps, batch=training.batch,
        constraint=constraint, optimiser=Relative(training.rate), dtype=torch.float32,
    )  # fmt: skip
    return {name: _scored(trained, training) for name, trained in zip(arms, done.arms(len(arms)), strict=True)}


def untrained(world: World, network: Network, training: Training) -> Ended:
    """The same networks at their start."""
    purposes = ("start", "start of the second")[: 1 if world.tied else 2]
    starts = (network.start(world.inputs, streams(training.seeds, 1, purpose)) for purpose in purposes)
    encoders = tuple({name: w.float() for name, w in start.items()} for start in starts)
    start = Trained(world, network, encoders, {}, torch.zeros(0, len(training.seeds)))
    return _scored(start, with_sample(training, world))


def _scored(trained: Trained, training: Training) -> Ended:
    return Ended(trained, Scores(*(score.double() for score in score_on(trained, training.sample))))


def with_sample(training: Training, world: World) -> Training:
    """The same with its sample drawn, if it is not: whole views with private latents of their own."""
    return replace(training, sample=training.sample or draw_sample(world, Apart(), training.scored, training.seeds))


@dataclass(frozen=True)
class RelativeThreshold(Linear):
    """f_i = ReLU(h_i − b_i) − ReLU(−h_i − b_i), h = Wx, with b_i a multiple of the standard deviation of h_i.

    So a longer w_i is no lower threshold. wen-li-2021 raise b_i on a schedule instead.
    Args:
        outputs: z ≥ 1.
        level: b_i over the standard deviation, over the views of one call; 0 gives a linear network.
    """

    level: float = 1.0

    def __call__(self, params, x):
        w = params["w"]
        if not self.level:
            return super().__call__(params, x)
        scale = (x @ w.detach().mT).square().mean(1).sqrt()
        outputs = features(x, w, self.level * scale)
        return outputs, outputs
