"""The distance between two tensors, relative to the norm of the second."""

from torch import Tensor


def relative_error(ours: Tensor, expected: Tensor) -> float:
    """‖ours − expected‖ / ‖expected‖ over all entries.

    Args:
        ours: any shape.
        expected: of the same shape, not zero.
    """
    return float((ours - expected).norm() / expected.norm())


def relative_errors(ours: Tensor, expected: Tensor, batch: int = 0) -> Tensor:
    """‖ours − expected‖ / ‖expected‖, one number for each entry of the batch axes.

    Args:
        ours: any shape.
        expected: of the same shape, nonzero in every entry of the batch.
        batch: number of leading batch axes.
    """
    off, size = (v.flatten(batch).norm(dim=-1) for v in (ours - expected, expected))
    return off / size
