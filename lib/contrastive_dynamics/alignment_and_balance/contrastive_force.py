"""Loss of the two-modality model as a function of its correlations alone, and the force −∂L/∂G/τ² on them.

Shapes: G = map_aᵀmap_b/(N_A N_B) `[run, d, d]`; positive pairs `[state, d]` of sign vectors u_A, u_B in {±1/√d}^d.
f_A·f_B = u_AᵀGu_B. The coordinates of a negative are independent, so the mean over it is a product:
E e^{τ²u_AᵀGu_B⁻} = Z_A = Π_j cosh(τ²(Gᵀu_A)_j/√d), and ∂log Z_A/∂(τ²Gᵀu_A) = t_A = tanh(τ²Gᵀu_A/√d)/√d; mirrored,
Z_B and t_B = tanh(τ²Gu_B/√d)/√d. No negative is ever drawn. What is left is a mean over the given positive pairs:
exact for `model.all_signs`, quasi-Monte-Carlo for `model.sobol_signs`, one pair's own for one state.
"""

import math

import torch
from torch import Tensor

from .model import Signs

_BLOCK = 2**17  # numbers, runs × states × d: 1 MB, so that the dozen passes over a block stay in the cache


def population_loss(g: Tensor, signs: Signs, tau_squared: float | Tensor, negatives: float | Tensor) -> Tensor:
    """L(G) = −E[log S_A + log S_B], S_A = e^{τ²s}/(e^{τ²s} + K Z_A), s = u_AᵀGu_B, S_B with Z_B; not divided by τ².

    Source: ren-li-2023, eq. (3) and the definition of S_A, S_B above it.
    Args:
        g: correlations G, `[run, d, d]`.
        signs: positive pairs of equal weight, `[state, d]` each.
        tau_squared: τ² > 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
    Returns: `[run]`.
    Raises: ValueError for other shapes and values.
    Error: rounding, ε·τ²‖G‖, for any size of τ²G (all in logarithms).
    Cost: half the flops of `force`.
    """
    scaled, log_k = _checked(g, signs, tau_squared, negatives, "population_loss")
    total = 0
    for u_a, u_b in _blocks(g, signs):
        for odds, _ in _both(scaled, u_a, u_b, log_k):
            total = total + torch.logaddexp(odds, odds.new_zeros(())).sum(-1)
    return total / signs.u_a.shape[0]


def force(g: Tensor, signs: Signs, tau_squared: float | Tensor, negatives: float | Tensor) -> Tensor:
    """M = −(1/τ²)∂L/∂G = E[(1 − S_A)u_A(u_B − t_A)ᵀ + (1 − S_B)(u_A − t_B)u_Bᵀ], with the exact L of `population_loss`.

    For τ → 0 it is 2K/(1 + K) times `non_contrastive_force`.
    Source: ren-li-2023, Lemma A.2 and eq. (5), with the negatives averaged in closed form.
    Args, Raises and Error: as `population_loss`.
    Returns: `[run, d, d]`.
    Cost: 8·run·state·d² flops, 2·run·state·d exponentials; about 2^20 numbers besides the input.
    """
    scaled, log_k = _checked(g, signs, tau_squared, negatives, "force")
    total, root = 0, math.sqrt(g.shape[-1])
    for u_a, u_b in _blocks(g, signs):
        (odds_a, tanh_a), (odds_b, tanh_b) = _both(scaled, u_a, u_b, log_k)
        attract_a = torch.sigmoid(odds_a).unsqueeze(-1) * (u_b - tanh_a / root)
        attract_b = torch.sigmoid(odds_b).unsqueeze(-1) * (u_a - tanh_b / root)
        total = total + u_a.mT @ attract_a + attract_b.mT @ u_b
    return total / signs.u_a.shape[0]


def non_contrastive_force(
    rank: int, dim: int, device: torch.device | str | None = None, dtype: torch.dtype = torch.float64
) -> Tensor:
    """M̂ = −∂L̂/∂G = E u_A u_Bᵀ = diag(1, …, 1, 0, …, 0)/d, with r ones, of L̂ = −E f_A·f_B. It does not depend on G.

    Source: ren-li-2023, eq. (6) and Lemma A.6.
    Args:
        rank: r, 1 to d.
        dim: d.
        device, dtype: those of the result.
    Returns: `[d, d]`.
    Raises: ValueError for another rank.
    """
    if not 1 <= rank <= dim:
        raise ValueError(f"rank must be 1 to dim, got rank={rank}, dim={dim}")
    return torch.diag((torch.arange(dim, device=device) < rank).to(dtype)) / dim


def _both(scaled: Tensor, u_a: Tensor, u_b: Tensor, log_k: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
    """For A and for B: log((1 − S)/S) = log K + log Z − τ²s `[run, state]`, and the tanh `[run, state, d]`."""
    x_a, x_b = u_a @ scaled, u_b @ scaled.mT
    log_k = log_k - math.sqrt(u_a.shape[-1]) * (x_a * u_b).sum(-1)
    return tuple((log_k + log_z, tanh) for log_z, tanh in map(_log_cosh_and_tanh, (x_a, x_b)))


def _log_cosh_and_tanh(x: Tensor) -> tuple[Tensor, Tensor]:
    """Σ_j log cosh x_j and tanh x, from one exponential: cosh x = e^{|x|}(1 + e^{−2|x|})/2."""
    size = x.abs()
    rest = (-2 * size).exp()
    log_cosh = size.sum(-1) + (1 + rest).prod(-1).log() - x.shape[-1] * math.log(2)
    return log_cosh, torch.copysign((1 - rest) / (1 + rest), x)


def _blocks(g: Tensor, signs: Signs):
    """The states, in blocks that limit the memory."""
    count = max(1, _BLOCK // g[..., 0].numel())
    return zip(signs.u_a.split(count), signs.u_b.split(count), strict=True)


def _checked(g: Tensor, signs: Signs, tau_squared: float | Tensor, negatives: float | Tensor, name: str):
    """τ²G/√d and log K `[run or 1, 1]`."""
    d = g.shape[-1]
    if g.ndim != 3 or g.shape[-2] != d or signs.u_a.shape != signs.u_b.shape or signs.u_a.shape[1:] != (d,):
        got = ", ".join(str(list(part.shape)) for part in (g, *signs))
        raise ValueError(f"{name}: g and both signs must be [run, d, d], [state, d], [state, d], got {got}")
    if d >= math.log2(torch.finfo(g.dtype).max):  # a product of d numbers from 1 to 2
        raise ValueError(f"{name}: d must be < {math.log2(torch.finfo(g.dtype).max):.0f}, got {d}")
    numbers = []
    for label, value in (("tau_squared", tau_squared), ("negatives", negatives)):
        value = torch.as_tensor(value, dtype=g.dtype, device=g.device)
        if value.shape not in ((), g.shape[:1]) or not bool(((value > 0) & value.isfinite()).all()):
            got = f"{label} {list(value.shape)} of {value.min():g} to {value.max():g}"
            raise ValueError(f"{name}: {label} must be > 0 and finite, one number or [run], got {got}")
        numbers.append(value.reshape(-1, 1))
    return g * numbers[0].unsqueeze(-1) / math.sqrt(d), numbers[1].log()
