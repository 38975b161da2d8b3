"""Wide two-layer networks under orthogonality constraints, trained alongside their linear twins.

Shapes: runs first; first layer W1 `[run, h, d]`, second W2 `[run, h, z]`, both with orthonormal columns; points
`[run, m, d]`, m = n(1 + p + q): anchors, then positives, then negatives, as `pair_losses.stacked` orders them.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ..losses.activations import Activation
from ..numerics.memory import keep_freed_memory
from ..numerics.stiefel import polar
from .constrained_flow import polar_map
from .orthogonal_descent import Weights
from .pair_losses import pairing_product

_ENTRIES = 2**18  # of an array of activations: a few megabytes fit the cache, and the allocator keeps them when freed


class Pairs(NamedTuple):
    """Points of n anchors with p positives and q negatives each, `[run, m, d]`, and a factor on their loss."""

    points: Tensor
    n: int
    p: int = 1
    q: int = 1
    scale: float = 1.0  # 1: the sum of the paper's (1); 1/n: the mean

    @property
    def trace_matrix(self) -> Tensor:
        """C of the linear network, scale included: XᵀSX, symmetric up to rounding. `[run, d, d]`."""
        return self.scale * self.points.mT @ pairing_product(self.points, self.n, self.p, self.q)


def network(weights: Weights, x: Tensor, act: Activation) -> Tensor:
    """u(x) = W2ᵀφ(W1x) of every run.

    Args:
        weights: both layers.
        x: points, `[run, k, d]`.
        act: activation φ.
    Returns: `[run, k, z]`.
    Cost: 2·k·h·(d + z) flops.
    """
    return act.h(x @ weights.w1.mT) @ weights.w2


def network_gradients(weights: Weights, pairs: Pairs, act: Activation) -> Weights:
    """Gradients of scale · Tr(UᵀSU), U = φ(XW1ᵀ)W2, S the pairing: ∂/∂W2 = HᵀD, ∂/∂W1 = (DW2ᵀ ∘ φ')ᵀX, D = 2SU.

    φ' comes from autograd, which derives it from φ where it can: tanh' without a second tanh.

    Source: esser-2023, eqs. (1), (2) in the form of the proof of Prop. 2.
    Args:
        weights: both layers.
        pairs: points of the same runs.
        act: activation φ.
    Returns: Weights of gradients, shaped as the weights.
    Raises: ValueError if the number of points is not n(1 + p + q).
    Cost: m·h·(4d + 6z) flops, φ and φ' of m·h numbers. On a CPU it takes a few runs at a time: with m = 300 and
        h = 2000, 16 runs then need less than half the time that they need all at once.
    """
    runs, (m, h) = len(pairs.points), (pairs.points.shape[-2], weights.w1.shape[-2])
    block = max(1, _ENTRIES // (m * h)) if pairs.points.device.type == "cpu" else runs
    parts = [
        _gradients(Weights(w1, w2), pairs._replace(points=x), act)
        for w1, w2, x in zip(*(t.split(block) for t in (*weights, pairs.points)), strict=True)
    ]
    return Weights(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _gradients(weights: Weights, pairs: Pairs, act: Activation) -> Weights:
    before = (pairs.points @ weights.w1.mT).detach().requires_grad_()
    with torch.enable_grad():
        after = act.h(before)
    hidden = after.detach()
    down = 2 * pairs.scale * pairing_product(hidden @ weights.w2, pairs.n, pairs.p, pairs.q)
    (to_hidden,) = torch.autograd.grad(after, before, down @ weights.w2.mT)
    # XᵀG and DᵀH, thin times wide, take a third of the time of GᵀX and HᵀD
    return Weights((pairs.points.mT @ to_hidden).mT, (down.mT @ hidden).mT)


def train(weights: Weights, pairs: Pairs, act: Activation, rate: float, epochs: int) -> Iterator[Weights]:
    """Projected gradient descent (11): after each step both layers return to orthonormal columns by the polar factor.

    Source: esser-2023, eq. (11), Conjecture 1.
    Args:
        weights: semi-orthogonal layers.
        pairs: points of the same runs.
        act: activation φ.
        rate: η, > 0.
        epochs: number of steps, ≥ 0.
    Yields: the weights after 0, 1, …, epochs steps.
    Raises: ValueError for a rate that is not positive or epochs < 0.
    Cost: per step, `network_gradients` and `stiefel.polar` of both layers.
    """
    if not rate > 0 or epochs < 0:
        raise ValueError(f"rate must be > 0 and epochs ≥ 0, got rate = {rate}, epochs = {epochs}")
    return _steps(weights, pairs, act, rate, epochs)


def _steps(weights: Weights, pairs: Pairs, act: Activation, rate: float, epochs: int) -> Iterator[Weights]:
    if pairs.points.device.type == "cpu":
        keep_freed_memory()
    yield weights
    for _ in range(epochs):
        gradients = network_gradients(weights, pairs, act)
        weights = Weights(*(polar(w - rate * g) for w, g in zip(weights, gradients, strict=True)))
        yield weights


class Gap(NamedTuple):
    """Root mean squares over the anchors, `[kept, run]`, and the epochs that were kept."""

    epochs: list[int]
    difference: Tensor  # of ‖u^φ(x) − u^I(x)‖
    linear: Tensor  # of ‖u^I(x)‖


def linear_gap(weights: Weights, pairs: Pairs, act: Activation, rate: float, keep: list[int]) -> Gap:
    """How far a network is from the linear one that starts at the same weights and is trained in the same way.

    The linear twin needs no weights: its outputs follow `constrained_flow.polar_map` exactly, at any width.

    Source: esser-2023, Theorem 1, Conjecture 1, Figure 2.
    Args:
        weights: semi-orthogonal layers.
        pairs: points of the same runs.
        act: activation φ.
        rate: η, > 0.
        keep: epochs to measure at, ascending, from 0.
    Returns: Gap.
    Raises: ValueError for another rate or keep.
    Cost: as `train` with keep[-1] epochs.
    """
    if not keep or keep[0] != 0 or any(late <= early for early, late in itertools.pairwise(keep)):
        raise ValueError(f"keep must begin with 0 and ascend, got {keep}")
    lam, v = torch.linalg.eigh(pairs.trace_matrix)
    q = v.mT @ weights.w1.mT @ weights.w2
    anchors, kept = pairs.points[..., : pairs.n, :], set(keep)
    differences, sizes = [], []
    for epoch, now in enumerate(train(weights, pairs, act, rate, keep[-1])):
        if epoch in kept:
            linear = anchors @ v @ q
            off = network(now, anchors, act) - linear
            differences.append(off.square().sum(-1).mean(-1).sqrt())
            sizes.append(linear.square().sum(-1).mean(-1).sqrt())
        q = polar_map(q, lam, rate)
    return Gap(keep, torch.stack(differences), torch.stack(sizes))
