"""A configuration of the experiments of tian-2023, Section 5: a two-layer network, its data and its training."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

import torch

from ...losses.activations import TRAINED, activation
from ...losses.named_losses import contrastive_loss
from ...numerics.memory import require_memory
from ...numerics.random_streams import stream
from ..two_layers.batch_norm import Statistics
from .token_generators import CHUNK, TokenGenerators, check_generators, draw_generators, token_norms


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
        token_norms(self.tokens, self.zeta)
        Statistics.of([self.batch_norm])

    @property
    def filters(self) -> int:
        """M = β·P filters a place."""
        return self.beta * self.candidates

    @property
    def program(self) -> tuple:
        """What configurations must have in common to be trained as one program: sizes, optimiser, groups of views."""
        apart = ("activation", "loss", "batch_norm", "candidates", "beta", "zeta")
        return self.filters, *(getattr(self, field.name) for field in fields(self) if field.name not in apart)

    @property
    def groups(self) -> int:
        """Groups of views with statistics of their own."""
        return 2 if self.views_apart and self.batch_norm != "off" else 1

    def bytes_needed(self, runs: int, dtype: torch.dtype = torch.float32) -> int:
        """Memory of training, estimated: weights with gradients and momentum, tables, similarities, indexed batches."""
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
