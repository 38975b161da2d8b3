"""The layer of symmetrised ReLUs, trained with labels that depend on the sparse code alone, all runs at once.

y = A z/√K are the values of K linear tasks of the code, V f(x) the prediction. Shapes: tasks A `[run, K, d]`, readout V
`[run, K, m]`, weights `[run, m, d1]`, biases `[run, m]`, data `[run, count, d1]`, labels `[run, count, K]`.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from .decoupled_training import Course, check_times, chunked_mean
from .sparse_coding import SparseCoding
from .symmetrised_relu import Gradient, preactivations, symmetrised_relu
from .training_schedule import DecoupledTraining, Learner, sgd_step


class ReadoutGradient(NamedTuple):
    """The loss and its gradients in weights and biases, and its gradient in the readout `[run, K, m]`."""

    layer: Gradient
    readout: Tensor


class SupervisedCourse(NamedTuple):
    """The record of a training: the layer, as `decoupled_training.train` records it, and V `[time, run, K, m]`."""

    course: Course
    readout: Tensor


def supervised_gradient(weights: Tensor, bias: Tensor, readout: Tensor, x: Tensor, y: Tensor) -> ReadoutGradient:
    """The loss ½ E‖y - V f(x)‖² `[run]` and its gradient over a batch.

    With e = V f(x) - y and s = Vᵀe: ∂L/∂V = E[e fᵀ], ∂L/∂w_i = E[s_i (1{u_i ≥ b_i} + 1{-u_i ≥ b_i}) x] and ∂L/∂b_i =
    E[s_i (1{-u_i ≥ b_i} - 1{u_i ≥ b_i})], u_i = ⟨w_i, x⟩.
    Source: derived; wen-li-2021, Section 1.1 (learning from labels of the sparse signals), which specifies no training.
    Args:
        weights: `[run, m, d1]`.
        bias: `[run, m]`.
        readout: V, `[run, K, m]`.
        x: `[run, count, d1]`, count ≥ 1.
        y: `[run, count, K]`.
    Returns: ReadoutGradient.
    Raises: ValueError for an empty batch.
    Cost: 4·count·m·d1 + 6·count·K·m flops per run, 4·count·m entries.
    """
    if not x.shape[-2]:
        raise ValueError("x must be ≥ 1 samples, got 0")
    pre, count = preactivations(x, weights), x.shape[-2]
    fired, level = symmetrised_relu(pre, bias), bias.unsqueeze(-2)
    error = fired @ readout.mT - y
    pull = error @ readout
    above, below = (pre >= level).to(pre.dtype), (-pre >= level).to(pre.dtype)
    layer = Gradient(
        error.square().sum(-1).mean(-1) / 2,
        (pull * (above + below)).mT @ x / count,
        (pull * (below - above)).sum(-2) / count,
    )
    return ReadoutGradient(layer, error.mT @ fired / count)


def train_supervised(
    model: SparseCoding,
    weights: Tensor,
    tasks: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    record_at: Iterable[int],
    watch: Callable[[Iterable], Iterable] = iter,
) -> SupervisedCourse:
    """SGD over the population from given weights, b = 0 and V = 0, recorded before the steps named in `record_at`.

    The layer's step, weight decay and bias schedule are those of `decoupled_training.sgd_step`; V takes the same rate
    and decay. x is the first of the two views: masked once at the given rate, or plain. V takes part of the growth:
    with b = 0 the ‖w_i‖ settle below 1, so `grown` has to be lower than in contrastive training.
    Source: wen-li-2021, Section 1.1, which only mentions supervised features; the setting is ours.
    Args:
        model: with one dictionary per run.
        weights: initial weights, `[run, m, d1]`.
        tasks: A `[run, K, d]`, as `linear_probes.draw_w_star` draws them; K ≥ d, so that y determines z.
        training: settings, whose negatives and temperature are not used.
        generators: one per run.
        record_at: increasing steps, from 0 on; training ends at the last.
        watch: wraps the steps in a progress bar.
    Returns: SupervisedCourse.
    Raises: ValueError for fewer tasks, other numbers of runs, or times that do not increase.
    Cost: per step that of `supervised_gradient` and of the draws.
    Memory: chunks of 512 samples, whatever the batch.
    """
    times = list(record_at)
    _check(model, weights, tasks, generators, times)
    learner = Learner(weights, torch.zeros_like(weights[..., 0]), torch.zeros_like(weights[:, 0, 0], dtype=torch.bool))
    readout = weights.new_zeros(*tasks.shape[:2], weights.shape[1])
    scaled, grown_at, kept = tasks * tasks.shape[-2] ** -0.5, torch.full_like(learner.grown, -1, dtype=torch.long), []
    for step in watch(range(times[-1] + 1)):
        gradient = _stream_gradient(model, learner, readout, scaled, training, generators)
        if step in times:
            kept.append((learner.weights, learner.bias, gradient.layer.loss, readout))
        stepped = sgd_step(learner, gradient.layer, training, model.dictionary.shape[-1])
        grown_at = torch.where(stepped.grown & ~learner.grown, step + 1, grown_at)
        learner, eta = stepped, training.learning_rate
        readout = readout * (1 - eta * training.weight_decay) - eta * gradient.readout
    recorded = [torch.stack(each) for each in zip(*kept, strict=True)]
    steps = torch.tensor(times, device=model.device)
    return SupervisedCourse(Course(steps, *recorded[:3], grown_at), recorded[3])


def _stream_gradient(
    model: SparseCoding,
    learner: Learner,
    readout: Tensor,
    scaled: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
) -> ReadoutGradient:
    """The gradient over a batch of fresh data, in chunks."""

    def part(count: int) -> tuple[Tensor, ...]:
        latents, x = model.sample(count, generators)
        first = model.views(x, generators, training.views, training.rate)[0]
        found = supervised_gradient(learner.weights, learner.bias, readout, first, latents @ scaled.mT)
        return *found.layer, found.readout

    *layer, on_readout = chunked_mean(part, training.batch)
    return ReadoutGradient(Gradient(*layer), on_readout)


def _check(
    model: SparseCoding, weights: Tensor, tasks: Tensor, generators: list[torch.Generator], times: list[int]
) -> None:
    check_times("train_supervised", times)
    if tasks.shape[-2] < tasks.shape[-1]:
        raise ValueError(f"tasks must be K ≥ d = {tasks.shape[-1]}, got {tasks.shape[-2]}")
    runs = [len(model.dictionary), len(weights), len(tasks), len(generators)]
    if len(set(runs)) > 1:
        raise ValueError(f"dictionaries, weights, tasks and generators must be one per run, got {runs}")
