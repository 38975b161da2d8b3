"""Powers of a size, fitted on logarithms."""

from collections.abc import Sequence

import torch
from torch import Tensor


def fitted_power(values: Tensor, sizes: Sequence[float]) -> Tensor:
    """The slope of log values over log sizes by least squares: the k of values ∝ size^k.

    Args: values `[size, ...]`; sizes, two or more that differ, above 0. Returns: float64 `[...]`, a fit an entry, nan
    where a value is negative, nan or infinite where one is 0. Raises: ValueError for other sizes.
    """
    if len(values) != len(sizes) or len(set(sizes)) < 2 or min(sizes) <= 0:
        got = f"{len(values)} values at sizes {list(sizes)}"
        raise ValueError(f"fitted_power: got {got}, allowed are a value a size, two sizes or more, all above 0")
    x = torch.tensor(sizes, dtype=torch.float64, device=values.device).log()
    centred = (x - x.mean()).view(-1, *[1] * (values.ndim - 1))
    return (centred * values.log()).sum(0) / centred.square().sum()
