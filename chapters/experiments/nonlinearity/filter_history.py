"""The filters of a few networks at many moments of their training, as a film needs them."""

from collections.abc import Iterable

import torch
from torch import Tensor

from contrastive_dynamics.nonlinearity.networks.ensemble_training import Run
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at


def filter_history(
    runs: Iterable[Run], steps: int, frames: int, device: torch.device | str | None = None
) -> tuple[Tensor, Tensor]:
    """Filters over training, closer together at its start: frame i at 1 + (steps − 1)·(i/(frames − 1))² minibatches.

    Args:
        runs: configurations with their seeds, which must form one program.
        steps: number of minibatches, ≥ 1.
        frames: number of moments, 2 ≤ frames ≤ steps.
        device: where to train, by default torch's default device.
    Returns: the minibatch of each frame, `[frame]`, and the filters `[frame, run, K, M, d]`, on the CPU. Frames that
        would fall on one minibatch are one.
    Raises: ValueError for frames outside this range and as `weights_at`.
    Cost: as `weights_at`; memory of frames × filters.
    """
    if not 2 <= frames <= steps:
        raise ValueError(f"frames must be ≥ 2 and ≤ steps, got {frames} frames and {steps} steps")
    share = torch.linspace(0, 1, frames, dtype=torch.float64, device="cpu")
    marks = (1 + (steps - 1) * share.square()).round().long().unique()
    kept = [weights.w.cpu().clone() for weights in weights_at(marks.tolist(), list(runs), device)]
    return marks, torch.stack(kept)
