"""Outputs of unit length, as CLIP has them: another loss, and where its temperature settles.

At a learned τ² the loss is stationary where the mean cosine of a positive pair is that of a negative under its weight
e^{τ²cos}. For r directions of equal ρ and Gaussian views f is uniform on the sphere, a negative's weighted cosine has
the mean resultant length A_r(τ²) of a von Mises-Fisher law, and so A_r(τ²) = c_r(ρ), c_r the mean cosine of a pair.
With many directions both sides are those of the mean norm, τ² = rρ; for strong ρ it is far above, as c_r → 1.

For unequal ρ write f = w∘x̃/‖w∘x̃‖ in canonical coordinates. As ∂s/∂log w_j = 2f_jf'_j − (f_j² + f'_j²)s, s the cosine,
the loss is stationary where positives and negatives under their weight e^{τ²s} agree in the means of s and, for all j,
of f_jf'_j − ½(f_j² + f'_j²)s. These are D conditions for D numbers, τ² and w up to its length, as the latter sum to 0.
"""

from math import exp

import torch
from torch import Tensor

_EDGE = 1e-12  # so far from 0 and 1 are the points


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


def unit_length_shares(
    rho: Tensor, anchors: int = 2**10, negatives: int = 2**12, seed: int = 0
) -> tuple[Tensor, float]:
    """Shares w_j²/Σw² and τ² of one encoder with outputs of unit length at a learned τ², for unequal ρ and N → ∞.

    The loss is averaged over scrambled Sobol points, where e^{τ²s} weighs every anchor's negatives, and minimised over
    log w and log τ²: its minimum is where the moments above agree on these points.
    Source: derived above.
    Args:
        rho: ρ `[D]`, 0 < ρ < 1.
        anchors, negatives: numbers of points, powers of 2.
        seed: of the scrambling.
    Returns: `[D]`, of sum 1, and τ².
    Raises: ValueError for another ρ.
    Error: sampling, .005 of τ² at these numbers and τ² up to 4, which another seed shows.
    Cost: some 40·anchors·negatives exponentials with their gradient; as many numbers.
    """
    if rho.ndim != 1 or not bool(((rho > 0) & (rho < 1)).all()):
        raise ValueError(f"unit_length_shares: rho must be [D], each in (0, 1), got {rho.tolist()}")
    rho, inputs = rho.double(), len(rho)
    first, noise = _normal(anchors, 2 * inputs, seed).to(rho.device).chunk(2, 1)
    second = rho * first + (1 - rho.square()).sqrt() * noise
    others = _normal(negatives, inputs, seed + 1).to(rho.device)
    at = torch.cat([rho.log() / 2, rho.sum().log().view(1)]).requires_grad_()  # log w, log τ²
    descent = torch.optim.LBFGS([at], max_iter=60, tolerance_grad=1e-8, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        descent.zero_grad()
        f, g, h = (torch.nn.functional.normalize(at[:-1].exp() * x, dim=-1) for x in (first, second, others))
        scaled = at[-1].exp() * f
        value = (torch.logsumexp(scaled @ h.mT, 1) - (scaled * g).sum(1)).mean()
        value.backward()
        return value

    with torch.enable_grad():
        descent.step(loss)
    squares = (2 * at[:-1].detach()).exp()
    return squares / squares.sum(), float(at[-1].detach().exp())


def _normal(count: int, inputs: int, seed: int) -> Tensor:
    """Normal numbers `[count, inputs]` of scrambled Sobol points."""
    even = torch.quasirandom.SobolEngine(inputs, scramble=True, seed=seed).draw(count, dtype=torch.float64)
    return torch.special.ndtri(even.cpu().clamp(_EDGE, 1 - _EDGE))
