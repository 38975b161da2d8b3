"""Populations with a density on a disc of the plane: A(w), E[h] and the boundary term, by quadrature."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.gated_covariance import gated_covariance, gaussian_gated_covariance
from ...losses.pairwise_importance import gaussian_features
from ...numerics.bound_search import climb
from .sphere_flow import MatrixField


@dataclass(frozen=True)
class DiscPopulation:
    """Densities p(x) ∝ exp(c_0 s² + Σ_k a_k Re z^k + b_k Im z^k), z = (x1 + i x2)/R, s = |z|, on ‖x‖ ≤ R.

    Smooth and positive; if all coefficients are zero, the uniform disc.

    Args:
        coefficients: c_0, a_1, b_1, a_2, …, `[run, 1 + 2K]`.
        radius: R > 0 (the C0 of Theorem 2).
        radial: points of the Gauss–Legendre rule along the radius.
        angular: points of the Gauss–Legendre rule over the angles of half a disc, or of each sector for two filters.
    Raises: ValueError for coefficients of another shape and radius ≤ 0.
    """

    coefficients: Tensor
    radius: float = 1.0
    radial: int = 16
    angular: int = 40

    def __post_init__(self) -> None:
        shape = list(self.coefficients.shape)
        if len(shape) != 2 or shape[1] % 2 == 0:
            raise ValueError(f"coefficients must have shape [run, 1 + 2K], got {shape}")
        if not self.radius > 0:
            raise ValueError(f"radius must be > 0, got {self.radius}")

    def at(self, run: Tensor) -> "DiscPopulation":
        """The populations with the given indices, which may repeat."""
        return replace(self, coefficients=self.coefficients[run])

    def log_density(self, x: Tensor) -> Tensor:
        """log p(x) up to the normalising constant: x `[run, q, 2]` to `[run, q]`."""
        z = torch.complex(x[..., 0], x[..., 1]) / self.radius
        c = self.coefficients.unsqueeze(1)
        out, power = c[..., 0] * z.abs().square(), torch.ones_like(z)
        for k in range(1, c.shape[-1], 2):
            power = power * z
            out = out + c[..., k] * power.real + c[..., k + 1] * power.imag
        return out

    def nodes(self, *w: Tensor) -> tuple[Tensor, Tensor]:
        """Quadrature of the population split at wᵀx = 0 for each w: points `[run, q, 2]`, probabilities `[run, q]`.

        Args:
            w: one or more `[run, 2]`, unit.
        Returns: q = 2·radial·angular points for one w, twice as many for two.
        Error: spectral in `radial` and `angular`.
        """
        x, log_mass = self._log_masses(*w)
        return x, torch.softmax(log_mass, dim=-1)

    def _log_masses(self, *w: Tensor) -> tuple[Tensor, Tensor]:
        rays = torch.cat([torch.atan2(s * v[:, :1], -s * v[:, 1:]) for v in w for s in (1, -1)], -1).sort(-1).values
        width = torch.cat((rays[:, 1:], rays[:, :1] + 2 * math.pi), -1) - rays
        r, r_weight = _gauss_legendre(self.radial, 0.0, self.radius, w[0])
        unit, weight = _gauss_legendre(self.angular, 0.0, 1.0, w[0])
        phi = (rays.unsqueeze(-1) + width.unsqueeze(-1) * unit).flatten(1)
        phi_weight = (width.unsqueeze(-1) * weight).flatten(1)
        x = (torch.stack((phi.cos(), phi.sin()), -1).unsqueeze(-2) * r[:, None]).flatten(1, 2)
        area = (phi_weight.unsqueeze(-1) * (r * r_weight)).flatten(1)
        return x, self.log_density(x) + area.log()

    def boundary(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """The line wᵀx = 0: B = ∫ xxᵀ p dS `[run, 2, 2]` and the largest density on it `[run]`.

        Source: tian-2023, the plane of Theorem 2; B itself is not in the paper.
        Error: B spectral; the maximum is over 513 equally spaced points, low by O(R²/512²) of its curvature.
        """
        t, log_z = _quarter_turn(w), self._log_masses(w)[1].logsumexp(-1, keepdim=True)
        r, weight = _gauss_legendre(2 * self.radial, -self.radius, self.radius, w)
        p = torch.exp(self.log_density(r[:, None] * t[:, None, :]) - log_z)
        b = (p * weight * r.square()).sum(-1)[:, None, None] * t.unsqueeze(-1) * t.unsqueeze(-2)
        return b, self._line(w)[1].amax(-1)

    def _line(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """513 equally spaced points of the line wᵀx = 0, including the ends and the centre, and the density there."""
        log_z = self._log_masses(w)[1].logsumexp(-1, keepdim=True)
        x = torch.linspace(-self.radius, self.radius, 513, dtype=w.dtype, device=w.device)[:, None]
        x = x * _quarter_turn(w)[:, None, :]
        return x, torch.exp(self.log_density(x) - log_z)

    def matrix_field(self, act: Activation, tau: float = math.inf, frozen: Tensor | None = None) -> MatrixField:
        """w `[run, 2]` ↦ A(w) = C_α[x̃^w] `[run, 2, 2]` for α = exp(−(h_i − h_j)²/2τ); τ = ∞ is uniform α.

        α never carries a gradient.
        Source: tian-2023, eq. (7), Corollary 2.
        Args:
            act: the activation h.
            tau: τ > 0.
            frozen: the filter of α, `[run, 2]`; by default w itself.
        Cost: q flops for τ = ∞, otherwise q² exponentials.
        """

        def field(w: Tensor) -> Tensor:
            if math.isinf(tau):
                x, p = self.nodes(w)
                return gated_covariance(x, w, act, p)
            v = w if frozen is None else frozen
            x, p = self.nodes(w) if frozen is None else self.nodes(w, v)
            h = act.h(torch.einsum("rqd,rd->rq", x, v))
            return gaussian_gated_covariance(x, w, act, p, h, tau)

        return field

    def mean_activation(self, w: Tensor, act: Activation, tau: float = math.inf) -> Tensor:
        """E[h e^{−h²/2τ}] with h = h(wᵀx); τ = ∞ gives E[h]. `[run]`."""
        x, p = self.nodes(w)
        h = act.h(torch.einsum("rqd,rd->rq", x, w))
        return (p * h * torch.exp(-h.square() / (2 * tau))).sum(-1)

    def boundary_roughness(self, w: Tensor, act: Activation, tau: float = math.inf) -> Tensor:
        """ρ(w) in closed form: |h'(0+) − h'(0−)| · |E[h e^{−h²/2τ}]| · λmax(B); τ = ∞ is uniform α. `[run]`.

        Source: not in tian-2023, which bounds it in eqs. (87)–(90); for Gaussian α only φ_0 is nonzero on the plane.
        """
        b, _ = self.boundary(w)
        side = torch.ones(1, dtype=w.dtype, device=w.device)
        jump = float(act.slope(side) - act.slope(-side))
        return abs(jump) * self.mean_activation(w, act, tau).abs() * torch.linalg.eigvalsh(b)[..., -1]

    def plane_importance(self, w: Tensor, act: Activation, tau: float = math.inf, order: int = 12) -> Tensor:
        """r(w, α) = Σ_l z_l² max_{wᵀx=0} p̃_l(x) = Σ_l z_l max_{wᵀx=0} φ_l p, summed to l = order. `[run]`.

        Source: tian-2023, Theorem 2, eq. (96); uniform α (τ = ∞) has only the term l = 0, with z_0 = φ_0 = 1.
        """
        if math.isinf(tau):
            return self.boundary(w)[1]
        (x, p), (line, density) = self.nodes(w), self._line(w)
        inside, plane = (
            gaussian_features(act.h(torch.einsum("rqd,rd->rq", v, w)).unsqueeze(-1), order, tau, 0.0) for v in (x, line)
        )
        z = torch.einsum("rq,rql->rl", p, inside)
        return (z * (plane * density.unsqueeze(-1)).amax(-2)).sum(-1)

    def roughness_bound(self, w: Tensor, power: int = 3, r: Tensor | None = None) -> Tensor:
        """Theorem 2's bound C0^power·vol(C0)/π·r(w, α); r is `plane_importance`, by default of uniform α. `[run]`.

        Source: tian-2023, Theorem 2 prints power 3; its proof gives 2, since (78) and (89) take ∫dx over a wedge of
        angle a to be C0·vol(C0)·a/2π instead of vol(C0)·a/2π.
        """
        r = self.boundary(w)[1] if r is None else r
        return self.radius**power * (math.pi * self.radius**2) / math.pi * r

    def z0(self, w: Tensor, act: Activation, tau: float) -> Tensor:
        """z_0 = E[e^{−h²/2τ}], the mass of the lowest Gaussian component. `[run]`. Source: tian-2023, eq. (100)."""
        x, p = self.nodes(w)
        h = act.h(torch.einsum("rqd,rd->rq", x, w))
        return (p * torch.exp(-h.square() / (2 * tau))).sum(-1)


def random_disc_population(
    generators: list[torch.Generator], harmonics: int = 3, scale: float = 1.0, **rule: float
) -> DiscPopulation:
    """Random smooth densities, one per generator: independent Gaussian coefficients of standard deviation `scale`.

    Args:
        generators: random streams, one per run, at least one.
        harmonics: K ≥ 1.
        scale: > 0.
        rule: radius, radial and angular of the DiscPopulation.
    Raises: ValueError without a generator or for harmonics < 1.
    """
    if not generators or harmonics < 1:
        raise ValueError(
            f"harmonics and the number of generators must be ≥ 1, got {harmonics} and {len(generators)} generators"
        )
    rows = [torch.randn(1 + 2 * harmonics, generator=g, dtype=torch.float64, device=g.device) for g in generators]
    return DiscPopulation(scale * torch.stack(rows), **rule)


def ascend_bound_ratio(
    population: DiscPopulation, w: Tensor, act: Activation, steps: int = 50, rate: float = 0.2
) -> DiscPopulation:
    """Densities with a larger ratio ρ(w)/(C0²vol(C0)/π·r): gradient ascent (Adam) in the coefficients.

    In the plane ρ ≤ E[h]·(2/3)C0³·max p, so the ratio is at most (2/3)·E[h]/C0 < 2/3, which is approached as the mass
    moves to the edge in front of w while the density on the line stays flat.

    Args:
        population: the densities to start from.
        w: `[run, 2]`, unit.
        act: the activation h.
        steps: number of steps, each a gradient of the closed form, ≥ 1.
        rate: coefficients per step, > 0.
    Returns: populations.
    """

    def ratio(coefficients: Tensor) -> Tensor:
        trial = replace(population, coefficients=coefficients)
        return trial.boundary_roughness(w, act) / trial.roughness_bound(w, 2)

    return replace(population, coefficients=climb(ratio, population.coefficients, steps, rate))


def _gauss_legendre(n: int, low: float, high: float, like: Tensor) -> tuple[Tensor, Tensor]:
    rule = np.polynomial.legendre.leggauss(n)
    node, weight = (torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in rule)
    return low + (high - low) * (node + 1) / 2, weight * (high - low) / 2


def _quarter_turn(w: Tensor) -> Tensor:
    return torch.stack((-w[..., 1], w[..., 0]), dim=-1)
