"""The outputs q0 = W1ᵀW2 of two random orthonormal layers at any width, drawn without a matrix of h rows."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..numerics.stiefel import inverse_root


def wide_starts(generators: list[torch.Generator], widths: Sequence[int], d: int, z: int = 1) -> Tensor:
    """q0 = W1ᵀW2 of independent Haar layers: G(GᵀG + A)^{-1/2}, G `[d, z]` normal, A Wishart of h − d degrees.

    By rotational invariance W1 may be taken as the first d unit vectors, so q0 is the top d rows of a Haar frame, which
    is X(XᵀX)^{-1/2} for a normal X `[h, z]`. The other h − d rows enter through A = YᵀY alone. Bartlett: A = LLᵀ with
    independent L_ii² ~ χ²(h − d − i + 1) and normal L_ij below the diagonal. For z = 1, q0 = g/√(‖g‖² + χ²(h − d)).
    The widths of a run share G, the normal L_ij and the quantiles of the χ², so that their differences are paired.

    Source: derived, beyond the paper; esser-2023, Lemma 2; Bartlett (1933).
    Args:
        generators: one per run.
        widths: h, each ≥ d + z.
        d: number of inputs, ≥ z.
        z: number of outputs, ≥ 1.
    Returns: `[width, run, d, z]`, float64; singular values < 1.
    Raises: ValueError for other sizes.
    Cost: about z·(d + z) draws a run, and one z×z eigenproblem for each run and width, whatever the width.
    """
    if not 1 <= z <= d or not widths or min(widths) < d + z:
        raise ValueError(f"widths must be ≥ d + z, 1 ≤ z ≤ d, got widths {list(widths)}, d = {d}, z = {z}")
    from scipy.special import gammaincinv

    def one(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        normal = torch.randn(d + z, z, generator=g, dtype=torch.float64, device=g.device)
        return normal[:d], normal[d:].tril(-1), torch.rand(z, generator=g, dtype=torch.float64, device=g.device)

    top, below, quantiles = (torch.stack(part) for part in zip(*map(one, generators), strict=True))
    starts = []
    for h in widths:
        squares = 2 * gammaincinv((h - d - np.arange(z)) / 2, quantiles.cpu().numpy())
        lower = below + torch.diag_embed(torch.as_tensor(squares, device=top.device).sqrt())
        starts.append(top @ inverse_root(top.mT @ top + lower @ lower.mT))
    return torch.stack(starts)
