"""The flow (15) of all receptive fields under one clock, with or without BatchNorm: who arrives when.

Fields and tokens as in `token_fields`: K fields, d tokens; filters w `[run, K, d]`, one per field.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ...losses.activations import Activation
from ...losses.gated_covariance import project_out
from .conditional_independence import BinaryMoments, ConditionalFields, binary_moments

ARRIVED = 0.9  # a filter with w_ka > 0.9 is at token a


def field_matrices(
    model: ConditionalFields,
    w: Tensor,
    act: Activation,
    modulation: float = 1.0,
    *,
    batch_norm: bool = False,
    fast_top: bool = True,
) -> Tensor:
    """Matrices of the flow (15), ẇ_k = P⊥ M_k w_k with M_k = s_k² A_k + modulation · δ_k Δ_kΔ_kᵀ.

    δ_k = p_0p_1 (s_k/b_k) Σ_{k'≠k} s_k' b_k', and s is the top eigenvector of V[f_1]. A filter that lets no token
    through has M_k = 0, with BatchNorm too.

    Source: tian-2023, Theorem 5, eqs. (15), (139), (143); with BatchNorm Corollary 3, eq. (178).
    Args:
        model: fields with C = 2, and the run on the first axis if its probabilities differ between runs.
        w: unit filters `[run, K, d]`.
        act: the activation h, of degree 1.
        modulation: factor of the coupling; 0 leaves s_k² A_k.
        batch_norm: whether outputs pass through BatchNorm that does not back-propagate its variance.
        fast_top: False holds the top layer at s_k = 1/√K.
    Returns: `[run, K, d, d]`, symmetric positive semidefinite.
    Cost: `binary_moments` and 9·K³ flops.
    """
    m = binary_moments(model, w, act)
    if batch_norm:
        m = _normalised(m, w)
    variance = torch.diag_embed(m.d) + (m.weight * m.b).unsqueeze(-1) * m.b.unsqueeze(-2)
    s = torch.linalg.eigh(variance)[1][..., -1] if fast_top else torch.full_like(m.d, m.d.shape[-1] ** -0.5)
    pull = s * m.b
    others = pull.sum(-1, keepdim=True) - pull
    ratio = s / torch.where(m.b == 0, 1.0, m.b)
    strength = modulation * m.weight * ratio * others
    outer = m.delta.unsqueeze(-1) * m.delta.unsqueeze(-2)
    return s.square()[..., None, None] * m.a + strength[..., None, None] * outer


def _normalised(m: BinaryMoments, w: Tensor) -> BinaryMoments:
    """The moments (175) to (177): over σ_k² = V[f_k], or over 1 where a filter lets nothing through."""
    variance = torch.einsum("...ki,...kij,...kj->...k", w, m.a, w)
    variance = torch.where(variance > 0, variance, 1.0)
    a, delta = m.a / variance[..., None, None], m.delta / variance.sqrt().unsqueeze(-1)
    return BinaryMoments(a, delta, m.d / variance, m.b / variance.sqrt(), m.weight)


@dataclass(frozen=True)
class Arrivals:
    """Ends of the flow and the time at which each filter came to a token."""

    w: Tensor  # [run, K, d] last point, unit
    token: Tensor  # [run, K] int64, the token at the end, −1 for none
    time: Tensor  # [run, K] first time with w_ka > 0.9 for a token a, inf for none


def common_clock_flow(
    model: ConditionalFields,
    w: Tensor,
    act: Activation,
    horizon: float,
    *,
    modulation: float = 1.0,
    batch_norm: bool = False,
    fast_top: bool = True,
    until: int | None = None,
    turn: float = 0.1,
    max_steps: int = 1000,
) -> Arrivals:
    """Follow the flow (15) of all fields up to one time, in steps that last until the fastest filter has turned a bit.

    Exponential Euler steps w ← normalise(exp(h M(w)) w), exact while M does not change: in exp(Mt) w, normalised, P⊥
    is the normalisation. A filter at rest bounds no step, so that a step may last long.

    Source: tian-2023, eq. (15), as it stands: one time for all fields.
    Args:
        model, w, act, modulation, batch_norm, fast_top: as in `field_matrices`. With ReLU take `relu_off_plane`: a
            component that has decayed to rounding must not open its gate again and again.
        horizon: time at which to stop, > 0.
        until: a run stops once so many of its filters have arrived; None lets all go on to the horizon.
        turn: angle in radians that the fastest filter of a run may turn in a step, > 0.
        max_steps: number of steps after which it stops in any case.
    Returns: Arrivals.
    Raises: ValueError for horizon or turn outside its range.
    Error: of first order in turn; a test halves it. Times are interpolated within a step.
    Cost: per step one `field_matrices` and K eigenproblems of d × d per run.
    """
    if not (horizon > 0 and turn > 0):
        raise ValueError(f"horizon and turn must be > 0, got horizon={horizon} and turn={turn}")

    t, most = w.new_zeros(w.shape[0]), math.inf if until is None else until
    time = torch.where(w.amax(-1) > ARRIVED, 0.0, torch.inf)
    for _ in range(max_steps):
        runs = (t < horizon) & (time.isfinite().sum(-1) < most)
        if not bool(runs.any()):
            break
        m = field_matrices(model, w, act, modulation, batch_norm=batch_norm, fast_top=fast_top)
        speed = project_out(w, (m @ w.unsqueeze(-1)).squeeze(-1)).norm(dim=-1).amax(-1)
        h = runs * torch.minimum(turn / speed.clamp_min(torch.finfo(w.dtype).tiny), horizon - t)
        moved = _advanced(m, w, h)
        before, after = w.amax(-1), moved.amax(-1)
        share = ((ARRIVED - before) / torch.where(after > before, after - before, 1.0)).clamp(0, 1)
        came = (after > ARRIVED) & time.isinf()
        time = torch.where(came, t.unsqueeze(-1) + share * h.unsqueeze(-1), time)
        w, t = moved, t + h
    top = w.max(-1)
    return Arrivals(w, torch.where(top.values > ARRIVED, top.indices, -1), time)


def _advanced(m: Tensor, w: Tensor, h: Tensor) -> Tensor:
    """exp(h M) w, normalised: the flow of a matrix that stays as it is. m `[run, K, d, d]`, h `[run]`."""
    values, vectors = torch.linalg.eigh(m)
    growth = ((values - values.amax(-1, keepdim=True)) * h[:, None, None]).exp()
    parts = growth * (vectors.mT @ w.unsqueeze(-1)).squeeze(-1)
    return normalize((vectors @ parts.unsqueeze(-1)).squeeze(-1), dim=-1)
