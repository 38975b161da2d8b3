"""At which τ² heads level fastest: from a collapse without negatives to half of the balance, by SGD or by AdamW.

Shapes: n pairs of r shared signs and as many noises per modality; runs are τ² · K · start, in this order.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.alignment_and_balance.head_training import Recipe, Snapshot, train_heads
from contrastive_dynamics.alignment_and_balance.projection_heads import Heads, apply_heads, init_heads
from contrastive_dynamics.alignment_and_balance.zero_shot import output_balance
from contrastive_dynamics.numerics.random_streams import stream


class RacePlan(NamedTuple):
    """What all runs of a race share."""

    seed: int
    starts: int
    rank: int  # r, signals
    width: int  # of the heads and of their outputs
    batch: int
    pairs: int  # n
    collapse: int  # updates without negatives
    race: int  # updates with them, at most
    every: int  # updates between two looks at the balance


def signal_pairs(plan: RacePlan) -> tuple[Tensor, Tensor]:
    """Features of both modalities, `[n, 2r]` each, float32: r shared signs with scales from 2 to 1, r noises at 0.8."""
    draw = stream(plan.seed, 0, "race pairs")
    shape = plan.pairs, plan.rank
    shared, own_a, own_b = (2.0 * torch.randint(2, shape, generator=draw) - 1 for _ in range(3))
    signal = shared * torch.linspace(2, 1, plan.rank)
    return tuple(torch.cat([signal, 0.8 * own], -1).float() for own in (own_a, own_b))


def collapsed_heads(plan: RacePlan) -> tuple[Heads, Heads]:
    """Both heads after the updates without negatives by AdamW, one run a start."""
    images, captions = signal_pairs(plan)
    starts = range(plan.starts)
    image, text = (
        init_heads([stream(plan.seed, k, what) for k in starts], 2 * plan.rank, plan.width, plan.width, torch.float32)
        for what in ("race image", "race text")
    )
    one = torch.ones(plan.starts, dtype=torch.float32)
    recipe = Recipe(torch.zeros(plan.starts).bool(), one, one, plan.batch)
    draws = [stream(plan.seed, k, "collapse batches") for k in starts]
    *_, last = train_heads(image, text, images, captions[:, None], draws, recipe, [plan.collapse])
    return last.image, last.text


def updates_to_half(
    plan: RacePlan,
    tau_squared: list[float],
    negatives: list[float],
    optimiser: str,
    step_size: float,
    watch: Callable[[Iterable[Snapshot]], Iterable[Snapshot]] = iter,
) -> Tensor:
    """Updates with negatives until the balance of the image outputs is r/2, `[τ², K, start]`; inf if it is not reached.

    All runs of a start begin at its collapsed heads and see the same batches. K weighs the negatives of the loss; it is
    not tied to their number. Between two looks the balance is interpolated.
    Source: ours; ren-li-2023, Section 6 for the heads.
    Args:
        plan: what all runs share.
        tau_squared, negatives: τ² > 0 and K > 0.
        optimiser: one of `head_training.OPTIMISERS`, with its step_size > 0.
        watch: wraps the snapshots, for a progress bar.
    Returns: `[τ², K, start]`, float64.
    Raises: as `train_heads`.
    Cost: one `train_heads` of τ²·K·starts runs.
    """
    images, captions = signal_pairs(plan)
    cases = torch.cartesian_prod(*(torch.tensor(x, dtype=torch.float32) for x in (tau_squared, negatives)))
    tau, k = (x.repeat_interleave(plan.starts) for x in cases.unbind(-1))
    image, text = (Heads(*(p.repeat(len(cases), *[1] * (p.ndim - 1)) for p in h)) for h in collapsed_heads(plan))
    recipe = Recipe(torch.ones(len(tau)).bool(), tau, k, plan.batch, step_size, 0.0, optimiser=optimiser)
    draws = [stream(plan.seed, j, "race batches") for _ in cases for j in range(plan.starts)]
    looks = list(range(0, plan.race + 1, plan.every))
    seen = images[:512]
    run = train_heads(image, text, images, captions[:, None], draws, recipe, looks)
    found = torch.stack([output_balance(apply_heads(s.image, seen)[0]).double() for s in watch(run)])
    return first_passage(found, plan.rank / 2, plan.every).unflatten(0, (len(tau_squared), len(negatives), -1))


def first_passage(values: Tensor, level: float, every: float) -> Tensor:
    """When values `[look, run]` first reach the level, linearly between looks; inf if they never do, 0 at the start."""
    above = values >= level
    at = above.to(torch.int64).argmax(0)
    later, earlier = (values.gather(0, k[None])[0] for k in (at, (at - 1).clamp(min=0)))
    part = torch.where(at > 0, (level - earlier) / (later - earlier), 1)
    return torch.where(above.any(0), every * ((at - 1).clamp(min=0) + torch.where(at > 0, part, 0)), torch.inf)
