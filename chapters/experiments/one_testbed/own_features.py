"""What two sets of features of the same data have in common: the numbers of `clbook features`, and what they say.

It works on any two arrays, `[n, D_A]` and `[n, D_B]`, and knows nothing of files.
"""

import warnings
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.testbed.canonical_correlations import canonical_correlations
from contrastive_dynamics.testbed.feature_correlations import feature_correlations, unrelated_correlation
from contrastive_dynamics.testbed.frozen_features import principal_axes
from contrastive_dynamics.testbed.soft_threshold import effective_rank_of_shares, learned_temperature, water_filling

SCALES = (0.5, 1.0, 2.0, 5.0, 10.0, 14.3, 50.0, 100.0)  # τ²; CLIP's begins at 14.3 and is clipped at 100
_UNIT = 1e-3  # rows whose lengths vary by less than this, relative to their mean, have one length


class Common(NamedTuple):
    """What two sets of features have in common."""

    rho: Tensor  # [k], canonical correlations measured on rows that did not find them, descending; too low
    fitted: Tensor  # [k], the same on the rows that found them, descending; too high
    unrelated: float  # ρ that unrelated pairs of the same features hardly reach, `unrelated_correlation`
    count: int  # how many ρ are above it
    spectra: tuple[Tensor, Tensor]  # shares of variance along principal axes, descending, [D_A] and [D_B]
    lengths: tuple[float, float]  # spread of the rows' lengths over their mean, 0 for unit length
    total: float  # the most that a learned τ² ends at with Gaussian views: the sum of the ρ that are counted
    kept: Tensor  # [scales], to how many directions a linear encoder with a fixed τ² gives a share, of those counted
    ranks: Tensor  # [scales], the effective rank of these shares, at most `kept`
    notes: tuple[str, ...]  # warnings, a sentence each


def common(
    first: Tensor, second: Tensor, *, tied: bool, scales: tuple[float, ...] = SCALES, components: int = 0
) -> Common:
    """What two sets of features have in common, and what InfoNCE would make of it.

    Rows are shuffled first, as files are often sorted, and the correlations are those of `feature_correlations`. A
    linear encoder, of root mean square norm 1, gives direction j the share (ρ_j − μ)₊/τ²: `soft_threshold`.
    Args:
        first, second: `[n, D_A]` and `[n, D_B]`, row i of both from datum i.
        tied: True if one encoder makes both, False if each has an encoder of its own.
        scales: inverse temperatures τ² > 0.
        components: if > 0, only so many principal components of each set are used.
    Raises: ValueError as `feature_correlations` and `principal_axes`, and for a scale that is not > 0.
    Cost: 40nD² flops, twice as much if tied; more shuffles if there are fewer than a hundred directions.
    """
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(first), generator=generator)
    first, second = first[order], second[order]
    if components:
        together = [torch.cat([first, second])] * 2 if tied else [first, second]  # one encoder has one set of axes
        axes = [principal_axes(of, components) for of in together]
        first, second = (x @ on.to(x.dtype) for x, on in zip((first, second), axes, strict=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rho = feature_correlations(first, second, tied=tied)
    unrelated = unrelated_correlation(first, second, tied=tied, generator=generator)
    counted = rho[rho > unrelated].clamp(0, 1)
    return Common(
        rho, canonical_correlations((first, second), tied=tied), unrelated, len(counted),
        tuple(map(_spectrum, (first, second))), tuple(map(_spread, (first, second))),
        float(learned_temperature(counted)) if len(counted) else 0.0, *_kept(counted, scales, tied),
        tuple("Two encoders would see far more: --two-encoders?" for _ in caught[:1]),
    )  # fmt: skip


def _kept(counted: Tensor, scales: tuple[float, ...], tied: bool) -> tuple[Tensor, Tensor]:
    if not len(counted):
        return torch.zeros(len(scales), dtype=torch.long), torch.zeros(len(scales))
    shares = torch.stack([water_filling(counted, scale, tied=tied) for scale in scales])
    return (shares > 0).sum(-1), effective_rank_of_shares(shares)


def _spectrum(x: Tensor) -> Tensor:
    values = torch.linalg.svdvals(x.double() - x.double().mean(0)).square()
    return values / values.sum()


def _spread(x: Tensor) -> float:
    lengths = x.double().norm(dim=1)
    return float(lengths.std() / lengths.mean())


def sentences(found: Common, count: int, tied: bool) -> list[str]:
    """What the numbers say, a sentence or two each; `count` is n."""
    sizes = [len(s) for s in found.spectra]
    first, second = (
        f"{float(effective_rank_of_shares(s)):.1f} of {d}" for s, d in zip(found.spectra, sizes, strict=True)
    )
    said = [
        f"{found.count} of {len(found.rho)} directions are shared by more than unrelated pairs show "
        f"(a correlation of {found.unrelated:.2f} with {count:,} pairs).",
        f"The variance of the features fills {first} directions in the first file and {second} in the second "
        "(effective rank).",
    ]
    if not found.count:
        return [*said, "Nothing is shared. Are the rows of both files in the same order?", *found.notes]
    start = "" if tied else "starts below it and "
    said.append(
        f"The correlations of shared directions add up to {found.total:.1f}. A linear encoder with outputs of mean "
        f"square length 1 that {start}learns its inverse temperature ends at most there if its views are Gaussian."
    )
    if max(found.lengths) < _UNIT:
        said.append(
            "All rows have one length, so these may be outputs of unit length, as CLIP's: then a learned logit scale "
            "is no sum of correlations, and the numbers of directions kept do not apply to it."
        )
    if len(found.rho) and count < 20 * max(sizes):
        low, high = (float(of[: found.count].sum()) for of in (found.rho, found.fitted))
        said.append(
            f"There are few pairs for so many columns: the sum lies between {low:.1f} and {high:.1f}. "
            "More pairs, or fewer --components, bring the two closer."
        )
    return [*said, *found.notes]
