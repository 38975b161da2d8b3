"""The law for views that are not Gaussian: independent, symmetric coordinates of one law, of variance 1.

Given a, a negative's logit h·a·a' has the log moment K(ha), K(s) = log E e^{sa'}, in place of (ha)²/2. The loss is
Σ_j(−2h_jρ_j + 2E_a K(h_j a)), h = τ²g, convex in G; by the symmetry of signs its optimum is diagonal. So the soft
threshold becomes D(h_j) = (ρ_j − μ)₊ with D(h) = E a K'(ha), and at a learned τ², D(h_j) = ρ_j: the h at which the
density p(a)p(a')e^{haa'}/Z(a) has the correlation ρ. Normal: D(h) = h. Signs: D(h) = tanh h, so that τ² = Σ artanh ρ_j,
and the score is the pointwise mutual information itself.
"""

import torch
from torch import Tensor

_BISECTIONS = 60
_LARGEST = 60.0  # h; D(h) is 1 to rounding for signs from h = 19 on


def _nodes(law: str) -> tuple[Tensor, Tensor]:
    """Values and probabilities of a law of `worlds.LAWS`; quadratures for the continuous ones."""
    if law == "signs":
        return torch.tensor([-1.0, 1.0], dtype=torch.float64), torch.tensor([0.5, 0.5], dtype=torch.float64)
    if law == "sparse":
        values, chances = [-(10**0.5), 0.0, 10**0.5], [0.05, 0.9, 0.05]
        return torch.tensor(values, dtype=torch.float64), torch.tensor(chances, dtype=torch.float64)
    if law == "uniform":
        off = torch.arange(1, 32, dtype=torch.float64)
        off = off / (4 * off.square() - 1).sqrt()  # Legendre, by Golub and Welsch
        values, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
        return values * 3**0.5, vectors[0].square()
    raise ValueError(f"law must be signs, uniform or sparse, got {law!r}: for normal views see soft_threshold")


def tilted_correlation(h: Tensor, law: str) -> Tensor:
    """D(h) = E_a a K'(ha), rising from 0 to less than max a².

    Source: derived above.
    Args:
        h: ≥ 0, `[...]`.
        law: signs, uniform or sparse, as in `worlds.LAWS`.
    Returns: as h.
    Raises: ValueError for another law. Laws of heavier than Gaussian tails have no loss at N → ∞.
    Cost: the square of the number of nodes, 2 to 32, exponentials per entry.
    """
    values, chances = _nodes(law)
    logits = h[..., None, None] * values.unsqueeze(-1) * values + chances.log()
    return ((logits.softmax(-1) @ values) * values) @ chances


def inverse_tilt(rho: Tensor, law: str) -> Tensor:
    """h ≥ 0 with D(h) = ρ, by bisection: artanh ρ for signs.

    Args:
        rho: 0 to below 1, `[...]`; where it is out of reach h is 60.
        law: as in `tilted_correlation`.
    Error: 60·2⁻⁶⁰.
    """
    low, high = torch.zeros_like(rho), torch.full_like(rho, _LARGEST)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = tilted_correlation(middle, law) < rho
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return high.where(rho > 0, 0.0)


def latent_shares(rho: Tensor, tau_squared: float | None, law: str) -> tuple[Tensor, Tensor]:
    """Shares g and τ² for one encoder: h_j = D⁻¹((ρ_j − μ)₊) with Σh_j = τ², or h_j = D⁻¹((ρ_j)₊) if it is learned.

    Source: derived above.
    Args:
        rho: ρ, `[S]`.
        tau_squared: τ² > 0, or None if it is learned.
        law: as in `tilted_correlation`.
    Returns: g `[S]` and τ².
    Raises: ValueError for another τ² or law.
    Error: 1e-12.
    Cost: 60² times `tilted_correlation`.
    """
    if tau_squared is None:
        h = inverse_tilt(rho.clamp(min=0), law)
        return h / h.sum(), h.sum()
    if not 0 < tau_squared < _LARGEST:
        raise ValueError(f"latent_shares: tau_squared must be > 0 and below {_LARGEST:g}, got {tau_squared}")
    top = tilted_correlation(rho.new_tensor(float(tau_squared)), law)
    low, high = rho.max() - top, rho.max()  # at the lower level the first direction alone has τ²
    for _ in range(_BISECTIONS):
        level = (low + high) / 2
        above = inverse_tilt((rho - level).clamp(min=0), law).sum() > tau_squared
        low, high = torch.where(above, level, low), torch.where(above, high, level)
    h = inverse_tilt((rho - high).clamp(min=0), law)
    return h / h.sum(), h.sum()
