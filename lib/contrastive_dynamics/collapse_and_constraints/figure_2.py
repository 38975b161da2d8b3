"""Figure 2 of esser-2023: how far wide networks are from their linear twins while they train on half moons."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from ..data.half_moons import half_moon_pairs
from ..losses.activations import activation
from ..numerics.random_streams import stream
from .orthogonal_descent import draw_weights
from .pair_losses import stacked
from .smooth_activations import WIDE
from .wide_training import Pairs, linear_gap

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
    """Gap of networks of one width, each on its own pairs from its own start, at the epochs of `keep`.

    Network k draws from the seed, k and the width alone: it is the same among more networks.
    Source: esser-2023, Figure 2. Args: name, one of `smooth_activations.WIDE`; h ≥ 2; n half moons, even; rate > 0;
    keep, epochs, ascending from 0; mean, of the pairs, in place of the sum of (1); watch wraps the blocks of networks.
    Returns: `difference` and `linear` of `wide_training.linear_gap`, `[epoch, network]`, on the CPU.
    Raises: ValueError for another name or size, before any work. Cost: networks × `wide_training.train`.
    """
    act = activation(name, WIDE)
    if h < 2 or networks < 1 or outputs < 1:
        raise ValueError(
            f"half_moon_gap: got h={h}, networks={networks}, outputs={outputs}, allowed are h ≥ 2, 1 or more"
        )
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
