"""Stage I in closed form: the share of the signals in the weights, when the weights have grown, and what it is then.

Until T1 the softmax is flat and b = 0, so a neuron grows linearly: at a rate a along span(M) and at b along the rest of
the space, per step. For flat atoms a - b = κp with a mask and without one, κ = ηN/(N + 1): both arms follow one curve
of the clock 2κpt - log((d1 - d)/d), and only the time at which they stop, T1, differs. Times are steps of the
continuous flow.
"""

from math import log, sqrt

import torch
from torch import Tensor

from .sparse_coding import check_views


def flat_rates(
    atoms: int, dim: int, active: float, noise: float, views: str = "masked", kappa: float = 1.0, decay: float = 0.0
) -> tuple[float, float]:
    """(a, b), the rates of growth on span(M) and on its complement for |M_ij| = 1/√d1, per step.

    masked: κp(1 - d/d1) - ηλ and -κp d/d1 - ηλ; plain and independent: κ(p + σ_ξ²) - ηλ and κσ_ξ² - ηλ.
    Source: wen-li-2021, Lemmas C.2 and F.1; `view_correlation.growth_rates` has them for any atoms.
    Args:
        atoms, dim: 1 ≤ d < d1.
        active, noise: p in (0, 1) and σ_ξ > 0.
        views: one of VIEWS.
        kappa: ηN/(N + 1) > 0.
        decay: ηλ ≥ 0.
    Raises: ValueError outside these ranges.
    """
    check_views("flat_rates", views)
    if not (1 <= atoms < dim and 0 < active < 1 and noise > 0 and kappa > 0 and decay >= 0):
        raise ValueError(
            "atoms, active, noise, kappa and decay must be 1 to d1 - 1, in (0, 1), > 0, > 0 and ≥ 0, "
            f"got {atoms} of {dim}, {active}, {noise}, {kappa} and {decay}"
        )
    if views == "masked":
        return kappa * active * (1 - atoms / dim) - decay, -kappa * active * atoms / dim - decay
    return kappa * (active + noise**2) - decay, kappa * noise**2 - decay


def decoupling_clock(atoms: int, dim: int, gap: float, time: float | Tensor) -> float | Tensor:
    """2(a - b)t - log((d1 - d)/d): the share in span(M) is the logistic function of it, for every d, d1 and arm.

    Source: derived; wen-li-2021, Theorem C.1.
    Args:
        atoms, dim: 1 ≤ d < d1.
        gap: a - b; κp for flat atoms.
        time: steps, a number or a tensor.
    Raises: ValueError unless 1 ≤ d < d1.
    """
    return 2 * gap * time - log(_odds(atoms, dim))


def logistic_share(clock: Tensor) -> Tensor:
    """1/(1 + e^-clock), the share in span(M) at a `decoupling_clock`; it equals `view_correlation.linear_share`."""
    return torch.as_tensor(clock, dtype=torch.float64).sigmoid()


def factor_of_half(atoms: int, dim: int, rates: tuple[float, float]) -> float:
    """W at which the share in span(M) at T1 is one half: below it most of the weight is dense at T1, above it sparse.

    W² = 2(d/d1) ((d1 - d)/d)^{a/(a - b)}; without a mask log W is near (σ_ξ²/2p) log(d1/d) for d1 ≫ d and flat atoms.
    Source: derived; wen-li-2021, Appendix A.5 ("dense features are preferred") needs W below it.
    Args:
        atoms, dim: 1 ≤ d < d1.
        rates: (a, b), a > b.
    Raises: ValueError outside these ranges.
    """
    a, b = rates
    if not a > b:
        raise ValueError(f"rates must be a > b, got {a} and {b}")
    return sqrt(2 * atoms / dim) * _odds(atoms, dim) ** (a / (a - b) / 2)


def share_with_batch_noise(
    atoms: int, dim: int, active: float, noise: float, batch: int, steps: int, kappa: float = 1.0, decay: float = 0.0
) -> Tensor:
    """Share in span(M) before each of some steps of masked SGD, with the noise of a batch: float64 `[steps + 1]`.

    With S and D the squared length inside and outside of span(M), ε = (2σ_ξ² + pd/d1)(S + D) + pS the mean square of
    ⟨w, x⁺⁺⟩ and g = κ²ε(2σ_ξ² + pd/d1)/B: S ← (1 + a)²S + d·g + κ²pε·d/B and D ← (1 + b)²D + (d1 - d)g.
    Source: derived.
    Args:
        atoms, dim, active, noise, kappa, decay: as `flat_rates`.
        batch: B ≥ 1.
        steps: ≥ 0.
    Raises: ValueError outside these ranges.
    """
    a, b = flat_rates(atoms, dim, active, noise, "masked", kappa, decay)
    if batch < 1 or steps < 0:
        raise ValueError(f"batch and steps must be ≥ 1 and ≥ 0, got {batch} and {steps}")
    inside, outside, spread, found = atoms / dim, 1 - atoms / dim, 2 * noise**2 + active * atoms / dim, []
    for _ in range(steps + 1):
        found.append(inside / (inside + outside))
        power = kappa**2 * (spread * (inside + outside) + active * inside) / batch
        inside = (1 + a) ** 2 * inside + power * atoms * (spread + active)
        outside = (1 + b) ** 2 * outside + power * (dim - atoms) * spread
    return torch.tensor(found, dtype=torch.float64)


def _odds(atoms: int, dim: int) -> float:
    """(d1 - d)/d, after the check."""
    if not 1 <= atoms < dim:
        raise ValueError(f"d must be 1 to d1 - 1 = {dim - 1}, got {atoms}")
    return (dim - atoms) / atoms
