"""Local optima of a ReLU filter near the patterns of the latent categorical model whose patterns are not orthogonal.

For w near u_m the energy ½ V[h(wᵀx)] has kinks where wᵀu_j = 0: an open gate for another pattern costs p_m p_j (wᵀu_m)
(wᵀu_j) to first order. So a filter near u_m turns until it keeps out the patterns that it would let in.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class CategoricalOptima:
    """The candidate near each pattern, one row per pattern m."""

    w: Tensor  # [M, d], unit
    kinks: Tensor  # [M], int64: patterns j with wᵀu_j = 0, whose gates jump there
    strict: Tensor  # [M], bool: w is a strict local maximum of the energy


def categorical_optima(u: Tensor, probabilities: Tensor) -> CategoricalOptima:
    """The filter nearest to each pattern that lets no other pattern in, and whether it is a local maximum.

    w_m ∝ u_m − Σ_j t_j u_j, the projection on {w : wᵀu_j ≤ 0, j ≠ m}, with t_j ≥ 0 and t_j wᵀu_j = 0. On the sphere the
    energy falls by c (p_j/(1 − p_m) − t_j) per unit of wᵀu_j > 0 and by c t_j per unit of −wᵀu_j > 0, where
    c = p_m(1 − p_m) w_mᵀu_m: a strict maximum if 0 < t_j < p_j/(1 − p_m) wherever w_mᵀu_j = 0.

    Source: derived; tian-2023 states that an optimum close to u_m exists, after Theorem 3.
    Args:
        u: unit, linearly independent patterns `[d, M]`, M ≥ 2.
        probabilities: `[M]`, > 0 with sum 1.
    Returns: CategoricalOptima.
    Raises: ValueError for fewer than two patterns, or probabilities of another number.
    Cost: M non-negative least squares with M − 1 unknowns, on the CPU.
    """
    from scipy.optimize import nnls

    if u.shape[-1] < 2 or probabilities.shape != u.shape[-1:]:
        raise ValueError(f"there must be M ≥ 2 patterns and M probabilities, got {u.shape[-1]}, {len(probabilities)}")
    w, kinks, strict = [], [], []
    for m in range(u.shape[-1]):
        others = torch.arange(u.shape[-1], device=u.device) != m
        t = u.new_tensor(nnls(u[:, others].cpu().numpy(), u[:, m].cpu().numpy())[0])
        rest = u[:, m] - u[:, others] @ t
        room = probabilities[others] / (1 - probabilities[m])
        w.append(rest / rest.norm())
        kinks.append((t > 0).sum())
        strict.append((t < room).all())
    return CategoricalOptima(torch.stack(w), torch.stack(kinks), torch.stack(strict))


def cone_angle_bound(deviation: float) -> float:
    """Largest angle between u_m and its projection on {w : wᵀu_j ≤ 0}, asin(ε/√(1 − ε)), ε = ‖UᵀU − I‖₂; radians.

    The sine is the length of the part of u_m in the span of the patterns kept out, (gᵀH⁻¹g)^½ with g = u_mᵀu_j, where
    ‖g‖ ≤ ε and H ⪰ 1 − ε.

    Source: derived.
    Args:
        deviation: ε, 0 ≤ ε < (√5 − 1)/2.
    Raises: ValueError for any other deviation.
    """
    if not 0 <= deviation < (math.sqrt(5) - 1) / 2:
        raise ValueError(f"deviation must be ≥ 0 and < (√5 − 1)/2, got {deviation}")
    return math.asin(deviation / math.sqrt(1 - deviation))
