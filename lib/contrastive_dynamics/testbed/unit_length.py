"""Outputs of unit length, as CLIP has them: another loss, and where its temperature settles.

At a learned τ² the loss is stationary where the mean cosine of a positive pair is that of a negative under its weight
e^{τ²cos}. For r directions of equal ρ and Gaussian views f is uniform on the sphere, a negative's weighted cosine has
the mean resultant length A_r(τ²) of a von Mises-Fisher law, and so A_r(τ²) = c_r(ρ), c_r the mean cosine of a pair.
With many directions both sides are those of the mean norm, τ² = rρ; for strong ρ it is far above, as c_r → 1.
"""

from math import exp


def mean_cosine(rho: float, directions: int) -> float:
    """c_r(ρ) = (2/r)(Γ((r+1)/2)/Γ(r/2))² ρ ₂F₁(½, ½; r/2 + 1; ρ²): E cos(x, y), x, y ~ N(0, I_r), correlated by ρ.

    Source: Muirhead, Aspects of multivariate statistical theory (1982), with Gegenbauer's expansion; (2/π) arcsin ρ at
    r = 1.
    Args:
        rho: −1 to 1.
        directions: r ≥ 1.
    """
    from scipy.special import gammaln, hyp2f1

    scale = 2 / directions * exp(2 * (gammaln((directions + 1) / 2) - gammaln(directions / 2)))
    return float(scale * rho * hyp2f1(0.5, 0.5, directions / 2 + 1, rho**2))


def resultant_length(kappa: float, directions: int) -> float:
    """A_r(κ) = I_{r/2}(κ)/I_{r/2−1}(κ): the mean of u_1 on the sphere in r dimensions under the weight e^{κu_1}.

    By Gauss's continued fraction A_r(κ) = 1/(r/κ + 1/((r + 2)/κ + …)), which does not underflow.
    Source: Mardia and Jupp, Directional statistics (2000); tanh κ at r = 1.
    Args:
        kappa: ≥ 0.
        directions: r ≥ 1.
    Cost: κ + 60 divisions.
    """
    if not kappa:
        return 0.0
    ratio = 0.0
    for k in range(int(kappa) + 60, -1, -1):
        ratio = 1 / ((directions + 2 * k) / kappa + ratio)
    return ratio


def unit_length_temperature(rho: float, directions: int) -> float:
    """The learned τ² of unit-length outputs for r directions of equal ρ: A_r(τ²) = c_r(ρ).

    Source: derived above.
    Args:
        rho: 0 < ρ < 1.
        directions: r ≥ 1.
    Raises: ValueError for another ρ or r.
    Error: 1e-12, relative; for N → ∞ negatives.
    """
    from scipy.optimize import brentq

    if not 0 < rho < 1 or directions < 1:
        raise ValueError(f"rho and directions must be in (0, 1) and ≥ 1, got {rho} and {directions}")
    cosine = mean_cosine(rho, directions)
    largest = 2 * (directions + 2) / (1 - cosine)  # A_r(κ) ≥ 1 − (r − 1)/2κ − …
    return float(brentq(lambda kappa: resultant_length(kappa, directions) - cosine, 1e-12, largest, xtol=1e-13))
