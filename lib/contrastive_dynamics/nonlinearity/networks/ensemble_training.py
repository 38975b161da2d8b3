"""Training of many token networks as one program: the first axis of every tensor is the run.

Runs may differ in activation, loss, BatchNorm, token norms and seed, and in P and β as long as M = βP agrees. Runs
with the same seed and P see the same generators and minibatches, which are drawn and indexed once for all of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch

from ...compiled.cuda_graphs import replayed
from ...losses.activations import mixed_activation
from ...losses.named_losses import Loss, mixed_loss
from ...numerics.memory import keep_freed_memory
from ...numerics.random_streams import stream
from ..two_layers.batch_norm import Statistics
from .field_network import Batch, FieldNetwork, Weights, initial_weights
from .importance_mixture import PacedNetwork, Variation, varied
from .token_batch import TokenBatch
from .token_configuration import TokenTraining
from .token_generators import TokenGenerators, token_norms

Run = tuple[TokenTraining, int]  # a configuration and a seed


def sgd_steps(
    network: FieldNetwork,
    weights: Weights,
    batches: Iterable[Batch],
    loss: Loss,
    *,
    rate: float,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    compiled: bool = False,
) -> Iterator[Weights]:
    """SGD with momentum and weight decay on every run at once; yields the weights, changed in place, after each batch.

    On CUDA the step is replayed as a graph.

    Args:
        network: the networks of all runs, whose gradients are followed.
        weights: the initial weights, runs on the first axis; changed in place.
        batches: minibatches, one per step.
        loss: the loss of the outputs of both views.
        rate: learning rate.
        momentum, weight_decay: as in `torch.optim.SGD`.
        compiled: fuse the gradient's operations with torch.compile, which needs a C++ compiler and half a minute for
            each ensemble size.
    """
    optimizer = torch.optim.SGD(weights, lr=rate, momentum=momentum, weight_decay=weight_decay)
    gradients = torch.compile(network.gradients) if compiled else network.gradients

    def step(batch: Batch) -> None:
        weights.w.grad, weights.v.grad = gradients(weights, batch, loss)
        optimizer.step()

    if weights.w.is_cuda:
        step = replayed(step)
    else:
        keep_freed_memory()
    for batch in batches:
        step(batch)
        yield weights


def train(
    runs: Iterable[Run],
    steps: int,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
    compiled: bool = False,
    *,
    start: Weights | None = None,
    variations: Sequence[Variation] | None = None,
) -> Iterator[Weights]:
    """Train every run for `steps` minibatches; yields the weights after each, changed in place.

    The network, generators and minibatches of a run are the same whether it is trained alone or beside others.

    Args:
        runs: configurations with their seeds, which must form one program (see `one_program`).
        steps: number of minibatches, ≥ 1.
        device: where to train, by default torch's default device.
        dtype: dtype of the weights and of the minibatches.
        compiled: as in `sgd_steps`.
        start: the initial weights, changed in place; by default those of `starting_weights`.
        variations: one per run, in place of the loss of its configuration.
    Raises: ValueError for steps < 1, runs that do not form one program, and too little memory.
    Cost: 6.5 Mflop per step and run with the default sizes.
    """
    runs = list(runs)
    device = torch.get_default_device() if device is None else torch.device(device)
    first = one_program(runs)
    if steps < 1:
        raise ValueError(f"steps must be ≥ 1, got {steps}")
    first.require_memory(len(runs), device)
    weights = starting_weights(runs, device, dtype) if start is None else start
    configurations = [training for training, _ in runs]
    network: FieldNetwork | PacedNetwork = ensemble_network(configurations, device, dtype)
    if variations is None:
        loss = mixed_loss([training.loss for training in configurations])
    else:
        network, loss = varied(network, variations, first.weight_decay, weights.w)
    groups = max(training.groups for training in configurations)
    yield from sgd_steps(
        network,
        weights,
        islice(_minibatches(runs, groups, device, dtype), steps),
        loss,
        rate=first.rate,
        momentum=first.momentum,
        weight_decay=first.weight_decay,
        compiled=compiled,
    )


def starting_weights(
    runs: Sequence[Run], device: torch.device | str, dtype: torch.dtype = torch.float32, purpose: str = "weights"
) -> Weights:
    """The initial weights of runs of one program, a stream for each seed; another purpose gives others."""
    first = runs[0][0]
    size = first.places, first.filters, first.tokens, first.outputs
    return initial_weights([stream(seed, 0, purpose, device) for _, seed in runs], *size, dtype)


def one_program(runs: Sequence[Run]) -> TokenTraining:
    """The first configuration; raises ValueError, in one line, if the runs cannot be trained as one program."""
    programs = {training.program for training, _ in runs}
    if len(programs) != 1:
        raise ValueError(f"runs must share one program (filters M = βP, …, optimiser), got {len(programs)} programs")
    return runs[0][0]


def ensemble_network(configurations: Sequence[TokenTraining], device: torch.device, dtype: torch.dtype) -> FieldNetwork:
    """The network of an ensemble, with one configuration per run."""
    zetas = [training.zeta for training in configurations]
    norms = torch.stack([token_norms(t.tokens, t.zeta, dtype) for t in configurations])[:, None, None].to(device)
    return FieldNetwork(
        mixed_activation([training.activation for training in configurations]),
        Statistics.of([training.batch_norm for training in configurations], norms),
        norms=None if set(zetas) == {1} else norms,
    )


def _minibatches(runs: list[Run], groups: int, device: torch.device, dtype: torch.dtype) -> Iterator[TokenBatch]:
    sources = list(dict.fromkeys((training.candidates, seed) for training, seed in runs))
    configuration = {(training.candidates, seed): training for training, seed in runs}
    first = runs[0][0]
    patterns = [configuration[source].pool([source[1]], device).patterns for source in sources]
    draws = [stream(seed, 0, "minibatches", device) for _, seed in sources]
    batches = TokenGenerators(torch.cat(patterns), first.tokens).batches(draws, first.batch, groups, dtype)
    if len(sources) == len(runs):
        return batches
    seen = torch.tensor([sources.index((training.candidates, seed)) for training, seed in runs], device=device)
    return (batch.shared(seen) for batch in batches)
