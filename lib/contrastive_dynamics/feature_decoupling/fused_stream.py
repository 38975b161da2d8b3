"""The gradient over a stream by the compiled `fused_gradient`, one network after the other, on a CPU with numba.

Elsewhere `decoupled_training.stream_gradient` computes the same in torch, on other draws of the same law.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from ..compiled.loader import loaded, works
from .sparse_coding import SparseCoding
from .symmetrised_relu import Gradient
from .training_schedule import DecoupledTraining

KEYS = 2, 4  # of negatives and positives: 64 random bits for each kind of draw of a step
_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}

OTHERWISE = "sparse codes are trained by torch, about two times slower"


class Compiled(NamedTuple):
    """What `fused_gradient` offers; `kinds` are its numbers of the kinds of views."""

    gradient: Callable
    draw_views: Callable
    settings: type
    tables: type
    kinds: dict[str, int]
    rows: int
    lanes: int


def compiled() -> Compiled | None:
    """The compiled gradient; None, said once, where numba cannot be used."""
    return loaded(_load, OTHERWISE)


def _load() -> Compiled:
    from ..compiled import fused_gradient as made

    kinds = {"masked": made.MASKED, "independent": made.INDEPENDENT, "plain": made.PLAIN}
    return Compiled(made.gradient, made.draw_views, made.Settings, made.Tables, kinds, made.ROWS, made.LANES)


def can_be_fused(model: SparseCoding) -> bool:
    """Whether the compiled gradient draws from this model: no subclass, on a CPU, in single or double precision."""
    plain = type(model) is SparseCoding and model.device.type == "cpu" and model.dtype in _DTYPES
    return plain and compiled() is not None and works(_TRIALS[model.dtype], OTHERWISE)


class FusedStream:
    """Gradients of all runs of one training over fresh data of its model.

    Args:
        model: draws the data, on a CPU, see `can_be_fused`.
        neurons: m.
        training: a `DecoupledTraining`.
    Memory: 64·(4 d1 + 5 m + N) + 3 m·d1 + N·m numbers, whatever the batch, and d·d1 for each run.
    """

    def __init__(self, model: SparseCoding, neurons: int, training):
        step, number = compiled(), _DTYPES[model.dtype]
        dim, atoms = model.dictionary.shape[-2:]
        self.shape, self.temperature = (neurons, dim), training.temperature
        d1, m = (-(-size // step.lanes) * step.lanes for size in (dim, neurons))
        self.atoms = np.zeros((len(model.dictionary), atoms, d1), number)
        self.atoms[..., :dim] = model.dictionary.mT.numpy()
        self.w, self.b = np.zeros((m, d1), number), np.zeros(m, number)
        self.settings = step.settings(
            model.active, number(model.noise), step.kinds[training.views], training.rate, training.batch,
            training.negatives, training.mask_negatives, number(1 / training.temperature),
        )  # fmt: skip
        rows = step.rows
        shapes = {
            "wt": (d1, m), "first": (rows, d1), "second": (rows, d1), "mask": (rows, d1), "u": (rows, m),
            "f": (rows, m), "g": (rows, m), "pull": (rows, m), "ft": (m, rows), "others": (training.negatives, m),
            "chances": (training.negatives, rows), "top": (rows,), "total": (rows,), "on_w": (m, d1), "on_b": (m,),
        }  # fmt: skip
        words = np.zeros(rows * max(d1, atoms), np.uint32)
        self.tables = step.tables(words=words, **{name: np.zeros(shape, number) for name, shape in shapes.items()})

    def gradient(self, learner, generators: list[torch.Generator]) -> Gradient:
        """As `decoupled_training.stream_gradient`; from each generator 512 bits are drawn, whatever the sizes."""
        (m, dim), (weights, bias) = self.shape, learner[:2]
        loss, on_w, on_b = weights.new_empty(len(weights)), torch.empty_like(weights), torch.empty_like(bias)
        for run, generator in enumerate(generators):
            keys = torch.empty(8, dtype=torch.int64).random_(-(2**63), None, generator=generator)
            self.w[:m, :dim], self.b[:m] = weights[run].numpy(), bias[run].numpy()
            words = keys.numpy().view(np.uint64).reshape(KEYS)
            loss[run] = compiled().gradient(self.w, self.b, self.atoms[run], self.settings, words, self.tables)
            on_w[run] = torch.from_numpy(self.tables.on_w[:m, :dim])
            on_b[run] = torch.from_numpy(self.tables.on_b[:m])
        return Gradient(self.temperature * loss, on_w, on_b)


def _trial(dtype: torch.dtype) -> None:
    """A gradient of one neuron over one pair."""
    model = SparseCoding(torch.eye(2, 1, dtype=dtype).unsqueeze(0), 0.5, 1.0)
    learner = torch.zeros(1, 1, 2, dtype=dtype), torch.zeros(1, 1, dtype=dtype)
    FusedStream(model, 1, DecoupledTraining(batch=1, negatives=1)).gradient(learner, [torch.Generator()])


_TRIALS = {dtype: partial(_trial, dtype) for dtype in _DTYPES}  # numba compiles for each precision anew
