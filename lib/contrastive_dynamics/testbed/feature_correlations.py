"""Canonical correlations of a user's own features, `[n, D_A]` and `[n, D_B]`, of two encoders or of one.

Both halves of the pairs find directions, and each half's directions are measured on the other, so that nothing shared
gives 0 on average. Features are centred and whitened by a singular value decomposition in float64, every column scaled
to variance 1 before: units do not matter, and the condition number enters once, not squared as in their moments.
"""

import math
import warnings

import torch
from torch import Tensor


def feature_correlations(first: Tensor, second: Tensor, *, tied: bool) -> Tensor:
    """ρ of two sets of features of the same n data: those on which the soft threshold of InfoNCE depends.

    Two encoders see the singular values of C = E x̃_A x̃_Bᵀ, each view whitened by its own moment. One encoder that makes
    both views sees the eigenvalues of the symmetric part of C, both views whitened by the mean of their moments.
    Source: Hotelling (1936); the split as in `sampling_bias.split_correlations`.
    Args:
        first, second: `[n, D_A]` and `[n, D_B]`, row i of both from datum i, rows in an order without meaning, n ≥ 4D;
            D_A = D_B if tied.
        tied: False if every view has an encoder of its own (images and texts), True if one encoder makes both.
    Returns: `[k]` in float64, descending, the mean of both ways; k the smaller rank.
    Raises: ValueError for features that do not fit, are not finite, or are too few. Warns if `tied` and two encoders
        would see much more: then the features come from two encoders, or the pairs are in different orders.
    Error: of order 1/√n for each ρ; too small where directions are uncertain.
    Cost: 12nD² flops and four decompositions; twice as much if tied.
    """
    _check(first, second, tied)
    first, second = (_standardised(x) for x in (first, second))
    found = _both_ways(first, second, tied)
    if tied:
        free, own = _both_ways(first, second, False), found.abs().sort(descending=True).values
        kept = min(len(free), len(own))
        excess = float((free[:kept] - own[:kept]).max())
        if excess > 0.1 + 4 / math.sqrt(len(first)):
            warnings.warn(
                f"feature_correlations: two encoders would see correlations higher by up to {excess:.2f}; "
                "if each view has an encoder of its own, say tied=False",
                stacklevel=2,
            )
    return found


def _both_ways(first: Tensor, second: Tensor, tied: bool) -> Tensor:
    """Directions of one half, correlations on the other, and the other way round: their mean, descending."""
    half = len(first) // 2
    parts = [(first[:half], second[:half]), (first[half:], second[half:])]
    ways = [_held_out(*fitted, *others, tied) for fitted, others in (parts, parts[::-1])]
    kept = min(len(way) for way in ways)
    return torch.stack([way[:kept] for way in ways]).mean(0).sort(descending=True).values


def _held_out(first: Tensor, second: Tensor, other_first: Tensor, other_second: Tensor, tied: bool) -> Tensor:
    first, second = first - first.mean(0), second - second.mean(0)
    if tied:
        a = b = _whitener(torch.cat([first, second]) / math.sqrt(2))
        cross = (first @ a).mT @ (second @ a)
        axes = torch.linalg.eigh((cross + cross.mT) / 2).eigenvectors.flip(-1)
        u = v = axes
    else:
        a, b = _whitener(first), _whitener(second)
        u, _, vh = torch.linalg.svd((first @ a).mT @ (second @ b), full_matrices=False)
        v = vh.mT
    f, g = (y - y.mean(0) for y in (other_first @ (a @ u), other_second @ (b @ v)))
    return (f * g).sum(0) / (f.square().sum(0) * g.square().sum(0)).sqrt()


def _whitener(x: Tensor) -> Tensor:
    """W with (xW)ᵀxW = I on the directions that vary."""
    _, values, vh = torch.linalg.svd(x, full_matrices=False)
    varies = values > max(x.shape) * torch.finfo(x.dtype).eps * values[0]
    return vh[varies].mT / values[varies]


def _standardised(x: Tensor) -> Tensor:
    """Columns of mean 0 and variance 1 in float64; what does not vary becomes 0."""
    x = x.double() - x.double().mean(0)
    size = x.square().mean(0).sqrt()
    return x / torch.where(size > 0, size, 1)


def _check(first: Tensor, second: Tensor, tied: bool) -> None:
    got = f"{list(first.shape)} and {list(second.shape)}"
    if first.ndim != 2 or second.ndim != 2 or len(first) != len(second):
        raise ValueError(f"feature_correlations: features must be [n, D_A] and [n, D_B] of the same n data, got {got}")
    if tied and first.shape != second.shape:
        raise ValueError(f"feature_correlations: one encoder makes equal numbers of features, got {got}; tied=False?")
    if len(first) < 4 * max(first.shape[1], second.shape[1]):
        raise ValueError(f"feature_correlations: needs at least four pairs per feature, got {got}")
    if not bool(first.isfinite().all() and second.isfinite().all()):
        raise ValueError("feature_correlations: features must be finite, got an entry that is not")
