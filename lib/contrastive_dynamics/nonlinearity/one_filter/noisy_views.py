"""Samples with noisy views in which some directions are noise alone, so that the large-batch limit is singular."""

import torch
from torch import Tensor


def noisy_views(generators: list[torch.Generator], n: int, signal: int, idle: int, noise: float) -> tuple[Tensor, ...]:
    """Batches of samples and two views each: x = x0 + noise, x0 uniform in a box and zero in the last coordinates.

    In an idle coordinate E[x | x0] = 0, and for a filter w that is zero there, E[x̃^w | x0] = 0 as well: the
    large-batch limit of C_α[x̃^w] has the eigenvalue 0, the hardest case of "asymptotically PSD".

    Source: tian-2023, Lemma 2.
    Args:
        generators: random streams, one per batch, at least one.
        n: samples of a batch, ≥ 1.
        signal: coordinates of x0 that vary, uniform in [−1, 1], ≥ 1.
        idle: coordinates of x0 that are zero, ≥ 0.
        noise: half width of the uniform noise of every coordinate of a view, ≥ 0.
    Returns: x0 and its two views, float64 `[batch, n, signal + idle]`.
    Raises: ValueError for arguments outside these ranges.
    """
    if not generators or min(n, signal) < 1 or idle < 0 or not noise >= 0:
        raise ValueError(
            "there must be a generator, n and signal ≥ 1, idle and noise ≥ 0, "
            f"got {len(generators)} generators, n={n}, signal={signal}, idle={idle}, noise={noise}"
        )
    drawn = []
    for g in generators:
        u = 2 * torch.rand(3, n, signal + idle, generator=g, dtype=torch.float64, device=g.device) - 1
        x0 = torch.nn.functional.pad(u[0, :, :signal], (0, idle))
        drawn.append(torch.stack((x0, x0 + noise * u[1], x0 + noise * u[2])))
    return tuple(torch.stack(drawn, 1))
