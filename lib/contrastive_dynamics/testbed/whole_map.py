"""All of G beside the law's: what shares, its diagonal in canonical directions, do not see.

For views with independent signs in canonical coordinates, as Gaussian ones, nothing changes if coordinate j of both
views is multiplied by −1. So the loss of N pairs has its optimum on the diagonal, too, with other shares
(`finite_batch`), and off it entries of mean 0 fluctuate from step to step, as 1/√N. If r directions have shares and
entries fluctuate by s, they add 4/(3π)·r^{3/2}·s to the distance (Wigner's semicircle): most where many weak directions
share the norm.
"""

import torch
from torch import Tensor

from .canonical_correlations import moment_axes
from .pairs import Moments


def map_distance(g: Tensor, law: Tensor) -> Tensor:
    """½‖G − Ĝ‖_*, half the sum of the singular values: the part of the norm that is elsewhere, in any directions.

    It is the trace distance of two positive semidefinite matrices of trace 1, and at least ½Σ_j|g_j − ĝ_j|. No rotation
    of both changes it; where ρ_j are equal so are the predicted shares, and any axes serve.
    Args:
        g, law: G and Ĝ, of nuclear norm at most 1, `[..., k, k]`.
    Returns: `[...]`, 0 to 1.
    Cost: one singular value decomposition.
    """
    return torch.linalg.svdvals(g - law).sum(-1) / 2


def principal_map(moments: Moments, g: Tensor, *, tied: bool) -> Tensor:
    """Ĝ with the shares along the principal components of the views, in canonical coordinates.

    Components of the two views are paired in order of variance, with the signs that make them correlate.
    Args:
        moments: of the views, `[run or 1, D, D]`.
        g: shares, in order of variance, `[run, k]`, k the number of canonical directions.
        tied: whether one encoder serves both views; then the components are those of the mean of both moments.
    Returns: `[run, k, k]`, of trace at most Σg.
    Raises: ValueError as `moment_axes`.
    Cost: two symmetric eigenproblems, and `moment_axes`.
    """
    axes = moment_axes(moments, tied=tied)
    seconds = [(moments.first + moments.second) / 2] * 2 if tied else moments[:2]
    first, second = (_components(m, a) for m, a in zip(seconds, axes[1:], strict=True))
    if not tied:
        second = second * (first * axes.rho.unsqueeze(-1) * second).sum(-2, keepdim=True).sign()
    return (first * g.unsqueeze(-2)) @ second.mT


def _components(moment: Tensor, axes: Tensor) -> Tensor:
    """Principal components of variance 1, descending, in the coordinates of the canonical directions, `[run, k, k]`."""
    values, vectors = (x.flip(-1)[..., : axes.shape[-1]] for x in torch.linalg.eigh(moment))
    return axes.mT @ (moment @ vectors) * values.clamp(min=torch.finfo(values.dtype).tiny).rsqrt().unsqueeze(-2)
