"""Figure 2 of esser-2023: how far wide networks stray from their linear twins while they train on half moons."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import draw_weights
from contrastive_dynamics.collapse_and_constraints.pair_losses import stacked
from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.wide_training import Pairs, linear_gap
from contrastive_dynamics.data.half_moons import half_moon_pairs
from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.numerics.random_streams import stream

AT_ONCE = 10  # networks between two ticks of a progress bar


def half_moon_gap(
    name: str,
    h: int,
    n: int,
    networks: int,
    first_seed: int,
    rate: float,
    keep: list[int],
    mean: bool = False,
    outputs: int = 2,
    *,
    device: torch.device | str | None = None,
    watch: Callable[[list[range]], Iterable[range]] = iter,
) -> dict[str, Tensor]:
    """Gaps of networks of one width, each with its own pairs and its own start, at the epochs of `keep`.

    What network k draws depends only on the seed, k and the width, so it is the same among more networks.

    Source: esser-2023, Figure 2.
    Args:
        name: a key of `smooth_activations.WIDE`.
        h: width, ≥ 2.
        n: number of half-moon points, even, ≥ 2.
        networks: number of networks, ≥ 1.
        first_seed: seed of all networks.
        rate: learning rate, > 0.
        keep: epochs to measure at, ascending from 0.
        mean: whether the loss is the mean over the pairs, instead of the sum in (1).
        outputs: number of outputs z, 1 or 2.
        device: device of the computation.
        watch: wraps the blocks of networks, for instance in a progress bar.
    Returns: `difference` and `linear` of `wide_training.linear_gap`, `[epoch, network]`, on the CPU.
    Raises: ValueError for another name or size, before any work.
    Cost: networks × `wide_training.train`.
    """
    act = activation(name, WIDE)
    if h < 2 or networks < 1 or outputs < 1:
        raise ValueError(f"h must be ≥ 2, networks and outputs ≥ 1, got h={h}, networks={networks}, outputs={outputs}")
    parts = []
    for runs in watch([range(k, min(k + AT_ONCE, networks)) for k in range(0, networks, AT_ONCE)]):
        data, first, second = (
            [stream(first_seed, k, purpose, device) for k in runs] for purpose in ("pairs", f"{h} first", f"{h} second")
        )
        pairs = Pairs(stacked(*half_moon_pairs(data, n)), n, scale=1 / n if mean else 1.0)
        gap = linear_gap(draw_weights(first, second, h, 2, outputs), pairs, act, rate, keep)
        parts.append((gap.difference.cpu(), gap.linear.cpu()))
    difference, linear = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    return {"difference": difference, "linear": linear}
