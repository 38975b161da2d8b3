"""What a training does over time, read out while it runs, and where it is at multiples of T1; no weights are kept.

Shapes: the run first in weights, `[run, m, d1]`; a read-out is `[time, run]`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.feature_decoupling.decoupled_training import Moment, check_times, moments, shared_by_threads
from contrastive_dynamics.feature_decoupling.decoupling_scores import atom_shares, neurons_won, noise_dominance
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, Learner


class Readouts(NamedTuple):
    """A training over time: `steps` `[time]`, `grown_at` `[run]` (-1 without T1), all others `[time, run]`.

    loss of the next batch; share of the squared length in span(M), mean over neurons; sparse and dense energy Σ_i of
    the squared length inside and outside of span(M); best, the share of a neuron's best atom, and won, the share of the
    atoms that a neuron has alone; bias_ratio, mean b_i/‖w_i‖; cosine of f(x) and f(ξ) over data with a signal, 0 where
    f(ξ) = 0, and silent, the share of data with f(ξ) = 0, both nan without a probe.
    """

    steps: Tensor
    loss: Tensor
    share: Tensor
    sparse: Tensor
    dense: Tensor
    best: Tensor
    won: Tensor
    bias_ratio: Tensor
    cosine: Tensor
    silent: Tensor
    grown_at: Tensor


class AtMultiples(NamedTuple):
    """Each run at multiples of its own T1: steps `[time, run]`, -1 if not reached, weights and biases as `Course`.

    What was not reached is nan; the loss is that of the next batch, `[time, run]`; `grown_at` `[run]`.
    """

    steps: Tensor
    weights: Tensor
    bias: Tensor
    loss: Tensor
    grown_at: Tensor


def read_out(model: SparseCoding, learner: Learner, probe: Callable[[], list[torch.Generator]] | None, count: int):
    """The read-outs of one moment from `share` to `silent`, `[run]` each; see `Readouts`.

    Args:
        model: M and what the probe draws.
        learner: weights and biases.
        probe: makes the generators of the probe's data anew, so that all moments see the same, or None.
        count: data of the probe, ≥ 1.
    Cost: 2·m·d1·d flops per run, and that of `noise_dominance` with a probe.
    """
    weights, bias = learner[:2]
    atoms, energy = atom_shares(weights, model.dictionary), weights.square().sum(-1)
    inside = atoms.sum(-1)
    dense = (weights - weights @ model.dictionary @ model.dictionary.mT).square().sum((-2, -1))
    won = (neurons_won(weights, model.dictionary) > 0).to(weights.dtype).mean(-1)
    found = [inside.mean(-1), (inside * energy).sum(-1), dense, atoms.amax(-1).mean(-1), won]
    found.append((bias / energy.sqrt()).mean(-1))
    if probe is None:
        return [*found, torch.full_like(dense, torch.nan), torch.full_like(dense, torch.nan)]
    dominance, signal = noise_dominance(model, weights, bias, count, probe()), model.latents(count, probe()).any(-1)
    cosine = (dominance.cosine.nan_to_num(0.0) * signal).sum(-1) / signal.sum(-1)
    return [*found, cosine, dominance.silent.to(weights.dtype).mean(-1)]


def follow(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    record_at: Iterable[int],
    probe: Callable[[slice], list[torch.Generator]] | None = None,
    probe_count: int = 512,
    watch: Callable[[Iterable], Iterable] = iter,
    workers: int | None = None,
    fused: bool = True,
) -> Readouts:
    """A training as by `decoupled_training.train`, read out before the steps named in `record_at`.

    Source: wen-li-2021, Theorems C.1, 3.2 and Section 4, over time instead of at one step.
    Args:
        model, weights, training, generators, record_at, watch, workers, fused: as `train`.
        probe: the generators of the probe's data for a slice of the runs, made anew on each call, or None for no probe.
        probe_count: data of the probe per run, ≥ 1.
    Returns: Readouts; the probe's data are the same at all times.
    Raises: as `train`; ValueError for a probe without data.
    Cost: that of `train`, and of `read_out` at each recorded step. Memory: no weights but the present ones.
    """
    times = list(record_at)
    check_times("follow", times)
    if probe_count < 1:
        raise ValueError(f"probe_count must be ≥ 1, got {probe_count}")
    places = {id(g): k for k, g in enumerate(generators)}

    def work(part: SparseCoding, w: Tensor, g: list[torch.Generator], first: bool) -> list[Tensor]:
        begun = places[id(g[0])]
        own = None if probe is None else lambda: probe(slice(begun, begun + len(g)))
        kept, course = [], moments(part, w, training, g, fused)
        for _, now in zip((watch if first else iter)(range(times[-1] + 1)), course, strict=False):
            if now.step in times:
                kept.append(torch.stack([now.loss, *read_out(part, now.learner, own, probe_count)]))
        return [torch.stack(kept, 1), now.grown_at]

    parts = shared_by_threads(model, weights, generators, workers, work)
    readings = torch.cat([part[0] for part in parts], -1)
    return Readouts(torch.tensor(times, device=model.device), *readings, torch.cat([part[1] for part in parts]))


def follow_multiples(
    model: SparseCoding,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    multiples: Sequence[float],
    most_steps: int,
    workers: int | None = None,
    fused: bool = True,
) -> AtMultiples:
    """Each run at the steps round(k·T1), T1 its own, for each of the multiples k; training ends with the last of them.

    Source: derived; wen-li-2021, Fact A.1 (times in units of T1).
    Args:
        model, weights, training, generators, workers, fused: as `train`.
        multiples: increasing, ≥ 1.
        most_steps: ≥ 1, where training ends if T1 or its multiples come later.
    Returns: AtMultiples.
    Raises: as `train`; ValueError for other multiples or no steps.
    Cost: that of `train` up to the last multiple of the slowest run of each thread.
    """
    wanted = [float(k) for k in multiples]
    if not wanted or wanted[0] < 1 or sorted(set(wanted)) != wanted or most_steps < 1:
        raise ValueError(f"multiples and most_steps must increase from 1 or later and ≥ 1, got {wanted}, {most_steps}")

    def work(part: SparseCoding, w: Tensor, g: list[torch.Generator], _: bool) -> AtMultiples:
        kept = _none_reached(len(wanted), w)
        for now in moments(part, w, training, g, fused):
            due = _due(now, wanted)
            for k, run in due.nonzero().tolist():
                kept.steps[k, run], kept.loss[k, run] = now.step, now.loss[run]
                kept.weights[k, run], kept.bias[k, run] = now.learner.weights[run], now.learner.bias[run]
            if now.step == most_steps or bool((kept.steps[-1] >= 0).all()):
                return kept._replace(grown_at=now.grown_at)

    parts = shared_by_threads(model, weights, generators, workers, work)
    along_runs = (torch.cat([part[i] for part in parts], 1) for i in range(4))
    return AtMultiples(*along_runs, torch.cat([part.grown_at for part in parts]))


def _due(now: Moment, multiples: list[float]) -> Tensor:
    """Whether this step is round(k·T1) of a run, `[multiple, run]`."""
    k = torch.tensor(multiples, dtype=torch.float64, device=now.grown_at.device).unsqueeze(-1)
    return (now.grown_at >= 0) & ((k * now.grown_at).round() == now.step)


def _none_reached(times: int, weights: Tensor) -> AtMultiples:
    nan = weights.new_full((times, *weights.shape), torch.nan)
    steps = torch.full((times, len(weights)), -1, device=weights.device)
    return AtMultiples(steps, nan, nan[..., 0].clone(), nan[..., 0, 0].clone(), steps[0].clone())
