"""Gradient descent of a linear two-layer network under orthogonality constraints, W1ᵀW1 = I_d and W2ᵀW2 = I_z.

Shapes: W1 `[run, h, d]`, W2 `[run, h, z]`, C `[d, d]` or `[run, d, d]`, symmetric; outputs m = W1ᵀW2 `[run, d, z]`,
so u(x) = W2ᵀW1x = mᵀx. In the eigenbasis of C = VΛVᵀ they are q = Vᵀm.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.stiefel import RETRACTIONS, grassmann_gradient, haar


class Weights(NamedTuple):
    """Both layers of u(x) = W2ᵀW1x."""

    w1: Tensor  # [run, h, d]
    w2: Tensor  # [run, h, z]


class Path(NamedTuple):
    """A training run: its final weights, and the outputs along the way."""

    weights: Weights
    outputs: Tensor  # [kept, run, d, z] after steps 0, keep_every, 2·keep_every, …; empty for keep_every = 0


def require_sizes(h: int, d: int, z: int) -> None:
    """Raise a one-line ValueError unless 1 ≤ z ≤ d and both layers can have orthonormal columns."""
    if not (1 <= z <= d and h >= max(d, z)):
        raise ValueError(f"sizes must satisfy 1 ≤ z ≤ d and h ≥ max(d, z), got h = {h}, d = {d}, z = {z}")


def draw_weights(
    generators_1: list[torch.Generator],
    generators_2: list[torch.Generator],
    h: int,
    d: int,
    z: int,
    dtype: torch.dtype = torch.float64,
) -> Weights:
    """Independent Haar-uniform layers, each run from its own two generators.

    Source: esser-2023, eq. (8), Lemma 2.
    Args:
        generators_1: for W1, one per run.
        generators_2: for W2, one per run.
        h: width, ≥ max(d, z).
        d: number of inputs, ≥ z.
        z: number of outputs, ≥ 1.
        dtype: dtype of the result.
    Returns: Weights.
    Raises: ValueError as `require_sizes`.
    Cost: 4·h·(d² + z²) flops per run.
    """
    require_sizes(h, d, z)
    return Weights(haar(generators_1, h, d, dtype), haar(generators_2, h, z, dtype))


def outputs(weights: Weights) -> Tensor:
    """m = W1ᵀW2, `[run, d, z]`: column l is u_l as a vector, row j is u(e_j). Cost: 2·h·d·z flops."""
    return weights.w1.mT @ weights.w2


def trace_loss(m: Tensor, c: Tensor) -> Tensor:
    """Tr(mᵀCm) = Tr(W2ᵀW1CW1ᵀW2).

    Source: esser-2023, eq. (8).
    Args:
        m: outputs, `[..., d, z]`.
        c: C, `[..., d, d]`.
    Returns: `[...]`.
    Cost: 2·d²·z flops.
    """
    return (m * (c @ m)).sum((-2, -1))


def gradients(weights: Weights, c: Tensor) -> Weights:
    """Gradients of (8) in both layers: G1 = 2 W2 (Cm)ᵀ, G2 = 2 W1 (Cm), with m = W1ᵀW2.

    Source: esser-2023, proof of Theorem 2, there as 2W2W2ᵀW1C and 2W1CW1ᵀW2.
    Args:
        weights: both layers.
        c: C, symmetric.
    Returns: Weights of gradients, shaped as the weights.
    Cost: 6·h·d·z + 2·d²·z flops; d·z numbers besides the result, no h×h matrix.
    """
    y = 2 * (c @ outputs(weights))
    return Weights(weights.w2 @ y.mT, weights.w1 @ y)


def descent_step(weights: Weights, c: Tensor, rate: float, retraction: str = "polar", project: bool = False) -> Weights:
    """One step W ← retract(W − ηG) of both layers, from gradients at the same point.

    project=True uses (I − WWᵀ)G in place of G. As η → 0 the outputs then follow (9), with either retraction. With
    project=False and the polar retraction they follow `constrained_flow.polar_velocity`, not (9). With project=False
    and "qr" they follow a third flow, which depends on the basis in which C is written.

    Source: esser-2023, eq. (11) and the sentence below it; (11) is printed with +η, which increases the loss.
    Args:
        weights: both layers.
        c: C, symmetric.
        rate: η.
        retraction: a key of `stiefel.RETRACTIONS`.
        project: whether to project the gradients.
    Returns: Weights.
    Raises: ValueError for an unknown retraction.
    Cost: `update_cost.descent_step_cost`, plus 4·h·(d² + z²) flops for project=True.
    """
    if retraction not in RETRACTIONS:
        raise ValueError(f"retraction must be one of {', '.join(RETRACTIONS)}, got {retraction!r}")
    moved = []
    for w, g in zip(weights, gradients(weights, c), strict=True):
        g = grassmann_gradient(w, g) if project else g
        moved.append(RETRACTIONS[retraction](torch.sub(w, g, alpha=rate)))
    return Weights(*moved)


def descend(
    weights: Weights,
    c: Tensor,
    rate: float,
    steps: int,
    retraction: str = "polar",
    project: bool = False,
    keep_every: int = 0,
) -> Path:
    """Follow `descent_step` for a number of steps.

    Source: esser-2023, eq. (11), Figure 3.
    Args:
        weights: semi-orthogonal layers.
        c: C, `[d, d]` or `[run, d, d]`, symmetric.
        rate: η, finite, > 0.
        steps: ≥ 0.
        retraction: as in `descent_step`.
        project: as in `descent_step`.
        keep_every: a divisor of steps, or 0 to keep no outputs.
    Returns: Path.
    Raises: ValueError for sizes, C, rate, steps, keep_every or retraction outside their ranges.
    Cost: steps × `descent_step`; keep_every > 0 holds (steps/keep_every + 1)·run·d·z numbers.
    """
    _require_problem(weights, c)
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate must be finite and > 0, got {rate}")
    if steps < 0 or keep_every < 0 or (keep_every and steps % keep_every):
        raise ValueError(
            f"steps must be ≥ 0 and keep_every 0 or a divisor of steps, got steps = {steps}, keep_every = {keep_every}"
        )
    start = outputs(weights)
    kept = [start] if keep_every else []
    for k in range(1, steps + 1):
        weights = descent_step(weights, c, rate, retraction, project)
        if keep_every and k % keep_every == 0:
            kept.append(outputs(weights))
    return Path(weights, torch.stack(kept) if kept else start.new_empty(0, *start.shape))


def _require_problem(weights: Weights, c: Tensor) -> None:
    (h, d), z = weights.w1.shape[-2:], weights.w2.shape[-1]
    require_sizes(h, d, z)
    if weights.w2.shape[:-1] != weights.w1.shape[:-1] or c.shape[-2:] != (d, d):
        raise ValueError(
            "w1, w2, c must be [run, h, d], [run, h, z], [d, d] or [run, d, d], "
            f"got w1 {list(weights.w1.shape)}, w2 {list(weights.w2.shape)}, c {list(c.shape)}"
        )
    if not bool(c.isfinite().all()):
        raise ValueError("c must be finite, got an entry that is not finite")
    excess = float((c - c.mT).abs().max())
    # √ε of the largest entry: rounding passes, but the C̃ of (7), before it is made symmetric, does not.
    if excess > torch.finfo(c.dtype).eps ** 0.5 * float(c.abs().max()):
        raise ValueError(f"c must be symmetric, got |C − Cᵀ| up to {excess:.3g}")
