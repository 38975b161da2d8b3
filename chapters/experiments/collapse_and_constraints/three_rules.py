"""One start under three rules of training: no constraint, the norm held, orthonormal layers.

Shapes: q `[2, 2]`, row j is u(v_j) in the eigenbasis of C/n = VΛVᵀ; eigenvalues `[2]`, ascending; times `[t]`. For half
moons C/n = ν μμᵀ − E[xxᵀ], with ν negatives for each positive. λ_1 is always negative; λ_2 is positive for
ν > 1/(μᵀE[xxᵀ]⁻¹μ) = 1.93.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.collapse_and_constraints.constrained_flow import Velocity, output_flow, output_velocity
from contrastive_dynamics.collapse_and_constraints.unconstrained_flow import linear_flow
from contrastive_dynamics.data.half_moons import half_moon_law


class Spectrum(NamedTuple):
    """C/n = VΛVᵀ."""

    values: Tensor  # [2], ascending
    vectors: Tensor  # [2, 2], columns v_1 and v_2, a rotation


class Rules(NamedTuple):
    """The outputs of the eigenvectors over time under each rule, `[t, 2, 2]`."""

    none: Tensor
    norm: Tensor
    layers: Tensor


def half_moon_spectrum(negatives: float) -> Spectrum:
    """Eigenvalues and eigenvectors of ν μμᵀ − E[xxᵀ] for infinitely many points on half moons.

    Source: esser-2023, the display of E[C̃] below Theorem 3; Example 1.
    Args:
        negatives: ν, how many negatives each positive has, ≥ 0.
    Returns: Spectrum; v_2 lies in the first quadrant and v_1 is v_2 turned by −90°, so V is continuous in ν.
    Raises: ValueError for ν < 0.
    """
    if not negatives >= 0:
        raise ValueError(f"negatives must be ≥ 0, got {negatives}")
    mean, moment = half_moon_law()
    values, vectors = torch.linalg.eigh(negatives * torch.outer(mean, mean) - moment)
    second = vectors[:, 1] * vectors[:, 1].sum().sign()  # C₁₂ > 0 for every ν ≥ 0: both entries have one sign
    return Spectrum(values, torch.stack((torch.stack((second[1], -second[0])), second), -1))


def rotated_start(size: float, angle: float) -> Tensor:
    """q0 = s R(α) diag(1, 0.6) R(0.4), R(α) the rotation by α.

    Every ‖q0‖ ≤ 1 is the start of some network of width h ≥ 4. Layers drawn uniformly have a start of size s if h is
    about 3/s²: the median of h‖q0‖² is 3.5 at h = 6, and 2.9 to 3.1 from h = 20 to 1000 (400 draws each).

    Args:
        size: s = ‖q0‖₂, above 0 up to 1.
        angle: α in radians.
    Returns: `[2, 2]`, float64.
    Raises: ValueError for another size.
    """
    if not 0 < size <= 1:
        raise ValueError(f"size must be above 0 and at most 1, got {size}")
    shape = torch.diag(torch.tensor([1, 0.6], dtype=torch.float64))
    return size * _rotation(angle) @ shape @ _rotation(0.4)


def _rotation(angle: float) -> Tensor:
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


def three_rules(
    q0: Tensor,
    lam: Tensor,
    times: Tensor,
    velocity: Velocity = output_velocity,
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> Rules:
    """Outputs under no rule, q = e^{−2Λt}q0, with the norm held, q·‖q0‖_F/‖q‖_F, and of orthonormal layers, (9).

    The first two are exact for u = Θx: its gradient flow, and the same projected onto the sphere ‖Θ‖_F = ‖Θ(0)‖_F. Two
    layers of bounded norm end like the second (Proposition 2).

    Source: esser-2023, Propositions 1 and 2, eq. (9).
    Args:
        q0: start, `[2, 2]`, ‖q0‖ ≤ 1.
        lam: eigenvalues, `[2]`.
        times: `[t]`, two or more, increasing, the first that of q0.
        velocity: of orthonormal layers, `output_velocity` or `polar_velocity`.
        rtol, atol: tolerances per step of `output_flow`.
    Returns: Rules.
    Raises: ValueError as `linear_flow` and `output_flow`.
    Error: of `none` and `norm` rounding, of `layers` as `output_flow`.
    Cost: as `output_flow` with one run.
    """
    direction, log_norm = linear_flow(q0.mT, torch.diag(lam), times - times[0])
    held = direction.mT * q0.norm()
    layers = output_flow(q0[None], lam, times, velocity, rtol, atol)[:, 0]
    return Rules(direction.mT * log_norm.exp()[:, None, None], held, layers)
