"""The race of thm-6: growth ẏ_l = (y_l + b_l) y_l, its blow-up, its projected flow, and who wins it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .sphere_flow import sphere_flow


def growth(y0: Tensor, b: Tensor, t: Tensor) -> Tensor:
    """Solution of ẏ = (y + b) y, y(0) = y0, before its blow-up.

    y(t) = y0 e^{bt} / (1 − y0 (e^{bt} − 1)/b);  b = 0 is the limit y0 / (1 − y0 t).

    Source: tian-2023, eq. (147).
    Args:
        y0: starting value.
        b: ≥ 0; all three broadcast together.
        t: time, ≥ 0.
    Returns: y(t); meaningless for t ≥ t*.
    """
    safe = torch.where(b == 0, 1.0, b)
    integral = torch.where(b == 0, t, torch.expm1(safe * t) / safe)
    return y0 * torch.exp(b * t) / (1 - y0 * integral)


def blow_up_time(y0: Tensor, b: Tensor) -> Tensor:
    """t* = ln(1 + b/y0)/b, when y(t) becomes infinite; infinite for y0 ≤ 0, and 1/y0 for b = 0.

    Source: tian-2023, eq. (150).
    Args:
        y0: starting value.
        b: ≥ 0; broadcasts with y0.
    Returns: t* > 0.
    """
    positive = torch.where(y0 > 0, y0, 1.0)
    safe = torch.where(b == 0, 1.0, b)
    time = torch.where(b == 0, 1 / positive, torch.log1p(safe / positive) / safe)
    return torch.where(y0 > 0, time, math.inf)


def integrated_blow_up(y0: float, b: float, ceiling: float = 1e8) -> float:
    """Blow-up time of ẏ = (y + b) y, found by integrating (DOP853) up to `ceiling`; adding 1/ceiling covers the rest.

    Independent of eqs. (147) and (150).

    Args:
        y0: > 0.
        b: ≥ 0.
        ceiling: the y at which the integration ends.
    Raises: ValueError for y0 ≤ 0, which never blows up.
    Error: 1e-10 relative from the integrator, b/(2·ceiling²) from the rest.
    """
    from scipy.integrate import solve_ivp

    if not y0 > 0:
        raise ValueError(f"y0 must be > 0, got {y0}")

    def reach(t, y):
        return y[0] - ceiling

    reach.terminal = True
    horizon = 2 / y0  # t* < 1/y0 for b > 0
    run = solve_ivp(lambda t, y: (y + b) * y, (0, horizon), [y0], "DOP853", events=reach, rtol=1e-12, atol=1e-14)
    return float(run.t_events[0][0]) + 1 / ceiling


def earliest_blow_up(y0: Tensor, b: Tensor) -> Tensor:
    """The printed score of each component, −t*_l: the smallest blow-up time is supposed to win.

    Source: tian-2023, proof of Theorem 6, below eq. (148).
    Args:
        y0: `[..., d]`.
        b: `[..., d]`.
    Returns: `[..., d]`; the largest wins.
    """
    return -blow_up_time(y0, b)


def largest_rate(y0: Tensor, b: Tensor) -> Tensor:
    """The score that decides the projected flow in two dimensions: the rate y_l + b_l (−∞ for y_l ≤ 0).

    On the sphere d/dt ln(y_l/y_j) = (y_l + b_l) − (y_j + b_j), since P⊥ subtracts the same amount from both rates.

    Args:
        y0: `[..., d]`.
        b: `[..., d]`.
    Returns: `[..., d]`; the largest wins.
    """
    return torch.where(y0 > 0, y0 + b, -math.inf)


def modulated_flow(y0: Tensor, b: Tensor, tol: float = 1e-6) -> Tensor:
    """End of ẏ = P⊥_y [(y + b) ∘ y] on the unit sphere, followed until ‖ẏ‖ ≤ tol·‖A(y)‖.

    This is ẇ = P⊥_w A(w) w with A(w) = Σ_l (u_lᵀw + b_l) u_l u_lᵀ, y_l = u_lᵀw.

    Source: tian-2023, eq. (15) under the structural assumption of Theorem 6.
    Args:
        y0: `[..., d]`, unit.
        b: `[..., d]`; broadcasts with y0.
        tol: > 0.
    Returns: the last point `[..., d]`, within about tol of a rest point.
    Error: that of `sphere_flow`.
    Cost: that of `sphere_flow`, about 100 to 200 steps of 4·d² flops per start.
    """
    y0, b = torch.broadcast_tensors(y0, b)
    starts, offsets = y0.reshape(-1, y0.shape[-1]), b.reshape(-1, b.shape[-1])
    end = sphere_flow(lambda y: torch.diag_embed(y + offsets), starts, step=1.0, tol=tol, max_steps=1000)
    return end.w.reshape(y0.shape)


def circle_boundary(b: Tensor, wins: Callable[[Tensor, Tensor], Tensor], halvings: int = 26) -> Tensor:
    """The y_1 at which the winner changes along the quarter circle y = (sin a, cos a), by bisection in a.

    Args:
        b: `[..., 2]`.
        wins: (y, b) -> bool `[...]`, whether component 1 wins from the unit vectors y `[..., 2]` of the quarter.
        halvings: number of bisections.
    Returns: `[...]`, 0 or 1 if one component always wins.
    Error: 2^−halvings.
    """
    low = torch.zeros_like(b[..., 0])
    high = torch.full_like(low, math.pi / 2)
    for _ in range(halvings):
        middle = (low + high) / 2
        first = wins(torch.stack([middle.sin(), middle.cos()], -1), b)
        low, high = torch.where(first, low, middle), torch.where(first, middle, high)
    return ((low + high) / 2).sin()


def wins_flow(y: Tensor, b: Tensor) -> Tensor:
    """Whether component 1 leads at the end of the projected flow; y, b `[..., 2]`. Returns: bool `[...]`.

    The flow is followed down to 1e-12, so that a start near the unstable rest point between the basins still leaves it.
    """
    end = modulated_flow(y, b, tol=1e-12)
    return end[..., 0] > end[..., 1]


def wins_by(score: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Turn a score (`earliest_blow_up`, `largest_rate`) into the decision that `circle_boundary` takes."""

    def wins(y: Tensor, b: Tensor) -> Tensor:
        s = score(y, b)
        return s[..., 0] > s[..., 1]

    return wins
