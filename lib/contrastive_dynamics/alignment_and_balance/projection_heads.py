"""Three fully-connected layers with batch norm between them, over frozen features: the part trained for Figure 2.

Shapes: runs first; inputs `[n, in]` for all runs or `[run, n, in]`, weights `[run, in, out]`, outputs `[run, n, out]`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

_EPS = 1e-5  # in the hidden batch norms, as in PyTorch
OUTPUTS = ("batch", "unit", "none")


class Heads(NamedTuple):
    """Parameters of one head for every run. There is no bias before a batch norm, which would subtract it."""

    w1: Tensor  # [run, in, width]
    gain1: Tensor  # [run, 1, width]
    shift1: Tensor
    w2: Tensor  # [run, width, width]
    gain2: Tensor
    shift2: Tensor
    w3: Tensor  # [run, width, out]
    bias3: Tensor  # [run, 1, out]


class Statistics(NamedTuple):
    """Means and scales of the normalisations: `[run, 1, width]` each, mean3 `[run, 1, out]`, scale3 `[run, 1, 1]`."""

    mean1: Tensor
    scale1: Tensor
    mean2: Tensor
    scale2: Tensor
    mean3: Tensor
    scale3: Tensor


def init_heads(
    generators: list[torch.Generator], features: int, width: int, out: int, dtype: torch.dtype = torch.float64
) -> Heads:
    """PyTorch's default start of a Linear, U(−1/√in, 1/√in) for weights and bias; gains 1, shifts 0.

    Args:
        generators: one per run, all on one device.
        features: number of inputs of the head, ≥ 1.
        width: width of both hidden layers, ≥ 1.
        out: number of outputs, ≥ 1.
        dtype: dtype of the parameters.
    Returns: Heads, each run's drawn from its own generator.
    Raises: ValueError for an argument outside its range.
    """
    if not generators or min(features, width, out) < 1:
        got = f"{len(generators)} generators, features={features}, width={width}, out={out}"
        raise ValueError(f"generators, features, width and out must be ≥ 1, got {got}")
    device = generators[0].device

    def uniform(rows: int, columns: int, fan_in: int) -> Tensor:
        drawn = [torch.rand(rows, columns, generator=g, dtype=dtype, device=device) for g in generators]
        return (2 * torch.stack(drawn) - 1) / fan_in**0.5

    one = torch.ones(len(generators), 1, width, dtype=dtype, device=device)
    first, second = uniform(features, width, features), uniform(width, width, width)
    last, bias = uniform(width, out, width), uniform(1, out, width)
    return Heads(first, one, torch.zeros_like(one), second, one.clone(), torch.zeros_like(one), last, bias)


def apply_heads(
    heads: Heads, x: Tensor, statistics: Statistics | None = None, output: str = "batch"
) -> tuple[Tensor, Statistics]:
    """y = φ(BN(φ(BN(xW_1))W_2))W_3 + b, φ = ReLU, then the normalisation of the output.

    BN is per feature, (h − mean)/√(var + ε)·gain + shift, with the batch's biased variance, ε = 10⁻⁵.
    output = "batch", the paper's learner: f = (y − E y)/√E‖y − E y‖², so E f = 0 and E‖f‖² = 1 over the batch;
    "unit", as in CLIP: f = y/‖y‖; "none": f = y.
    In training, means and scales are those of x itself. Evaluation takes them from one pass over the whole training
    set, `_, statistics = apply_heads(heads, training)`; there is no running average.
    Source: ren-li-2023, Section 6 (layers), Section 3 (output).
    Args:
        heads: parameters.
        x: `[n, in]` or `[run, n, in]`; n ≥ 2 without statistics.
        statistics: means and scales to use; None to use those of x.
        output: one of OUTPUTS.
    Returns: f `[run, n, out]`, and the statistics used.
    Raises: ValueError for another x or output.
    Cost: 2·n·(in·width + width² + width·out) flops and about 3·n·width numbers per run.
    """
    if output not in OUTPUTS:
        raise ValueError(f"output must be one of {', '.join(OUTPUTS)}, got {output!r}")
    if x.shape[-1:] != heads.w1.shape[-2:-1] or x.ndim not in (2, 3) or (statistics is None and x.shape[-2] < 2):
        features, few = heads.w1.shape[-2], "" if statistics else ", n of 2 or more without statistics"
        raise ValueError(f"x must be [n, {features}] or [run, n, {features}]{few}, got {tuple(x.shape)}")
    h, mean1, scale1 = _normalised(x @ heads.w1, statistics and statistics[0:2])
    h = torch.addcmul(heads.shift1, h, heads.gain1).relu()
    h, mean2, scale2 = _normalised(h @ heads.w2, statistics and statistics[2:4])
    h = torch.addcmul(heads.shift2, h, heads.gain2).relu()
    y = torch.baddbmm(heads.bias3, h, heads.w3)
    mean3 = statistics.mean3 if statistics else y.mean(-2, keepdim=True)
    centred = y - mean3
    scale3 = statistics.scale3 if statistics else centred.square().sum(-1, keepdim=True).mean(-2, keepdim=True).sqrt()
    used = Statistics(mean1, scale1, mean2, scale2, mean3, scale3)
    if output == "unit":
        return torch.nn.functional.normalize(y, dim=-1), used
    return (centred / scale3 if output == "batch" else y), used


def _normalised(h: Tensor, given: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor, Tensor]:
    if given:
        return (h - given[0]) / given[1], *given
    mean = h.mean(-2, keepdim=True)
    centred = h - mean
    scale = (centred.square().mean(-2, keepdim=True) + _EPS).sqrt()  # half the time of torch.var_mean along this axis
    return centred / scale, mean, scale
