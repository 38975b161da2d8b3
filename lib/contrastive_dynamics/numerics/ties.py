"""Comparisons that rounding must not decide: numbers that it cannot tell apart are ties, and ties are shared equally.

Two numbers that are equal by their formula differ by rounding if they are computed differently: in two functions, in
two columns of one product of matrices, for a vector and for a multiple of it.
"""

import torch
from torch import Tensor


def rounding_margin(terms: int, dtype: torch.dtype) -> float:
    """(terms + 64)·eps, relative to ‖x‖‖y‖: what rounding alone may put between two equal inner products ⟨x, y⟩.

    Each of the two is off by at most terms·eps/2, in any order of summation; the 64·eps are for the rounding of x and y
    themselves.
    Source: Higham, Accuracy and Stability of Numerical Algorithms (2002), Section 3.1.
    Args:
        terms: number of products in the sum, ≥ 0.
        dtype: floating, float32 or wider; half precision has no digits to spare for it.
    """
    return (terms + 64) * torch.finfo(dtype).eps


def top_shares(values: Tensor, count: int, margin: Tensor | float) -> Tensor:
    """Weights, of sum `count`, of the `count` largest values of the last axis; those tied for the last places share.

    1 for a value more than the margin above the count-th largest, 0 for one more than the margin below it; the others
    share equally what is left of the count. So the weights do not depend on the order of the values.
    Args:
        values: `[..., n]`.
        count: 1 to n.
        margin: ≥ 0, broadcast to `[..., 1]`.
    Returns: `[..., n]`, 0 to 1.
    Raises: ValueError for another count.
    Cost: a few passes over the values.
    """
    if not 1 <= count <= values.shape[-1]:
        raise ValueError(f"count must be 1 to {values.shape[-1]}, got {count}")
    last = values.topk(count, -1).values[..., -1:]
    above, tied = (values > last + margin), (values - last).abs() <= margin
    left = (count - above.sum(-1, keepdim=True)).to(values.dtype)
    return above + tied * (left / tied.sum(-1, keepdim=True))
