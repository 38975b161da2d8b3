"""Two-layer networks without a constraint along the gradient flow, and how far their tangent kernels move.

Shapes: runs first; first layer W1 `[run, h, d]`, second W2 `[run, h, z]`; points `[run, m, d]`; outputs
u(x) = σ W2ᵀφ(W1x), `[run, m, z]`. Standard normal weights with σ = 1/√h are the scaling of Jacot et al. (2018): outputs
of order one move the tangent kernel by O(1/h). With N(0, 1/h) in both layers and σ = 1, as in the proof of Lemma 1,
they move it by as much as its own size, however wide the network is, and only outputs of order h^{-1/2} do not.
"""

from collections.abc import Callable, Iterator

from torch import Tensor

from ..losses.activations import Activation
from .orthogonal_descent import Weights


def free_flow(
    weights: Weights,
    points: Tensor,
    pull: Callable[[Tensor], Tensor],
    act: Activation,
    times: Tensor,
    steps: int,
    scale: float = 1.0,
) -> Iterator[Weights]:
    """Ẇ2 = −σ φ(XW1ᵀ)ᵀD, Ẇ1 = −σ (DW2ᵀ ∘ φ′)ᵀX, D = ∂L/∂U: the flow of a loss of the outputs U = σ φ(XW1ᵀ)W2.

    Runge–Kutta of order four, `steps` equal steps in each interval of the times.

    Source: esser-2023, Lemma 1 and the sentences below it, for networks of finite width.
    Args:
        weights: start, at times[0].
        points: X, `[run, m, d]`.
        pull: U ↦ ∂L/∂U, `[run, m, z]` each.
        act: activation φ.
        times: `[t]`, ascending.
        steps: steps in each interval, ≥ 1.
        scale: σ.
    Yields: the weights at each of the times.
    Raises: ValueError for another argument, before any work.
    Error: O(step⁴) of the flow.
    Cost: 4·m·h·(4·d + 6·z) flops per step.
    """
    if times.ndim != 1 or bool((times.diff() < 0).any()) or steps < 1:
        raise ValueError(f"times must be [t] and ascend, steps ≥ 1, got {times.tolist()} and {steps}")

    def velocity(w: Weights) -> Weights:
        before = points @ w.w1.mT
        hidden = act.h(before)
        down = -scale * pull(scale * hidden @ w.w2)
        return Weights((down @ w.w2.mT * act.slope(before)).mT @ points, hidden.mT @ down)

    return _steps(weights, velocity, (times.diff() / steps).tolist(), steps)


def kernel_change(now: Tensor, start: Tensor) -> Tensor:
    """‖Θ(t) − Θ(0)‖_F / ‖Θ(0)‖_F over all points and outputs: 0 for a kernel that "remains same".

    Source: esser-2023, the sentence below Lemma 1.
    Args:
        now: Θ(t), `[run, k, l, z, z]`, as `tangent_kernel` returns it.
        start: Θ(0), of the same shape.
    Returns: `[run]`, ≥ 0.
    Raises: ValueError for two shapes.
    """
    if now.shape != start.shape or now.ndim != 5:
        raise ValueError(f"both kernels must be [run, k, l, z, z], got {tuple(now.shape)} and {tuple(start.shape)}")
    return (now - start).flatten(1).norm(dim=-1) / start.flatten(1).norm(dim=-1)


def _steps(w: Weights, velocity: Callable[[Weights], Weights], lengths: list[float], steps: int) -> Iterator[Weights]:
    def ahead(part: float, by: Weights) -> Weights:
        return Weights(*(layer + part * v for layer, v in zip(w, by, strict=True)))

    yield w
    for step in lengths:
        for _ in range(steps):
            k1 = velocity(w)
            k2 = velocity(ahead(step / 2, k1))
            k3 = velocity(ahead(step / 2, k2))
            k4 = velocity(ahead(step, k3))
            w = ahead(step / 6, Weights(*(a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True))))
        yield w
