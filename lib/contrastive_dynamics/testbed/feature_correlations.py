"""Canonical correlations of a user's own features, `[n, D_A]` and `[n, D_B]`, of two encoders or of one.

Both halves of the pairs find directions, and each half's directions are measured on the other, so that nothing shared
gives 0 on average. Units do not matter, see `canonical_correlations`.
"""

import math
import warnings

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
