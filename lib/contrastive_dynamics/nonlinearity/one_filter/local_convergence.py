"""Power iteration from a good initial guess: the rate and the region of thm-3, and the limits near each pattern.

On finite data a ReLU gate pattern is constant inside a cell of directions, so A(w) is constant there: L = 0, ω = μ.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .sphere_flow import MatrixField, power_iteration


def irregularity(c: Tensor, ratio: Tensor) -> Tensor:
    """μ = ½ (1 + c) c⁻² (λ2/λ1)², which is the whole irregularity ω where A(w) is constant (L = 0).

    Source: tian-2023, Definition 4, eq. (10), with 1 − λ_gap/λ1 = λ2/λ1.
    Args:
        c: wᵀφ1, in (0, 1].
        ratio: λ2/λ1, in [0, 1); broadcasts with c.
    """
    return (1 + c) * ratio**2 / (2 * c**2)


def theorem_region(angle: Tensor, ratio: Tensor, iterations: int = 200) -> tuple[Tensor, Tensor]:
    """Smallest γ with sup_{B_γ} μ ≤ γ (eq. 11) for constant A, and the half angle of the cap B_γ around w(0).

    cos β = (c0 − c_γ)/(1 − c_γ), c_γ = 2√γ/(1 + γ); μ is largest at the point of the cap farthest from φ1,
    so γ = μ(cos(θ0 + β)), solved by iteration from below.

    Source: tian-2023, Theorem 3.
    Args:
        angle: θ0 between w(0) and φ1, radians.
        ratio: λ2/λ1; broadcasts with angle.
        iterations: number of iterations.
    Returns: γ and β in radians; both NaN if no γ < 1 exists.
    """
    c0 = angle.cos()
    gamma = irregularity(c0, ratio)
    beta = torch.zeros_like(gamma)
    for _ in range(iterations):
        # 1 − cos β = (1 − c0)/(1 − c_γ), in half angles to keep the digits of a small θ0
        room = (1 - gamma.sqrt()).square() / (1 + gamma)
        sine = (angle / 2).sin() / room.sqrt()
        beta = torch.where((gamma < 1) & (sine <= 1), 2 * sine.clamp(max=1).asin(), torch.nan)
        reach = angle + beta
        gamma = torch.where(reach < torch.pi / 2, irregularity(reach.cos(), ratio), torch.nan)
    return torch.where(beta.isnan(), torch.nan, gamma), beta


def cell_radius(points: Tensor, w: Tensor) -> Tensor:
    """Angle from unit w to the nearest gating plane {wᵀx = 0} of the data, within which A(w) does not change.

    Args:
        points: `[n, d]`, nonzero.
        w: `[..., d]`, unit.
    Returns: `[...]`, radians.
    Cost: 2·n·d flops per filter.
    """
    return ((w @ points.mT).abs() / points.norm(dim=-1)).amin(-1).clamp(max=1).asin()


def angle_between(a: Tensor, b: Tensor) -> Tensor:
    """Angle between unit vectors a and b `[..., d]`, accurate near 0: 2 asin(‖a − b‖/2). Returns: radians `[...]`."""
    return 2 * ((a - b).norm(dim=-1) / 2).clamp(max=1).asin()


def rate_bound_ratio(
    iterates: Tensor, limit: Tensor, gamma: Tensor, power: float = 1.0, floor: float = 1e-16
) -> Tensor:
    """Largest (1 − c_t) / (γ^t (1 − c_0)) over t: at most 1 if the rate of Theorem 3 holds.

    1 − c_t = 2 sin²(θ_t/2), θ_t the angle to φ1.

    Source: tian-2023, Theorem 3 and its proof.
    Args:
        iterates: `[steps + 1, run, d]`.
        limit: φ1 `[run, d]`.
        gamma: `[run]`.
        power: uses γ^power in place of γ.
        floor: times with γ^t (1 − c_0) at or below it are left out (rounding).
    Returns: `[run]`.
    """
    distance = (iterates - limit).square().sum(-1) / 2
    t = torch.arange(len(iterates), dtype=gamma.dtype, device=gamma.device).unsqueeze(-1)
    bound = gamma**t * distance[0]
    ratio = distance / (gamma ** (power * t) * distance[0])
    return torch.where(bound > floor, ratio, 0.0)[1:].amax(0)


def contraction(discrepancy: Tensor, high: float = 1e-3, low: float = 1e-11) -> Tensor:
    """Mean factor per step by which the iteration discrepancy ‖w(t+1) − w(t)‖ falls between `high` and `low`.

    Source: tian-2023, Figure 1 (right).
    Args:
        discrepancy: `[steps, run]`.
        high: upper end of the window.
        low: lower end of the window.
    Returns: `[run]`; NaN for a run with fewer than two steps in the window.
    Error: high² from the curvature of the sphere, rounding/low from the last step.
    """
    inside = (discrepancy < high) & (discrepancy > low)
    steps = torch.arange(len(discrepancy), device=discrepancy.device).unsqueeze(-1)
    first = torch.where(inside, steps, len(discrepancy)).amin(0).clamp(max=len(discrepancy) - 1)
    last = torch.where(inside, steps, -1).amax(0).clamp(min=0)
    fall = discrepancy.gather(0, last[None])[0] / discrepancy.gather(0, first[None])[0]
    return torch.where(last > first, fall ** (1 / (last - first).clamp(min=1)), torch.nan)


def pattern_contraction(q: Tensor) -> Tensor:
    """λ2/λ1 = q/(1 − q)² of the latent summation model at u_m. Source: tian-2023, eq. (9)."""
    return q / (1 - q).square()


def contraction_slack(measured: Tensor, predicted: Tensor, deviation: float) -> Tensor:
    """|ln(measured/predicted)| / ln((1 + ε)/(1 − ε)), at most 1.

    Tilting the patterns scales every eigenvalue of A(u_m) by a factor in [1 − ε, 1 + ε] (Ostrowski), ε = ‖UᵀU − I‖₂.

    Args:
        measured: contraction.
        predicted: contraction; broadcasts with measured.
        deviation: ε, 0 < ε < 1.
    Returns: their broadcast shape.
    Raises: ValueError for any other deviation (at 0 compare the two rates directly).
    """
    if not 0 < deviation < 1:
        raise ValueError(f"deviation must be > 0 and < 1, got {deviation}")
    allowed = math.log1p(2 * deviation / (1 - deviation))
    return (measured / predicted).log().abs() / allowed


def pattern_angle_bound(q: Tensor, deviation: float) -> Tensor:
    """A-priori bound on the angle between u_m and the top eigenvector of A near it, ε = ‖UᵀU − I‖₂, equal q.

    With U' = U G^{1/2}, δ = 1 − √(1 − ε) ≥ ‖G^{1/2} − I‖: the sin Θ theorem gives
    asin((1−q)² (2δ + δ²) / ((1−q)² − q (1 + ε))) + 2 asin(δ/2); π/2 where the theorem does not apply.

    Args:
        q: `[...]`, below (3 − √5)/2.
        deviation: ε, 0 ≤ ε < 1.
    Returns: `[...]`, radians.
    """
    delta = 1 - (1 - deviation) ** 0.5
    top = (1 - q).square()
    sine = top * (2 * delta + delta**2) / (top - q * (1 + deviation))
    tilt = 2 * torch.asin(torch.as_tensor(delta / 2, dtype=q.dtype, device=q.device))
    return torch.where((sine >= 0) & (sine < 1), sine.clamp(0, 1).asin() + tilt, torch.pi / 2)


def starts_near(patterns: Tensor, angle: Tensor | float, generator: torch.Generator) -> Tensor:
    """Unit vectors at the given angle from each pattern, in a random direction.

    Args:
        patterns: `[..., d]`, unit.
        angle: radians; broadcasts over `[...]`.
        generator: source of the directions.
    Returns: `[..., d]`.
    """
    angle = torch.as_tensor(angle, dtype=patterns.dtype, device=patterns.device).unsqueeze(-1)
    z = torch.randn(patterns.shape, dtype=patterns.dtype, device=patterns.device, generator=generator)
    z = z - patterns * (patterns * z).sum(-1, keepdim=True)
    return angle.cos() * patterns + angle.sin() * torch.nn.functional.normalize(z, dim=-1)


@dataclass(frozen=True)
class TheoremCheck:
    """What Theorem 3 promises for each start, and what happened; all `[run]`."""

    holds: Tensor  # bool: some γ < 1 meets (11) and its cap lies inside one activation cell
    rate: Tensor  # largest (1 − c_t)/(γ^t (1 − c_0)), promised ≤ 1
    stay: Tensor  # angle from start to limit over the half angle of B_γ, promised ≤ 1
    settled: Tensor  # bool: the last step moved by less than 1e-9


def check_theorem(field: MatrixField, points: Tensor, w0: Tensor, steps: int = 40, power: float = 1.0) -> TheoremCheck:
    """Run power iteration from w0 and compare it with Theorem 3, with c_0, φ1, λ2/λ1 and γ taken at w0.

    Source: tian-2023, Theorem 3, with L = 0 inside a cell.
    Args:
        field: matrix field, such as `population_field`.
        points: the data `[n, d]`.
        w0: `[run, d]`, unit.
        steps: number of iterations, ≥ 1.
        power: as in `rate_bound_ratio`.
    Returns: TheoremCheck.
    Raises: as `power_iteration`.
    Cost: that of `power_iteration`.
    """
    run = power_iteration(field, w0, steps)
    values, vectors = torch.linalg.eigh(field(w0))
    phi = vectors[..., -1] * torch.sgn((vectors[..., -1] * w0).sum(-1, keepdim=True))
    gamma, half_angle = theorem_region(angle_between(w0, phi), values[:, -2] / values[:, -1])
    return TheoremCheck(
        holds=half_angle < cell_radius(points, w0),
        rate=rate_bound_ratio(run.w, phi, gamma, power),
        stay=angle_between(run.w[-1], w0) / half_angle,
        settled=run.discrepancy[-1] < 1e-9,
    )
