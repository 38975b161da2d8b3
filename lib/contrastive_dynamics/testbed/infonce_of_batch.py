"""InfoNCE among the pairs of a batch, with its gradient in closed form: the n×n matrices are passed over once.

The gradient in the similarities is softmax probabilities minus the identity. It is formed while they are still in the
cache, some runs at a time, so that no `[run, n, n]` is kept until the backward pass.
"""

import torch
from torch import Tensor

_BYTES = 2**20  # of the matrices that are handled at a time, within a core's level-2 cache


def infonce_of_batch(first: Tensor, second: Tensor, shift: float = 0.0, sides: int = 2) -> Tensor:
    """mean_i(log Σ_j e^{s_ij + c[j≠i]} + log Σ_j e^{s_ji + c[j≠i]} − 2s_ii), s_ij = f_i·g_j, of each run.

    The gradient in f_i is (1/n)Σ_j(p_ij + q_ij − 2δ_ij)g_j, p the softmax of rows and q that of columns, and in g the
    same transposed.
    Args:
        first, second: f and g, `[run, n, z]`.
        shift: c of the negatives.
        sides: 1 for the first logarithm alone and −s_ii, or 2.
    Returns: `[run]`.
    Raises: ValueError where a second derivative is asked for.
    Error: rounding, relative to the sums.
    Cost: 6·n²·z flops, n² exponentials and 7 passes over n² numbers per run; 2·n·z numbers are kept for the gradient.
    """
    return _InfoNCE.apply(first, second, shift, sides)


class _InfoNCE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first: Tensor, second: Tensor, shift: float, sides: int) -> Tensor:
        n, wanted = first.shape[-2], any(ctx.needs_input_grad)
        runs = max(1, _BYTES // (n * n * first.element_size())) if first.device.type == "cpu" else len(first)
        batches = zip(first.split(runs), second.split(runs), strict=True)
        value, *slopes = (
            torch.cat(of) for of in zip(*(_value(*of, shift, sides, wanted) for of in batches), strict=True)
        )
        ctx.save_for_backward(*slopes)
        return value

    @staticmethod
    def backward(ctx, on_value: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise ValueError("infonce_of_batch: create_graph must be False, as it has no second derivative, got True")
        return *(on_value.view(-1, 1, 1) * slope for slope in ctx.saved_tensors), None, None


def _value(first: Tensor, second: Tensor, shift: float, sides: int, wanted: bool) -> tuple[Tensor, ...]:
    """The value, and if wanted its slopes in both outputs."""
    n = first.shape[-2]
    own = (first * second).sum((-2, -1)) / n
    logs, weights = _log_sums(first, second, shift, sides)
    value = logs + sides * (shift - own)
    if not wanted:
        return (value,)
    scale = {"beta": -sides / n, "alpha": 1 / n}
    return value, torch.baddbmm(second, weights, second, **scale), torch.baddbmm(first, weights.mT, first, **scale)


def _log_sums(first: Tensor, second: Tensor, shift: float, sides: int) -> tuple[Tensor, Tensor]:
    """Mean log Σ_j e^{s_ij}, plus log Σ_j e^{s_ji} if sides is 2, c taken from s_ii; softmax of rows, plus of columns.

    One exponential per entry, over the largest entry of each matrix, unless a sum of them underflows.
    """
    logits, ways = _logits(first, second, shift), (-1, -2)[:sides]
    top = logits.amax((-2, -1), keepdim=True)
    powers = logits.sub_(top).exp_()
    sums = torch.stack([powers.sum(way) for way in ways])
    if not float(sums.min()) > torch.finfo(sums.dtype).tiny / torch.finfo(sums.dtype).eps:
        logits = _logits(first, second, shift)
        return sum(logits.logsumexp(way).mean(-1) for way in ways), sum(logits.softmax(way) for way in ways)
    inverse = sums.reciprocal()
    weights = inverse[0].unsqueeze(-1)
    if sides == 2:
        weights = weights + inverse[1].unsqueeze(-2)
    return sums.log().mean(-1).sum(0) + sides * top.view(-1), powers.mul_(weights)


def _logits(first: Tensor, second: Tensor, shift: float) -> Tensor:
    logits = first @ second.mT
    if shift:
        logits.diagonal(dim1=-2, dim2=-1).sub_(shift)
    return logits
