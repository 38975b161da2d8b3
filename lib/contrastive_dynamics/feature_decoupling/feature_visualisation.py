"""Images that excite a filter most, found by gradient ascent, and how much of an image is detail, pattern or colour.

Shapes: images `[run, filter, 3, s, s]` of values 0 to 1.
"""

import torch
from torch import Tensor

from .wide_resnet import Statistics, Weights, WideResNet, each_run


def visualised_filters(
    network: WideResNet,
    weights: Weights,
    statistics: Statistics,
    generators: list[torch.Generator],
    size: int,
    *,
    layer: int = 4,
    steps: int = 60,
    rate: float = 0.05,
    decay: float = 0.02,
    variation: float = 0.02,
    jitter: int = 1,
) -> Tensor:
    """For every filter of a layer, an image that maximises its mean over pixels; all filters at once.

    x ← clamp(x + η g/rms(g)), g = ∇[r_f(x)/σ_f − (λ/2)·mean (x − ½)²·3s² − κ·TV(x)], r_f the mean before ReLU
    (it has a slope where the filter is silent) and σ_f the size of ∇r_f at the start, so that one λ and one κ suit all
    filters; TV is the sum of absolute differences of neighbours. In each step the image is shifted cyclically by up to
    `jitter` pixels in both directions, with one draw per step and run.
    Source: wen-li-2021, Figures 1 and 2, which do not state the method; Olah et al., Feature Visualization (2017).
    Args:
        network: the architecture.
        weights, statistics: `[run, ...]`.
        generators: one per run, on the device of the weights.
        size: s, the side of the images.
        layer: 1 to 4.
        steps: number of ascent steps, ≥ 1.
        rate: η > 0.
        decay: λ ≥ 0.
        variation: κ ≥ 0.
        jitter: ≥ 0, in pixels.
    Returns: `[run, filter, 3, s, s]`.
    Raises: ValueError for settings outside these ranges.
    Cost: per step, 4·`multiplications` flops per filter and run.
    """
    _check(layer, steps, rate, decay, variation, jitter)
    runs = zip(each_run(weights), each_run(statistics), generators, strict=True)
    count, how = network.channels[layer - 1], (steps, rate, decay, variation, jitter)
    return torch.stack([_ascended(network, *run, (count, 3, size, size), layer, how) for run in runs])


def _ascended(network, weights, statistics, generator, shape, layer, how) -> Tensor:
    steps, rate, decay, variation, jitter = how
    like = weights["stem.conv"]
    noise = torch.randn(shape, generator=generator, dtype=like.dtype, device=like.device)
    shifts = torch.randint(-jitter, jitter + 1, (steps, 2), generator=generator, device=like.device).tolist()
    x, scale = (0.5 + 0.1 * noise).clamp(0, 1), None
    for shift in shifts:
        x = x.roll(shift, (-2, -1)).requires_grad_()
        with torch.enable_grad():
            responses = network.layers(weights, x, statistics)[layer - 1].mean((-2, -1)).diagonal()
            (g,) = torch.autograd.grad(responses.sum(), x)
        scale = _rms(g) if scale is None else scale
        x = x.detach()
        g = g / scale - decay * (x - 0.5) - variation * _variation_slope(x)
        x = (x + rate * g / _rms(g)).clamp(0, 1).roll([-step for step in shift], (-2, -1))
    return x


def _variation_slope(x: Tensor) -> Tensor:
    """∂/∂x of Σ|x_i − x_j| over neighbours, without wrapping at the borders."""
    down, across = x.diff(dim=-2).sign(), x.diff(dim=-1).sign()
    pad = torch.nn.functional.pad
    return pad(down, (0, 0, 1, 0)) - pad(down, (0, 0, 0, 1)) + pad(across, (1, 0)) - pad(across, (0, 1))


def _rms(g: Tensor) -> Tensor:
    return g.square().mean((-3, -2, -1), keepdim=True).sqrt().clamp(min=1e-12)


def high_frequency_share(images: Tensor) -> Tensor:
    """Share of the spectral energy, without the mean, above half the Nyquist frequency: |(f_x, f_y)| > ¼ per pixel.

    It quantifies "dense, meaningless patterns": `white_share` for white noise, a few percent for natural images.
    Source: wen-li-2021, Figure 2 (by eye there).
    Args:
        images: `[..., 3, s, s]`.
    Returns: `[...]`, 0 for a flat image.
    Cost: one FFT per image.
    """
    fine, energy = _fine(images), torch.fft.fft2(images - images.mean((-2, -1), keepdim=True)).abs().square()
    total, part = energy.sum((-3, -2, -1)), (energy * fine).sum((-3, -2, -1))
    return torch.where(total > 0, part / total, 0.0)


def pattern_spread(images: Tensor) -> Tensor:
    """How far the pixels of an image are from its mean colour, over half the diagonal of all colours: Σ|x_i − x̄|/(n√¾).

    It quantifies dense patterns, which cover the image: 0 for a plain field of any colour, 4f(1 − f) for a patch of the
    other extreme colour on a share f of the pixels, 0.55 for white noise of values 0 to 1, nearly 1 if every pixel is
    pure colour, white or black by chance, 1 at most.
    Source: derived; wen-li-2021, Figure 2 (by eye there).
    Args:
        images: `[..., 3, s, s]` of values 0 to 1, n = s².
    Returns: `[...]`.
    """
    off = images - images.mean((-2, -1), keepdim=True)
    return off.square().sum(-3).sqrt().mean((-2, -1)) / 0.75**0.5


def colour_share(images: Tensor) -> Tensor:
    """Share of an image's deviation from middle grey that is off the axis of greys: Σ|x − x̄|²/Σ|x − ½|².

    x̄ is the mean of the three colours of a pixel. It quantifies "color features": 0 for greys, 8/9 for a pure colour.
    Source: wen-li-2021, Figures 1 and 2 (by eye there).
    Args:
        images: `[..., 3, s, s]`.
    Returns: `[...]`, 0 for middle grey.
    """
    off = (images - images.mean(-3, keepdim=True)).square().sum((-3, -2, -1))
    total = (images - 0.5).square().sum((-3, -2, -1))
    return torch.where(total > 0, off / total, 0.0)


def white_share(size: int) -> float:
    """Expected `high_frequency_share` of white noise of s × s pixels: the share of these among all but 0."""
    return float(_fine(torch.zeros(size, size, dtype=torch.float64, device="cpu")).sum()) / (size**2 - 1)


def _fine(images: Tensor) -> Tensor:
    f = torch.fft.fftfreq(images.shape[-1], dtype=images.dtype, device=images.device)
    return (f.square() + f.square().unsqueeze(-1)).sqrt() > 0.25


def _check(layer: int, steps: int, rate: float, decay: float, variation: float, jitter: int) -> None:
    if not (1 <= layer <= 4 and steps >= 1 and rate > 0 and decay >= 0 and variation >= 0 and jitter >= 0):
        got = f"layer={layer}, steps={steps}, rate={rate}, decay={decay}, variation={variation}, jitter={jitter}"
        raise ValueError(f"settings must be layer 1 to 4, steps ≥ 1, rate > 0 and the others ≥ 0, got {got}")
