"""Training of token networks from weights that are given; and many such trainings side by side."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from ...numerics.side_by_side import side_by_side as pooled
from .ensemble_training import Run
from .field_network import Weights
from .importance_mixture import Variation
from .weights_at import weights_at

Ends = dict[str, Tensor]  # what is kept of trainings, by name; the last axis is the seed


def trained_from(
    runs: Sequence[Run], start: Weights, steps: int, variations: Sequence[Variation] | None = None
) -> Weights:
    """Weights after training from the given ones; runs of one seed see the same generators and minibatches.

    Args:
        runs: configurations with their seeds, of one program; filters per place are those of the weights.
        start: initial weights, runs first.
        steps: number of minibatches, ≥ 1.
        variations: one per run, in place of the loss of its configuration.
    Returns: weights.
    Raises: as `weights_at`; FloatingPointError if training diverged.
    Cost: as `weights_at`.
    """
    (weights,) = weights_at([steps], runs, start.w.device, start=start, variations=variations)
    if not (weights.w.isfinite().all() and weights.v.isfinite().all()):
        raise FloatingPointError(f"training diverged: {runs[0][0]}")
    return weights


def chunks(seeds: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The seeds in order, in tuples of `size`, the last one perhaps shorter."""
    return [tuple(seeds[at : at + size]) for at in range(0, len(seeds), size)]


def side_by_side(
    train: Callable[..., Ends],
    cases: list[tuple],
    device: torch.device,
    workers: int | None = None,
    watch: Callable[[list[tuple]], Iterable[tuple]] = iter,
) -> Ends:
    """train(*case, device) of every case, joined along the last axis: on a CPU in processes of one thread each.

    Args:
        train: a function of a module; the last argument is the device.
        cases: its other arguments.
        device: where to train; other devices than a CPU train one case after the other.
        workers: number of processes on a CPU, by default `default_workers()`.
        watch: wraps the list of cases, as a progress bar does.
    Returns: what train returns, with the cases side by side.
    """
    jobs = [(*case, device) for case in cases]
    found = pooled(train, jobs, watch, workers if device.type == "cpu" else 1)
    return {name: torch.cat([ends[name] for ends in found], -1) for name in found[0]}
