"""Data of two modalities that share a signal, and linear maps of them: scales, starts, sign vectors.

Shapes: u_A = [z; ξ_A], u_B = [z; ξ_B] `[..., d]` with entries ±1/√d: r of the signal z, which a positive pair shares,
d − r of noise. Data are x_A = Āu_A with ĀᵀĀ = diag(scales²); the learner sees them through map_a = W_AᵀĀ
`[run, m, d]`, r signal columns K_A and d − r noise columns K_{A,ξ}. With N_A² = E‖map_a u_A‖² = ‖map_a‖_F²/d outputs
are f_A = map_a u_A/N_A and f_A·f_B = u_AᵀG u_B, G = map_aᵀ map_b/(N_A N_B). Losses depend on G alone.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

LARGEST_ENUMERATION = 20  # signs, that is 2^19 states


class Signs(NamedTuple):
    """Positive pairs of equal weight. A global sign does not change u_AᵀGu_B, so only one of ±(u_A, u_B) is listed."""

    u_a: Tensor  # [state, d]
    u_b: Tensor  # [state, d]


def model_scales(sigma: Tensor, noise: float | Tensor, dim: int, *, small_noise: bool = False) -> Tensor:
    """Column norms of Ā and B̄: σ_1, …, σ_r of the signal, then σ_ξ for each of the d − r noise columns.

    Source: ren-li-2023, Section 3.
    Args:
        sigma: σ_p > 0, `[..., r]`, 1 ≤ r ≤ d.
        noise: σ_ξ ≥ 0, a number or `[...]`.
        dim: d ≥ r.
        small_noise: whether σ_ξ must be below every σ_p.
    Returns: `[..., d]`.
    Raises: ValueError for other values.
    Cost: d numbers.
    """
    rank = sigma.shape[-1] if sigma.ndim else 0
    noise = torch.as_tensor(noise, dtype=sigma.dtype, device=sigma.device)
    if not 1 <= rank <= dim or not bool((sigma > 0).all() & (noise >= 0).all()):
        raise ValueError(
            f"sigma, noise and dim must be > 0, ≥ 0 and ≥ r ≥ 1, got {rank} sigma, noise of shape "
            f"{list(noise.shape)} and dim = {dim}"
        )
    if small_noise and not bool((noise < sigma.amin(-1)).all()):
        got = f"noise up to {float(noise.max()):g} and sigma from {float(sigma.min()):g}"
        raise ValueError(f"noise must be below every sigma, got {got}")
    return torch.cat([sigma, noise.unsqueeze(-1).expand(*sigma.shape[:-1], dim - rank)], -1)


def initial_maps(scales: Tensor, width: int, generators: list[torch.Generator], rank: int) -> tuple[Tensor, Tensor]:
    """W_AᵀĀ and W_BᵀB̄ for W of independent N(0, 1/m): independent entries N(0, scales_j²/m).

    Where m > 2d they are replaced by the R of [map_a map_b] = QR: the flow of the maps commutes with a rotation of the
    rows. R itself is drawn from the same distribution by Bartlett's decomposition: entries N(0, 1) above a diagonal of
    χ_m, χ_{m−1}, …
    Source: ren-li-2023, Section 3; Bartlett, On the theory of statistical regression (1933).
    Args:
        scales: `[run, d]`.
        width: m ≥ r.
        generators: one per run, on the device of scales.
        rank: r ≥ 1.
    Returns: two of `[run, min(m, 2d), d]`.
    Raises: ValueError for a smaller width or another number of generators.
    Cost: 2d·min(m, 2d) draws per run, whatever the width.
    """
    if not 1 <= rank <= width or scales.shape[:-1] != (len(generators),):
        raise ValueError(
            f"width, rank, scales and generators must be ≥ rank, ≥ 1, [run, d] and one per run, "
            f"got {width}, {rank}, {list(scales.shape)} and {len(generators)}"
        )
    rows = torch.stack([_gaussian_factor(width, 2 * scales.shape[-1], g, scales.dtype) for g in generators])
    map_a, map_b = (rows * scales.repeat(1, 2).unsqueeze(1) / math.sqrt(width)).chunk(2, -1)
    return map_a.contiguous(), map_b.contiguous()


def lumped_maps(
    sigma: Tensor, noise: float | Tensor, dim: int, width: int, generators: list[torch.Generator]
) -> tuple[Tensor, Tensor, Tensor]:
    """`initial_maps` for any d, with m columns that stand for the d − r noise columns, and the scales of all columns.

    They have the same K_ξK_ξᵀ, drawn from its distribution by Bartlett's decomposition. That is all that training
    without negatives sees of the noise, with a predictor or not: of noise columns no two meet in its loss. With
    negatives it is no replacement, but once the noise has faded its columns may be dropped: d − r = 0.
    Source: derived; Bartlett, On the theory of statistical regression (1933).
    Args:
        sigma: σ_p > 0, `[run, r]`.
        noise: σ_ξ ≥ 0, a number or `[run]`.
        dim: d ≥ r + m.
        width: m ≥ r.
        generators: one per run, on the device of sigma.
    Returns: two of `[run, m, r + m]`, and scales `[run, r + m]`.
    Raises: ValueError for another width, d or number of generators.
    Cost: 2m(r + m) draws per run, whatever d is.
    """
    rank = sigma.shape[-1]
    if not rank <= width <= dim - rank or sigma.shape[:-1] != (len(generators),):
        got = f"{width}, {dim}, {list(sigma.shape)} and {len(generators)}"
        raise ValueError(f"width, dim, sigma, generators must be r to d − r, d, [run, r] and one per run, got {got}")
    scales, maps = model_scales(sigma, noise, rank + width), []
    for g in generators:
        signal = torch.randn(2, width, rank, generator=g, dtype=sigma.dtype, device=g.device)
        columns = [_gaussian_factor(dim - rank, width, g, sigma.dtype).mT for _ in range(2)]
        maps.append(torch.cat([signal, torch.stack(columns)], -1))
    map_a, map_b = (torch.stack(maps) * (scales / math.sqrt(width))[:, None, None]).unbind(1)
    return map_a.contiguous(), map_b.contiguous(), scales


def _gaussian_factor(rows: int, columns: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    """A matrix of independent N(0, 1), or the R of its QR factorisation if it has more rows than columns."""
    options = {"dtype": dtype, "device": generator.device}
    above = torch.randn(min(rows, columns), columns, generator=generator, **options)
    if rows <= columns:
        return above
    half_degrees = (rows - torch.arange(columns, **options)) / 2
    # the one gamma draw of torch that takes a generator; χ²_k is twice a gamma variable of shape k/2
    squares = 2 * torch._standard_gamma(half_degrees, generator=generator)
    return above.triu(1) + torch.diag_embed(squares.sqrt())


def correlation(map_a: Tensor, map_b: Tensor) -> Tensor:
    """G = map_aᵀ map_b/(N_A N_B) = d·map_aᵀ map_b/(‖map_a‖_F ‖map_b‖_F), so that f_A·f_B = u_AᵀG u_B.

    Source: ren-li-2023, Section 3.
    Args:
        map_a, map_b: `[..., m, d]`, not 0.
    Returns: `[..., d, d]`.
    Cost: 2·m·d² flops.
    """
    a, b = (x / torch.linalg.matrix_norm(x, keepdim=True) for x in (map_a, map_b))
    return map_a.shape[-1] * (a.mT @ b)


def sign_vectors(count: int, device: torch.device | str | None = None, dtype: torch.dtype = torch.float64) -> Tensor:
    """All 2^n vectors of n signs ±1; the first sign changes last, and is +1 in the first half.

    Args:
        count: n.
        device, dtype: those of the result.
    Returns: `[2^n, n]`.
    Cost: n·2^n numbers.
    """
    index = torch.arange(2**count, device=device).unsqueeze(-1)
    places = torch.arange(count - 1, -1, -1, device=device)
    return (1 - 2 * ((index >> places) & 1)).to(dtype)


def all_signs(
    rank: int, dim: int, device: torch.device | str | None = None, dtype: torch.dtype = torch.float64
) -> Signs:
    """Every positive pair up to its global sign: means over them are exact.

    Source: ren-li-2023, Section 3.
    Args:
        rank: r, 1 to d.
        dim: d; r + 2(d − r) ≤ 20.
        device, dtype: those of the result.
    Returns: Signs of 2^{r+2(d−r)−1} states, z_1 > 0.
    Raises: ValueError for more than 20 signs, r + 2(d − r) > 20, or another rank.
    Cost: 2d·states numbers.
    """
    count = _sign_count(rank, dim, "all_signs")
    if count > LARGEST_ENUMERATION:
        raise ValueError(f"the signs, r + 2(d − r), must be ≤ {LARGEST_ENUMERATION}, got {count}")
    return Signs(*_pairs(sign_vectors(count, device, dtype)[: 2 ** (count - 1)], rank, dim))


def sample_signs(
    rank: int, dim: int, count: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Independent positive pairs (u_A, u_B), drawn separately for each run.

    Source: ren-li-2023, Section 3.
    Args:
        rank: r, 1 to d.
        dim: d.
        count: pairs per run, ≥ 1.
        generators: one per run.
        dtype: dtype of the result.
    Returns: two of `[run, count, d]`, on the generators' device.
    Raises: ValueError for another rank or count.
    Cost: r + 2(d − r) draws per pair.
    """
    total = _sign_count(rank, dim, "sample_signs")
    if count < 1:
        raise ValueError(f"count must be ≥ 1, got {count}")
    bits = torch.stack([torch.randint(2, (count, total), generator=g, device=g.device) for g in generators])
    return _pairs((1 - 2 * bits).to(dtype), rank, dim)


def _sign_count(rank: int, dim: int, name: str) -> int:
    if not 1 <= rank <= dim:
        raise ValueError(f"{name}: rank must be 1 to dim = {dim}, got {rank}")
    return rank + 2 * (dim - rank)


def _pairs(signs: Tensor, rank: int, dim: int) -> tuple[Tensor, Tensor]:
    """u_A and u_B of the signs [z, ξ_A, ξ_B]."""
    u = signs / math.sqrt(dim)
    return u[..., :dim].contiguous(), torch.cat([u[..., :rank], u[..., dim:]], -1)
