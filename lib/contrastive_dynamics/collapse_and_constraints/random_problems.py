"""Random data, matrices and starts on which the theorems of esser-2023 are tried. All are float64."""

import torch
from torch import Generator, Tensor

from ..numerics.stiefel import haar


def gaussian_pairs(
    generator: Generator, n: int, d: int, p: int = 1, q: int = 1, noise: float = 0.3
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Standard normal anchors, their positives x + noise · N(0, I), and independent negatives.

    Args:
        generator: source of the draws.
        n: anchors, ≥ 1.
        d: features, ≥ 1.
        p: positives per anchor, ≥ 1.
        q: negatives per anchor, ≥ 0.
        noise: standard deviation of a view, ≥ 0.
    Returns: x `[n, d]`, positives `[n, p, d]`, negatives `[n, q, d]`, or None for q = 0.
    Cost: 2·n·(1 + p + q)·d normal draws.
    """
    z, moved = _normal(generator, 2, n, 1 + p + q, d)
    return z[:, 0], z[:, :1] + noise * moved[:, :p], z[:, 1 + p :] if q else None


def gaussian_views(
    generator: Generator, draws: int, n: int, d: int, p: int = 1, q: int = 1, shift: float = 0.0, noise: float = 0.3
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Many data sets of anisotropic Gaussian anchors with positives and negatives, and the exact moments of a point.

    x = μ + diag(σ) N(0, I) with σ from 1.5 to 0.5 in even steps and μ = shift · 1.

    Args:
        generator: source of the draws.
        draws: data sets, ≥ 1.
        shift: every entry of the mean.
        n, d, p, q, noise: as in `gaussian_pairs`.
    Returns: x `[draw, n, d]`, positives `[draw, n, p, d]`, negatives `[draw, n, q, d]`, μ `[d]`, E[xxᵀ] `[d, d]`.
    Cost: 2·draws·n·(1 + p + q)·d normal draws.
    """
    at = {"dtype": torch.float64, "device": generator.device}
    scale, mean = torch.linspace(1.5, 0.5, d, **at), torch.full((d,), shift, **at)
    z, moved = _normal(generator, 2, draws, n, 1 + p + q, d)
    x, others = mean + scale * z[..., 0, :], mean + scale * z[..., 1:, :]
    positives = x.unsqueeze(-2) + noise * moved[..., :p, :]
    return x, positives, others[..., :q, :], mean, torch.diag(scale.square()) + torch.outer(mean, mean)


def indefinite_matrix(generator: Generator, d: int, negative: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """C = V diag(λ) Vᵀ with `negative` eigenvalues from −3 to −1, the others from 0.5 to 2.5, and a uniform basis V.

    Args:
        generator: source of the basis.
        d: size, ≥ 1.
        negative: negative eigenvalues, 0 ≤ negative ≤ d.
    Returns: C `[d, d]`, λ `[d]`, ascending, V `[d, d]`, whose columns are the eigenvectors.
    Raises: ValueError for another number of negative eigenvalues.
    """
    if not 0 <= negative <= d:
        raise ValueError(f"negative must be 0..{d}, got {negative}")
    at = {"dtype": torch.float64, "device": generator.device}
    values = torch.cat([torch.linspace(-3, -1, negative, **at), torch.linspace(0.5, 2.5, d - negative, **at)])
    vectors = haar([generator], d, d)[0]
    return vectors @ torch.diag(values) @ vectors.mT, values, vectors


def signed_eigenvalues(generator: Generator, runs: int, d: int, negative: int) -> Tensor:
    """Spectra with this many negative eigenvalues, none near 0 or near another: |λ| is uniform in (2k−1, 2k)/d.

    Args:
        generator: source of the draws.
        runs: spectra, ≥ 1.
        d: eigenvalues of each, ≥ 1.
        negative: the negative ones, those of the smallest magnitudes, 0 ≤ negative ≤ d.
    Returns: `[run, d]`, ascending.
    Raises: ValueError for another number of negative eigenvalues.
    """
    if not 0 <= negative <= d:
        raise ValueError(f"negative must be 0..{d}, got {negative}")
    at = {"dtype": torch.float64, "device": generator.device}
    size = torch.rand(runs, d, generator=generator, **at) + torch.arange(1.0, 2 * d, 2, **at)
    sign = torch.where(torch.arange(d, device=generator.device) < negative, -1.0, 1.0)
    return (size * sign).sort(-1).values / d


def ball_points(generator: Generator, runs: int, d: int) -> Tensor:
    """Points uniform in the unit ball of R^d: a uniform direction and the radius U^{1/d}. Returns `[run, d, 1]`."""
    at = {"dtype": torch.float64, "device": generator.device}
    direction = torch.nn.functional.normalize(torch.randn(runs, d, generator=generator, **at), dim=-1)
    return (direction * torch.rand(runs, 1, generator=generator, **at) ** (1 / d)).unsqueeze(-1)


def gaussian_layers(generators: list[Generator], h: int, d: int, z: int) -> tuple[Tensor, Tensor]:
    """Two layers of standard normal entries, one pair per generator: W1 `[run, h, d]`, W2 `[run, h, z]`."""
    return torch.stack([_normal(g, h, d + z) for g in generators]).split([d, z], -1)


def _normal(generator: Generator, *size: int) -> Tensor:
    return torch.randn(*size, generator=generator, dtype=torch.float64, device=generator.device)
