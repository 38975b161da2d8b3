"""The tangent kernel ⟨∇u_a(x), ∇u_b(y)⟩ of u(x) = W2ᵀφ(W1 x): exact at finite width, and its limits.

Shapes: W1 `[run, h, d]`, W2 `[run, h, z]`; points x `[k, d]`, y `[l, d]`; kernels `[run, k, l, z, z]`.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..losses.activations import Activation
from ..numerics.memory import require_memory
from ..numerics.random_streams import stream
from .smooth_activations import WIDE


def gaussian_weights(
    generators_1: list[torch.Generator],
    generators_2: list[torch.Generator],
    h: int,
    d: int,
    z: int,
    std1: float,
    std2: float,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor]:
    """Independent normal entries, of standard deviation std1 in W1 and std2 in W2.

    A run draws the same numbers in any batch.

    Source: esser-2023, proof of Lemma 1 ("a normalized gaussian"): 1/√h in both layers; with 1/h in W2, W1 does not
        train.
    Args:
        generators_1: for W1, one per run.
        generators_2: for W2, one per run.
        h: width, ≥ 1.
        d: number of inputs, ≥ 1.
        z: number of outputs, ≥ 1.
        std1: > 0.
        std2: > 0.
        dtype: dtype of the result.
    Returns: W1 `[run, h, d]`, W2 `[run, h, z]`.
    Raises: ValueError for an argument outside its range, or different numbers of generators.
    """
    if len(generators_1) != len(generators_2) or not generators_1:
        got = f"{len(generators_1)} and {len(generators_2)} generators"
        raise ValueError(f"generators must be equally many for both layers, 1 or more, got {got}")
    if min(h, d, z) < 1 or not (std1 > 0 and std2 > 0):
        got = f"h={h}, d={d}, z={z}, std1={std1}, std2={std2}"
        raise ValueError(f"h, d, z must be ≥ 1 and std1, std2 > 0, got {got}")

    def draw(generators: list[torch.Generator], width: int) -> Tensor:
        return torch.stack([torch.randn(h, width, generator=g, dtype=dtype, device=g.device) for g in generators])

    return std1 * draw(generators_1, d), std2 * draw(generators_2, z)


def tangent_kernel(w1: Tensor, w2: Tensor, x: Tensor, y: Tensor, act: Activation, block: int = 1024) -> Tensor:
    """Θ_ab(x, y) = ⟨∇u_a(x), ∇u_b(y)⟩ over the parameters of both layers, exact.

    Θ_ab(x, y) = δ_ab φ(W1x)ᵀφ(W1y) + xᵀy Σ_i W2_ia W2_ib φ'(w_iᵀx) φ'(w_iᵀy), w_i the rows of W1: the first term is
    the gradient in W2, the second the gradient in W1, which alone couples different outputs.

    Source: esser-2023, Lemma 1 and its proof.
    Args:
        w1: first layer, `[run, h, d]`.
        w2: second layer, `[run, h, z]`.
        x: points, `[k, d]`.
        y: points, `[l, d]`.
        act: any activation φ.
        block: hidden units at a time, ≥ 1.
    Returns: `[run, k, l, z, z]`, the last two axes for a and b.
    Raises: ValueError for shapes that do not fit, or if the device does not have enough memory.
    Cost: 2·run·h·k·l·(z² + 1) flops; run·[block·(k + l)·(z + 4) + 2·k·l·(z² + 1)] numbers besides the arguments.
    """
    _check_shapes(w1, w2, x, y, block)
    (run, h, z), k, l = w2.shape, len(x), len(y)  # noqa: E741
    numbers = run * (min(block, h) * (k + l) * (z + 4) + 2 * k * l * (z * z + 1))
    require_memory(numbers * w1.element_size(), w1.device, f"tangent kernels of {run} runs")
    features, gates = w1.new_zeros(run, k, l), w1.new_zeros(run, k * z, l * z)
    for rows, tops in zip(w1.split(block, 1), w2.split(block, 1), strict=True):
        before_x, before_y = x @ rows.mT, y @ rows.mT
        features.baddbmm_(act.h(before_x), act.h(before_y).mT)
        gates.baddbmm_(_gated(before_x, tops, act), _gated(before_y, tops, act).mT)
    kernel = gates.view(run, k, z, l, z).permute(0, 1, 3, 2, 4) * (x @ y.mT)[:, :, None, None]
    kernel.diagonal(dim1=-2, dim2=-1).add_(features.unsqueeze(-1))
    return kernel


def random_tangent_kernel(
    seed: int, h: int, name: str, points: Tensor, z: int, std2: float | None = None, tied: bool = False
) -> Tensor:
    """The exact tangent kernel of one random network, whose layers have the streams (seed, h, "NAME first/second").

    Source: esser-2023, proof of Lemma 1: N(0, 1/h) in W1.
    Args:
        seed: integer ≥ 0.
        h: width, ≥ 1.
        name: an activation of `smooth_activations.WIDE`.
        points: `[k, d]`.
        z: outputs, ≥ 1.
        std2: standard deviation in W2, > 0; by default h^{-1/2}, as in W1.
        tied: every output has the weights of the first, so that nothing decouples them.
    Returns: `[k, k, z, z]`.
    Raises: KeyError for another activation; ValueError as `gaussian_weights` and `tangent_kernel`.
    """
    draws = [stream(seed, h, f"{name} first")], [stream(seed, h, f"{name} second")]
    w1, w2 = gaussian_weights(*draws, h, points.shape[-1], z, h**-0.5, std2 or h**-0.5)
    if tied:
        w2 = w2[..., :1].expand(-1, -1, z)
    return tangent_kernel(w1, w2, points, points, WIDE[name])[0]


def tangent_shares(seed: int, widths: Sequence[int], name: str, points: Tensor, z: int, **options) -> list[float]:
    """`off_diagonal_share` of `random_tangent_kernel` at each width; arguments and options as there."""
    kernels = (random_tangent_kernel(seed, h, name, points, z, **options) for h in widths)
    return [float(off_diagonal_share(kernel)) for kernel in kernels]


def relu_limit(x: Tensor, y: Tensor) -> Tensor:
    """The limit of Θ_aa(x, y) as h → ∞ for ReLU and N(0, 1/h) in both layers; for a ≠ b it is 0.

    ‖x‖‖y‖/(2π) · (sin θ + (π − θ) cos θ) + xᵀy (π − θ)/(2π), θ the angle between x and y: half the arc-cosine kernels
    of order 1 (W2) and 0 (W1). On the diagonal it is ‖x‖². With standard deviation 1/h in W2 only the first term
    remains.

    Source: esser-2023, Lemma 1 (the kernel k); Cho and Saul 2009, Kernel methods for deep learning, eqs. (3), (4), (6).
    Args:
        x: points, `[..., k, d]`.
        y: points, `[..., l, d]`.
    Returns: `[..., k, l]`; 0 where x or y is 0.
    Error: at width h, O(h^{-1/2}) for random weights.
    Cost: 6·k·l·d flops and k·l·d numbers.
    """
    sizes = x.norm(dim=-1, keepdim=True) * y.norm(dim=-1).unsqueeze(-2)
    a = torch.nn.functional.normalize(x, dim=-1).unsqueeze(-2)
    b = torch.nn.functional.normalize(y, dim=-1).unsqueeze(-3)
    # The arc cosine of xᵀy would lose half the digits of a small angle; this does not.
    angle = 2 * torch.atan2((a - b).norm(dim=-1), (a + b).norm(dim=-1))
    order_1 = sizes * (angle.sin() + (math.pi - angle) * angle.cos())
    return (order_1 + x @ y.mT * (math.pi - angle)) / (2 * math.pi)


def off_diagonal_share(kernel: Tensor) -> Tensor:
    """‖Θ_ab, a ≠ b‖_F / ‖Θ_aa‖_F over all pairs of points; falls like h^{-1/2} with the width.

    Source: esser-2023, Lemma 1 (0 for a ≠ b).
    Args:
        kernel: `[..., k, l, z, z]`, as returned by `tangent_kernel`.
    Returns: `[...]`, ≥ 0; 0 for z = 1.
    Raises: ValueError for another shape.
    Cost: 2·k·l·z² flops.
    """
    if kernel.ndim < 4 or kernel.shape[-1] != kernel.shape[-2]:
        raise ValueError(f"kernel must be [..., k, l, z, z], got {list(kernel.shape)}")
    same = torch.eye(kernel.shape[-1], dtype=torch.bool, device=kernel.device)
    own, other = kernel.masked_fill(~same, 0), kernel.masked_fill(same, 0)
    return other.flatten(-4).norm(dim=-1) / own.flatten(-4).norm(dim=-1)


def _gated(before: Tensor, tops: Tensor, act: Activation) -> Tensor:
    """φ'(w_iᵀx) W2_ia as `[run, k·z, block]`, from before `[run, k, block]` and tops `[run, block, z]`."""
    return (act.slope(before).unsqueeze(2) * tops.mT.unsqueeze(1)).flatten(1, 2)


def _check_shapes(w1: Tensor, w2: Tensor, x: Tensor, y: Tensor, block: int) -> None:
    fits = w1.ndim == w2.ndim == 3 and x.ndim == y.ndim == 2
    if not fits or w1.shape[:2] != w2.shape[:2] or not w1.shape[2] == x.shape[1] == y.shape[1] or block < 1:
        got = ", ".join(str(list(t.shape)) for t in (w1, w2, x, y))
        allowed = "[run, h, d], [run, h, z], [k, d], [l, d] and a block of 1 or more"
        raise ValueError(f"w1, w2, x, y must be {allowed}, got {got} and block {block}")
