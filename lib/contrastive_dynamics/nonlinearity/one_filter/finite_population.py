"""Finite populations with augmentation: exact large-batch limits of C_α, and samples of view pairs."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FinitePopulation:
    """Samples x0 on n0 points and views x on n points, both known by their index.

    Source: tian-2023, Section 2.
    Args:
        prob: P(x0) `[n0]`.
        augment: p_aug(x | x0) `[n0, n]`, the identity without augmentation.
    Raises: ValueError if the shapes do not fit, or if a distribution is negative or does not sum to 1.
    """

    prob: Tensor
    augment: Tensor

    def __post_init__(self) -> None:
        if self.augment.ndim != 2 or self.prob.shape != self.augment.shape[:1]:
            raise ValueError(
                "prob and augment must be [n0] and [n0, n], "
                f"got {tuple(self.prob.shape)} and {tuple(self.augment.shape)}"
            )
        for name, weights in (("prob", self.prob), ("augment", self.augment)):
            off = (weights.sum(-1) - 1).abs().max().item()
            if not (weights.min() >= 0 and off < 1e-6):
                raise ValueError(
                    f"{name} must be ≥ 0 with sum 1, "
                    f"got a least entry of {weights.min().item():.3g} and a sum off by {off:.3g}"
                )


def jittered_population(x0: Tensor, offsets: Tensor, prob: Tensor | None = None) -> tuple[FinitePopulation, Tensor]:
    """Population whose views are x0 plus one of k equally likely offsets.

    Args:
        x0: `[n0, d]`.
        offsets: `[k, d]`.
        prob: `[n0]`, 1/n0 each by default.
    Returns: the population and its views `[n0·k, d]`, with those of each x0 side by side.
    Cost: n0²·k numbers.
    """
    n0, k = x0.shape[0], offsets.shape[0]
    prob = x0.new_full((n0,), 1 / n0) if prob is None else prob
    augment = torch.eye(n0, dtype=x0.dtype, device=x0.device).repeat_interleave(k, -1) / k
    return FinitePopulation(prob, augment), (x0[:, None] + offsets).flatten(0, 1)


def sample_pairs(population: FinitePopulation, n: int, generators: list[torch.Generator]) -> tuple[Tensor, ...]:
    """Batches of n samples with two independent views each, one batch per generator.

    Args:
        population: the samples and their views.
        n: samples per batch, ≥ 1.
        generators: one per run, at least one, each on the device of the population.
    Returns: indices of x0, of its first and of its second view, each `[runs, n]`.
    Raises: ValueError if n < 1 or there is no generator.
    """
    if n < 1 or not generators:
        raise ValueError(f"n and the number of generators must be ≥ 1, got n={n} and {len(generators)} generators")
    rows = []
    for generator in generators:  # one stream per run, so that a run is the same alone and in a batch
        x0 = torch.multinomial(population.prob, n, replacement=True, generator=generator)
        views = torch.multinomial(population.augment[x0], 2, replacement=True, generator=generator)
        rows.append(torch.cat([x0[:, None], views], -1))
    return tuple(torch.stack(rows).unbind(-1))


def expansion_limit(
    g: Tensor, population: FinitePopulation, phi: Tensor, *, inner_mean: bool = True, adjusted: bool = True
) -> Tensor:
    """Large-batch limit of C_α[g] by the kernel expansion of α, Σ_l z_l² V_{x0~p̃_l}[E[g | x0]].

    p̃_l = φ_l P / z_l, z_l = Σ_x0 φ_l P; α_ij = Σ_l φ_l(x0[i]) φ_l(x0[j]).

    Source: tian-2023, Lemma 2, eq. (4), and Corollary 1.
    Args:
        g: values on the views, `[..., n, d]`.
        population: the samples and their views.
        phi: features of α, `[n0, L]` (ones `[n0, 1]` for uniform α).
        inner_mean: False takes V_{x0~p̃_l, x}[g] in place of V[E[g | x0]], eq. (32).
        adjusted: False takes P for p̃_l.
    Returns: `[..., d, d]`, positive semidefinite.
    Raises: ValueError for sizes that differ.
    Cost: n0·L·d + n0·n·d².
    """
    _check(g, population, phi.shape[0])
    mean = population.augment @ g
    weight = population.prob[:, None] * phi
    z = weight.sum(0)
    if not adjusted:
        weight = population.prob[:, None] * z
    outer = weight @ z  # Σ_l z_l φ_l P, the weight of x0 in Σ_l z_l² E_{p̃_l}
    if inner_mean:
        second = (mean * outer[:, None]).mT @ mean
    else:
        second = (g * (outer @ population.augment)[:, None]).mT @ g
    first = weight.mT @ mean  # z_l E_{p̃_l}[g], so that nothing is divided by a z_l of 0
    return second - first.mT @ first


def _check(g: Tensor, population: FinitePopulation, samples: int) -> None:
    n0, n = population.augment.shape
    if g.shape[-2] != n or samples != n0:
        raise ValueError(f"g and α must be given on {n} views and {n0} samples, got {g.shape[-2]} and {samples}")
