"""How far the numbers of Figure 2 could be luck of the test images and of the starts: bootstrap over both.

Each resample draws n images with replacement, the same for every run, and then starts with replacement, so that arms
that share images and starts are compared in pairs: the pigeonhole bootstrap of two crossed factors. Its intervals are
a little too wide, by the part of the variance that neither factor explains. `scipy.stats.bootstrap` resamples one axis
alone; for a mean over images of one run, or of a mean over starts, it does.
Source: Owen, The pigeonhole bootstrap (2007).
Shapes: weights `[resample, n]`, how often each image is drawn; outputs `[run, n, o]` as in `zero_shot`.
"""

import torch
from torch import Tensor

from .zero_shot import nearer_pairs


def image_weights(count: int, resamples: int, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Tensor:
    """How often each of n images occurs in n draws with replacement, `[resample, n]`; each row sums to n.

    Args:
        count: n ≥ 1.
        resamples: ≥ 1.
        generator: source of the draws; the result is on its device.
        dtype: dtype of the result.
    Returns: `[resample, n]`.
    Raises: ValueError for numbers below 1.
    """
    if count < 1 or resamples < 1:
        raise ValueError(f"count and resamples must be ≥ 1, got {count} and {resamples}")
    drawn = torch.randint(count, (resamples, count), generator=generator, device=generator.device)
    return torch.zeros(resamples, count, dtype=dtype, device=generator.device).scatter_add_(
        1, drawn, torch.ones((), dtype=dtype, device=generator.device).expand(resamples, count)
    )


def weights_without_groups(count: int, groups: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Weights of n images with one of the groups of consecutive images left out, `[group, n]`; each row sums to n.

    In place of `image_weights` they make a jackknife of the bootstrap: see `jackknife_values`.
    Args:
        count: n ≥ 2.
        groups: 2 to n.
        dtype: dtype of the result.
    Raises: ValueError for numbers outside their range.
    """
    if not 2 <= groups <= count:
        raise ValueError(f"groups must be 2 to {count}, got {groups}")
    parts = torch.arange(count).tensor_split(groups)
    weights = torch.ones(groups, count, dtype=dtype)
    for row, part in zip(weights, parts, strict=True):
        row[part] = 0
        row *= count / (count - len(part))
    return weights


def jackknife_values(whole: Tensor, without: Tensor) -> Tensor:
    """G·θ − (G − 1)·θ_{−g}: one value per group, whose spread is that of θ over images.

    The mean of the G values estimates θ, and their standard error is the jackknife's. For a mean θ over n images, a
    group of m with the mean μ has the value θ + (G − 1)m/(n − m)·(μ − θ), which is μ where all groups are equal. Where
    n is no multiple of G, sizes differ by one, and the factor stands in for the group's weight Gm/n in Busing's
    jackknife of unequal groups. From m = 3 on both factors agree within 1/G: neither the mean of the values nor its
    error is off by more than this share of the error.
    Source: Tukey, Bias and confidence in not-quite large samples (1958); for unequal groups Busing, Meijer and van der
    Leeden, Delete-m jackknife for unequal m (1999).
    Args:
        whole: θ of all images, `[...]`.
        without: θ without each group, `[group, ...]`.
    Returns: `[group, ...]`.
    """
    groups = len(without)
    return groups * whole - (groups - 1) * without


def resampled_means(values: Tensor, weights: Tensor) -> Tensor:
    """The mean over the images of each resample, `[resample, run]`, of values `[run, n]`."""
    return weights.to(values.dtype) @ values.mT / values.shape[-1]


def resampled_alignment(image_out: Tensor, text_out: Tensor, weights: Tensor, labels: Tensor | None = None) -> Tensor:
    """`alignment_by_distance` of each resample; a pair of images counts as often as both were drawn.

    An image is no negative of itself, however often it was drawn.
    Args:
        image_out, text_out, labels: as `alignment_by_distance`.
        weights: `[resample, n]`.
    Returns: `[resample, run]`, nan for a resample without a negative.
    Raises: as `alignment_by_distance`.
    Cost: 2·resample·n² flops and n² numbers per run.
    """
    found, weights = [], weights.to(image_out.dtype)
    for f_a, f_b in zip(image_out.split(1), text_out.split(1), strict=True):
        wins, counted = nearer_pairs(f_a, f_b, labels)
        wins, counted = ((weights @ pairs.to(weights.dtype) * weights).sum(-1) for pairs in (wins[0], counted))
        found.append(wins / counted)
    return torch.stack(found, -1)


def resampled_spectra(outputs: Tensor, weights: Tensor) -> Tensor:
    """Eigenvalues of Σ = E[f fᵀ] over each resample, descending.

    Σλ²/λ_1² is `output_balance` of the resample, √(λ_1/λ_k) is `output_condition_number`.
    Args:
        outputs: f, `[run, n, o]`.
        weights: `[resample, n]`.
    Returns: `[resample, run, o]`, ≥ 0.
    Error: eps·λ_1, absolute: condition numbers above 1/√eps are not resolved.
    Cost: 2·n·o² flops and the eigenvalues of one o×o matrix per resample and run.
    """
    rows = [(outputs.mT * w) @ outputs / outputs.shape[-2] for w in weights.to(outputs.dtype)]
    return torch.linalg.eigvalsh(torch.stack(rows)).flip(-1).clamp(min=0)


def resampled_starts(replicates: Tensor, generator: torch.Generator) -> Tensor:
    """The mean over as many starts, drawn with replacement for each resample.

    Args:
        replicates: of images, `[resample, ..., start]`; axes between stand for arms, which share the starts drawn.
        generator: source of the draws, on the device of the replicates.
    Returns: `[resample, ...]`.
    """
    resamples, starts = replicates.shape[0], replicates.shape[-1]
    weights = image_weights(starts, resamples, generator, replicates.dtype)
    return (replicates * weights.view(resamples, *[1] * (replicates.ndim - 2), starts)).sum(-1) / starts


def percentile_interval(replicates: Tensor, level: float = 0.95) -> Tensor:
    """The middle `level` of the resamples, `[2, ...]` of `[resample, ...]`: lower and upper end.

    Raises: ValueError for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    return torch.stack([torch.quantile(replicates, end, dim=0) for end in ((1 - level) / 2, (1 + level) / 2)])
