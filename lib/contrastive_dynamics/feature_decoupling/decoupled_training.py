"""The contrastive learner, trained on the population of sparse codes: all runs at once, on a stream of fresh data."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple

import torch
from joblib import Parallel, delayed
from torch import Tensor

from ..numerics.memory import keep_freed_memory
from ..numerics.side_by_side import default_workers
from .fused_stream import FusedStream, can_be_fused
from .sparse_coding import SparseCoding
from .symmetrised_relu import Gradient, contrastive_gradient
from .training_schedule import DecoupledTraining, Learner, sgd_step

CHUNK = 512  # positives in memory at a time; a constant, as a stream's numbers depend on the shapes drawn from it
CACHED = 2**17  # entries of a chunk of the runs that step together on a CPU: more runs leave its cache


class Course(NamedTuple):
    """The record of a training: time first, then run.

    `steps` `[time]`, weights `[time, run, m, d1]`, biases `[time, run, m]`, the loss of the next batch `[time, run]`,
    and the step of T1 `[run]`, -1 if it was not reached.
    """

    steps: Tensor
    weights: Tensor
    bias: Tensor
    loss: Tensor
    grown_at: Tensor

    def learner(self, time: int = -1) -> tuple[Tensor, Tensor]:
        """(weights, biases) at one of the recorded times."""
        return self.weights[time], self.bias[time]


def chunked_mean(part: Callable[[int], Iterable[Tensor]], count: int) -> list[Tensor]:
    """Means over `count` samples, combined from those of `part(n)` over n fresh ones, at most CHUNK at a time."""
    total, left = None, count
    while left:
        taken = min(CHUNK, left)
        weighted = [each * (taken / count) for each in part(taken)]
        total = weighted if total is None else [a + b for a, b in zip(total, weighted, strict=True)]
        left -= taken
    return total


def check_times(name: str, times: list[int]) -> None:
    """Raise ValueError unless `times` is not empty and increases from 0 or later."""
    if not times or times[0] < 0 or any(b <= a for a, b in zip(times, times[1:], strict=False)):
        raise ValueError(f"{name}: record_at must be increasing steps, from 0, got {times}")


def stream_gradient(
    model: SparseCoding, learner: Learner, training: DecoupledTraining, generators: list[torch.Generator]
) -> Gradient:
    """The gradient over a batch of fresh data, accumulated over chunks of positives that share the negatives.

    Source: wen-li-2021, Appendix A.1.
    Args:
        model: draws the data.
        learner: weights and biases.
        training: batch, negatives, views and temperature.
        generators: one per run.
    Returns: Gradient, as `contrastive_gradient`.
    Memory: chunks of 512 positives, whatever the batch.
    """
    return _gradient(_blocks(model, training), learner, training, generators)


def _blocks(model: SparseCoding, training: DecoupledTraining) -> list[tuple[slice, SparseCoding]]:
    """The runs in groups that step together: on a CPU as many as fit its cache, elsewhere all of them."""
    runs, dim = model.dictionary.shape[:2]
    together = max(1, CACHED // (min(training.batch, CHUNK) * dim)) if model.device.type == "cpu" else runs
    parts = [slice(k, min(k + together, runs)) for k in range(0, runs, together)]
    return [(part, model.part(part)) for part in parts]


def gradients(
    model: SparseCoding, neurons: int, training: DecoupledTraining, fused: bool = True
) -> Callable[[Learner, list[torch.Generator]], Gradient]:
    """`stream_gradient` as a function of learner and generators, compiled if `fused` and it can be."""
    if fused and can_be_fused(model):
        return FusedStream(model, neurons, training).gradient
    blocks = _blocks(model, training)
    return lambda learner, generators: _gradient(blocks, learner, training, generators)


def _gradient(
    blocks: list[tuple[slice, SparseCoding]],
    learner: Learner,
    training: DecoupledTraining,
    generators: list[torch.Generator],
) -> Gradient:
    """`stream_gradient`, group by group."""
    found = [
        _block_gradient(model, learner.weights[part], learner.bias[part], training, generators[part])
        for part, model in blocks
    ]
    return Gradient(*(torch.cat(each) for each in zip(*found, strict=True)))


def _block_gradient(
    model: SparseCoding, weights: Tensor, bias: Tensor, training: DecoupledTraining, generators: list[torch.Generator]
) -> Gradient:
    negatives = model.sample(training.negatives, generators)[1]
    if training.mask_negatives:
        negatives = model.views(negatives, generators, training.views, training.rate)[0]

    def part(count: int) -> Gradient:
        views = model.views(model.sample(count, generators)[1], generators, training.views, training.rate)
        return contrastive_gradient(weights, bias, *views, negatives, training.temperature)

    return Gradient(*chunked_mean(part, training.batch))


def train(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    record_at: Iterable[int],
    watch: Callable[[Iterable], Iterable] = iter,
    workers: int | None = None,
    fused: bool = True,
) -> Course:
    """SGD over the population from given weights, recorded before the steps named in `record_at`.

    On a CPU the runs are shared by `workers` threads (default: one per core, at most 4); elsewhere they are one batch.
    A run gives the same result either way.
    Source: wen-li-2021, Section 2.2.
    Args:
        model: with one dictionary per run.
        weights: initial weights, `[run, m, d1]`; the biases start at 0.
        training: settings.
        generators: one per run.
        record_at: increasing steps, from 0 on; training ends at the last.
        watch: wraps the steps in a progress bar.
        workers: threads on a CPU.
        fused: whether to use the compiled gradient where it can be, about twice as fast; it draws other numbers.
    Returns: Course.
    Raises: ValueError if record_at is empty or does not increase, or for other numbers of generators or dictionaries.
    Cost: per step that of `contrastive_gradient`, one normal draw per entry of the data and, for masked views, a
        uniform one.
    """
    times = list(record_at)
    check_times("train", times)
    parts = shared_by_threads(
        model,
        weights,
        generators,
        workers,
        lambda part, w, g, first: _train(part, w, training, g, times, watch if first else iter, fused),
    )
    along_runs = (torch.cat([part[i] for part in parts], 1) for i in range(1, 4))
    return Course(parts[0].steps, *along_runs, torch.cat([part.grown_at for part in parts]))


def shared_by_threads(
    model: SparseCoding, weights: Tensor, generators: list[torch.Generator], workers: int | None, work: Callable
) -> list:
    """work(model, weights, generators, first) of each thread's share of the runs, in order, see `train`.

    Threads, not the processes of `side_by_side`: compiled gradients and torch's products run without Python's lock,
    and neither a generator nor the `work` of a caller can be sent to a process.
    """
    runs = len(weights)
    if len(generators) != runs or len(model.dictionary) != runs:
        raise ValueError(
            f"generators and dictionaries must be one per run of weights, {runs}, got {len(generators)} and "
            f"{len(model.dictionary)}"
        )
    if model.device.type == "cpu":
        keep_freed_memory()
    workers = (workers or default_workers()) if model.device.type == "cpu" else 1
    bounds = [runs * k // workers for k in range(workers + 1)]
    shares = [slice(a, b) for a, b in zip(bounds, bounds[1:], strict=False) if b > a]
    return Parallel(len(shares), prefer="threads")(
        delayed(work)(model.part(s), weights[s], generators[s], not k) for k, s in enumerate(shares)
    )


class Moment(NamedTuple):
    """A training before one of its steps: the learner, the loss of the next batch `[run]`, T1 `[run]` or -1."""

    step: int
    learner: Learner
    loss: Tensor
    grown_at: Tensor


def moments(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    fused: bool = True,
) -> Iterator[Moment]:
    """The training before step 0, 1, 2, …, without end. Arguments and cost as `train`, in one thread."""
    none = torch.zeros(len(weights), dtype=torch.bool, device=model.device)
    learner = Learner(weights, torch.zeros_like(weights[..., 0]), none)
    grown_at = torch.full((len(weights),), -1, device=model.device)
    gradient_of = gradients(model, weights.shape[-2], training, fused)
    for step in count():
        gradient = gradient_of(learner, generators)
        yield Moment(step, learner, gradient.loss, grown_at)
        stepped = sgd_step(learner, gradient, training, model.dictionary.shape[-1])
        grown_at = torch.where(stepped.grown & ~learner.grown, step + 1, grown_at)
        learner = stepped


def _train(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    times: list[int],
    watch: Callable[[Iterable], Iterable],
    fused: bool,
) -> Course:
    """The runs of one share."""
    kept, course = [], moments(model, weights, training, generators, fused)
    for _, now in zip(watch(range(times[-1] + 1)), course, strict=False):  # the course has no end
        if now.step in times:
            kept.append((*now.learner[:2], now.loss))
    steps = torch.tensor(times, device=model.device)
    return Course(steps, *(torch.stack(each) for each in zip(*kept, strict=True)), now.grown_at)
