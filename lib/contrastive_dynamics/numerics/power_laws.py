"""Powers of a size, fitted on a logarithmic scale."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def fitted_power(values: Tensor, sizes: Sequence[float]) -> Tensor:
    """The least-squares slope of log values over log sizes: the k of values ∝ size^k.

    Args:
        values: `[size, ...]`.
        sizes: one per entry of the first axis, at least two of them different, all > 0.
    Returns: float64 `[...]`, one fit per entry: nan where a value is negative, nan or infinite where one is 0.
    Raises: ValueError for other sizes.
    """
    if len(values) != len(sizes) or len(set(sizes)) < 2 or min(sizes) <= 0:
        got = f"{len(values)} values at sizes {list(sizes)}"
        raise ValueError(f"sizes must be one per value, two or more different ones, all > 0, got {got}")
    x = torch.tensor(sizes, dtype=torch.float64, device=values.device).log()
    centred = (x - x.mean()).view(-1, *[1] * (values.ndim - 1))
    return (centred * values.log()).sum(0) / centred.square().sum()


def log_slope(sizes: Sequence[float], values: Sequence) -> float | list:
    """`fitted_power` of a list or an array, `[size]` or `[size, ...]`, as a number or as a list of numbers."""
    return fitted_power(torch.tensor(np.array(values), device="cpu"), sizes).tolist()
