"""How fast a neuron that points to an atom grows along the atom and along dense directions, once its bias is above 0.

For a neuron w = M_1 + s e, e a dense unit direction, s → 0, flat softmax and flat atoms, d1 → ∞. Along w its views are
⟨w, x⁺⟩ = z_1 + γ with γ ~ N(0, v): v = 2σ_ξ² under a mask at rate 1/2, γ of the other view independent; v = σ_ξ² and
the same γ without a mask. β is b/‖w‖ and S the soft threshold at β. Rates are of ‖w‖ per step, over κ = ηN/(N + 1):
    atom, masked: p E S(1 + γ) · E[(1 + γ) 1{|1 + γ| ≥ β}],    plain: E[S(u) u], u = z_1 + γ;
    dense, masked: v p E S(1 + γ) (φ_v(β - 1) - φ_v(β + 1)),   plain: σ_ξ² Pr(|u| ≥ β).
The masked dense one is not E[f(x⁺⁺)] times a correlation of noises, which is 0: noise along e helps the neuron to fire,
by Stein's lemma, and a neuron learns what helped it to fire. It does not fall with d1, only with σ_ξ. At β = 0 it is 0.
"""

from math import exp, pi, sqrt
from typing import NamedTuple

from .sparse_coding import check_views


class ThresholdRates(NamedTuple):
    """Rates along the atom and along a dense direction, over κ."""

    atom: float
    dense: float


def threshold_rates(active: float, noise: float, bias_ratio: float, views: str = "masked") -> ThresholdRates:
    """The rates of the module's head.

    Source: wen-li-2021, Appendix A.3 (Lemmas A.2 and A.3, masked) and Lemma F.1 (plain); their bounds are lost in our
    copy, these values are derived.
    Args:
        active: p in (0, 1).
        noise: σ_ξ > 0.
        bias_ratio: β = b/‖w‖ ≥ 0.
        views: masked or plain.
    Raises: ValueError outside these ranges.
    Error: of the limit, about d/d1 and p: other atoms in the view, and a mask that does not keep half of M_1.
    """
    check_views("threshold_rates", views)
    if views == "independent" or not (0 < active < 1 and noise > 0 and bias_ratio >= 0):
        raise ValueError(
            "views, active, noise and bias_ratio must be masked or plain, in (0, 1), > 0 and ≥ 0, "
            f"got {views!r}, {active}, {noise} and {bias_ratio}"
        )
    if views == "plain":
        chances = (1 - active, 0.0), (active, 1.0)
        atom = sum(chance * _fired_times_input(z, noise, bias_ratio) for chance, z in chances)
        return ThresholdRates(atom, noise**2 * sum(c * _firing(z, noise, bias_ratio) for c, z in chances))
    spread = sqrt(2) * noise
    output = active * (_mean_above(1, spread, bias_ratio) - _mean_above(-1, spread, bias_ratio))
    above, below = bias_ratio - 1, bias_ratio + 1
    seen = _firing(1, spread, bias_ratio) + spread**2 * (_density(above, spread) - _density(below, spread))
    return ThresholdRates(output * seen, output * spread**2 * (_density(above, spread) - _density(below, spread)))


def _density(x: float, spread: float) -> float:
    return exp(-((x / spread) ** 2) / 2) / (spread * sqrt(2 * pi))


def _tail(x: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-x))


def _firing(z: float, spread: float, level: float) -> float:
    """Pr(|u| ≥ β) for u ~ N(z, spread²)."""
    return _tail((level - z) / spread) + _tail((level + z) / spread)


def _mean_above(z: float, spread: float, level: float) -> float:
    """E max(u - β, 0)."""
    return (z - level) * _tail((level - z) / spread) + spread**2 * _density(level - z, spread)


def _fired_times_input(z: float, spread: float, level: float) -> float:
    """E[S(u) u] = Σ over both signs of E[(±u - β)₊²] + β E(±u - β)₊."""
    total = 0.0
    for sign in (1, -1):
        mean = sign * z - level
        square = (mean**2 + spread**2) * _tail(-mean / spread) + mean * spread**2 * _density(mean, spread)
        total += square + level * _mean_above(sign * z, spread, level)
    return total
