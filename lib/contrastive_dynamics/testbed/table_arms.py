"""Arms of the table: several views and losses for one network, trained in one batch, and parts that only the table has.

Every arm has the same seeds, so that arms are paired: the same world, start and, for the same views, the same pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from ..feature_decoupling.symmetrised_relu import features
from ..numerics.random_streams import streams
from .encoders import Linear, Network
from .experiment import Trained, Views, train
from .optimisers import Constraint, Relative, free
from .pairs import Pairs
from .scores import Scores, score
from .view_makers import Apart
from .worlds import World


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
    """

    seeds: tuple[int, ...]
    steps: int = 160
    batch: int = 128
    rate: float = 0.1
    scored: int = 2000


class Repeated:
    """A world whose runs are those of another, once for each arm."""

    def __init__(self, world: World, arms: int):
        self.world, self.arms, self.tied, self.inputs = world, arms, world.tied, world.inputs

    def shared(self, n, generators):
        return self._repeat(self.world.shared(n, generators[: len(generators) // self.arms]))

    def private(self, n, generators):
        return self._repeat(self.world.private(n, generators[: len(generators) // self.arms]))

    def render(self, shared, private, modality):
        parts = zip(shared.chunk(self.arms), private.chunk(self.arms), strict=True)
        return torch.cat([self.world.render(*part, modality) for part in parts])

    def _repeat(self, latents: Tensor) -> Tensor:
        return latents.repeat(self.arms, *[1] * (latents.ndim - 1))


class Ended(NamedTuple):
    """The networks of an arm, and their scores on whole views with private latents of their own."""

    trained: Trained
    scores: Scores


def trained_arms(
    world: World, arms: dict[str, Arm], network: Network, how: Training, constraint: Constraint = free
) -> dict[str, Ended]:
    """Train one network on every arm, all in one batch; an arm's numbers do not depend on the others.

    Views that several arms share are drawn once.
    Args:
        world: with one run per seed, or one for all.
        arms: by name.
        network: of all arms.
        how: seeds, steps, batch and rate.
        constraint: of all arms.
    Returns: what became of each arm.
    Raises: ValueError as `train`.
    """
    runs, chosen = len(how.seeds), list(arms.values())
    data = {arm.views: streams(list(how.seeds), 1, "data") for arm in chosen}
    parts = [slice(k * runs, (k + 1) * runs) for k in range(len(chosen))]

    def views(repeated: Repeated, n: int, _: list[torch.Generator]) -> Pairs:
        drawn = {of: of(repeated.world, n, generators) for of, generators in data.items()}
        return Pairs(*(torch.cat(of) for of in zip(*(drawn[arm.views] for arm in chosen), strict=True)))

    def loss(first: Tensor, second: Tensor) -> Tensor:
        return torch.cat([arm.loss(first[part], second[part]) for arm, part in zip(chosen, parts, strict=True)])

    seeds = list(how.seeds) * len(chosen)
    done = train(
        Repeated(world, len(chosen)), views, network, loss, seeds=seeds, steps=how.steps, batch=how.batch,
        constraint=constraint, optimiser=Relative(how.rate), dtype=torch.float32,
    )  # fmt: skip
    scores = score(done, Apart(), how.scored, seeds)
    return {
        name: Ended(_part(done, world, part), Scores(*(of[part].double() for of in scores)))
        for name, part in zip(arms, parts, strict=True)
    }


def _part(done: Trained, world: World, part: slice) -> Trained:
    encoders = tuple({name: w[part] for name, w in encoder.items()} for encoder in done.encoders)
    return replace(done, world=world, encoders=encoders, losses=done.losses[:, part])


def untrained(world: World, network: Network, how: Training) -> Ended:
    """The same networks at their start."""
    purposes = ("start", "start of the second")[: 1 if world.tied else 2]
    starts = (network.start(world.inputs, streams(list(how.seeds), 1, purpose)) for purpose in purposes)
    encoders = tuple({name: w.float() for name, w in start.items()} for start in starts)
    start = Trained(world, network, encoders, {}, torch.zeros(0, len(how.seeds)))
    return Ended(start, Scores(*(of.double() for of in score(start, Apart(), how.scored, list(how.seeds)))))


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
