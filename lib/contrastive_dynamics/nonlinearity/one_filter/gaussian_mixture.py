"""Gaussian mixtures: A(w), E[h] and the boundary term of a population with a density, exact in any dimension."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ...losses.activations import Activation
from .sphere_flow import MatrixField


@dataclass(frozen=True)
class GaussianMixture:
    """x ~ Σ_c weight_c N(mean_c, covariance_c), one mixture per run.

    Within a component s = wᵀx is N(m, v) and x = mean + k (s − m) + r, with k = Σw/v and r independent of s, so every
    moment of the gated input x h'(s) follows from one-dimensional moments of the slope h'(s).

    Args:
        mean: `[run, c, d]`.
        covariance: `[run, c, d, d]`, positive definite.
        weight: `[run, c]`, positive with sum 1.
    Raises: ValueError for shapes that do not fit.
    """

    mean: Tensor
    covariance: Tensor
    weight: Tensor

    def __post_init__(self) -> None:
        run, c, d = self.mean.shape if self.mean.ndim == 3 else (0, 0, 0)
        got = [list(t.shape) for t in (self.mean, self.covariance, self.weight)]
        if got != [[run, c, d], [run, c, d, d], [run, c]]:
            raise ValueError(f"mean, covariance and weight must be [run, c, d], [run, c, d, d] and [run, c], got {got}")

    def at(self, run: Tensor) -> "GaussianMixture":
        """The mixtures with the given indices (or bool mask); an index may be repeated."""
        return GaussianMixture(self.mean[run], self.covariance[run], self.weight[run])

    def matrix_field(self, act: Activation) -> MatrixField:
        """w `[run, d]` ↦ A(w) = V[x h'(wᵀx)] `[run, d, d]`, uniform importance, no augmentation, infinite batch.

        Source: tian-2023, eq. (7) with Corollary 1.
        Raises: ValueError for an activation that is neither of degree 1 nor quadratic.
        Cost: about 6·c·d² flops.
        """
        moments = _slope_moments(act)

        def field(w: Tensor) -> Tensor:
            m, v, k = self._along(w)
            g, g1, gg, gg1, gg2 = (moment.unsqueeze(-1) for moment in moments(m, v))
            first = torch.einsum("rc,rcd->rd", self.weight, g * self.mean + g1 * k)
            mu, kk = _outer(self.mean, self.mean), _outer(k, k)
            rest = self.covariance - v[..., None, None] * kk
            cross = _outer(self.mean, k)
            second = gg.unsqueeze(-1) * (rest + mu) + gg1.unsqueeze(-1) * (cross + cross.mT) + gg2.unsqueeze(-1) * kk
            return torch.einsum("rc,rcde->rde", self.weight, second) - _outer(first, first)

        return field

    def mean_activation(self, w: Tensor, act: Activation) -> Tensor:
        """E[h(wᵀx)] `[run]`, since h(s) = s h'(s) / degree."""
        m, v, _ = self._along(w)
        g, g1, *_ = _slope_moments(act)(m, v)
        return (self.weight * (m * g + g1)).sum(-1) / act.degree

    def boundary(self, w: Tensor) -> Tensor:
        """B = ∫_{wᵀx=0} xxᵀ p dS `[run, d, d]` for unit w; not in tian-2023."""
        m, v, k = self._along(w)
        density = self.weight * torch.exp(-m.square() / (2 * v)) / (2 * math.pi * v).sqrt()
        there = self.mean - m.unsqueeze(-1) * k  # mean of x given s = 0
        rest = self.covariance - v[..., None, None] * _outer(k, k)
        return torch.einsum("rc,rcde->rde", density, rest + _outer(there, there))

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """n points of each mixture, `[run, n, d]`, all from one generator."""
        component = torch.multinomial(self.weight, n, replacement=True, generator=generator)
        noise = torch.randn(
            *component.shape, self.mean.shape[-1], dtype=self.mean.dtype, device=self.mean.device, generator=generator
        )
        rows = torch.arange(len(component), device=component.device).unsqueeze(-1)
        root = torch.linalg.cholesky(self.covariance)[rows, component]
        return self.mean[rows, component] + torch.einsum("rnde,rne->rnd", root, noise)

    def _along(self, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and variance of wᵀx `[run, c]` and the regression k of x on it `[run, c, d]`."""
        image = torch.einsum("rcde,re->rcd", self.covariance, w)
        v = torch.einsum("rcd,rd->rc", image, w)
        return torch.einsum("rcd,rd->rc", self.mean, w), v, image / v.unsqueeze(-1)


def random_gaussian_mixture(
    generators: list[torch.Generator], d: int, components: int = 3, spread: float = 1.0
) -> GaussianMixture:
    """Random mixtures, one per generator: means N(0, spread² I), covariances GGᵀ/d + I/10, equal weights.

    G is a d × d matrix of independent N(0, 1) entries.

    Args:
        generators: random streams, one per run, at least one.
        d: dimension, ≥ 2.
        components: components per mixture, ≥ 1.
        spread: standard deviation of the means, ≥ 0.
    Raises: ValueError for arguments outside these ranges.
    """
    if not generators or d < 2 or components < 1 or not spread >= 0:
        raise ValueError(
            "the number of generators must be ≥ 1, d ≥ 2, components ≥ 1 and spread ≥ 0, "
            f"got {len(generators)} generators, d={d}, components={components}, spread={spread}"
        )
    draws = [
        torch.randn(components, d, d + 1, generator=g, dtype=torch.float64, device=g.device).split((1, d), dim=-1)
        for g in generators
    ]
    mean, root = (torch.stack(part) for part in zip(*draws, strict=True))
    ridge = torch.eye(d, dtype=mean.dtype, device=mean.device) / 10
    weight = mean.new_full((len(generators), components), 1 / components)
    return GaussianMixture(spread * mean.squeeze(-1), root @ root.mT / d + ridge, weight)


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


def _slope_moments(act: Activation):
    """(m, v) ↦ E[g], E[g t], E[g²], E[g² t], E[g² t²] for g = h'(s), s = m + t, t ~ N(0, v)."""
    if act.name == "quadratic":  # g = 2s
        return lambda m, v: (2 * m, 2 * v, 4 * (m**2 + v), 8 * m * v, 4 * (m**2 * v + 3 * v**2))
    if act.degree != 1:
        raise ValueError(f"act must have degree 1 or be quadratic, got {act.name!r}")

    def moments(m: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        side = torch.ones(1, dtype=m.dtype, device=m.device)
        behind, ahead = act.slope(-side), act.slope(side)  # g = behind for s < 0, ahead for s > 0
        above = torch.special.ndtr(m / v.sqrt())  # P[s > 0]
        edge = v.sqrt() * torch.exp(-m.square() / (2 * v)) / math.sqrt(2 * math.pi)  # E[t; s > 0]
        spread = v * above - m * edge  # E[t²; s > 0]
        step, jump = ahead - behind, ahead**2 - behind**2
        return behind + step * above, step * edge, behind**2 + jump * above, jump * edge, behind**2 * v + jump * spread

    return moments
