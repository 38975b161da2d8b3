"""What filters on pixels look like: how rough they are, how many directions they fill, how closely they match the data.

Shapes: filters `[..., M, d]` of a receptive field, or as pictures `[..., s, s]`; leading axes are batch axes.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize


def power_spectrum(filters: Tensor) -> Tensor:
    """|ŵ|² of the discrete Fourier transform over s, so that Σ|ŵ|² = Σw² (Parseval).

    The frequency of entry (i, j) is that of torch.fft.fftfreq.

    Args:
        filters: pictures `[..., s, s]`.
    Returns: `[..., s, s]`.
    Raises: ValueError for filters that are not square.
    Cost: 20·s²·log₂ s flops per filter.
    """
    if filters.ndim < 2 or filters.shape[-1] != filters.shape[-2]:
        raise ValueError(f"filters must be square, [..., s, s], got {tuple(filters.shape)}")
    return torch.fft.fft2(filters, norm="ortho").abs().square()


def above_half_nyquist(s: int, device: torch.device | str | None = None) -> Tensor:
    """Entries of an s×s spectrum whose radial frequency √(u² + v²) exceeds ¼ cycle per pixel, half of Nyquist's ½.

    There are 159 of 196 for s = 14 and 11 of 16 for s = 4.

    Args:
        s: pixels per side.
        device: device of the result.
    Returns: bool `[s, s]`.
    """
    waves = torch.fft.fftfreq(s, 1 / s, device=device).round()  # whole waves across the picture, so no rounding
    return 16 * (waves.square() + waves.square().unsqueeze(-1)) > s * s


def high_frequency_share(filters: Tensor, remove_mean: bool = True) -> Tensor:
    """Share of a filter's spectral energy above half the Nyquist frequency, Σ_{high}|ŵ|²/Σ|ŵ|².

    By default the mean is left out of both sums, so that brightness does not count as smoothness; white noise then has
    159/195 for s = 14, 11/15 for s = 4.

    Of pictures in three colours, over all of them, and 0 for a flat one: that of `feature_visualisation`.

    Source: tian-2023, Figure 13 and Appendix E.3 ("much weaker high-frequency components"), which define no measure;
        this one is ours.
    Args:
        filters: pictures `[..., s, s]`, s ≥ 2.
        remove_mean: leave the mean out of both sums.
    Returns: `[...]`, 0 to 1, NaN for a filter that is 0 (or, without its mean, constant).
    Raises: as `power_spectrum`.
    Cost: as `power_spectrum`.
    """
    power = power_spectrum(filters)
    if remove_mean:
        power = power.clone()
        power[..., 0, 0] = 0
    high = above_half_nyquist(filters.shape[-1], filters.device)
    return (power * high).sum((-2, -1)) / power.sum((-2, -1))


def unit_filters(filters: Tensor, kept: Tensor) -> Tensor:
    """w/‖w‖ for the filters that count, 0 for the others.

    The effective rank of the result counts directions, so that short filters weigh as much as long ones.

    Args:
        filters: `[..., M, d]`.
        kept: bool `[..., M]`, the filters that count.
    Returns: `[..., M, d]`; a filter that is 0 stays 0.
    """
    return normalize(filters, dim=-1, eps=torch.finfo(filters.dtype).tiny) * kept.unsqueeze(-1)


def principal_components(parts: Tensor, variance: float = 0.9) -> Tensor:
    """The projector onto the smallest set of principal components that holds a given share of the variance of the data.

    Args:
        parts: `[..., n, d]`, what a receptive field sees.
        variance: the share, above 0 and up to 1.
    Returns: `[..., d, d]`, symmetric, its rank the number of those components.
    Raises: ValueError for any other variance.
    Cost: 2·n·d² + 10·d³ flops.
    """
    if not 0 < variance <= 1:
        raise ValueError(f"variance must be > 0 and ≤ 1, got {variance}")
    centred = parts - parts.mean(-2, keepdim=True)
    values, vectors = torch.linalg.eigh(centred.mT @ centred)  # ascending
    held = values.flip(-1).cumsum(-1).flip(-1) / values.sum(-1, keepdim=True)
    before = held - values / values.sum(-1, keepdim=True)  # what the larger components hold without this one
    vectors = vectors * (before < variance).to(vectors.dtype).unsqueeze(-2)
    return vectors @ vectors.mT


def share_within(filters: Tensor, projector: Tensor) -> Tensor:
    """‖Pw‖²/‖w‖²: how much of a filter lies in a subspace, such as that of the principal components of what it sees.

    A random filter has rank(P)/d.

    Args:
        filters: `[..., M, d]`.
        projector: P `[..., d, d]`, symmetric.
    Returns: `[..., M]`, 0 to 1, NaN for a filter that is 0.
    Cost: 2·M·d² flops.
    """
    return ((filters @ projector) * filters).sum(-1) / filters.square().sum(-1)


def mean_of_kept(values: Tensor, kept: Tensor) -> Tensor:
    """Mean over the filters that count: values and kept `[..., M]` to `[...]`, NaN if none counts."""
    return torch.where(kept, values, 0).sum(-1) / kept.sum(-1)


def alive(filters: Tensor, share: float = 0.1) -> Tensor:
    """Filters longer than a given share of the longest of their receptive field.

    Weight decay shrinks to nothing a filter that no input activates; one that fell silent only recently still counts.

    Args:
        filters: `[..., M, d]`.
        share: of the longest filter's length, 0 to 1.
    Returns: bool `[..., M]`.
    Raises: ValueError for any other share.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be ≥ 0 and ≤ 1, got {share}")
    length = torch.linalg.vector_norm(filters, dim=-1)
    return length > share * length.amax(-1, keepdim=True)


def pictures(filters: Tensor) -> Tensor:
    """Filters as pictures: `[..., d]` to `[..., s, s]`, s = √d. Raises: ValueError if d is not a square number."""
    s = math.isqrt(filters.shape[-1])
    if s * s != filters.shape[-1]:
        raise ValueError(f"filters must have a square number of pixels, got {filters.shape[-1]}")
    return filters.unflatten(-1, (s, s))
