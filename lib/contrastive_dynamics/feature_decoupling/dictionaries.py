"""Dictionaries with orthonormal columns, flat, random or local, and the directions orthogonal to them.

Shapes: M `[run, d1, d]`, one column per atom, d ≤ d1; its complement `[run, d1, d1 - d]`.
"""

import torch
from torch import Tensor

from ..numerics.stiefel import haar


def random_dictionary(
    dim: int, atoms: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float64
) -> Tensor:
    """Haar-uniform atoms: ‖M_j‖_∞ is about √(2 log(2 d1)/d1), flat except for a logarithm.

    Source: wen-li-2021, Definition 2.1, which bounds ‖M_j‖_∞ by Õ(1/√d1).
    Args:
        dim: d1.
        atoms: d, 1 to d1.
        generators: one per run.
        dtype: of the result.
    Returns: `[run, d1, d]`, on the generators' device.
    Raises: ValueError for other sizes.
    Cost: 4·d1·d² flops per run.
    """
    _check("random_dictionary", dim, atoms)
    return haar(generators, dim, atoms, dtype)


def flat_dictionary(
    dim: int, atoms: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float64
) -> Tensor:
    """Distinct random columns of the Hadamard matrix, its rows with random signs: |M_ij| = 1/√d1, the flattest.

    H_ij = (-1)^⟨bits of i, bits of j⟩ (Sylvester), H Hᵀ = d1 I. (MMᵀ)_ii = d/d1 for all i.
    Source: wen-li-2021, Definition 2.1, at its bound.
    Args:
        dim: d1, a power of two.
        others: as in `random_dictionary`.
    Returns: `[run, d1, d]`, on the generators' device.
    Raises: ValueError for other sizes.
    Cost: 2·d1·d·log₂ d1 flops per run; the matrix of all d1² entries is never made.
    """
    _check("flat_dictionary", dim, atoms)
    if dim & (dim - 1):
        raise ValueError(f"d1 must be a power of two, got {dim}")
    device = generators[0].device
    columns = torch.stack([torch.randperm(dim, generator=g, device=device)[:atoms] for g in generators])
    signs = torch.stack([_signs(dim, g, dtype) for g in generators])
    places = torch.arange(dim.bit_length() - 1, device=device)
    bits = (torch.arange(dim, device=device).unsqueeze(-1) >> places & 1).to(dtype)
    parity = (bits @ (columns.unsqueeze(-2) >> places.unsqueeze(-1) & 1).to(dtype)).remainder(2)
    return (1 - 2 * parity) * signs.unsqueeze(-1) / dim**0.5


def local_dictionary(
    dim: int, atoms: int, spread: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float64
) -> Tensor:
    """Atoms supported on `spread` coordinates each, ±1/√spread there: random signs, random disjoint supports.

    ‖M_j‖_∞ = 1/√spread, which Definition 2.1 admits only at spread = d1/polylog. A masked pair preserves the
    correlation p (1 - 1/spread) of atom j: none for spread = 1, since one coordinate is never in both views.
    Source: wen-li-2021, Definitions 2.1 and 2.3, without the assumption of flat atoms.
    Args:
        dim: d1.
        atoms: d ≥ 1.
        spread: coordinates per atom, ≥ 1, spread·d ≤ d1.
        generators: one per run.
        dtype: of the result.
    Returns: `[run, d1, d]`, on the generators' device.
    Raises: ValueError for other sizes.
    Cost: a permutation of d1 and spread·d signs per run.
    """
    if atoms < 1 or spread < 1 or spread * atoms > dim:
        got = f"d1 = {dim}, d = {atoms}, spread = {spread}"
        raise ValueError(f"d and spread must be ≥ 1 with spread·d ≤ d1, got {got}")
    device, used = generators[0].device, spread * atoms
    supports = torch.stack([torch.randperm(dim, generator=g, device=device)[:used] for g in generators])
    entries = torch.stack([_signs(used, g, dtype) for g in generators]) / spread**0.5
    atom = torch.arange(atoms, device=device).repeat_interleave(spread)
    flat = torch.zeros(len(generators), dim * atoms, dtype=dtype, device=device)
    return flat.scatter(1, supports * atoms + atom, entries).view(-1, dim, atoms)


def complement(dictionary: Tensor, generators: list[torch.Generator] | None = None) -> Tensor:
    """M⊥ `[run, d1, d1 - d]`, an orthonormal basis of the directions orthogonal to every atom: the dense directions.

    With generators it is a Haar-uniform one. Without, it is the one that Householder reflections give. If d ≪ d1, its
    vectors lie near the last coordinates, and a mask treats them unlike generic ones; for sums over the basis any basis
    will do.
    Source: wen-li-2021, Section 2.2.
    Args:
        dictionary: M, `[run, d1, d]`.
        generators: one per run, or None.
    Cost: about 4·d1²·d flops and d1² entries per run; 6·d1³ flops more with generators.
    """
    basis = torch.linalg.qr(dictionary, mode="complete").Q[..., dictionary.shape[-1] :]
    if generators is None or not basis.shape[-1]:
        return basis
    return basis @ haar(generators, basis.shape[-1], basis.shape[-1], dictionary.dtype)


def _signs(count: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    return torch.randint(2, (count,), generator=generator, device=generator.device).to(dtype) * 2 - 1


def _check(name: str, dim: int, atoms: int) -> None:
    if not 1 <= atoms <= dim:
        raise ValueError(f"{name}: d must be 1 to d1 = {dim}, got {atoms}")
