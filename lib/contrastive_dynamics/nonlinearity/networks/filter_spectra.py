"""What filters on pixels look like: how rough they are, how many directions they fill, how much they are like the data.

Shapes: filters `[..., M, d]` of a receptive field, or as pictures `[..., s, s]`; leading axes are batch axes.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize


def power_spectrum(filters: Tensor) -> Tensor:
    """|ŵ|² of the discrete Fourier transform over s, so that Σ|ŵ|² = Σw² (Parseval): `[..., s, s]` to the same shape.

    The frequency of entry (i, j) is that of torch.fft.fftfreq. Raises: ValueError for filters that are not square.
    Cost: 20·s²·log₂ s flops a filter.
    """
    if filters.ndim < 2 or filters.shape[-1] != filters.shape[-2]:
        raise ValueError(f"power_spectrum: got filters {tuple(filters.shape)}, allowed are square ones [..., s, s]")
    return torch.fft.fft2(filters, norm="ortho").abs().square()


def above_half_nyquist(s: int, device: torch.device | str | None = None) -> Tensor:
    """Entries of an s×s spectrum whose radial frequency √(u² + v²) is above ¼ cycle a pixel, half of Nyquist's ½.

    They are 159 of 196 for s = 14 and 11 of 16 for s = 4. Returns: bool `[s, s]`.
    """
    waves = torch.fft.fftfreq(s, 1 / s, device=device).round()  # whole waves over the picture: no rounding
    return 16 * (waves.square() + waves.square().unsqueeze(-1)) > s * s


def high_frequency_share(filters: Tensor, remove_mean: bool = True) -> Tensor:
    """Share of a filter's spectral energy above half the Nyquist frequency, Σ_{high}|ŵ|²/Σ|ŵ|².

    The mean is left out of both sums by default, so that brightness does not count as smoothness; white noise then has
    159/195 for s = 14, 11/15 for s = 4. Source: tian-2023, Figure 13 and Appendix E.3 ("much weaker high-frequency
    components"), which give no measure; this one is ours.
    Args: `[..., s, s]`, s ≥ 2. Returns: `[...]`, 0 to 1, NaN for a filter that is 0 (or constant, without its mean).
    Raises and cost: as `power_spectrum`.
    """
    power = power_spectrum(filters)
    if remove_mean:
        power = power.clone()
        power[..., 0, 0] = 0
    high = above_half_nyquist(filters.shape[-1], filters.device)
    return (power * high).sum((-2, -1)) / power.sum((-2, -1))


def effective_rank(filters: Tensor, kept: Tensor | None = None) -> Tensor:
    """exp of the entropy of p_i = σ_i²/Σσ², σ the singular values of the unit filters; 1 where they lie on one line.

    Source: Roy and Vetterli, The effective rank (2007), there of σ_i/Σσ. Args: `[..., M, d]`; kept bool `[..., M]`,
    filters that count, default all. Returns: `[...]`, 1 to min(M, d), 0 where no filter counts. Cost: M²·d flops.
    """
    unit = _unit(filters, kept)
    p = torch.linalg.svdvals(unit).square()
    p = p / p.sum(-1, keepdim=True).clamp(min=torch.finfo(p.dtype).tiny)
    return torch.special.entr(p).sum(-1).exp() * (p.sum(-1) > 0.5)


def _unit(filters: Tensor, kept: Tensor | None) -> Tensor:
    unit = normalize(filters, dim=-1, eps=torch.finfo(filters.dtype).tiny)
    return unit if kept is None else unit * kept.unsqueeze(-1)


def principal_components(parts: Tensor, variance: float = 0.9) -> Tensor:
    """The projector on the fewest principal components that hold a share of the variance of the data.

    Args: parts `[..., n, d]`, what a receptive field sees; variance 0 to 1. Returns: `[..., d, d]`, symmetric, of that
    rank. Raises: ValueError for another variance. Cost: 2·n·d² + 10·d³ flops.
    """
    if not 0 < variance <= 1:
        raise ValueError(f"principal_components: variance: got {variance}, allowed are 0 to 1")
    centred = parts - parts.mean(-2, keepdim=True)
    values, vectors = torch.linalg.eigh(centred.mT @ centred)  # ascending
    held = values.flip(-1).cumsum(-1).flip(-1) / values.sum(-1, keepdim=True)
    before = held - values / values.sum(-1, keepdim=True)  # what the larger components hold without this one
    vectors = vectors * (before < variance).to(vectors.dtype).unsqueeze(-2)
    return vectors @ vectors.mT


def share_within(filters: Tensor, projector: Tensor) -> Tensor:
    """‖Pw‖²/‖w‖²: how much of a filter lies in a subspace, as that of the principal components of what it sees.

    A random filter has rank(P)/d. Args: `[..., M, d]`; projector `[..., d, d]`, symmetric. Returns: `[..., M]`, 0 to 1,
    NaN for a filter that is 0. Cost: 2·M·d² flops.
    """
    return ((filters @ projector) * filters).sum(-1) / filters.square().sum(-1)


def mean_of_kept(values: Tensor, kept: Tensor) -> Tensor:
    """Mean over the filters that count: values and kept `[..., M]` to `[...]`, NaN where none does."""
    return torch.where(kept, values, 0).sum(-1) / kept.sum(-1)


def alive(filters: Tensor, share: float = 0.1) -> Tensor:
    """Filters longer than a share of the longest of their receptive field.

    Weight decay shrinks a filter that no input opens to nothing; one that closed of late still counts.

    Args: `[..., M, d]`; share 0 to 1. Returns: bool `[..., M]`. Raises: ValueError for another share.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"alive: share: got {share}, allowed are 0 to 1")
    length = torch.linalg.vector_norm(filters, dim=-1)
    return length > share * length.amax(-1, keepdim=True)


def pictures(filters: Tensor) -> Tensor:
    """Filters as pictures: `[..., d]` to `[..., s, s]`, s = √d. Raises: ValueError where d is no square."""
    s = math.isqrt(filters.shape[-1])
    if s * s != filters.shape[-1]:
        raise ValueError(f"pictures: got filters of {filters.shape[-1]} pixels, allowed are squares")
    return filters.unflatten(-1, (s, s))
