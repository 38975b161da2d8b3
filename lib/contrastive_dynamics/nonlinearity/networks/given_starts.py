"""Training of token networks from weights that are given, with any loss; and many such trainings side by side."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from ...losses.named_losses import Loss
from ...numerics.random_streams import stream
from .ensemble_training import sgd_steps
from .field_network import FieldNetwork, Weights, initial_weights
from .importance_mixture import PacedNetwork
from .matching_curves import default_workers
from .token_configuration import TokenTraining

Ends = dict[str, Tensor]  # what is kept of trainings, by name; the last axis is the seed


def starts(training: TokenTraining, seeds: Iterable[int], device: torch.device | str, purpose="weights") -> Weights:
    """The initial weights of `ensemble_training.train`, one run per seed; another purpose gives others."""
    size = training.places, training.filters, training.tokens, training.outputs
    return initial_weights([stream(seed, 0, purpose, device) for seed in seeds], *size)


def trained_from(
    training: TokenTraining,
    seeds: Sequence[int],
    weights: Weights,
    network: FieldNetwork | PacedNetwork,
    loss: Loss,
    steps: int,
) -> Weights:
    """Weights after training from the given ones; run i sees the generators and minibatches of seeds[i].

    Runs of one seed see the same, drawn once, as those of `ensemble_training.train` do. Filters per place are those of
    the weights.

    Args:
        training: the data, the optimiser and whether views are normalised apart.
        seeds: one per run; they may repeat.
        weights: runs first; changed in place.
        network: what is trained, as from `ensemble_network`.
        loss: the loss of the outputs of both views.
        steps: number of minibatches, ≥ 1.
    Returns: weights.
    Raises: FloatingPointError if training diverged.
    Cost: as `ensemble_training.train`.
    """
    device, each = weights.w.device, list(dict.fromkeys(seeds))
    draws = [stream(seed, 0, "minibatches", device) for seed in each]
    batches = training.pool(each, device).batches(draws, training.batch, training.groups, weights.w.dtype)
    seen = torch.tensor([each.index(seed) for seed in seeds], device=device)
    for _ in sgd_steps(
        network,
        weights,
        (batch.shared(seen) for batch in islice(batches, steps)),
        loss,
        rate=training.rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
    ):
        pass
    if not (weights.w.isfinite().all() and weights.v.isfinite().all()):
        raise FloatingPointError(f"training diverged: {training}")
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
    workers = (workers or default_workers()) if device.type == "cpu" else 1
    if min(workers, len(cases)) == 1:
        found = [train(*case, device) for case in watch(cases)]
    else:
        from joblib import Parallel, delayed

        jobs = (delayed(_as_arrays)(train, case) for case in cases)
        done = Parallel(workers, return_as="generator", batch_size=1, max_nbytes=None)(jobs)
        found = [{name: torch.from_numpy(values) for name, values in next(done).items()} for _ in watch(cases)]
    return {name: torch.cat([ends[name] for ends in found], -1) for name in found[0]}


def _as_arrays(train: Callable[..., Ends], case: tuple) -> dict[str, np.ndarray]:
    torch.set_num_threads(1)  # in a worker; tensors would travel through shared memory, which may be scarce
    return {name: values.numpy() for name, values in train(*case, torch.device("cpu")).items()}
