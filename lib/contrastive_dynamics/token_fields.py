"""Receptive fields that show one token each, independent given a binary global variable z, with one filter each.

Tokens are the unit vectors e_1 … e_d, so all population quantities are exact sums over tokens, without enumerating x.
Shapes: K fields, d tokens; `given[k, z, a]` = P[x_k = e_a | z]; filters w `[..., K, d]`.
"""

import torch
from torch import Tensor

from .activations import Activation
from .gated_covariance import project_out


def boosted_tokens(k: int, d: int, boost: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Token probabilities whose marginals are uniform while token 0 of every field tells z.

    P[a = 0 | z] = (1 ± boost)/d for z = 1, 0; the other tokens share the rest evenly; P[z] = ½.
    Source: tian-2023, Assumption 2 (conditional independence, C = 2).
    Args: 0 ≤ boost ≤ 1; d ≥ 2. Returns: `[k, 2, d]`. Raises: ValueError outside.
    """
    if not 0 <= boost <= 1 or d < 2:
        raise ValueError(f"boosted_tokens: got boost={boost}, d={d}, allowed are 0 ≤ boost ≤ 1, d ≥ 2")
    sign = torch.tensor([-1.0, 1.0], dtype=dtype).unsqueeze(-1)
    shape = torch.full((d,), -1 / (d - 1), dtype=dtype)
    shape[0] = 1
    return ((1 + boost * sign * shape) / d).expand(k, 2, d).clone()


def field_moments(given: Tensor, w: Tensor, act: Activation) -> tuple[Tensor, Tensor, Tensor]:
    """A_k = V[x̃_k], L_k = E_z V[x̃_k | z] and Δ_k = E[x̃_k | z = 1] − E[x̃_k | z = 0], for P[z] = ½.

    Source: tian-2023, Lemma 5 and eq. (134). Args: given `[K, 2, d]`; w `[..., K, d]`.
    Returns: `[..., K, d, d]` twice and `[..., K, d]`. Cost: about 6·K·d² flops.
    """
    slope = act.slope(w).unsqueeze(-2)  # [..., K, 1, d]
    mean = given * slope
    second = torch.diag_embed((given * slope.square()).mean(-2))
    within = second - (mean.unsqueeze(-1) * mean.unsqueeze(-2)).mean(-3)
    centre = mean.mean(-2)
    return second - centre.unsqueeze(-1) * centre.unsqueeze(-2), within, mean[..., 1, :] - mean[..., 0, :]


def fast_top_layer(within: Tensor, delta: Tensor, w: Tensor) -> Tensor:
    """s, the top eigenvector of V[f_1] = diag(w_kᵀ L_k w_k) + ¼ b bᵀ, b_k = w_kᵀ Δ_k; its sign is free.

    Source: tian-2023, eq. (138) with p0 = p1 = ½. Returns: `[..., K]`. Cost: 9·K³ flops.
    """
    d = torch.einsum("...ki,...kij,...kj->...k", w, within, w)
    b = (w * delta).sum(-1)
    return torch.linalg.eigh(torch.diag_embed(d) + b.unsqueeze(-1) * b.unsqueeze(-2) / 4)[1][..., -1]


def modulated_gradient(given: Tensor, w: Tensor, act: Activation, modulation: float = 1.0) -> Tensor:
    """Gradient s_k² A_k w_k + modulation · ¼ s_k Δ_k Σ_{k'≠k} s_k' b_k' of M = 1 under a fast top layer, before P⊥.

    modulation = 1 is the network; 0 leaves every field to itself.
    Source: tian-2023, Theorem 5 and the sum above eq. (142). Args: given `[K, 2, d]`; w `[..., K, d]` unit.
    Returns: `[..., K, d]`. Cost: about 10·K·d² + 9·K³ flops.
    """
    a, within, delta = field_moments(given, w, act)
    s = fast_top_layer(within, delta, w)
    pull = s * (w * delta).sum(-1)
    others = pull.sum(-1, keepdim=True) - pull
    v = s.square().unsqueeze(-1) * torch.einsum("...kij,...kj->...ki", a, w)
    return v + modulation / 4 * (s * others).unsqueeze(-1) * delta


def winning_tokens(
    given: Tensor, w: Tensor, act: Activation, modulation: float = 1.0, steps: int = 300, rate: float = 0.1
) -> Tensor:
    """Token that each filter ends at, −1 where it is at none (w_ka ≤ 0.9 for all a).

    Normalised projected ascent, w_k ← normalise(w_k + rate · P⊥ g_k/‖g_k‖): every field has its own clock, since a
    field that the top layer hardly weighs (s_k ≈ 0) would otherwise not move in any reasonable time.
    Args: as `modulated_gradient`; 0 < rate < 1. Returns: int64 `[..., K]`. Cost: steps × `modulated_gradient`.
    """
    tiny = torch.finfo(w.dtype).tiny
    for _ in range(steps):
        g = modulated_gradient(given, w, act, modulation)
        g = g / g.norm(dim=-1, keepdim=True).clamp_min(tiny)
        w = torch.nn.functional.normalize(w + rate * project_out(w, g), dim=-1)
    top = w.max(-1)
    return torch.where(top.values > 0.9, top.indices, -1)
