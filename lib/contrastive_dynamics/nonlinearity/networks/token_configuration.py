"""A configuration of the experiments of tian-2023, Section 5: a two-layer network, its data and its training."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import torch

from ...losses.activations import TRAINED, activation
from ...losses.named_losses import contrastive_loss
from ...numerics.field_types import check_fields
from ...numerics.memory import require_memory
from ...numerics.random_streams import stream
from ..two_layers.batch_norm import Statistics
from .token_generators import CHUNK, TokenGenerators, check_generators, draw_generators, token_norms


@dataclass(frozen=True)
class TokenTraining:
    """One configuration, by default the author's; β = M/P is the over-parameterisation.

    Source: tian-2023, Section 5 and Appendix E.2; what they leave out (rate, BatchNorm, outputs, temperature 0.1, unit
        outputs, no biases) is set as in the author's run.
    Args:
        activation: one of TRAINED.
        loss: one of LOSSES.
        batch_norm: off, or the statistics that are back-propagated: both, mean, variance or none.
        views_apart: normalise first and second views apart.
        candidates: P tokens per place that generators may fix, 1 ≤ P ≤ d.
        beta: β ≥ 1.
        places: K receptive fields.
        tokens: d ≥ 2.
        generators: size of the pool, ≥ 1.
        length: number of places at which a generator fixes its token, 1 ≤ length ≤ K.
        zeta: non-uniformity of the token norms, ≥ 1.
        outputs: j ≥ 1.
        batch: N ≥ 2 samples, each in two views.
        rate: learning rate, > 0.
        momentum: 0 ≤ momentum < 1.
        weight_decay: ≥ 0.
    Raises: a one-line ValueError for values outside these ranges.
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
        check_fields(self)
        activation(self.activation, among=TRAINED)
        contrastive_loss(self.loss)
        check_generators(self.generators, self.places, self.length, self.tokens, self.candidates)
        if self.batch < 2:
            raise ValueError(f"batch must be ≥ 2, since a loss needs a negative pair, got {self.batch}")
        if self.beta < 1 or self.outputs < 1:
            raise ValueError(f"beta and outputs must be ≥ 1, got {self.beta} and {self.outputs}")
        if not (self.rate > 0 and 0 <= self.momentum < 1 and self.weight_decay >= 0):
            raise ValueError(
                "rate must be > 0, momentum in [0, 1) and weight_decay ≥ 0, "
                f"got rate={self.rate}, momentum={self.momentum}, weight_decay={self.weight_decay}"
            )
        token_norms(self.tokens, self.zeta)
        Statistics.of([self.batch_norm])

    @property
    def filters(self) -> int:
        """M = β·P filters per place."""
        return self.beta * self.candidates

    @property
    def program(self) -> tuple:
        """What configurations must have in common to be trained as one program: sizes, optimiser, groups of views."""
        apart = ("activation", "loss", "batch_norm", "candidates", "beta", "zeta")
        return self.filters, *(getattr(self, field.name) for field in fields(self) if field.name not in apart)

    @property
    def groups(self) -> int:
        """Number of groups of views with separate statistics."""
        return 2 if self.views_apart and self.batch_norm != "off" else 1

    def bytes_needed(self, runs: int, dtype: torch.dtype = torch.float32) -> int:
        """Estimated memory of training: weights with gradients and momentum, tables, similarities, indexed batches."""
        m, n = self.filters, self.batch
        weights = self.places * m * (self.tokens + self.outputs)
        tables = self.places * self.tokens * (m + self.outputs)
        numbers = 4 * weights + 8 * tables + 6 * n * n + 12 * n * self.outputs
        return runs * (numbers * dtype.itemsize + CHUNK * self.places * (2 * n * 60 + 2 * self.tokens * 24))

    def require_memory(self, runs: int, device: torch.device | str = "cpu") -> None:
        """Raise ValueError, before any work, if the device lacks the memory for that many runs."""
        require_memory(
            self.bytes_needed(runs), device, f"{runs} networks of K·M = {self.places}·{self.filters} filters"
        )

    def pool(self, seeds: Iterable[int], device: torch.device | str | None = None) -> TokenGenerators:
        """The generators of each run, one run per seed."""
        streams = [stream(s, 0, "generators", device) for s in seeds]
        return draw_generators(streams, self.generators, self.places, self.length, self.tokens, self.candidates)
