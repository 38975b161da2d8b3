"""The experiments of tian-2023, Section 5: an ensemble of two-layer networks trained by SGD on token sequences."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import islice

import torch

from .activations import TRAINED, activation
from .contrastive_losses import ContrastiveLoss, contrastive_loss
from .memory import require_memory
from .random_streams import stream
from .token_batch import TokenBatch
from .token_generators import CHUNK, TokenGenerators, check_generators, draw_generators, token_norms
from .token_network import TokenNetwork, Weights, initial_weights


def sgd_steps(
    network: TokenNetwork,
    weights: Weights,
    batches: Iterable[TokenBatch],
    loss: ContrastiveLoss,
    *,
    rate: float,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
) -> Iterator[Weights]:
    """SGD with momentum and weight decay on every run at once; yields the weights, changed in place, after a batch."""
    optimizer = torch.optim.SGD(weights, lr=rate, momentum=momentum, weight_decay=weight_decay)
    for batch in batches:
        weights.w.grad, weights.v.grad = network.gradients(weights, batch, loss)
        optimizer.step()
        yield weights


@dataclass(frozen=True)
class TokenTraining:
    """One configuration, the author's by default; β = M/P is the over-parameterisation.

    Source: tian-2023, Section 5 and Appendix E.2; what they leave out (rate, BatchNorm, outputs, temperature 0.1, unit
    outputs, no biases) is set as in the author's run. Fields: candidates P ≤ tokens d, length ≤ places K, batch N ≥ 2;
    `activation` one of TRAINED, `loss` one of LOSSES, `batch_norm` off, both, mean, variance or none; zeta ≥ 1.
    Raises: ValueError, in one line, outside.
    """

    activation: str = "relu"
    loss: str = "infonce"
    batch_norm: str = "mean"
    views_apart: bool = True
    candidates: int = 5
    beta: int = 5
    places: int = 10
    tokens: int = 20
    generators: int = 40
    length: int = 5
    zeta: float = 1.0
    outputs: int = 50
    batch: int = 128
    rate: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 5e-3

    def __post_init__(self):
        for field in fields(self):
            value, allowed = getattr(self, field.name), (int, float) if field.type is float else field.type
            if not isinstance(value, allowed) or isinstance(value, bool) is not (field.type is bool):
                raise ValueError(f"{field.name}: got {value!r}, allowed is {field.type.__name__}")
            if field.type is float and not math.isfinite(value):
                raise ValueError(f"{field.name}: got {value}, allowed are finite numbers")
        activation(self.activation, among=TRAINED)
        contrastive_loss(self.loss)
        check_generators(self.generators, self.places, self.length, self.tokens, self.candidates)
        if self.batch < 2:
            raise ValueError(f"batch: got {self.batch}, allowed are 2 samples or more: a loss needs a negative pair")
        if self.beta < 1 or self.outputs < 1:
            raise ValueError(f"beta, outputs: got {self.beta}, {self.outputs}, allowed are 1 or more")
        if not (self.rate > 0 and 0 <= self.momentum < 1 and self.weight_decay >= 0):
            raise ValueError(
                f"rate, momentum, weight_decay: got {self.rate}, {self.momentum}, {self.weight_decay}, "
                "allowed are rate > 0, 0 ≤ momentum < 1, weight_decay ≥ 0"
            )
        self.network()

    @property
    def filters(self) -> int:
        """M = β·P filters a place."""
        return self.beta * self.candidates

    def network(self, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> TokenNetwork:
        norms = token_norms(self.tokens, self.zeta, dtype).to(device)
        return TokenNetwork(
            activation(self.activation, among=TRAINED),
            self.batch_norm,
            self.views_apart,
            norms=None if self.zeta == 1 else norms,
        )

    def bytes_needed(self, runs: int, dtype: torch.dtype = torch.float32) -> int:
        """Memory of `train`, estimated: weights with gradients and momentum, tables, similarities, indexed batches."""
        m, n = self.filters, self.batch
        weights = self.places * m * (self.tokens + self.outputs)
        tables = self.places * self.tokens * (m + self.outputs)
        numbers = 4 * weights + 8 * tables + 6 * n * n + 12 * n * self.outputs
        return runs * (numbers * dtype.itemsize + CHUNK * self.places * (2 * n * 60 + 2 * self.tokens * 24))

    def require_memory(self, runs: int, device: torch.device | str = "cpu") -> None:
        """Raises ValueError, before any work, where the device has not the memory for so many runs."""
        require_memory(
            self.bytes_needed(runs), device, f"{runs} networks of K·M = {self.places}·{self.filters} filters"
        )

    def pool(self, seeds: Iterable[int], device: torch.device | str | None = None) -> TokenGenerators:
        """The generators of each run, one run a seed."""
        streams = [stream(s, 0, "generators", device) for s in seeds]
        return draw_generators(streams, self.generators, self.places, self.length, self.tokens, self.candidates)

    def train(
        self,
        seeds: Iterable[int],
        steps: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Iterator[Weights]:
        """Train one network a seed for `steps` minibatches; yields the weights after each, changed in place.

        Networks, generators and minibatches of a seed are the same alone and beside others. Raises: as
        `require_memory`. Cost: 6.5 Mflop a step and run with the default sizes.
        """
        seeds = list(seeds)
        device = torch.get_default_device() if device is None else torch.device(device)
        self.require_memory(len(seeds), device)
        start = [stream(s, 0, "weights", device) for s in seeds]
        weights = initial_weights(start, self.places, self.filters, self.tokens, self.outputs, dtype)
        network, draws = self.network(device, dtype), [stream(s, 0, "minibatches", device) for s in seeds]
        batches = self.pool(seeds, device).batches(draws, self.batch, network.groups, dtype)
        yield from sgd_steps(
            network,
            weights,
            islice(batches, steps),
            contrastive_loss(self.loss),
            rate=self.rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )
