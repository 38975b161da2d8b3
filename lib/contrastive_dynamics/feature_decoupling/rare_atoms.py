"""One atom that is rarer than the others, and how many neurons start out lucky for it.

Near the start the mean step of a neuron is κ C w, C = E[x⁺x⁺⁺ᵀ] = M P Mᵀ - diag M P Mᵀ under a mask, P = diag p_j.
Along M_j it is about κ p_j ⟨w, M_j⟩, so it is longest along the rare atom where ⟨w, M_j⟩ is ρ = p/p_rare times as large
as along any other. Coefficients at the start are normal, the largest of n near √(2 log n) of their spread, so this
has a chance of the order of n^{-ρ²}.
"""

from dataclasses import dataclass
from math import gamma, log, pi, sqrt

import numpy as np
import torch
from torch import Tensor

from .sparse_coding import SparseCoding

_NODES = 800  # of the quadrature; 1e-10 up to n = 1e16


@dataclass(frozen=True)
class RareAtoms(SparseCoding):
    """As SparseCoding, but the last atom is there with the probability p/ρ in place of p.

    Source: derived; rates that differ as in liao-2026.
    Fields:
        rarer: ρ ≥ 1.
    Raises: ValueError outside this range, and as SparseCoding.
    """

    rarer: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        if not self.rarer >= 1:
            raise ValueError(f"rarer must be ≥ 1, got {self.rarer}")

    @property
    def rates(self) -> Tensor:
        """p_j `[d]`."""
        rates = torch.full(self.dictionary.shape[-1:], self.active, dtype=self.dtype, device=self.device)
        rates[-1] = self.active / self.rarer
        return rates

    def latents(self, count: int, generators: list[torch.Generator]) -> Tensor:
        """z `[run, count, d]`, Pr(z_j ≠ 0) = p_j. Cost: one uniform draw per entry."""
        uniform, half = self._draws(torch.rand, count, self.dictionary.shape[-1], generators), self.rates / 2
        return (uniform < half).to(self.dtype) - (uniform > 1 - half).to(self.dtype)


def mean_step(model: RareAtoms, weights: Tensor) -> Tensor:
    """⟨M_j, C w⟩ `[run, m, d]` under a mask: the mean step of the weights along each atom, over κ, near the start.

    Source: wen-li-2021, Lemma C.2, for unequal p_j; derived.
    Args:
        model: M and its rates.
        weights: w, `[run, m, d1]`.
    Cost: 4·m·d1·d flops per run; no d1×d1 matrix.
    """
    along = (weights @ model.dictionary) * model.rates
    on_diagonal = model.dictionary.square() @ model.rates
    return along - (weights * on_diagonal.unsqueeze(-2)) @ model.dictionary


def lucky_starts(model: RareAtoms, weights: Tensor) -> Tensor:
    """Share of the neurons whose mean step is longest along the rare atom: `[run]`, float64.

    Source: derived, beside wen-li-2021, Lemma B.2.
    Args:
        model, weights: as `mean_step`.
    Cost: that of `mean_step`.
    """
    leader = mean_step(model, weights).abs().argmax(-1)
    return (leader == model.dictionary.shape[-1] - 1).double().mean(-1)


def lucky_share(frequent: int, ratio: float) -> float:
    """∫₀^∞ 2φ(x) (2Φ(x/ρ) - 1)^n dx: the chance of `lucky_starts` for independent normal coefficients, d1 ≫ d.

    Source: derived. 1/(n + 1) at ρ = 1; it tends to `lucky_tail` as n grows.
    Args:
        frequent: n = d - 1 ≥ 1, the other atoms.
        ratio: ρ ≥ 1.
    Raises: ValueError outside these ranges.
    """
    from scipy.special import erfc

    _check("lucky_share", frequent, ratio, 1)
    nodes, parts = np.polynomial.legendre.leggauss(_NODES)
    half = (ratio * sqrt(2 * log(frequent + 1)) + 12) / 2
    x = half * (nodes + 1)
    others_below = np.exp(frequent * np.log1p(-erfc(x / ratio / sqrt(2))))
    return float(half * parts @ (sqrt(2 / pi) * np.exp(-(x**2) / 2) * others_below))


def lucky_tail(frequent: int, ratio: float) -> float:
    """ρ Γ(ρ²) (π log n)^{(ρ² - 1)/2} n^{-ρ²}, to which `lucky_share` tends for large n.

    So the power is -ρ², and at a finite n about -ρ² + (ρ² - 1)/(2 log n).
    Source: derived: with y = (2(1 - Φ(x/ρ))) n the integrand is y^{ρ² - 1} e^{-y} times powers of ρ, n and log n.
    Args:
        frequent: n ≥ 2.
        ratio: ρ ≥ 1.
    Raises: ValueError outside these ranges.
    Error: relative, of the order of log log n/log n.
    """
    _check("lucky_tail", frequent, ratio, 2)
    square = ratio**2
    return ratio * gamma(square) * (pi * log(frequent)) ** ((square - 1) / 2) * float(frequent) ** -square


def _check(name: str, frequent: int, ratio: float, least: int) -> None:
    if frequent < least or not ratio >= 1:
        raise ValueError(f"{name}: frequent and ratio must be ≥ {least} and ≥ 1, got {frequent} and {ratio}")
