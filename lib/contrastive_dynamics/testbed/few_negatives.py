"""The optimum of InfoNCE with few negatives, for Gaussian views and scores x̃_AᵀHx̃_B, of one side, without a norm.

*One negative.* Given x = x̃_A, the score of the positive less that of the negative is Δ = xᵀH(y − y'), in canonical
coordinates and for H = diag(h) Gaussian with mean m = Σh_jρ_jx_j² and variance Σh_j²(2 − ρ_j²)x_j². With
h_j = ρ_j/(1 − ρ_j²/2) the variance is 2m for every x. The gradient of E log(1 + e^{−Δ}) in H_ij is
−E σ(−Δ)x_i(y_j − y'_j), and given x and Δ the mean of x_i(y_j − y'_j) is ρ_jx_ix_jΔ/m. Under N(m, 2m) the density is
e^{Δ/2} times an even function, so E σ(−Δ)Δ is the integral of an odd function, 0. The loss is convex in H: this is its
optimum, for any ρ and any number of directions. A learned temperature counts its trace: Σρ_j/(1 − ρ_j²/2).

*Infinitely many*: h_j = ρ_j, see `soft_threshold`. So one negative lifts h_j by about ρ_j²/2, relative to ρ_j.
*Between* them no H is right for every x, and `best_scale` computes the optimum of equal directions from draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from scipy.stats import chi2
from torch import Tensor

from .losses import InfoNCE

NEWTON = 12
_EDGE = 1e-12  # so far from 0 and 1 are the points


def one_negative(rho: Tensor) -> Tensor:
    """h_j = ρ_j/(1 − ρ_j²/2), the optimum with one negative. Source: derived above. ρ any shape, −1 to 1; the same."""
    return rho / (1 - rho.square() / 2)


def best_scale(rho: float, directions: int, negatives: Sequence[int], points: int, seeds: Sequence[int]) -> Tensor:
    """h/ρ at the optimum over H = h·I of S equal directions, for each number of negatives K = N − 1.

    Given x, scores depend on ‖x‖² alone: the positive's is N(hρ‖x‖², h²(1 − ρ²)‖x‖²), the others' N(0, h²‖x‖²). The
    mean is over scrambled Sobol points, the same for all K of a run; it is convex in h, and Newton's method finds its
    minimum from ρ.
    Source: derived above.
    Args:
        rho: 0 < ρ < 1.
        directions: S ≥ 1.
        negatives: numbers K ≥ 1.
        points: a power of 2.
        seeds: of the scrambling, one per run.
    Returns: `[run, K]`.
    Raises: ValueError for an argument outside its range.
    Error: .001 to .003 at 2¹³ points and S·ρ² up to 10, which the spread over seeds shows.
    Cost: NEWTON·(Σ K)·points exponentials per run; points·K numbers.
    """
    if not 0 < rho < 1 or directions < 1 or min(negatives, default=0) < 1 or points < 2 or points & (points - 1):
        got = f"{rho}, {directions}, {list(negatives)}, {points}"
        raise ValueError(f"best_scale: rho in (0, 1), directions and negatives ≥ 1, points a power of 2, got {got}")
    found = []
    for seed in seeds:
        sobol = torch.quasirandom.SobolEngine(2 + max(negatives), scramble=True, seed=seed)
        even = sobol.draw(points, dtype=torch.float64).clamp(_EDGE, 1 - _EDGE).cpu()
        size = torch.tensor(chi2.ppf(even[:, 0].tolist(), directions), dtype=even.dtype, device=even.device)
        normal = torch.special.ndtri(even[:, 1:])
        own = rho * size + ((1 - rho**2) * size).sqrt() * normal[:, 0]
        scores = torch.cat([own[:, None], size.sqrt()[:, None] * normal[:, 1:]], 1)
        found.append([_minimum(rho, scores[:, : 1 + k]) / rho for k in negatives])
    return torch.tensor(found, dtype=torch.float64)


def _minimum(start: float, scores: Tensor) -> float:
    """The h that minimises the mean of log Σ_k e^{h s_k} − h s_0 over rows of scores `[draw, 1 + K]`."""
    h = start
    for _ in range(NEWTON):
        p = torch.softmax(h * scores, 1)
        mean = (p * scores).sum(1)
        curvature = ((p * scores.square()).sum(1) - mean.square()).mean()
        h -= float((mean - scores[:, 0]).mean() / curvature)
    return h


@dataclass(frozen=True)
class InGroups:
    """InfoNCE within groups of N pairs of a batch, the mean over groups: few negatives, and many pairs a step.

    Args:
        loss: with norm "none", as a norm over a group would know the others.
        pairs: N ≥ 2, a divisor of the batch.
    Raises: ValueError for another.
    Cost: as the loss on N pairs, times the number of groups.
    """

    loss: InfoNCE
    pairs: int

    def __post_init__(self):
        if self.pairs < 2 or self.loss.norm != "none" or self.loss.learned:
            raise ValueError(f"InGroups: pairs must be ≥ 2 and the loss without norm and not learned, got {self}")

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        runs, n, _ = first.shape
        if n % self.pairs:
            raise ValueError(f"InGroups: pairs must divide the batch, got {self.pairs} and {n}")
        groups = (y.reshape(runs * (n // self.pairs), self.pairs, -1) for y in (first, second))
        return self.loss(*groups).view(runs, -1).mean(1)
