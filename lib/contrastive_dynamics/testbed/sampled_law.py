"""The law for views of any distribution, from a sample of them: their own log moments in place of the Gaussian ones.

In canonical coordinates x, of variance 1, let the encoder be aligned: logits Σ_j h_j x_j x'_j, h = τ²g ≥ 0. At many
negatives InfoNCE of both sides is L(h) = −2Σ_j h_jρ_j + 2E_x log E_x' e^{Σ_j h_j x_j x'_j}, convex in h. With
D_j(h) = E_x x_j E[x'_j e^{…}]/E e^{…}, the mean of x_j times the tilted mean of x'_j, it is stationary where D_j(h) is
(ρ_j − μ)₊ at a fixed τ², and ρ_j at a learned one. Gaussian views: D(h) = h. For small h

    D_j(h) = h_j + ½Σ_kl κ_jkl² h_k h_l + …,

κ_jkl = E x_j x_k x_l: skewed views, as clusters are, and heavy tails ask for less h, so for a smaller learned τ².
Views that are not symmetric may have their optimum off the canonical axes; then this one is an upper bound of the loss.
"""

import torch
from torch import Tensor

from .soft_threshold import water_filling


def tilted_moments(h: Tensor, anchors: Tensor, negatives: Tensor) -> Tensor:
    """D(h) `[S]`: mean over anchors x of x_j times the mean of x'_j over negatives, weighted by e^{Σ h_k x_k x'_k}.

    Source: derived above: half the gradient of the log moments.
    Args:
        h: `[S]`.
        anchors, negatives: two independent samples of the views in canonical coordinates, `[n, S]` and `[m, S]`.
    Error: of m negatives, as in a batch of m pairs: see `finite_batch`.
    Cost: 4·n·m·S flops and n·m exponentials.
    """
    weights = ((anchors * h) @ negatives.mT).softmax(-1)
    return (anchors * (weights @ negatives)).mean(0)


def sampled_shares(
    rho: Tensor, anchors: Tensor, negatives: Tensor, tau_squared: float | None = None, *, iterations: int = 40
) -> tuple[Tensor, Tensor]:
    """Shares g and τ² of one encoder: h ← soft threshold of ρ + h − D(h), repeated and damped.

    Source: derived above.
    Args:
        rho: ρ, `[S]`, −1 to 1; give the directions that may be active, as each costs time and adds noise.
        anchors, negatives: as in `tilted_moments`.
        tau_squared: τ² > 0, or None if it is learned.
        iterations: each halves the distance, more or less.
    Returns: g `[S]` and τ².
    Raises: ValueError for samples that do not fit ρ, or another τ².
    Cost: `iterations` times that of `tilted_moments`.
    """
    if rho.ndim != 1 or anchors.shape[-1:] != rho.shape or negatives.shape[-1:] != rho.shape:
        got = f"{list(rho.shape)}, {list(anchors.shape)} and {list(negatives.shape)}"
        raise ValueError(f"sampled_shares: rho and samples must be [S], [n, S] and [m, S], got {got}")
    if tau_squared is not None and not 0 < tau_squared < torch.inf:
        raise ValueError(f"sampled_shares: tau_squared must be > 0 and finite, or None, got {tau_squared}")
    h = _threshold(rho, tau_squared)
    for _ in range(iterations):
        ahead = _threshold(rho + h - tilted_moments(h, anchors, negatives), tau_squared)
        h = (h + ahead) / 2
    return h / h.sum(), h.sum()


def _threshold(rho: Tensor, tau_squared: float | None) -> Tensor:
    """(ρ − μ)₊ of sum τ², or (ρ)₊, of any ρ."""
    if tau_squared is None:
        return rho.clamp(min=0)
    scale = max(1.0, float(rho.abs().max()))
    return water_filling(rho / scale, tau_squared / scale) * tau_squared
