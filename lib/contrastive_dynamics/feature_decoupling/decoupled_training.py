"""The contrastive learner, trained on the population of sparse codes: all runs at once, on a stream of fresh data."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import torch
from joblib import Parallel, cpu_count, delayed
from torch import Tensor

from .sparse_coding import VIEWS, SparseCoding
from .symmetrised_relu import Gradient, contrastive_gradient

CHUNK = 512  # positives in memory at a time; a constant, as a stream's numbers depend on the shapes drawn from it
BIASES = ("max", "min", "zero", "trained")


@dataclass(frozen=True)
class DecoupledTraining:
    """How one network is trained: views, batch, step, and the schedule of its biases.

    Bias, until T1 (every ‖w_i‖ ≥ `grown`): 0. At T1: b_i = √(2 log d/d) ‖w_i‖. After it, with n = the factor by which
    ‖w_i‖ grew in this step and g = 1 + η·raise_rate/d: "max" multiplies b_i by max(g, n), "min" by min(g, n), both
    up to b_i = cap·‖w_i‖; "zero" stays 0; "trained" makes it a parameter, which starts at 0 and is trained from the
    first step.
    Source: wen-li-2021, Section 2.2, Training algorithm using SGD; its formula is lost in our copy, and both max and
    min fit the text; `cap` stands for the paper's polylog(d)/√d.
    Fields:
        views: one of VIEWS.
        rate: ρ of the masks, in (0, 1).
        batch: positives per step, ≥ 1.
        negatives: N per step, ≥ 1.
        learning_rate: η > 0.
        temperature: τ > 0.
        weight_decay: λ, with 0 ≤ ηλ < 1.
        bias: one of BIASES.
        grown: norm that every ‖w_i‖ reaches at T1, > 0.
        raise_rate: of the bias after T1, > 0.
        cap: largest b_i/‖w_i‖, in (0, 1).
    Raises: a one-line ValueError outside these ranges.
    """

    views: str = "masked"
    rate: float = 0.5
    batch: int = 2048
    negatives: int = 256
    learning_rate: float = 1.0
    temperature: float = 8.0
    weight_decay: float = 0.0
    bias: str = "max"
    grown: float = 1.0
    raise_rate: float = 1.0
    cap: float = 0.65

    def __post_init__(self):
        allowed = {
            "views": (self.views in VIEWS, ", ".join(VIEWS)),
            "rate": (0 < self.rate < 1, "the open interval (0, 1)"),
            "batch": (self.batch >= 1, "1 or more"),
            "negatives": (self.negatives >= 1, "1 or more"),
            "learning_rate": (self.learning_rate > 0, "any above 0"),
            "temperature": (self.temperature > 0, "any above 0"),
            "weight_decay": (0 <= self.weight_decay * self.learning_rate < 1, "0 to below 1/learning_rate"),
            "bias": (self.bias in BIASES, ", ".join(BIASES)),
            "grown": (self.grown > 0, "any above 0"),
            "raise_rate": (self.raise_rate > 0, "any above 0"),
            "cap": (0 < self.cap < 1, "the open interval (0, 1)"),
        }
        for name, (fits, what) in allowed.items():
            if not fits:
                raise ValueError(f"{name} must be one of the allowed values ({what}), got {getattr(self, name)!r}")


class Learner(NamedTuple):
    """Weights `[run, m, d1]`, biases `[run, m]`, and whether each run has passed T1, `[run]`."""

    weights: Tensor
    bias: Tensor
    grown: Tensor


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


def initial_weights(model: SparseCoding, neurons: int, norm: float, generators: list[torch.Generator]) -> Tensor:
    """w_i ~ N(0, σ_0² I) with σ_0 = norm/√d1, so that ‖w_i‖ ≈ norm; `[run, m, d1]`.

    Source: wen-li-2021, Section 2.2.
    Args:
        model: its dictionary gives d1, the device and the dtype.
        neurons: m ≥ 1.
        norm: > 0.
        generators: one per run.
    Raises: ValueError for no neurons or a norm that is not positive.
    """
    if neurons < 1 or not norm > 0:
        raise ValueError(f"neurons and norm must be ≥ 1 and > 0, got {neurons} and {norm}")
    dim = model.dictionary.shape[-2]
    return torch.stack(
        [torch.randn(neurons, dim, generator=g, device=model.device, dtype=model.dtype) for g in generators]
    ) * (norm / sqrt(dim))


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
    negatives = model.sample(training.negatives, generators)[1]

    def part(count: int) -> Gradient:
        views = model.views(model.sample(count, generators)[1], generators, training.views, training.rate)
        return contrastive_gradient(learner.weights, learner.bias, *views, negatives, training.temperature)

    return Gradient(*chunked_mean(part, training.batch))


def sgd_step(learner: Learner, gradient: Gradient, training: DecoupledTraining, atoms: int) -> Learner:
    """w ← (1 - ηλ) w - η ∂L/∂w, then the bias by its schedule.

    Source: wen-li-2021, Section 2.2.
    Args:
        learner: the learner before the step.
        gradient: gradient of its loss.
        training: η, λ and the schedule.
        atoms: d.
    """
    eta = training.learning_rate
    weights = learner.weights * (1 - eta * training.weight_decay) - eta * gradient.weights
    before, norms = learner.weights.norm(dim=-1), weights.norm(dim=-1)
    grown = learner.grown | (norms >= training.grown).all(-1)
    if training.bias == "trained":
        return Learner(weights, learner.bias - eta * gradient.bias, grown)
    if training.bias == "zero":
        return Learner(weights, learner.bias, grown)
    faster = torch.maximum if training.bias == "max" else torch.minimum
    raised = learner.bias * faster(norms / before, torch.full_like(norms, 1 + eta * training.raise_rate / atoms))
    first = (grown & ~learner.grown).unsqueeze(-1)
    bias = torch.where(first, sqrt(2 * log(atoms) / atoms) * norms, raised)
    return Learner(weights, torch.minimum(bias, training.cap * norms), grown)


def train(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    record_at: Iterable[int],
    watch: Callable[[Iterable], Iterable] = iter,
    workers: int | None = None,
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
    Returns: Course.
    Raises: ValueError if record_at is empty or does not increase, or for other numbers of generators or dictionaries.
    Cost: per step that of `contrastive_gradient`, one normal draw per entry of the data and, for masked views, a
        uniform one.
    """
    times, runs = list(record_at), len(weights)
    check_times("train", times)
    if len(generators) != runs or len(model.dictionary) != runs:
        raise ValueError(
            f"generators and dictionaries must be one per run of weights, {runs}, got {len(generators)} and "
            f"{len(model.dictionary)}"
        )
    workers = (workers or min(4, cpu_count())) if model.device.type == "cpu" else 1
    bounds = [runs * k // workers for k in range(workers + 1)]
    shares = [slice(a, b) for a, b in zip(bounds, bounds[1:], strict=False) if b > a]
    parts = Parallel(len(shares), prefer="threads")(
        delayed(_train)(model.part(s), weights[s], training, generators[s], times, iter if k else watch)
        for k, s in enumerate(shares)
    )
    along_runs = (torch.cat([part[i] for part in parts], 1) for i in range(1, 4))
    return Course(parts[0].steps, *along_runs, torch.cat([part.grown_at for part in parts]))


def _train(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    times: list[int],
    watch: Callable[[Iterable], Iterable],
) -> Course:
    """The runs of one share as one batch."""
    none = torch.zeros(len(weights), dtype=torch.bool, device=model.device)
    learner = Learner(weights, torch.zeros_like(weights[..., 0]), none)
    grown_at, kept = torch.full((len(weights),), -1, device=model.device), []
    for step in watch(range(times[-1] + 1)):
        gradient = stream_gradient(model, learner, training, generators)
        if step in times:
            kept.append((learner.weights, learner.bias, gradient.loss))
        if step < times[-1]:
            stepped = sgd_step(learner, gradient, training, model.dictionary.shape[-1])
            grown_at = torch.where(stepped.grown & ~learner.grown, step + 1, grown_at)
            learner = stepped
    steps = torch.tensor(times, device=model.device)
    return Course(steps, *(torch.stack(each) for each in zip(*kept, strict=True)), grown_at)
