"""How far a learner has separated the sparse signals from the dense noise: shares of its weights; f(ξ) beside f(x).

Shapes: weights `[..., run, m, d1]`, biases `[..., run, m]`, dictionary M `[run, d1, d]`; a time axis may precede the
run.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..numerics.ties import rounding_margin
from .sparse_coding import SparseCoding
from .symmetrised_relu import preactivations, symmetrised_relu

MAJORITY = sqrt(0.5)  # a neuron above it has more than half of its square on one atom


class Split(NamedTuple):
    """The coefficients of each neuron, divided by ‖w_i‖, in three parts.

    `own` N_i as a mask `[..., m, d]`; `other_max` and `other_rms` `[..., m]`: |⟨w_i, M_j⟩|/‖w_i‖ over j outside N_i,
    0 if there are none; `dense_rms` `[..., m]`: root mean square of ⟨w_i, M⊥_j⟩/‖w_i‖ over the d1 - d directions;
    `dense_max` `[..., m]` or None: the largest in a basis of the complement, on which it depends.
    """

    own: Tensor
    other_max: Tensor
    other_rms: Tensor
    dense_rms: Tensor
    dense_max: Tensor | None


class NoiseDominance(NamedTuple):
    """cos(f(x), f(ξ)) `[run, count]`, nan where either is 0, and whether f(ξ) = 0 `[run, count]`."""

    cosine: Tensor
    silent: Tensor


def _cosines(weights: Tensor, dictionary: Tensor) -> Tensor:
    """⟨w_i, M_j⟩/‖w_i‖ `[..., m, d]`; nan for w_i = 0."""
    return weights @ dictionary / weights.norm(dim=-1, keepdim=True)


def atom_shares(weights: Tensor, dictionary: Tensor) -> Tensor:
    """⟨w_i, M_j⟩²/‖w_i‖², the share of atom j in neuron i: 0 to 1.

    Source: wen-li-2021, Theorem D.5.
    Args:
        weights: `[..., run, m, d1]`.
        dictionary: M, `[run, d1, d]`.
    Returns: `[..., run, m, d]`, nan for w_i = 0.
    Cost: 2·m·d1·(d + 1) flops per run.
    """
    return _cosines(weights, dictionary).square()


def span_share(weights: Tensor, dictionary: Tensor) -> Tensor:
    """‖MMᵀw_i‖²/‖w_i‖², the share of span(M) in neuron i: 0 to 1, and d/d1 on average for a random direction.

    Source: wen-li-2021, Theorem C.1.
    Args and Cost: as `atom_shares`.
    Returns: `[..., run, m]`, nan for w_i = 0.
    """
    return atom_shares(weights, dictionary).sum(-1)


def split_coefficients(
    weights: Tensor, dictionary: Tensor, threshold: float = 0.5, complement: Tensor | None = None
) -> Split:
    """w_i = Σ_{j∈N_i} α_ij M_j + Σ_{j∉N_i} α'_ij M_j + Σ_j β_ij M⊥_j with N_i = {j: |⟨w_i, M_j⟩| ≥ threshold·‖w_i‖}.

    The theorem asks for α = Θ(1), α' = o(1/√d) and β = o(1/√d1), relative to ‖w_i‖. With a threshold t no N_i has more
    than 1/t² members. For a uniform direction in span(M) their mean is d·I_{1-t²}((d - 1)/2, 1/2), which is a lot
    unless 1/√d is far below t: at d = 16 it is 0.65 for t = 1/2 and 0.02 for t = 1/√2. A coefficient that equals the
    threshold up to rounding counts: M_1 + M_2 has N_i = {1, 2} at t = 1/√2.
    Source: wen-li-2021, Theorem 3.4; E.1.
    Args:
        weights: `[..., run, m, d1]`.
        dictionary: M, `[run, d1, d]`.
        threshold: in (0, 1].
        complement: M⊥ `[run, d1, d1 - d]`, orthonormal, needed only for `dense_max`.
    Returns: Split.
    Raises: ValueError for another threshold.
    Error: cosines within (d1 + 64)·eps below the threshold count as equal to it.
    Cost: as `atom_shares`, and 2·m·d1·(d1 - d) flops per run with a complement.
    """
    _check_threshold("split_coefficients", threshold)
    cosines = _cosines(weights, dictionary).abs()
    own = cosines >= threshold - rounding_margin(weights.shape[-1], weights.dtype)
    other = cosines.masked_fill(own, 0)
    dim, atoms = dictionary.shape[-2:]
    # not 1 - Σ cos²: in a learned neuron the dense part may be by far the smaller one
    dense = weights - weights @ dictionary @ dictionary.mT
    dense_rms = dense.norm(dim=-1) / weights.norm(dim=-1) / sqrt(max(dim - atoms, 1))
    other_rms = (other.square().sum(-1) / (~own).sum(-1).clamp(min=1)).sqrt()
    dense_max = None if complement is None else _cosines(weights, complement).abs().amax(-1)
    return Split(own, other.amax(-1), other_rms, dense_rms, dense_max)


def neurons_won(weights: Tensor, dictionary: Tensor, threshold: float = MAJORITY) -> Tensor:
    """For each atom, the number of neurons that have it alone: N_i = {j}.

    Source: wen-li-2021, Theorem 3.4 (at least one; the bound from above is lost in our copy).
    Args:
        weights: `[..., run, m, d1]`.
        dictionary: M, `[run, d1, d]`.
        threshold: in (0, 1]; above 1/√2 no N_i has two members.
    Returns: `[..., run, d]`, int64.
    Raises, Error and Cost: as `split_coefficients`.
    """
    _check_threshold("neurons_won", threshold)
    threshold -= rounding_margin(weights.shape[-1], weights.dtype)
    own = _cosines(weights, dictionary).abs() >= threshold
    return (own & (own.sum(-1, keepdim=True) == 1)).sum(-2)


def noise_dominance(
    model: SparseCoding, weights: Tensor, bias: Tensor, count: int, generators: list[torch.Generator]
) -> NoiseDominance:
    """How much of f(x) with x = Mz + ξ is f(ξ).

    Before any training, with b = 0, the cosine is already near √(d1·σ_ξ²/(d1·σ_ξ² + d·p)), so a cosine near 1 is not a
    sign of learning; for f = Mᵀ it is near √(σ_ξ²/(σ_ξ² + p)).
    Source: wen-li-2021, Theorems 3.2 and 3.4.
    Args:
        model: draws z and ξ.
        weights: `[run, m, d1]`.
        bias: `[run, m]`.
        count: samples per run, ≥ 1.
        generators: one per run.
    Returns: NoiseDominance.
    Raises: ValueError for a count below 1.
    Cost: 2·count·m·(d1 + d) flops and one normal draw per entry of ξ; count·d1 entries per run.
    """
    if count < 1:
        raise ValueError(f"count must be ≥ 1, got {count}")
    latents = model.latents(count, generators)
    pre = preactivations(model.dense_noise(count, generators), weights)
    of_noise = symmetrised_relu(pre, bias)
    of_data = symmetrised_relu(pre + latents @ (weights @ model.dictionary).mT, bias)
    lengths = of_noise.norm(dim=-1) * of_data.norm(dim=-1)
    cosine = (of_noise * of_data).sum(-1) / lengths  # 0/0 gives nan, as it should
    return NoiseDominance(cosine, (of_noise == 0).all(-1))


def matched_neurons(a: Tensor, b: Tensor, one_to_one: bool = False) -> tuple[Tensor, Tensor]:
    """Each neuron of a and its partner among the neurons of b by |cosine|: (index, |cosine|), both `[run, m_a]`.

    Of equally close partners the index names any one.
    one_to_one: no partner occurs twice, and the sum of the |cosines| is the largest possible. Chance contributes a lot:
    in the span of 16 atoms, 32 random directions match 32 others to 0.5 without sharing a feature. So compare the
    result with the match of such directions.
    Source: wen-li-2021, Section 1.1 and Figure 1 ("similar"; no score is given there).
    Args:
        a: `[run, m_a, d1]`, every row nonzero.
        b: `[run, m_b, d1]`, every row nonzero.
        one_to_one: whether each neuron of b is a partner at most once; needs m_a ≤ m_b.
    Raises: ValueError for other shapes.
    Cost: 2·m_a·m_b·d1 flops per run; for one_to_one also scipy's assignment, one run at a time.
    """
    if a.shape[-1] != b.shape[-1] or len(a) != len(b) or (one_to_one and a.shape[-2] > b.shape[-2]):
        raise ValueError(
            "a and b must be [run, m_a, d1] and [run, m_b, d1], m_a ≤ m_b for one_to_one, "
            f"got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    cosines = (a / a.norm(dim=-1, keepdim=True) @ (b / b.norm(dim=-1, keepdim=True)).mT).abs()
    if not one_to_one:
        return cosines.argmax(-1), cosines.amax(-1)
    from scipy.optimize import linear_sum_assignment

    columns = np.stack([linear_sum_assignment(run, maximize=True)[1] for run in np.asarray(cosines.detach().cpu())])
    partner = torch.from_numpy(columns).to(a.device)
    return partner, cosines.gather(-1, partner.unsqueeze(-1)).squeeze(-1)


def _check_threshold(name: str, threshold: float) -> None:
    if not 0 < threshold <= 1:
        raise ValueError(f"{name}: threshold must be in (0, 1], got {threshold}")
