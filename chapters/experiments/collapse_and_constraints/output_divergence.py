"""Two-layer networks trained without a constraint until their outputs are large: do these collapse to one dimension?

Shapes: runs first; first layer W1 `[run, h, d]`, second W2 `[run, h, z]`; points `[run, m, d]`; outputs
U = σ φ(XW1ᵀ)W2, `[run, m, z]`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights
from contrastive_dynamics.losses.activations import Activation


def grow_outputs(
    weights: Weights,
    points: Tensor,
    pull: Callable[[Tensor], Tensor],
    act: Activation,
    size: float,
    share: float = 0.05,
    scale: float = 1.0,
    max_steps: int = 5000,
) -> Weights:
    """Gradient descent until the root mean square of ‖u(x)‖ over the points is at least `size`.

    W ← W − η∇L in both layers. The gradients grow with the outputs, so that no fixed η serves from size 1 to 1000:
    each run has its own, η = share · ‖U‖/‖Ů‖, with Ů the velocity of the outputs along −∇L. To first order a step
    changes the outputs by `share` of their norm.

    Source: esser-2023, the sentence below Proposition 1, for networks of finite width.
    Args:
        weights: start, with outputs that are not 0.
        points: X, `[run, m, d]`.
        pull: U ↦ ∂L/∂U, `[run, m, z]` each.
        act: activation φ.
        size: where a run stops, > 0.
        share: in (0, 0.5].
        scale: σ, > 0.
        max_steps: ≥ 1.
    Returns: the weights of each run at its stop.
    Raises: ValueError for another argument; RuntimeError if a run is smaller after max_steps.
    Error: O(share) of the gradient flow.
    Cost: 2·m·h·(5·d + 5·z) flops per step.
    """
    if not (size > 0 and 0 < share <= 0.5 and scale > 0 and max_steps >= 1):
        got = f"size={size}, share={share}, scale={scale}, max_steps={max_steps}"
        raise ValueError(f"size and scale must be > 0, share in (0, 0.5], max_steps ≥ 1, got {got}")
    w1, w2 = weights
    for _ in range(max_steps):
        before = points @ w1.mT
        hidden, slope = act.h(before), act.slope(before)
        u = scale * hidden @ w2
        moves = u.square().sum(-1).mean(-1).sqrt() < size
        if not bool(moves.any()):
            return Weights(w1, w2)
        down = -scale * pull(u)
        v1, v2 = (down @ w2.mT * slope).mT @ points, hidden.mT @ down
        speed = scale * ((points @ v1.mT * slope) @ w2 + hidden @ v2)
        rate = torch.where(moves, share * _norm(u) / _norm(speed), 0)[:, None, None]
        w1, w2 = w1 + rate * v1, w2 + rate * v2
    raise RuntimeError(f"outputs must reach {size} within {max_steps} steps, got {int(moves.sum())} runs below")


def _norm(u: Tensor) -> Tensor:
    return u.norm(dim=(-2, -1))
