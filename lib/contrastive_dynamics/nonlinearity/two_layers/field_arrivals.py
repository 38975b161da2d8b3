"""When the filters of independent fields arrive at tokens under a fast top layer, all fields on one clock.

One filter per field; tokens are the unit vectors, scaled field by field or not. Shapes: `[..., K, d]` for filters.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ...losses.activations import Activation
from .conditional_independence import ConditionalFields, binary_moments

NORMALISATIONS = ("off", "fields", "layer")
ARRIVED = 0.9  # least cosine of a filter with its token


def scaled_fields(model: ConditionalFields, scale: Tensor) -> ConditionalFields:
    """The same fields with the points of field k multiplied by scale[k]: their variances differ by its square."""
    return ConditionalFields(model.points * scale.view(-1, 1, 1), model.given, model.prior)


def token_starts(generators: list[torch.Generator], fields: int, d: int) -> Tensor:
    """Uniform unit filters that let some token in: one whose coordinates are all negative is turned round.

    Args:
        generators: random streams, one per network.
        fields: K ≥ 1.
        d: tokens, ≥ 2.
    Returns: float64 `[network, K, d]`.
    """
    rows = [torch.randn(fields, d, generator=g, dtype=torch.float64, device=g.device) for g in generators]
    w = normalize(torch.stack(rows), dim=-1)
    return torch.where(w.amax(-1, keepdim=True) > 0, w, -w)


def clocked_gradient(
    model: ConditionalFields, w: Tensor, act: Activation, normalisation: str = "off", modulation: float = 1.0
) -> Tensor:
    """Gradient (s_k c_k)² A_k w_k + modulation · p_0p_1 s_k c_k Δ_k Σ_{k'≠k} s_k' c_k' b_k', before P⊥.

    s is the top eigenvector of V[c ∘ f_1], c_k the factor of field k: 1 without BatchNorm, and 1/σ_k with the BatchNorm
    that does not back-propagate its variance. "layer" divides all by one σ, (mean_k σ_k²)^½, just a faster clock.

    Source: tian-2023, Theorem 5 and the sum above eq. (142); Corollary 3, eq. (178).
    Args:
        model: fields with C = 2.
        w: unit filters `[..., K, d]`.
        act: the activation h, of degree 1.
        normalisation: off, fields or layer.
        modulation: factor of the coupling: 1 is the network, 0 decouples the fields.
    Returns: `[..., K, d]`.
    Raises: ValueError for another normalisation.
    Cost: `binary_moments` and 9·K³ flops.
    """
    if normalisation not in NORMALISATIONS:
        raise ValueError(f"normalisation must be one of {', '.join(NORMALISATIONS)}, got {normalisation!r}")
    m = binary_moments(model, w, act)
    image = (m.a @ w.unsqueeze(-1)).squeeze(-1)
    variance = (
        (w * image).sum(-1).clamp_min(torch.finfo(w.dtype).eps)
    )  # a filter that lets nothing in stays where it is
    variance = {"off": torch.ones_like(variance), "layer": variance.mean(-1, keepdim=True)}.get(normalisation, variance)
    factor = variance.rsqrt()
    b = m.b * factor
    gram = torch.diag_embed(m.d * factor.square()) + (m.weight * b).unsqueeze(-1) * b.unsqueeze(-2)
    s = torch.linalg.eigh(gram)[1][..., -1]
    pull = s * b
    others = m.weight * s * factor * (pull.sum(-1, keepdim=True) - pull)
    return (s * factor).square().unsqueeze(-1) * image + modulation * others.unsqueeze(-1) * m.delta


class Arrivals(NamedTuple):
    """Which filters have arrived at a token, and at which one they ended."""

    times: Tensor  # [steps]
    arrived: Tensor  # [steps, ..., K], bool: some coordinate of the unit filter exceeds 0.9
    token: Tensor  # [..., K], int64: the token at the last time, or −1


def arrivals(
    model: ConditionalFields,
    w: Tensor,
    act: Activation,
    normalisation: str = "off",
    modulation: float = 1.0,
    *,
    end: float = 1000.0,
    steps: int = 100,
) -> Arrivals:
    """Follow ẇ_k = P⊥ g_k from every start with one clock for all fields, g the `clocked_gradient`.

    Steps w ← normalise(w + dt·g) to times spaced evenly on a logarithmic scale. The factor of w in g is positive
    semidefinite, so that a long step is one of power iteration, and the scheme stays stable however long it is.

    Source: tian-2023, eq. (15); with BatchNorm (178).
    Args:
        model: fields of tokens.
        w: unit filters `[..., K, d]`.
        act, normalisation, modulation: as in `clocked_gradient`.
        end: last time, > 0.05, the first one.
        steps: ≥ 2.
    Returns: Arrivals.
    Raises: ValueError for end or steps outside their range.
    Error: first order: times of arrival are off by a fraction of the ratio of two successive times.
    Cost: steps × `clocked_gradient`.
    """
    if not end > 0.05 or steps < 2:
        raise ValueError(f"end must be > 0.05 and steps ≥ 2, got end={end} and steps={steps}")
    times = torch.logspace(math.log10(0.05), math.log10(end), steps, dtype=w.dtype, device=w.device)
    arrived, last = [], 0.0
    for time in times.tolist():
        w = normalize(w + (time - last) * clocked_gradient(model, w, act, normalisation, modulation), dim=-1)
        arrived.append(w.amax(-1) > ARRIVED)
        last = time
    return Arrivals(times, torch.stack(arrived), torch.where(arrived[-1], w.argmax(-1), -1))
