"""Canonical correlations of a user's own features, `[n, D_A]` and `[n, D_B]`, of two encoders or of one.

Both halves of the pairs find directions, and each half's directions are measured on the other, so that nothing shared
gives 0 on average. Units do not matter, see `canonical_correlations`.
"""

import math
import warnings

import torch
from torch import Tensor

from .sampling_bias import split_correlations


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
    found = split_correlations(first, second, tied=tied)
    if tied:
        free, own = split_correlations(first, second, tied=False), found.abs().sort(descending=True).values
        kept = min(len(free), len(own))
        excess = float((free[:kept] - own[:kept]).max())
        if excess > 0.1 + 4 / math.sqrt(len(first)):
            warnings.warn(
                f"feature_correlations: two encoders would see correlations higher by up to {excess:.2f}; "
                "if each view has an encoder of its own, say tied=False",
                stacklevel=2,
            )
    return found


def unrelated_correlation(first: Tensor, second: Tensor, *, tied: bool, generator: torch.Generator) -> float:
    """What a direction that the features share is above: 3.5 standard deviations of ρ with the pairs shuffled.

    Of 4,000 directions of unrelated features about one is above it. Pairs are shuffled until there are a hundred ρ, as
    the largest of a single shuffle is too low a line as often as not.
    Args:
        first, second, tied: as in `feature_correlations`.
        generator: of the shuffles.
    Returns: a correlation > 0, about 3.5/√n; more for features with heavy tails.
    Raises: ValueError as `feature_correlations`, and for features that have no direction in common to measure.
    Cost: that of `split_correlations` for each hundred directions or less.
    """
    _check(first, second, tied)
    shown = []
    while sum(map(len, shown)) < 100:
        order = torch.randperm(len(first), generator=generator)
        shown.append(split_correlations(first, second[order], tied=tied))
        if not len(shown[0]):
            raise ValueError("unrelated_correlation: one half of the pairs has no column that varies")
    return 3.5 * float(torch.cat(shown).square().mean().sqrt())


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
