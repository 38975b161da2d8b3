"""Trained weights at some moments of a training, by the fastest way that a run can take."""

from collections.abc import Iterator, Sequence

import torch

from .ensemble_training import Run, one_program, starting_weights, train
from .field_network import Weights
from .fused_training import can_be_fused, fused_weights
from .importance_mixture import Variation, check_variations


def weights_at(
    marks: Sequence[int],
    runs: Sequence[Run],
    device: torch.device | str | None = None,
    *,
    start: Weights | None = None,
    variations: Sequence[Variation] | None = None,
) -> Iterator[Weights]:
    """The weights of all runs after each of some numbers of minibatches, in float32.

    On a CPU the compiled step trains each network by itself; for losses that it lacks, on other devices and where numba
    is missing, torch trains all of them as one program. Both draw the same numbers and round differently.

    Args:
        marks: numbers of minibatches, ≥ 1, ascending.
        runs: configurations with their seeds, which must form one program.
        device: where to train, by default torch's default device.
        start: initial weights, by default those of `starting_weights`; filters per place are those of the weights.
        variations: one per run, in place of the loss of its configuration.
    Returns: Weights for each mark, valid until the next.
    Raises: ValueError for marks that do not ascend from 1 or more, as `ensemble_training.train`, and as
        `check_variations`.
    Cost: as `fused_training.fused_weights` or `ensemble_training.train`.
    """
    marks = list(marks)
    if not marks or marks[0] < 1 or any(later <= mark for mark, later in zip(marks, marks[1:], strict=False)):
        raise ValueError(f"marks must be ≥ 1 and ascend, got {marks}")
    check_variations(variations or ())
    device = torch.get_default_device() if device is None else torch.device(device)
    one_program(runs).require_memory(len(runs), device)
    start = starting_weights(runs, device) if start is None else start
    if can_be_fused([training for training, _ in runs], device, variations is not None):
        yield from fused_weights(runs, start, marks, variations)
        return
    wanted = set(marks)
    for step, weights in enumerate(train(runs, marks[-1], device, start=start, variations=variations), 1):
        if step in wanted:
            yield weights
