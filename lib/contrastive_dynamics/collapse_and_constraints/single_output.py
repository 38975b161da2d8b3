"""The constrained network with one output, z = 1, solved up to a quadrature: one path of directions, two clocks.

Write s = ‖q‖² and f = qᵀΛq. Both flows of the outputs belong to the family q̊ = −(4 − κs)Λq + (4 − κ)f q: κ = 2 is (9),
gradients projected, κ = 1 is `constrained_flow.polar_velocity`, weights projected. In either

    d log q_j = −(4 − κs)λ_j dt + (4 − κ)f dt,    d log(1 − s) = 8f dt.

Eliminate f and write dτ = (2 − κs/2) dt, α = (4 − κ)/8, which is 1/4 for (9) and 3/8 for the polar flow:

    q = ((1 − s)/(1 − s0))^α e^{−2Λτ} q0,    s/(1 − s)^{2α} = Σ_j q0_j² e^{−4λ_jτ}/(1 − s0)^{2α}.

So q/‖q‖ follows the path e^{−2Λτ}q0/‖·‖ of the network without constraints; κ changes its clock and its length only.
Since 2 − κs/2 lies between 2 − κ/2 and 2, so does τ/t; time is the quadrature t = ∫ dτ/(2 − κs/2).

Shapes: q0 `[..., d]`, 0 < ‖q0‖ ≤ 1; eigenvalues lam `[d]` or `[..., d]`; τ and s `[...]`.
"""

import math

import numpy as np
import torch
from torch import Tensor

GRADIENTS, WEIGHTS = 2.0, 1.0  # κ of (9) and of the polar flow: what is projected

_NODES = 12  # of Gauss and Legendre in a panel; the nearest pole of s(τ) is π/(8|λ|) away from the real axis


def squared_length(q0: Tensor, lam: Tensor, tau: Tensor, kappa: float = GRADIENTS) -> Tensor:
    """s = ‖q‖² where the clock shows τ: the root of s/(1 − s)^{2α} = G, G = Σ_j q0_j² e^{−4λ_jτ}/(1 − s0)^{2α}.

    For (9), 2α = ½ and s = 2/(1 + √(1 + 4/G²)). For the polar flow it is found by Newton's method in log(s/(1 − s)), in
    which the logarithm of the left side is concave and increasing.

    Source: derived, beyond the paper; esser-2023, eq. (10).
    Args:
        q0: start, `[..., d]`, not 0 and of length at most 1; a start of length 1 keeps its length.
        lam: eigenvalues, `[..., d]`.
        tau: τ, `[...]`.
        kappa: `GRADIENTS` or `WEIGHTS`, or any κ in [0, 4).
    Returns: s, `[...]`.
    Raises: ValueError for another q0 or kappa.
    Cost: about 10·d flops and d exponentials; for κ ≠ 2 also 12 steps of Newton's method.
    """
    _require(q0, kappa)
    power = (4 - kappa) / 4
    s0 = q0.square().sum(-1).clamp(max=1.0)
    log_g = _log_size(q0, lam, tau) - power * torch.log1p(-s0)
    if kappa == GRADIENTS:
        return 2 / (1 + (1 + 4 * torch.exp(-2 * log_g)).sqrt())
    finite = log_g.clamp(max=1e4)  # at s0 = 1, G is infinite and s is 1
    y = torch.minimum(finite, finite / power)
    for _ in range(12):
        s = torch.sigmoid(y)
        left = torch.nn.functional.logsigmoid(y) - power * torch.nn.functional.logsigmoid(-y)
        y = y + (finite - left) / (1 - s + power * s)
    return torch.sigmoid(y)


def outputs_at(q0: Tensor, lam: Tensor, tau: Tensor, kappa: float = GRADIENTS) -> Tensor:
    """q = √s e^{−2Λτ}q0/‖e^{−2Λτ}q0‖ where the clock shows τ, which is the closed form also for s0 = 1.

    Source: derived, beyond the paper, which says of its eq. (9), for any z, that it "doesn't seem to have a simple
        closed form".
    Args and Raises: as `squared_length`.
    Returns: q, `[..., d]`.
    Error: rounding, 4|λ|τ·ε relative.
    Cost: as `squared_length` and d exponentials more.
    """
    s = squared_length(q0, lam, tau, kappa)
    size = _log_size(q0, lam, tau) / 2
    return s.sqrt().unsqueeze(-1) * q0 * torch.exp(-2 * lam * tau.unsqueeze(-1) - size.unsqueeze(-1))


def closed_form(q0: Tensor, lam: Tensor, times: Tensor, kappa: float = GRADIENTS) -> Tensor:
    """q(t) of the closed form: τ(t) by a quadrature of dt = dτ/(2 − κs/2) and Newton's method, then `outputs_at`.

    Source: derived, beyond the paper; esser-2023, eq. (10), Theorem 3.
    Args:
        q0: start, `[run, d]`, not 0 and of length at most 1.
        lam: eigenvalues, `[d]` or `[run, d]`.
        times: t, `[t]`, each ≥ 0, in any order; in the paper's unit, without a factor of its own.
        kappa: as in `squared_length`.
    Returns: `[t, run, d]`.
    Raises: ValueError for another q0, kappa, or times that are not `[t]` or negative.
    Error: about 1e-12, of the quadrature.
    Cost: about 50·max|λ|·max(t)·run·d exponentials, and as many numbers.
    """
    _require(q0, kappa)
    if q0.ndim != 2 or times.ndim != 1 or not len(times) or not bool((times >= 0).all()):
        raise ValueError(f"q0 and times must be [run, d] and [t], t ≥ 0, got {list(q0.shape)} and {times.tolist()}")
    return outputs_at(q0, lam, _clock(q0, lam, times, kappa), kappa)


def exponent(lam: Tensor) -> float:
    """γ = (λ2 − λ1)/(2|λ1|): sup_t of the distance between (9) and the polar flow falls like h^{−min(γ, 1)}.

    q0 has squared length of order 1/h. While s is small the two clocks agree. They part when s is of order 1, that is,
    at e^{4|λ1|τ} ~ h, and by then tan∠(q, e1) = e^{−2(λ2 − λ1)τ} tan∠(q0, e1) ~ h^{−γ}.
    Their lengths differ by h^{−min(2γ, 1)}, which decides for γ > 1.

    Source: derived, beyond the paper; esser-2023, Figure 3.
    Args:
        lam: eigenvalues, `[d]`, ascending, d ≥ 2, λ1 < 0, λ1 < λ2.
    Returns: γ > 0.
    Raises: ValueError for other eigenvalues.
    """
    if lam.ndim != 1 or len(lam) < 2 or not float(lam[0]) < min(0.0, float(lam[1])):
        raise ValueError(f"lam must be [d], d ≥ 2, ascending with λ1 < 0 and λ1 < λ2, got {lam.tolist()}")
    return float((lam[1] - lam[0]) / (2 * lam[0].abs()))


def _require(q0: Tensor, kappa: float) -> None:
    lengths = q0.norm(dim=-1)
    if not bool(((lengths > 0) & (lengths <= 1 + 1e-6)).all()):
        raise ValueError(
            f"q0 must have lengths > 0 and ≤ 1, got {float(lengths.min()):.6g} to {float(lengths.max()):.6g}"
        )
    if not 0 <= kappa < 4:
        raise ValueError(f"kappa must be ≥ 0 and < 4, got {kappa}")


def _log_size(q0: Tensor, lam: Tensor, tau: Tensor) -> Tensor:
    """log Σ_j q0_j² e^{−4λ_jτ}."""
    return torch.logsumexp(q0.square().log() - 4 * lam * tau.unsqueeze(-1), -1)


def _rule(like: Tensor) -> tuple[Tensor, Tensor]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return tuple(torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in ((nodes + 1) / 2, weights / 2))


def _clock(q0: Tensor, lam: Tensor, times: Tensor, kappa: float) -> Tensor:
    """τ(t), `[t, run]`: the time of every panel's left edge, then Newton's method inside the panel."""
    (nodes, weights), latest = _rule(q0), 2 * float(times.max())
    panels = 1 + math.ceil(2 * float(lam.abs().max()) * latest)
    width, starts, spectra = latest / panels, q0.unsqueeze(-2), lam.unsqueeze(-2)

    def slowness(tau: Tensor) -> Tensor:  # dt/dτ at τ [..., run, node]
        return 1 / (2 - kappa / 2 * squared_length(starts, spectra, tau, kappa))

    def passed(left: Tensor, length: Tensor) -> Tensor:  # ∫ dt over the clock's [left, left + length]
        return length * (slowness(left.unsqueeze(-1) + length.unsqueeze(-1) * nodes) @ weights)

    edges = width * torch.arange(panels + 1, dtype=q0.dtype, device=q0.device)[:, None].expand(-1, len(q0))
    at = torch.cat([torch.zeros_like(edges[:1]), passed(edges[:-1], edges.diff(dim=0)).cumsum(0)])
    wanted = times[:, None].expand(-1, len(q0))
    place = torch.searchsorted(at.mT.contiguous(), wanted.mT.contiguous(), right=True).mT.sub(1).clamp(0, panels - 1)
    left, missing = edges.gather(0, place), wanted - at.gather(0, place)
    length = torch.zeros_like(left)
    for _ in range(6):
        off = missing - passed(left, length)
        length = length + off / slowness((left + length).unsqueeze(-1)).squeeze(-1)
    return left + length
