"""Constraints and optimisers: functions of all parameters by name, each `[run, …]`; runs never mix."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..numerics.stiefel import polar

Parameters = dict[str, Tensor]
Constraint = Callable[[Parameters], Parameters]


def free(params: Parameters) -> Parameters:
    """No constraint."""
    return params


def semi_orthogonal(params: Parameters) -> Parameters:
    """WᵀW = I, or WWᵀ = I for a wide W, by the polar factor. Source: esser-2023, below eq. (11)."""
    return {name: polar(w) if w.shape[-2] >= w.shape[-1] else polar(w.mT).mT for name, w in params.items()}


def _cosine(progress: float) -> float:
    return (1 + math.cos(math.pi * progress)) / 2


def _positive(name: str, rate: float) -> None:
    if not 0 < rate < math.inf:
        raise ValueError(f"{name}: rate must be > 0 and finite, got {rate}")


@dataclass(frozen=True)
class Relative:
    """w ← w − η‖w‖ g/‖g‖ over all weights of a run, η a cosine to 0: arms are compared by path length.

    Up to a change of time it is the gradient flow. Parameters of the loss take plain steps of η.
    Args:
        rate: η > 0.
    """

    rate: float = 0.03

    def __post_init__(self):
        _positive("Relative", self.rate)

    def step(self, params: Parameters, gradients: Parameters, state: dict, progress: float) -> Parameters:
        eta = self.rate * _cosine(progress)
        weights = [name for name in params if not name.startswith("loss/")]

        def size(parts: Parameters) -> Tensor:
            return torch.stack([torch.linalg.vector_norm(parts[name].flatten(1), dim=1) for name in weights]).norm(
                dim=0
            )

        factor = eta * size(params) / size(gradients).clamp(min=torch.finfo(torch.float32).tiny)
        moved = {name: w - eta * gradients[name] for name, w in params.items() if name not in weights}
        for name in weights:
            w = params[name]
            moved[name] = torch.addcmul(w, factor.to(w).view(-1, *[1] * (w.ndim - 1)), gradients[name], value=-1)
        return moved


@dataclass(frozen=True)
class Adam:
    """Adam with PyTorch's β, η a cosine to 0. It is another flow than the gradient's.

    Args:
        rate: η > 0.
    """

    rate: float = 0.01

    def __post_init__(self):
        _positive("Adam", self.rate)

    def step(self, params: Parameters, gradients: Parameters, state: dict, progress: float) -> Parameters:
        t = state["t"] = state.get("t", 0) + 1
        eta, moved = self.rate * _cosine(progress), {}
        for name, w in params.items():
            g, (m, v) = gradients[name], state.get(name, (0.0, 0.0))
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g.square()
            state[name] = m, v
            moved[name] = w - eta * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        return moved
