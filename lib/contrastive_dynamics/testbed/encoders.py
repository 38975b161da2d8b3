"""Networks with one signature: start(inputs, generators) gives parameters, a call gives outputs and hidden units.

Shapes: runs first; views `[run, n, D]`, hidden units `[run, n, m]`, outputs `[run, n, z]`; every parameter `[run, …]`.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..feature_decoupling.symmetrised_relu import features
from ..losses.activations import TRAINED, activation
from ..nonlinearity.networks.field_network import initial_weights
from ..numerics.stiefel import haar
from .pairs import per_run

Parameters = dict[str, Tensor]


class Network(Protocol):
    """What the training loop needs of a network."""

    def start(self, inputs: int, generators: list[torch.Generator]) -> Parameters:
        """Parameters of one encoder, each `[run, …]`, in double precision."""

    def __call__(self, params: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs `[run, n, z]` and hidden units `[run, n, m]` of views `[run, n, D]`."""


def _require(name: str, **sizes: int) -> None:
    for label, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}: {label} must be ≥ 1, got {size}")


def _normal(generators: list[torch.Generator], rows: int, columns: int) -> Tensor:
    """Entries N(0, 1/columns), so that ‖row‖ ≈ 1."""
    return per_run(torch.randn, generators, rows, columns) / math.sqrt(columns)


@dataclass(frozen=True)
class Linear:
    """f = Wx, W `[run, z, D]`.

    Args:
        outputs: z ≥ 1.
    Raises: ValueError for z below 1, as the other networks for their sizes.
    """

    outputs: int

    def __post_init__(self):
        _require("Linear", outputs=self.outputs)

    def start(self, inputs, generators):
        return {"w": _normal(generators, self.outputs, inputs)}

    def __call__(self, params, x):
        outputs = x @ params["w"].mT
        return outputs, outputs


@dataclass(frozen=True)
class TwoLayers:
    """f = W2ᵀh(W1x), W1 `[run, m, D]`, W2 `[run, m, z]`; h linear gives esser-2023's network.

    Args:
        hidden: m ≥ 1.
        outputs: z ≥ 1.
        act: a name of the activations that `activation` knows.
        orthogonal: whether both layers start Haar-uniform, which needs m ≥ D and m ≥ z.
    """

    hidden: int
    outputs: int
    act: str = "linear"
    orthogonal: bool = False

    def __post_init__(self):
        _require("TwoLayers", hidden=self.hidden, outputs=self.outputs)
        activation(self.act, TRAINED)

    def start(self, inputs, generators):
        if self.orthogonal:
            layers = (haar(generators, self.hidden, size) for size in (inputs, self.outputs))
        else:
            layers = (_normal(generators, self.hidden, inputs), _normal(generators, self.outputs, self.hidden).mT)
        return dict(zip(("w1", "w2"), layers, strict=True))

    def __call__(self, params, x):
        hidden = activation(self.act, TRAINED).h(x @ params["w1"].mT)
        return hidden @ params["w2"], hidden


@dataclass(frozen=True)
class Threshold:
    """f_i = ReLU(⟨w_i, x⟩ − b_i) − ReLU(−⟨w_i, x⟩ − b_i), one layer of `symmetrised_relu.features`.

    Args:
        outputs: m = z ≥ 1.
        level: b_i at the start, ≥ 0.
        trained: whether b is a parameter, and not held at its start.
    """

    outputs: int
    level: float = 0.0
    trained: bool = False

    def __post_init__(self):
        _require("Threshold", outputs=self.outputs)
        if not self.level >= 0:
            raise ValueError(f"Threshold: level must be ≥ 0, got {self.level}")

    def start(self, inputs, generators):
        w = _normal(generators, self.outputs, inputs)
        return {"w": w, "b": torch.full_like(w[..., 0], self.level)} if self.trained else {"w": w}

    def __call__(self, params, x):
        held = torch.full_like(params["w"][..., 0], self.level)
        outputs = features(x, params["w"], params.get("b", held))
        return outputs, outputs


@dataclass(frozen=True)
class Fields:
    """f = Σ_k V_kᵀ BN(h(W_k x_k)): K receptive fields of D/K inputs; BatchNorm, if any, over the views of one call.

    Source: tian-2023, Section 5, as `field_network.FieldNetwork` with first and second views apart.
    Args:
        places: K ≥ 1.
        filters: M ≥ 1 per place.
        outputs: z ≥ 1.
        act: as in `TwoLayers`.
        batch_norm: off, mean or both: what is back-propagated, as in `batch_norm.BATCH_NORM`.
    """

    places: int
    filters: int
    outputs: int
    act: str = "relu"
    batch_norm: str = "off"

    def __post_init__(self):
        _require("Fields", places=self.places, filters=self.filters, outputs=self.outputs)
        activation(self.act, TRAINED)
        if self.batch_norm not in ("off", "mean", "both"):
            raise ValueError(f"Fields: batch_norm must be off, mean or both, got {self.batch_norm!r}")

    def start(self, inputs, generators):
        if inputs % self.places:
            raise ValueError(f"Fields: places must divide the {inputs} inputs, got {self.places}")
        size = self.places, self.filters, inputs // self.places, self.outputs
        return initial_weights(generators, *size, torch.float64)._asdict()

    def __call__(self, params, x):
        x = x.unflatten(-1, (self.places, -1)).transpose(1, 2)  # [run, K, n, d]
        hidden = activation(self.act, TRAINED).h(x @ params["w"].mT)
        if self.batch_norm != "off":
            centred = hidden - hidden.mean(2, keepdim=True)
            sigma = (centred.square().mean(2, keepdim=True) + 1e-5).sqrt()
            hidden = centred / (sigma if self.batch_norm == "both" else sigma.detach())
        return (hidden @ params["v"]).sum(1), hidden.transpose(1, 2).flatten(2)
