"""The energy of one filter on the unit circle and its strict local maxima, counted on a grid and found exactly."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.gated_covariance import gated_covariance
from .sphere_flow import MatrixField, sphere_velocity

# The nine data points of Figure 8, as multiples of pi (tian-2023, Appendix E).
FIGURE_8_POINTS = (-4 / 5, -1 / 2, -2 / 5, -1 / 6, 0.0, 1 / 5, 2 / 5, 3 / 5, 4 / 5)


def on_circle(theta: Tensor) -> Tensor:
    """Unit vectors (cos θ, sin θ): theta `[...]`, radians, to `[..., 2]`."""
    return torch.stack((theta.cos(), theta.sin()), dim=-1)


def circle_grid(angles: int, like: Tensor) -> Tensor:
    """Equally spaced angles in [−π, π).

    Args:
        angles: their number, ≥ 8.
        like: gives dtype and device.
    Returns: `[angles]`, radians.
    Raises: ValueError for angles < 8.
    """
    if angles < 8:
        raise ValueError(f"angles must be ≥ 8, got {angles}")
    return torch.arange(angles, dtype=like.dtype, device=like.device) * (2 * math.pi / angles) - math.pi


def energy(w: Tensor, x: Tensor, act: Activation) -> Tensor:
    """E(w) = ½ V[h(wᵀx)], the energy of one filter for uniform pairwise importance and no augmentation.

    Source: tian-2023, eq. (5) with K = 1 and Corollary 1.
    Args:
        w: filters `[run, m, d]`.
        x: points `[run, n, d]`, equally likely.
        act: the activation h.
    Returns: `[run, m]`.
    Cost: 2·n·d flops per filter, memory run·m·n.
    """
    return act.h(w @ x.mT).var(dim=-1, correction=0) / 2


def falls(slope: Tensor, tol: float = 0.0) -> Tensor:
    """Where a periodic sequence of slopes turns from rising to falling: one mark per strict maximum.

    Slopes of size `tol` or less belong to the plateau around them, so a plateau counts once, and as a maximum only if
    it is entered rising and left falling; a sequence that is flat everywhere has none.

    Args:
        slope: `[..., m]`, slope[j] belonging to the step from point j to j + 1 (or to point j of a vector field).
        tol: ≥ 0.
    Returns: bool `[..., m]`, true at the last rising or flat step before the fall.
    Cost: m log m.
    """
    sign = torch.where(slope.abs() <= tol, 0, slope.sign()).to(torch.int64)
    m = sign.shape[-1]
    # Each flat step takes the sign of the last step that was not flat, going once around the circle.
    place = torch.where(torch.cat((sign, sign), -1) != 0, torch.arange(2 * m, device=slope.device), -1)
    last = place.cummax(-1).values[..., m:]
    filled = torch.where(last >= 0, torch.cat((sign, sign), -1).gather(-1, last.clamp(min=0)), 0)
    return (filled > 0) & (filled.roll(-1, -1) < 0)


def count_maxima(values: Tensor, rounding: float = 16.0) -> Tensor:
    """Number of strict local maxima of a function sampled around the circle; a plateau counts once.

    Two neighbours count as equal when they differ by at most `rounding` units in the last place of max |value|.

    Args:
        values: `[..., m]`, periodic.
        rounding: in units in the last place.
    Returns: int64 `[...]`.
    Error: maxima closer than two grid steps merge.
    """
    tol = rounding * torch.finfo(values.dtype).eps * values.abs().amax(-1, keepdim=True)
    step = values.roll(-1, -1) - values
    return falls(torch.where(step.abs() <= tol, 0.0, step)).sum(-1)


def count_energy_maxima(x: Tensor, act: Activation, angles: int = 100_000) -> Tensor:
    """Number of strict local maxima of E(θ) = ½ V[h(wᵀx)], w = (cos θ, sin θ), on a grid of the circle.

    Source: tian-2023, Figure 8.
    Args:
        x: points `[run, n, 2]`.
        act: the activation h.
        angles: number of angles of the grid, ≥ 8.
    Returns: int64 `[run]`.
    Cost: run·angles·n.
    """
    _planar(x, "count_energy_maxima")
    w = on_circle(circle_grid(angles, x)).expand(x.shape[0], -1, -1)
    return count_maxima(energy(w, x, act))


def blurred_landscape(angle: Tensor, width: Tensor, angles: int = 4096) -> tuple[Tensor, Tensor, Tensor]:
    """Energy, roughness and angular speed of a ReLU filter when each point on the circle is blurred to a density.

    Point i becomes the von Mises density of angle φ_i and concentration 1/width². With p the density of the angle,
    E[h] = p ∗ cos₊, E[h²] = p ∗ cos₊², ρ(θ) = E[h]·(p(θ + π/2) + p(θ − π/2)); sharper points are rougher.
    Everywhere E'' = −(gap + ρ): for ReLU roughness makes a stationary point more stable, not less.
    Source: not in tian-2023; the setting of Figure 8 and the roughness of Section 3.2.
    Args:
        angle: `[n]`, radians.
        width: `[run]`, radians, each at least 4 grid steps 2π/angles.
        angles: number of angles of the grid, a multiple of 4 and ≥ 8.
    Returns: energy, ρ and gap = wᵀAw − tᵀAt, t ⊥ w, on `circle_grid`, `[run, angles]` each. A stationary w is an LME if
        gap > 0, and then gap is λ1 − λ2.
    Raises: ValueError for a width that the grid cannot resolve, and for angles outside their range.
    Error: spectral in p, O(angles⁻²) at the edge of cos₊.
    """
    if angles % 4 or not bool((width >= 8 * math.pi / angles).all()):
        got = f"{angles}, {float(width.min()):.3g}"
        raise ValueError(f"angles must be a multiple of 4 and width ≥ 8π/angles, got {got}")
    theta = circle_grid(angles, angle)
    cosine = torch.cos(theta[:, None] - angle) - 1
    p = torch.exp(cosine / width[:, None, None].square()).sum(-1)
    p = p / (p.mean(-1, keepdim=True) * 2 * math.pi)

    def mean(kernel: Tensor) -> Tensor:  # ∫ p(φ) kernel(φ − θ) dφ on the grid; kernel is sampled at θ + π, from 0 on
        weight = torch.fft.rfft(kernel.roll(-angles // 2)).conj()
        return torch.fft.irfft(torch.fft.rfft(p) * weight, n=angles) * (2 * math.pi / angles)

    ahead = torch.where(theta.cos().abs() < 1e-6, 0.5, (theta.cos() > 0).to(p.dtype))  # trapezoid rule at the jump
    h = mean(ahead * theta.cos())
    variance = mean(ahead * theta.cos().square()) - h.square()
    other = mean(ahead * theta.sin().square()) - mean(ahead * theta.sin()).square()
    rough = h * (p.roll(angles // 4, -1) + p.roll(-angles // 4, -1))
    return variance / 2, rough, variance - other


@dataclass(frozen=True)
class CircleFixedPoints:
    """Where the flows of several populations on the circle are at rest. All fields `[points]`."""

    run: Tensor  # int64, the run that the point belongs to
    theta: Tensor  # radians
    stable: Tensor  # bool: the speed falls through zero
    speed: Tensor  # |P⊥A(w)w| left by the bisection; not small where the field jumps through zero

    @property
    def w(self) -> Tensor:
        """Unit vectors `[points, 2]`."""
        return on_circle(self.theta)


def circle_fixed_points(
    field_at: Callable[[Tensor], MatrixField],
    runs: int,
    like: Tensor,
    angles: int = 360,
    bisections: int = 45,
    block: int = 8,
) -> CircleFixedPoints:
    """All fixed points of ẇ = P⊥A(w)w on the circle, stable and unstable: sign changes of the speed, bisected.

    Args:
        field_at: takes indices of populations, int64 `[m]`, and returns their matrix field, `[m, 2] -> [m, 2, 2]`.
        runs: number of populations.
        like: gives dtype and device.
        angles: number of angles of the grid, ≥ 8.
        bisections: halvings of a grid step.
        block: angles of the grid that are evaluated together; it affects only the memory, which grows with it.
    Returns: CircleFixedPoints.
    Error: pairs within one grid step of 2π/angles are missed; θ to 2π/angles/2^bisections.
    Cost: runs·angles filters on the grid, then bisections for every fixed point.
    """
    everyone = torch.arange(runs, device=like.device)
    grid = circle_grid(angles, like) + 0.123 * 2 * math.pi / angles  # away from round angles, where symmetry puts zeros
    parts = []
    for theta in grid.split(block):
        field = field_at(everyone.repeat_interleave(len(theta)))
        parts.append(_turning_speed(field, theta.repeat(runs)).view(runs, -1))
    speed = torch.cat(parts, dim=-1)
    run, k = torch.nonzero((speed > 0) != (speed.roll(-1, -1) > 0), as_tuple=True)
    stable, field = speed[run, k] > 0, field_at(run)
    low, width = grid[k], 2 * math.pi / angles
    for _ in range(bisections):
        width = width / 2
        low = torch.where((_turning_speed(field, low + width) > 0) == stable, low + width, low)
    return CircleFixedPoints(run, low, stable, _turning_speed(field, low + width / 2).abs())


def _turning_speed(field: MatrixField, theta: Tensor) -> Tensor:
    """dθ/dt of the sphere flow at w = (cos θ, sin θ). `[run]`."""
    w = on_circle(theta)
    return (sphere_velocity(field, w) * torch.stack((-w[..., 1], w[..., 0]), -1)).sum(-1)


@dataclass(frozen=True)
class CircleMaximum:
    """A strict local maximum of the energy on the circle."""

    theta: float  # radians, in [−π, π)
    energy: float
    at_kink: bool  # some point has wᵀx = 0
    eigen_residual: float  # ‖P⊥ A(w) w‖ / λmax(A(w)), with h'(0) = 0
    is_lme: bool  # w is an eigenvector of A(w) for a distinct largest eigenvalue


def energy_maxima(x: Tensor, act: Activation) -> list[CircleMaximum]:
    """Every strict local maximum of the energy on the circle, from the quadratic form of each arc.

    Between two kinks wᵀx_i = 0 the gates are fixed, E = ½ wᵀAw with constant A, so an arc has at most one inner
    maximum, at ± the top eigenvector of its A; a kink is a maximum if E rises before it and falls after it. Valid for
    activations that are linear on each side of 0. Independent of any grid.

    Args:
        x: points `[n, 2]`, preferably float64.
        act: the activation h, of degree 1.
    Returns: maxima by increasing angle.
    Raises: ValueError if the activation has a degree other than 1.
    Cost: O(n²).
    """
    if act.degree != 1:
        raise ValueError(f"act must have degree 1, got {act.name!r} of degree {act.degree}")
    _planar(x.unsqueeze(0), "energy_maxima")
    kinks = _kinks(x)
    nxt = kinks.roll(-1)
    width = torch.remainder(nxt - kinks, 2 * math.pi)
    a = gated_covariance(x.expand(len(kinks), -1, -1), on_circle(kinks + width / 2), act)
    # E = ¼ (tr A + D cos 2(θ − φ)), so dE/dθ = −½ D sin 2(θ − φ) with φ the angle of the top eigenvector.
    phi = 0.5 * torch.atan2(2 * a[:, 0, 1], a[:, 0, 0] - a[:, 1, 1])
    spread = torch.hypot(2 * a[:, 0, 1], a[:, 0, 0] - a[:, 1, 1])
    after, before = (-spread * torch.sin(2 * (kinks - phi)), -spread * torch.sin(2 * (nxt - phi)))
    small = 1e-12 * spread.max()
    found = []
    for k in range(len(kinks)):
        if before[k - 1] > small and after[k] < -small:
            found.append(_maximum(float(kinks[k]), True, x, act))
        inner = torch.remainder(phi[k] - kinks[k], math.pi)
        while inner < width[k] - 1e-12:
            if inner > 1e-12 and spread[k] > small:
                found.append(_maximum(float(kinks[k] + inner), False, x, act))
            inner = inner + math.pi
    return sorted(found, key=lambda m: m.theta)


def _kinks(x: Tensor) -> Tensor:
    """Sorted distinct angles at which wᵀx_i = 0 for some i, in [−π, π)."""
    angle = torch.atan2(x[:, 1], x[:, 0])
    both = torch.remainder(torch.cat((angle + math.pi / 2, angle - math.pi / 2)) + math.pi, 2 * math.pi) - math.pi
    ordered = both.sort().values
    gap = torch.remainder(ordered.roll(-1) - ordered, 2 * math.pi)
    keep = gap > 1e-9  # points on one ray, or opposite each other, share their kinks
    return ordered[keep] if keep.any() else ordered[:1]


def _maximum(theta: float, at_kink: bool, x: Tensor, act: Activation) -> CircleMaximum:
    w = on_circle(torch.tensor(theta, dtype=x.dtype, device=x.device))
    proj = x @ w
    # At a kink rounding decides the sign of wᵀx_i; the convention is h'(0) = 0, reached by moving x_i onto the line.
    x = torch.where((proj.abs() <= 1e-9 * x.norm(dim=-1)).unsqueeze(-1), 0.0, x) if at_kink else x
    a = gated_covariance(x, w, act)
    lam = torch.linalg.eigvalsh(a)
    residual = float((a @ w - w * (w @ a @ w)).norm() / lam[-1])
    top = abs(float(w @ a @ w / lam[-1]) - 1) < 1e-9
    is_lme = residual < 1e-9 and top and float(lam[-1] - lam[-2]) > 1e-9 * float(lam[-1])
    value = float(energy(w.view(1, 1, 2), x.unsqueeze(0), act))
    return CircleMaximum((theta + math.pi) % (2 * math.pi) - math.pi, value, at_kink, residual, is_lme)


def _planar(x: Tensor, name: str) -> None:
    if x.ndim != 3 or x.shape[-1] != 2:
        raise ValueError(f"{name}: x must have shape [run, n, 2], got {list(x.shape)}")
