"""Training of token networks on a CPU by the compiled step of `fused_step`, one network after the other.

It takes InfoNCE, the quadratic losses and what lies between them. Elsewhere, and for other losses, images and CUDA, the
ensemble of `ensemble_training` computes the same in torch.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from ...compiled.loader import loaded, works
from ...losses.activations import LEAK
from ...numerics.random_streams import stream
from ..two_layers.batch_norm import BACKPROPAGATED
from .field_network import FieldNetwork, Weights
from .importance_mixture import TAU, Variation
from .token_configuration import TokenTraining
from .token_generators import CHUNK, draw_views, token_norms

AS_MIXTURE = {"infonce": (0.0, TAU), "quadratic_over_tau": (1.0, TAU), "quadratic": (1.0, 1.0)}  # loss: its s and τ

OTHERWISE = "token networks are trained by torch, two to three times slower"


class Compiled(NamedTuple):
    """What `fused_step` offers."""

    steps: Callable
    settings: type
    tables: type
    kinds: tuple[str, ...]
    lanes: int


def compiled() -> Compiled | None:
    """The compiled step; None, said once, where numba cannot be used."""
    return loaded(_load, OTHERWISE)


def _load() -> Compiled:
    from ...compiled.fused_step import KINDS, Settings, Tables, steps
    from ...compiled.register_tiles import LANES

    return Compiled(steps, Settings, Tables, KINDS, LANES)


def can_be_fused(configurations: Sequence[TokenTraining], device: torch.device, varied: bool = False) -> bool:
    """Whether the compiled step can train these; if varied, with another loss than their own."""
    known = varied or all(training.loss in AS_MIXTURE for training in configurations)
    return known and device.type == "cpu" and compiled() is not None and works(_trial, OTHERWISE)


def _trial() -> None:
    """A step of a network of one place."""
    small = TokenTraining(candidates=1, beta=1, places=1, tokens=2, generators=2, length=1, outputs=1, batch=2)
    list(fused_weights([(small, 0)], Weights(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 1)), [1]))


def fused_weights(
    runs: Sequence[tuple[TokenTraining, int]],
    start: Weights,
    marks: Sequence[int],
    variations: Sequence[Variation] | None = None,
) -> Iterator[Weights]:
    """The weights of all runs after each of some numbers of minibatches.

    Minibatches are drawn once for all runs with the same seed and P, and are those of `ensemble_training.train`.

    Args:
        runs: configurations with their seeds, of one size but for the filters of a place.
        start: initial weights, runs first, float32 or float64; left as they are.
        marks: numbers of minibatches, ≥ 1, ascending.
        variations: one per run, in place of the loss of its configuration.
    Returns: Weights of each mark, new ones.
    Cost: 6.5 Mflop per step and run with the default sizes, on one core.
    """
    tables = cache(_tables)  # networks of one size take turns at them
    networks = [
        _Network(*run, w.numpy(), v.numpy(), variation, tables)
        for run, w, v, variation in zip(runs, *start, variations or [None] * len(runs), strict=True)
    ]
    sources = {network.source: stream(network.seed, 0, "minibatches", "cpu") for network in networks}
    first = runs[0][0]
    size = first.generators, first.tokens, first.batch, first.places, CHUNK
    for begun in range(0, marks[-1], CHUNK):
        drawn = {name: [x.numpy() for x in draw_views(draws, *size)] for name, draws in sources.items()}
        last = min(CHUNK, marks[-1] - begun)
        inside = [mark - begun for mark in marks if begun < mark < begun + last]
        for low, high in pairwise([0, *inside, last]):
            for network in networks:
                network.train(*(x[low:high] for x in drawn[network.source]))
            if begun + high in marks:
                yield Weights(*(torch.stack(part) for part in zip(*(n.weights() for n in networks), strict=True)))


class _Network:
    """One network during its training: its weights and momenta in the layout of `fused_step`."""

    def __init__(self, training: TokenTraining, seed: int, w: np.ndarray, v: np.ndarray, variation, tables: Callable):
        self.source, self.seed, number = (training.candidates, seed), seed, w.dtype.type
        (places, filters, outputs), lanes = v.shape, compiled().lanes
        m, j, n = (-(-size // lanes) * lanes for size in (filters, outputs, training.batch))
        self.w, self.v = np.zeros((places, training.tokens, m), number), np.zeros((places, m, j), number)
        self.w[..., :filters], self.v[:, :filters, :outputs] = w.swapaxes(1, 2), v
        self.state = self.w, self.v, np.zeros_like(self.w), np.zeros_like(self.v)
        self.patterns = training.pool([seed], "cpu").patterns[0].numpy()
        self.norms = token_norms(training.tokens, training.zeta).numpy().astype(number)
        self.settings = _settings(training, filters, variation, number)
        self.tables = tables(places, training.tokens, training.groups, m, j, training.batch, n, number)

    def train(self, pick: np.ndarray, fill: np.ndarray) -> None:
        """A step for each minibatch, drawn as by `draw_views`."""
        compiled().steps(*self.state, self.patterns, pick, fill, self.norms, self.settings, self.tables)

    def weights(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Filters `[K, M, d]` and top layer `[K, M, j]`, as copies."""
        m, j = self.settings.filters, self.settings.outputs
        return torch.tensor(self.w[..., :m].swapaxes(1, 2)), torch.tensor(self.v[:, :m, :j])


def _settings(training: TokenTraining, filters: int, variation: Variation | None, number: type):
    uniform, tau = (variation.uniform, TAU) if variation else AS_MIXTURE[training.loss]
    positive, pace = (variation.positive, variation.pace) if variation else (1.0, 1.0)
    numbers = uniform, positive, 1 / tau, training.batch, training.rate, training.momentum, training.weight_decay, pace
    return compiled().settings(
        compiled().kinds.index(training.activation), filters, training.outputs, training.batch_norm != "off",
        *BACKPROPAGATED.get(training.batch_norm, (False, False)), *map(number, (*numbers, LEAK, FieldNetwork.eps)),
    )  # fmt: skip


def _tables(places: int, d: int, groups: int, m: int, j: int, n: int, wide: int, number: type):
    """Tables for networks of one size."""
    rows, extra = groups * d, compiled().lanes  # rows of zt a power of two apart would share the sets of a cache
    shapes = {
        "shares": (places, rows), "h": (d, m), "slope": (places, d, m), "c": (places, rows, m),
        "inverse": (places, groups, m), "table": (places, rows, j), "f": (2 * n, j), "g": (2 * n, j),
        "zt": (j, wide + extra), "alpha": (n, wide), "vt": (j, m), "pull": (rows, m), "on_w": (places, d, m),
        "on_v": (places, m, j),
    }  # fmt: skip
    return compiled().tables(**{name: np.zeros(shape, number) for name, shape in shapes.items()})
