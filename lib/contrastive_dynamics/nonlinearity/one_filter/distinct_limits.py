"""What a layer of K filters finds: the limits of its nodes, how many are distinct, how many the basins predict."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ...losses.activations import Activation
from .latent_models import latent_summation
from .sphere_flow import distinct_points


def stretched_summation(lengths: Tensor, q: float) -> tuple[Tensor, Tensor]:
    """Latent summation model whose orthogonal patterns are the axes, stretched to these lengths.

    Any other orthogonal patterns of these lengths are a rotation of it, which uniform starts do not see.

    Source: tian-2023, Section 3.1.
    Args:
        lengths: `[d]`, > 0.
        q: probability of each pattern, in (0, 1).
    Returns: points `[2^d, d]`, probabilities `[2^d]`.
    """
    return latent_summation(torch.diag(lengths), torch.full_like(lengths, q))


def ascent_limits(
    points: Tensor, p: Tensor, w: Tensor, act: Activation, tol: float = 1e-3, max_steps: int = 1000
) -> Tensor:
    """Ends of the flow ẇ = P⊥A(w)w of one-layer filters, A(w)w = Cov_p[x̃, h(wᵀx)] for the uniform importance.

    Heun's method in steps of 1/λ_max(V[x]), until ‖P⊥A(w)w‖ ≤ tol·λ_max; a filter at rest leaves the batch. A(w) itself
    is never formed.

    Source: tian-2023, eqs. (5), (7), Corollary 1.
    Args:
        points: `[n, d]`.
        p: probabilities `[n]`.
        w: unit starts `[run, d]`.
        act: the activation h, of degree 1.
    Returns: `[run, d]`, unit; within about tol·λ_max/(rate of approach) of the rest point.
    Cost: 8·n·d flops per filter and step, 10 to 60 steps for ReLU.
    """
    mean = p @ points
    scale = torch.linalg.matrix_norm((points.mT * p) @ points - torch.outer(mean, mean), 2)
    limits, left = w.clone(), torch.arange(len(w), device=w.device)

    def slope(w: Tensor) -> Tensor:
        z = w @ points.mT
        gate = act.slope(z) * p
        gated, output = gate @ points, gate * z
        push = (output @ points - gated * output.sum(-1, keepdim=True)) / scale
        return push - w * (w * push).sum(-1, keepdim=True)

    for _ in range(max_steps):
        first = slope(w)
        w = normalize(w + (first + slope(normalize(w + first, dim=-1))) / 2, dim=-1)
        limits[left] = w
        moving = first.norm(dim=-1) > tol
        left, w = left[moving], w[moving]
        if not len(left):
            break
    return limits


def expected_finds(basins: Tensor, k: int) -> Tensor:
    """Expected number of distinct limits of k independent nodes, Σ_j 1 − (1 − b_j)^k. Source: derived.

    Args:
        basins: b_j, shares of the starts, `[..., patterns]` with sum ≤ 1.
        k: number of nodes, ≥ 1.
    Returns: `[...]`.
    """
    return (1 - (1 - basins) ** k).sum(-1)


def first_finds(w: Tensor, angle: float = 0.05, signed: bool = True) -> Tensor:
    """Number of distinct points among the first k of unit vectors `[n, d]`, for every k. Returns: int64 `[n]`.

    Source: `distinct_points`, whose labels come in order of appearance.
    """
    return distinct_points(w, angle, signed).cummax(0).values + 1


def basin_shares(w: Tensor, angle: float = 0.05) -> Tensor:
    """Shares of limits `[run, d]` that lie together, by `distinct_points`. Returns: `[limits]` with sum 1."""
    return torch.bincount(distinct_points(w, angle)).to(w.dtype) / len(w)
