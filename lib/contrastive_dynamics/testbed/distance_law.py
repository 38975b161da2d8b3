"""The law under squared distances: logits −(τ²/2)‖f − f'‖² in place of τ²f·f', for one encoder and Gaussian views.

Outputs f = W x̃ of whitened views, E‖f‖² = tr M = 1, M = WᵀW; C the symmetric part of E[x̃_A x̃_Bᵀ], with eigenvalues
ρ_j. Given x_A, f_B is Gaussian, and for infinitely many negatives the loss of one side, less log N, is

    L(M) = τ² tr M(I − C) − ½ log det(I + τ²M) − ½ tr τ²M(I + τ²M)⁻¹.

The last two terms are Σφ(v_j) over the eigenvalues v_j of τ²M, φ(v) = −½ log(1 + v) − ½v/(1 + v). With u = 1/(1 + v),
φ' = −½(u + u²) rises with v, so φ is convex, L is convex in M, and its optimum is diagonal in the axes of C, where
tr MC is largest for given eigenvalues. There ∂L/∂v_j = 1 − ρ_j − ½(u_j + u_j²) is one number −μ for all v_j > 0 and
not below it for v_j = 0, u_j = 1: so v_j > 0 exactly for ρ_j > μ, the threshold of inner products, and

    u_j + u_j² = 2(1 − ρ_j + μ),   v_j = 1/u_j − 1,   g_j = v_j/τ²,   Σg_j = 1.

At a learned τ² the norm binds nothing, μ = 0: τ² = Σ_j v(ρ_j), infinite at ρ_j = 1. For weak directions v(ρ) = 2ρ/3.
"""

import torch
from torch import Tensor

HALVINGS = 90


def distance_filling(rho: Tensor, tau_squared: float | Tensor) -> Tensor:
    """g_j, the share of each direction at the optimum, Σg_j = 1, for one encoder with an output for each direction.

    Source: derived above.
    Args:
        rho: ρ, `[..., S]`, −1 to 1, in any order.
        tau_squared: τ² > 0, a number or `[...]`.
    Returns: `[..., S]`, ≥ 0.
    Raises: ValueError for an argument outside its range.
    Error: rounding: v of the largest ρ is halved in HALVINGS times.
    Cost: 20·HALVINGS·S flops.
    """
    _check(rho)
    tau = torch.as_tensor(tau_squared, dtype=rho.dtype, device=rho.device)
    if not bool((tau > 0).all() & tau.isfinite().all()):
        raise ValueError(f"distance_filling: tau_squared must be > 0 and finite, got {tau_squared}")
    tau, top = tau.unsqueeze(-1), rho.amax(-1, keepdim=True)
    low, high = torch.zeros_like(top * tau), torch.zeros_like(top) + tau
    for _ in range(HALVINGS):
        v = (low + high) / 2
        more = _filled(rho - top + excess_at(v)).sum(-1, keepdim=True) < tau
        low, high = torch.where(more, v, low), torch.where(more, high, v)
    return _filled(rho - top + excess_at(high)) / tau


def learned_distance_temperature(rho: Tensor) -> Tensor:
    """τ² = Σ_j v(ρ_j), v = 2/(√(9 − 8ρ) − 1) − 1, over positive ρ: the count under distances; then τ²g_j = v(ρ_j).

    Args and Raises: as `distance_filling`.
    Returns: `[...]`; infinite where some ρ is 1.
    """
    _check(rho)
    return _filled(rho).sum(-1)


def excess_at(v: Tensor) -> Tensor:
    """ρ − μ = 1 − (u + u²)/2, u = 1/(1 + v): what a direction's correlation is above the level at which it holds v."""
    u = 1 / (1 + v)
    return 1 - (u + u.square()) / 2


def _filled(excess: Tensor) -> Tensor:
    """v(ρ − μ), the inverse of `excess_at`; 0 for a direction below the level."""
    above = excess.clamp(min=0)
    root = (9 - 8 * above).clamp(min=1).sqrt()
    return 4 * above / ((root - 1) * (root + 3) / 2)  # 2/(root − 1) − 1 without cancellation, as 9 − root² = 8·above


def _check(rho: Tensor) -> None:
    if rho.ndim < 1 or not rho.shape[-1] or not rho.is_floating_point():
        raise ValueError(f"distance_law: rho must be floats [..., S], S ≥ 1, got {list(rho.shape)} of {rho.dtype}")
    if not bool(((rho >= -1) & (rho <= 1)).all()):
        raise ValueError(f"distance_law: rho must be −1 to 1, got {float(rho.min()):g} to {float(rho.max()):g}")
