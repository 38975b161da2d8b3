"""What one filter climbs on the circle under three importances, and how deep its local optima are."""

import math

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.pairwise_importance import half_squared_distances, infonce_loss
from .circle_landscape import circle_grid, falls, on_circle

IMPORTANCES = ("uniform", "Gaussian", "InfoNCE")


def climbed_objective(h: Tensor, importance: str, tau: float) -> Tensor:
    """The function whose gradient is C_α[∂h, h], α evaluated at the same outputs and held constant; no augmentation.

    With Δ_ij = h_i − h_j: uniform Σ Δ²/4N²; Gaussian τ Σ (1 − e^{−Δ²/2τ})/2N²; InfoNCE −L_nce/2N² with ε = 0. Each is a
    sum of functions of Δ_ij, or of one row of them, so that the flow with α held constant is still a gradient.

    Source: tian-2023, eqs. (1), (2) and Corollary 2; the Gaussian form is derived here.
    Args:
        h: outputs of one filter `[..., N]`.
        importance: uniform, Gaussian or InfoNCE.
        tau: temperature, > 0; uniform importance has none.
    Returns: `[...]`.
    Raises: ValueError for another importance or tau ≤ 0.
    Cost: N² exponentials.
    """
    if importance not in IMPORTANCES or not tau > 0:
        raise ValueError(f"importance must be one of {', '.join(IMPORTANCES)}, and tau > 0, got {importance!r}, {tau}")
    n, f = h.shape[-1], h.unsqueeze(-1)
    if importance == "uniform":
        return h.var(dim=-1, correction=0) / 2
    if importance == "InfoNCE":
        return -infonce_loss(f, f, tau) / (2 * n * n)
    return -tau * torch.expm1(half_squared_distances(f) / -tau).sum((-2, -1)) / (2 * n * n)


def circle_objective(x: Tensor, act: Activation, importance: str, tau: float, angles: int = 1500) -> Tensor:
    """`climbed_objective` of the filters (cos θ, sin θ) on an equally spaced grid of the circle.

    Args:
        x: points `[run, n, 2]`, equally likely.
        act: the activation h.
        importance, tau: as in `climbed_objective`.
        angles: number of angles of the grid, ≥ 8.
    Returns: `[run, angles]`.
    Cost: run·angles·n² exponentials.
    """
    w = on_circle(circle_grid(angles, x) + 0.123 * 2 * math.pi / angles)
    return climbed_objective(act.h(w @ x.mT), importance, tau)


def optimum_depths(values: Tensor, rounding: float = 16.0) -> Tensor:
    """Depth of every strict local maximum of a function around the circle, as a share of its relief max − min.

    The depth of a maximum is what has to be lost to leave it: its height above the higher of the two valleys beside it.

    Source: not in tian-2023, whose Section 5.1 speaks of "deeper local optima" without a measure of depth.
    Args:
        values: `[m]`, periodic.
        rounding: neighbours that differ by less, in units in the last place of max |value|, count as equal.
    Returns: `[maxima]`, in (0, 1], in the order of their angles; empty for a constant function.
    Error: maxima closer than two grid steps merge; a height is that of the grid.
    Cost: m·log m.
    """
    step = values.roll(-1) - values
    tol = rounding * torch.finfo(values.dtype).eps * float(values.abs().max())
    tops, valleys = (torch.nonzero(falls(sign * step, tol)).flatten() for sign in (1, -1))
    if len(tops) == 0:
        return values[:0]
    top, valley = (values[(k + 1) % len(values)] for k in (tops, valleys))
    beside = valley if valleys[0] < tops[0] else valley.roll(1)  # the valley before each top
    return (top - torch.maximum(beside, beside.roll(-1))) / (values.max() - values.min())
