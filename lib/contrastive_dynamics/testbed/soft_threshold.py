"""The law: the optimum of InfoNCE for linear encoders is a soft threshold of the canonical correlations.

Views x_A, x_B with Gaussian marginals and many negatives. Linear outputs f_A = U x̃_A, f_B = V x̃_B of whitened views,
‖U‖_F = ‖V‖_F = 1, so that E‖f‖² = 1; G = UᵀV; C = E[x̃_A x̃_Bᵀ], with singular values ρ_1 ≥ ρ_2 ≥ …; τ² multiplies the
inner products. The shares g_j are the entries of G in the canonical directions, in the order of ρ.

Derivation. Given x_A, a negative's τ²f_A·f_B is N(0, τ⁴‖Gᵀx̃_A‖²), so the loss of both sides, less 2 log N, is

    L(G) = −2τ²⟨C, G⟩ + τ⁴‖G‖² = ‖τ²G − C‖² − ‖C‖²,

and the norms allow exactly ‖G‖_* ≤ 1 (for z ≥ 2 outputs; at z = 1, ‖G‖_* = 1). One encoder for both views: G = UᵀU is
PSD of trace 1 and C counts only by its symmetric part. With S = Σ_j s_j p_j q_jᵀ, s_j = (ρ_j − μ)₊/τ², Σs_j = 1,

    L(G) − L(S) = τ⁴‖G − S‖² − 2τ²⟨C − τ²S, G − S⟩ ≥ τ⁴‖G − S‖²,

as ⟨C − τ²S, G − S⟩ = Σ_j(ρ_j − τ²s_j)(p_jᵀGq_j − s_j) ≤ μ(Σ_j|p_jᵀGq_j| − 1) ≤ μ(‖G‖_* − 1) ≤ 0, one inequality per
direction (`direction_gap`). At a learned τ² the loss is ‖H − C‖² − ‖C‖² in H = τ²G with ‖H‖_* ≤ τ²: the optimum is
H = C.
"""

import math

import torch
from torch import Tensor


def water_filling(rho: Tensor, tau_squared: float | Tensor, outputs: int | None = None, *, tied: bool = True) -> Tensor:
    """g_j = (ρ_j − μ)₊/τ² with Σg_j = 1: the share of each direction at the optimum, the level μ as in `water_level`.

    It is the projection of ρ/τ² onto the simplex, or onto {g ≥ 0, Σg ≤ 1} with two encoders. With z outputs only the z
    largest ρ count. One encoder: a direction with ρ = 0 is private, and enters at τ² > Σ_j (ρ_j)₊.
    Source: derived above; the map is the sparsemax of Martins and Astudillo (2016).
    Args:
        rho: ρ, `[..., S]`, in any order; 0 to 1 with two encoders, −1 to 1 with one.
        tau_squared: τ² > 0, a number or `[...]`.
        outputs: z ≥ 1; None for z ≥ S.
        tied: whether one encoder serves both views.
    Returns: `[..., S]`, ≥ 0; of equal ρ at the cut of z, the first.
    Raises: ValueError for an argument outside its range.
    Error: rounding, ε·S/τ².
    Cost: a sort of S numbers.
    """
    level = water_level(rho, tau_squared, outputs, tied=tied)
    above = (rho - level.unsqueeze(-1)).clamp(min=0) * _largest(rho, outputs)
    return above / _column(tau_squared, rho)


def water_level(rho: Tensor, tau_squared: float | Tensor, outputs: int | None = None, *, tied: bool = True) -> Tensor:
    """μ: the largest (ρ_1 + … + ρ_k − τ²)/k over k ≤ min(z, S), at which Σ_j (ρ_j − μ)₊ = τ².

    Two encoders may leave norm unused, μ = 0, once τ² ≥ Σρ_j, unless z = 1. One encoder may not: μ falls below 0.
    Args, Raises and Cost: as `water_filling`.
    Returns: `[...]`.
    """
    _check(rho, outputs, tied, "water_filling")
    tau = _column(tau_squared, rho)
    if not bool((tau > 0).all() & tau.isfinite().all()):
        raise ValueError(f"water_filling: tau_squared must be > 0 and finite, got {tau_squared}")
    top = rho.sort(-1, descending=True).values[..., :outputs]
    counts = torch.arange(1, top.shape[-1] + 1, dtype=rho.dtype, device=rho.device)
    level = ((top.cumsum(-1) - tau) / counts).amax(-1)
    return level if tied or outputs == 1 else level.clamp(min=0)


def learned_temperature(rho: Tensor, outputs: int | None = None) -> Tensor:
    """τ² = Σ_j (ρ_j)₊ over the z largest, where τ² is trained, too; then τ²g_j = (ρ_j)₊.

    One encoder: it is the optimum. Two encoders: any larger τ² is as good, and training from below stops here.
    It holds for the loss itself: L/τ² has another minimum in τ².
    Source: derived above.
    Args:
        rho: ρ, `[..., S]`.
        outputs: z ≥ 2, or None for z ≥ S; z = 1 is allowed with one encoder.
    Returns: `[...]`, τ².
    Raises: ValueError for z < 1 or |ρ| > 1.
    """
    _check(rho, outputs, True, "learned_temperature")
    return rho.sort(-1, descending=True).values[..., :outputs].clamp(min=0).sum(-1)


def population_loss(g: Tensor, c: Tensor, tau_squared: float | Tensor) -> Tensor:
    """L(G) = −2τ²⟨C, G⟩ + τ⁴‖G‖²: InfoNCE of both sides at N → ∞ for Gaussian marginals, less 2 log N.

    The spectral loss −2τ²E f_A·f_B + τ⁴E(f_A·f_B')² is the same for views of any distribution.
    Source: derived above; the spectral loss: HaoChen et al. (2021).
    Args:
        g: G in whitened coordinates, `[..., D, D']`.
        c: C, `[..., D, D']`.
        tau_squared: τ², a number or `[...]`.
    Returns: `[...]`.
    Cost: 4·D·D' flops.
    """
    tau = torch.as_tensor(tau_squared, dtype=g.dtype, device=g.device)
    return tau.square() * g.square().sum((-2, -1)) - 2 * tau * (g * c).sum((-2, -1))


def share_velocity(g: Tensor, rho: Tensor, tau_squared: float | Tensor) -> Tensor:
    """dg_j/dt = 8τ²g_j(ρ_j − τ²g_j − μ(t)), μ(t) = Σ_k g_k(ρ_k − τ²g_k): the flow of one encoder on the sphere ‖U‖ = 1.

    A replicator equation with the fitness ρ_j − τ²g_j; its rest point with all fitnesses at or below μ is the soft
    threshold. A direction that stays out leaves at the rate 8τ²(μ − ρ_j), so the time is one over the gap.
    Source: derived: U̇ = 4τ²U(C − τ²G − μ), for G in the canonical directions, where it stays.
    Args:
        g: shares ≥ 0 of sum 1, `[..., S]`.
        rho: ρ, `[..., S]`.
        tau_squared: τ² > 0, a number or `[...]`.
    Returns: `[..., S]`, of sum 0.
    Cost: 6·S flops.
    """
    tau = _column(tau_squared, rho)
    fitness = rho - tau * g
    return 8 * tau * g * (fitness - (g * fitness).sum(-1, keepdim=True))


def direction_gap(rho, tau_squared, level, share, size=None, *, cut=None):
    """μ(|g| − s) − (ρ − τ²s)(g − s) with s = (ρ − μ)₊/τ²: ≥ 0 for all real g if 0 ≤ ρ ≤ 1 and μ ≥ 0.

    One encoder: g ≥ 0, and μ(g − s) in place of μ(|g| − s); then μ may be negative, and ρ, too. The sum over directions
    of this inequality is the optimality of the soft threshold.
    Source: derived above.
    Args:
        rho, tau_squared, level, share: ρ, τ², μ, g; numbers, tensors or symbols.
        size: |g|; by default g itself, for one encoder.
        cut: where ρ is cut; by default μ. With any other cut the inequality is false.
    Returns: as the arguments.
    """
    s = _positive(rho - (level if cut is None else cut)) / tau_squared
    size = share if size is None else size
    return level * (size - s) - (rho - tau_squared * s) * (share - s)


def effective_rank_of_shares(shares: Tensor) -> Tensor:
    """exp of the entropy of g/Σg, the effective rank of the outputs where one encoder has the shares g.

    The covariance of the outputs is UUᵀ, whose eigenvalues are those of G = UᵀU. Two encoders: of G only.
    Args:
        shares: g ≥ 0, `[..., S]`, not all 0.
    Returns: `[...]`, 1 to S.
    """
    p = shares / shares.sum(-1, keepdim=True)
    return torch.special.entr(p).sum(-1).exp()


def _positive(x):
    return x.clamp(min=0) if isinstance(x, Tensor) else (abs(x) + x) / 2


def _column(tau_squared: float | Tensor, like: Tensor) -> Tensor:
    return torch.as_tensor(tau_squared, dtype=like.dtype, device=like.device).unsqueeze(-1)


def _largest(rho: Tensor, outputs: int | None) -> Tensor:
    """1 for the z largest, 0 for the others."""
    if outputs is None or outputs >= rho.shape[-1]:
        return torch.ones_like(rho)
    kept = rho.sort(dim=-1, descending=True, stable=True).indices[..., :outputs]
    return torch.zeros_like(rho).scatter(-1, kept, 1.0)


def _check(rho: Tensor, outputs: int | None, tied: bool, name: str) -> None:
    least = -1 if tied else 0
    if rho.ndim < 1 or not rho.shape[-1] or not rho.is_floating_point():
        raise ValueError(f"{name}: rho must be floats [..., S], S ≥ 1, got {list(rho.shape)} of {rho.dtype}")
    slack = math.sqrt(torch.finfo(rho.dtype).eps)  # estimated correlations may leave the range by rounding
    if not bool(((rho >= least - slack) & (rho <= 1 + slack)).all()):
        got = f"{float(rho.min()):g} to {float(rho.max()):g}"
        raise ValueError(f"{name}: rho must be {least} to 1 for {'one encoder' if tied else 'two encoders'}, got {got}")
    if outputs is not None and outputs < 1:
        raise ValueError(f"{name}: outputs must be ≥ 1 or None, got {outputs}")
