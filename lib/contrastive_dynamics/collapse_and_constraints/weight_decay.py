"""Frobenius norms as a penalty: Tr(W2ᵀW1 C W1ᵀW2) + (μ/2)(‖W1‖² + ‖W2‖²) and its gradient flow.

Shapes: W1 `[run, h, d]`, W2 `[run, h, z]`; C `[d, d]` or `[run, d, d]`, symmetric. The loss is of order four in the
weights and the penalty of order two: if C has a negative eigenvalue, the sum has no lower bound, whatever μ is. Under
the bounds ‖W1‖_F ≤ c, ‖W2‖_F ≤ c there is a minimum; it is a stationary point of the penalised loss for μ = 2c²|λ_1|,
but not a minimum of it.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .pair_losses import require_trace_matrix


class Decayed(NamedTuple):
    """The ends of penalised flows."""

    w1: Tensor  # [run, h, d]
    w2: Tensor  # [run, h, z]
    log_norm: Tensor  # [run] log ‖W2ᵀW1‖_F over its start
    time: Tensor  # [run] when the flow was left


def decayed_flow(
    w1: Tensor, w2: Tensor, c: Tensor, mu: float, factor: float = 1e6, step: float = 0.02, max_steps: int = 20000
) -> Decayed:
    """Ẇ1 = −2W2W2ᵀW1C − μW1, Ẇ2 = −2W1CW1ᵀW2 − μW2 until ‖W2ᵀW1‖_F has grown or shrunk by a factor.

    Runge–Kutta of order four with steps of `step`/(2‖C‖₂R² + μ), R² = ‖W1‖² + ‖W2‖², each run by itself.

    Source: esser-2023, the second contribution ("Frobenius norm reguralisation").
    Args:
        w1, w2: starts, with W2ᵀW1 not 0.
        c: C, `[d, d]` or `[run, d, d]`, symmetric.
        mu: μ, ≥ 0.
        factor: > 1.
        step: in (0, 0.2].
        max_steps: ≥ 1.
    Returns: Decayed; a run that needs more steps is returned where it is, between the two factors.
    Raises: ValueError for another argument.
    Error: O(step⁴).
    Cost: 24·run·h·z·d flops per step.
    """
    _check(w1, w2, c, mu, "decayed_flow")
    if not (factor > 1 and 0 < step <= 0.2 and max_steps >= 1):
        got = f"factor={factor}, step={step}, max_steps={max_steps}"
        raise ValueError(f"factor must be > 1, step in (0, 0.2] and max_steps ≥ 1, got {got}")
    d, w = w1.shape[-1], torch.cat([w1, w2], -1)
    size, time, limit = _size(w, d), w.new_zeros(len(w)), torch.tensor(factor).log()
    top = torch.linalg.eigvalsh(c).abs().amax(-1)
    for _ in range(max_steps):
        moves = (_size(w, d) - size).abs() < limit
        if not bool(moves.any()):
            break
        dt = torch.where(moves, step / (2 * top * w.square().sum((-2, -1)) + mu), 0)
        w, time = _runge_kutta(w, c, mu, d, dt[:, None, None]), time + dt
    return Decayed(w[..., :d], w[..., d:], _size(w, d) - size, time)


def without_decay(time: Tensor, mu: float) -> Tensor:
    """s = (1 − e^{−2μt})/(2μ), the clock in which e^{μt}W(t) follows the flow without a penalty.

    W = e^{−μt}V gives V̊ = −e^{−2μt}∇L(V), as ∇L is of order three. The clock ends at 1/(2μ): a start that blows up at
    t_∞ without a penalty does so with it if t_∞ < 1/(2μ); otherwise its weights tend to 0.

    Source: derived; beside esser-2023, Proposition 2.
    Args:
        time: t, any shape, ≥ 0.
        mu: μ, > 0.
    Returns: as time, below 1/(2μ).
    Raises: ValueError for another μ.
    """
    if not mu > 0:
        raise ValueError(f"mu must be > 0, got {mu}")
    return -(-2 * mu * time).expm1() / (2 * mu)


def _runge_kutta(w: Tensor, c: Tensor, mu: float, d: int, dt: Tensor) -> Tensor:
    def velocity(v: Tensor) -> Tensor:
        product = v[..., d:].mT @ v[..., :d] @ c  # W2ᵀW1C
        return -2 * torch.cat([v[..., d:] @ product, v[..., :d] @ product.mT], -1) - mu * v

    k1 = velocity(w)
    k2 = velocity(w + dt / 2 * k1)
    k3 = velocity(w + dt / 2 * k2)
    return w + dt / 6 * (k1 + 2 * k2 + 2 * k3 + velocity(w + dt * k3))


def _size(w: Tensor, d: int) -> Tensor:
    return (w[..., d:].mT @ w[..., :d]).norm(dim=(-2, -1)).log()


def _check(w1: Tensor, w2: Tensor, c: Tensor, mu: float, name: str) -> None:
    require_trace_matrix(c, name)
    if not w1.ndim == w2.ndim == 3 or w1.shape[:2] != w2.shape[:2] or w1.shape[-1] != c.shape[-1]:
        got = ", ".join(str(tuple(part.shape)) for part in (w1, w2, c))
        raise ValueError(f"{name}: w1, w2, c must be [run, h, d], [run, h, z] and [(run,) d, d], got {got}")
    if not mu >= 0:
        raise ValueError(f"{name}: mu must be ≥ 0, got {mu}")
