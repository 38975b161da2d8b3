"""Half moons and the pairs of Example 1: x⁺ = x + N(0, 0.1·I), and x⁻ another point of the data.

Shapes: points `[n, 2]`, the first n/2 of them on the upper moon; pairs `[run, n, p, 2]` and `[run, n, q, 2]`. The data
are not centred: their mean is (½, ¼) for every n, so E[C] is −n Cov(x), not the −n E[xxᵀ] of centred data.
"""

import math

import torch
from torch import Tensor


def half_moons(n: int, device: torch.device | str | None = None) -> Tensor:
    """n points on two half circles, (cos θ, sin θ) and (1 − cos θ, ½ − sin θ), θ in n/2 even steps from 0 to π.

    Source: esser-2023, Example 1; scikit-learn's make_moons without noise and unshuffled.
    Args:
        n: number of points, even, ≥ 2.
        device: device of the result.
    Returns: `[n, 2]`, float64.
    Raises: ValueError for another n.
    """
    if n < 2 or n % 2:
        raise ValueError(f"n must be an even integer ≥ 2, got {n}")
    from sklearn.datasets import make_moons

    points, _ = make_moons(n, shuffle=False, noise=None)
    return torch.tensor(points, dtype=torch.float64, device=device)


def half_moon_pairs(
    generators: list[torch.Generator], n: int, p: int = 1, q: int = 1, variance: float = 0.1
) -> tuple[Tensor, Tensor, Tensor]:
    """Anchors, positives x + N(0, variance·I) and negatives; the anchors are the n half moons in every run.

    A negative is uniform on the same n points, drawn with replacement and independently of its anchor, which it equals
    with probability 1/n; the stacked points then contain repeated rows. The positives do not depend on q.

    Source: esser-2023, Example 1 ("ε ∼ N(0, 0.1 I)", with 0.1 read as the variance).
    Args:
        generators: one per run, all on one device.
        n: number of anchors, as in `half_moons`.
        p: positives per anchor, ≥ 1.
        q: negatives per anchor, ≥ 1.
        variance: variance of the noise, finite, ≥ 0.
    Returns: x `[run, n, 2]`, positives `[run, n, p, 2]`, negatives `[run, n, q, 2]`, float64.
    Raises: ValueError for an argument outside its range.
    Cost: 2·run·n·(1 + p + q) numbers.
    """
    if not generators or p < 1 or q < 1 or not 0 <= variance < float("inf"):
        got = f"{len(generators)} generators, p={p}, q={q}, variance={variance}"
        raise ValueError(f"generators, p and q must be ≥ 1 and variance finite and ≥ 0, got {got}")
    device = generators[0].device
    x = half_moons(n, device)
    noise = [torch.randn(n, p, 2, generator=g, dtype=torch.float64, device=device) for g in generators]
    others = [torch.randint(n, (n, q), generator=g, device=device) for g in generators]
    positives = x.unsqueeze(-2) + variance**0.5 * torch.stack(noise)
    return x.expand(len(generators), -1, -1), positives, x[torch.stack(others)]


def half_moon_views(
    generators: list[torch.Generator], n: int, p: int = 1, q: int = 1
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """`half_moon_pairs`, and mean and E[xxᵀ] of their points by `half_moon_moments`; arguments as there."""
    return *half_moon_pairs(generators, n, p, q), *half_moon_moments(n, generators[0].device)


def half_moon_moments(n: int, device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
    """Mean `[2]` and E[xxᵀ] `[2, 2]` of the n points with probability 1/n each, exact up to rounding.

    The mean is (½, ¼). As n → ∞, E[xxᵀ] tends to [[1, ¼ − 1/π], [¼ − 1/π, ⅝ − 1/π]].

    Args and Raises: as `half_moons`.
    Cost: 10·n flops.
    """
    x = half_moons(n, device)
    return x.mean(0), x.mT @ x / n


def half_moon_law(device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
    """Mean (½, ¼) and E[xxᵀ] = [[1, ¼ − 1/π], [¼ − 1/π, ⅝ − 1/π]] of points uniform on the two half circles.

    These are the limits of `half_moon_moments` as n → ∞.

    Args:
        device: device of the results.
    Returns: μ `[2]` and E[xxᵀ] `[2, 2]`, float64.
    """
    product, vertical = 1 / 4 - 1 / math.pi, 5 / 8 - 1 / math.pi
    moment = torch.tensor([[1, product], [product, vertical]], dtype=torch.float64, device=device)
    return torch.tensor([1 / 2, 1 / 4], dtype=torch.float64, device=device), moment
