"""What two views are: samples with their latents, and second moments.

Shapes: runs first; n pairs, D_A and D_B inputs, S shared and P private latents.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Pairs(NamedTuple):
    """n positive pairs of each run, and the latents of the second view."""

    first: Tensor  # [run, n, D_A]
    second: Tensor  # [run, n, D_B]
    shared: Tensor  # [run, n, S]
    private: Tensor  # [run, n, P]


class Moments(NamedTuple):
    """Second moments of centred views."""

    first: Tensor  # [..., D_A, D_A], of the first view
    second: Tensor  # [..., D_B, D_B]
    cross: Tensor  # [..., D_A, D_B], E x_A x_Bᵀ


def sample_moments(views: Pairs | tuple[Tensor, Tensor]) -> Moments:
    """The moments of a sample, its means taken out, divided by n − 1.

    Args:
        views: Pairs, or both views `[..., n, D_A]` and `[..., n, D_B]`, n ≥ 2.
    Raises: ValueError for views of other shapes.
    Cost: 2n(D_A² + D_B² + D_A·D_B) flops per run.
    """
    first, second = views[:2]
    if first.ndim < 2 or first.shape[:-1] != second.shape[:-1] or first.shape[-2] < 2:
        got = f"{list(first.shape)} and {list(second.shape)}"
        raise ValueError(f"views must be [..., n, D_A] and [..., n, D_B], n ≥ 2, got {got}")
    first, second = (x - x.mean(-2, keepdim=True) for x in (first, second))
    count = first.shape[-2] - 1
    return Moments(first.mT @ first / count, second.mT @ second / count, first.mT @ second / count)


def per_run(draw, generators: list[torch.Generator], *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """`[run, *shape]` of torch.rand, torch.randn, …: run k from generator k, on its device."""
    return torch.stack([draw(*shape, generator=g, device=g.device, dtype=dtype) for g in generators])
