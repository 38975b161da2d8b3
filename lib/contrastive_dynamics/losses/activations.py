"""Activations: homogeneous ones, with h(x) = h'(x) x / degree and h'(0) = 0 where there is a gate, and the sigmoid."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

LEAK = 0.05  # negative slope of LeakyReLU in the experiments of tian-2023 (caption of Figure 4)


@dataclass(frozen=True)
class Activation:
    """An activation h and its slope h'.

    A homogeneous activation has h(x) = slope(x) · x / degree for every x: `degree` is 1 for linear, ReLU and LeakyReLU,
    and p for the monomial x^p. It is None for the sigmoid, which the theory excludes but the experiments train.

    Source: tian-2023, Assumption 1 and eq. (6); the convention h'(0) = 0 is that of Appendix B.1.
    """

    name: str
    h: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    degree: int | None = 1


ACTIVATIONS = {
    a.name: a
    for a in (
        Activation("linear", lambda x: x, torch.ones_like),
        Activation("relu", torch.relu, lambda x: (x > 0).to(x.dtype)),
        Activation(
            "leaky_relu",
            lambda x: torch.where(x > 0, x, LEAK * x),
            lambda x: (x > 0).to(x.dtype) + LEAK * (x < 0).to(x.dtype),
        ),
        Activation("quadratic", torch.square, lambda x: 2 * x, degree=2),
    )
}


SIGMOID = Activation("sigmoid", torch.sigmoid, lambda x: torch.sigmoid(x) * torch.sigmoid(-x), degree=None)
TRAINED = ACTIVATIONS | {"sigmoid": SIGMOID}  # the activations of the networks in tian-2023, Section 5


def activation(name: str, among: dict[str, Activation] = ACTIVATIONS) -> Activation:
    """Look up an activation by name.

    Args:
        name: a key of `among`.
        among: activations by name; by default the homogeneous ones.
    Returns: Activation.
    Raises: ValueError for another name, listing the allowed ones.
    """
    if name not in among:
        raise ValueError(f"activation: must be one of {', '.join(among)}, got {name!r}")
    return among[name]


def mixed_activation(names: Sequence[str]) -> Activation:
    """The activations of an ensemble as one: h and slope act on `[run, ...]`, with each run's own activation.

    Args:
        names: a name of TRAINED for each run.
    Returns: Activation.
    Raises: as `activation`.
    """
    parts = [(activation(name, TRAINED), len(list(runs))) for name, runs in groupby(names)]
    if len(parts) == 1:
        return parts[0][0]
    acts, sizes = zip(*parts, strict=True)

    def each(x: Tensor, of: Callable[[Activation], Callable[[Tensor], Tensor]]) -> Tensor:
        return torch.cat([of(act)(part) for act, part in zip(acts, x.split(sizes), strict=True)])

    return Activation("mixed", lambda x: each(x, lambda a: a.h), lambda x: each(x, lambda a: a.slope), degree=None)
