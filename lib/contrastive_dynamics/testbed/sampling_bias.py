"""What n pairs show of correlations that are not there, for one encoder, and an estimate without this bias.

Let views of D whitened directions be exchangeable, as two random views of one image are; then C = E x_A x_Bᵀ is
symmetric and positive, as E[x|image] has the covariance C. Its estimate is Ĉ = C + E. Where ρ is 0, E is a symmetric
matrix of independent entries, of variance 1/2n off the diagonal, so that D directions of pure noise show a semicircle
of correlations of radius √(2D/n), half of them positive: their sum is not 0 but 2D√(2D/n)/3π.

On average the true ρ lie between two estimates. The k largest eigenvalues have a sum that is convex in the matrix, so
those of Ĉ have a larger one on average. The directions found on some pairs are orthonormal, so on other pairs their
correlations, diagonal entries in another basis, have a smaller one on average, by Schur and Horn. The sum of all D,
negative ones included, is a trace, tr Σ̂⁻¹Ĉ, in which E averages out. What is left comes from the whitening: to second
order in the errors of both moments of Gaussian views, −(D − Σρ²)/2n of the sum.
"""

import math

import torch
from torch import Tensor

from .canonical_correlations import canonical_axes, held_out_correlations, ranks


def noise_edge(count: int, inputs: int) -> float:
    """√(2D/n): the largest correlation that n pairs of unrelated views show to one encoder, D ≪ n.

    Two encoders see about 2√(D/n): `noise_correlation`.
    Source: derived above; the semicircle: Wigner (1958).
    Args:
        count: n.
        inputs: D ≥ 1.
    Error: of order D/n, and D^{−2/3} of itself.
    """
    return math.sqrt(2 * inputs / count)


def noise_total(count: int, inputs: int) -> float:
    """2D√(2D/n)/3π: the sum of the positive correlations that n pairs of unrelated views show to one encoder, D ≪ n.

    By as much a learned τ² is expected too high where Σ(ρ̂_j)₊ is put for Σρ_j and all ρ_j are 0.
    Source: derived above: the positive half of a semicircle of radius R has the mean 4R/3π.
    Args: as `noise_edge`.
    Error: of order D/n of itself on average; one sample varies by about 2/D of it.
    """
    return 2 * inputs * noise_edge(count, inputs) / (3 * math.pi)


def split_correlations(first: Tensor, second: Tensor, *, tied: bool = True) -> Tensor:
    """ρ of two views: directions from one half of the pairs, correlations from the other, both ways.

    Of two towers, as CLIP's, say `tied=False`: as views of one encoder they get numbers that are far too low. For
    features of your own call `feature_correlations.feature_correlations`, which notices that.
    Source: derived above; the split as in Lam, Nonparametric eigenvalue-regularized covariance estimation (2016).
    Args:
        first, second: both views `[n, D]`, in an order without meaning, n ≥ 4D or so.
        tied: whether one encoder makes both views.
    Returns: `[k]` in double precision, the mean of both ways, descending: 0 on average where nothing is shared, too
        small where directions are uncertain.
    Raises: ValueError for views that do not fit.
    Cost: 12nD² flops and four decompositions of size D.
    """
    half = len(first) // 2
    parts = [(first[:half], second[:half]), (first[half:], second[half:])]
    ways = [held_out_correlations(a, b, tied=tied) for a, b in (parts, parts[::-1])]
    kept = min(len(way) for way in ways)
    return torch.stack([way[:kept] for way in ways]).mean(0).sort(descending=True).values


def total_correlation(first: Tensor, second: Tensor) -> Tensor:
    """tr Σ̂⁻¹Ĉ: Σρ_j of one encoder's exchangeable views without the bias of Σ(ρ̂_j)₊.

    Source: derived above.
    Args:
        first, second: both views `[..., n, D]`.
    Returns: `[...]` in double precision.
    Raises: ValueError as `canonical_correlations`.
    Error: too small by (D − Σρ²)/2n of itself on average; standard deviation at most √(D/n).
    """
    axes = canonical_axes((first, second), tied=True)
    counts = torch.arange(axes.rho.shape[-1], device=axes.rho.device) < ranks(axes).unsqueeze(-1)
    return axes.rho.where(counts, 0).sum(-1)  # not the −1 that stand for directions without variance
