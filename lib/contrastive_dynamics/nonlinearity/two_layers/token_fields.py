"""Receptive fields that show one token each, independent given a binary global variable z, with one filter each.

Tokens are the unit vectors e_1 … e_d: fields whose points are the identity. Shapes: K fields, d tokens; filters w
`[..., K, d]`.
"""

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.gated_covariance import project_out
from .conditional_independence import ConditionalFields, binary_moments


def boosted_tokens(k: int, d: int, boost: float, dtype: torch.dtype = torch.float64) -> ConditionalFields:
    """Fields of tokens whose marginals are uniform while token 0 of every field carries information about z.

    P[a = 0 | z] = (1 ± boost)/d for z = 1, 0; the other tokens share the rest evenly; P[z] = ½.

    Source: tian-2023, Assumption 2 (conditional independence, C = 2).
    Args:
        k: number of fields.
        d: number of tokens, ≥ 2.
        boost: 0 to 1.
        dtype: dtype of the result.
    Returns: k fields of d points.
    Raises: ValueError for boost or d outside its range.
    """
    if not 0 <= boost <= 1 or d < 2:
        raise ValueError(f"boost must be ≥ 0 and ≤ 1, and d ≥ 2, got boost={boost} and d={d}")
    sign = torch.tensor([-1.0, 1.0], dtype=dtype).view(2, 1, 1)
    shape = torch.full((d,), -1 / (d - 1), dtype=dtype)
    shape[0] = 1
    given = ((1 + boost * sign * shape) / d).expand(2, k, d)
    return ConditionalFields(torch.eye(d, dtype=dtype).expand(k, d, d), given, torch.full((2,), 0.5, dtype=dtype))


def modulated_gradient(model: ConditionalFields, w: Tensor, act: Activation, modulation: float = 1.0) -> Tensor:
    """Gradient s_k² A_k w_k + modulation · p_0p_1 s_k Δ_k Σ_{k'≠k} s_k' b_k' under a fast top layer, before P⊥.

    modulation = 1 is the network with M = 1; 0 decouples the fields. s is the top eigenvector of V[f_1], found here by
    `eigh`: for many small runs that is faster than the form of `modulated_velocity`, and it does not need λ > max d_k.

    Source: tian-2023, Theorem 5 and the sum above eq. (142).
    Args:
        model: fields with C = 2.
        w: unit filters `[..., K, d]`.
        act: the activation h.
        modulation: factor of the coupling.
    Returns: `[..., K, d]`.
    Cost: `binary_moments` and 9·K³ flops.
    """
    m = binary_moments(model, w, act)
    variance = torch.diag_embed(m.d) + (m.weight * m.b).unsqueeze(-1) * m.b.unsqueeze(-2)
    s = torch.linalg.eigh(variance)[1][..., -1]
    pull = s * m.b
    others = pull.sum(-1, keepdim=True) - pull
    v = s.square().unsqueeze(-1) * (m.a @ w.unsqueeze(-1)).squeeze(-1)
    return v + modulation * (m.weight * s * others).unsqueeze(-1) * m.delta


def winning_tokens(
    model: ConditionalFields, w: Tensor, act: Activation, modulation: float = 1.0, steps: int = 300, rate: float = 0.1
) -> Tensor:
    """The token that each filter ends at, or −1 if it ends at none (w_ka ≤ 0.9 for all a).

    Normalised projected ascent, w_k ← normalise(w_k + rate · P⊥ g_k/‖g_k‖). Every field has its own clock, since
    otherwise a field to which the top layer gives little weight (s_k ≈ 0) would not move in any reasonable time.

    Args:
        model: fields with C = 2.
        w: unit filters `[..., K, d]`.
        act: the activation h.
        modulation: factor of the coupling, as in `modulated_gradient`.
        steps: number of steps.
        rate: 0 < rate < 1.
    Returns: int64 `[..., K]`.
    Cost: steps × `modulated_gradient`.
    """
    tiny = torch.finfo(w.dtype).tiny
    for _ in range(steps):
        g = modulated_gradient(model, w, act, modulation)
        g = g / g.norm(dim=-1, keepdim=True).clamp_min(tiny)
        w = torch.nn.functional.normalize(w + rate * project_out(w, g), dim=-1)
    top = w.max(-1)
    return torch.where(top.values > 0.9, top.indices, -1)
