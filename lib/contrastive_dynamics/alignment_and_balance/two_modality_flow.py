"""Gradient flow of the two-modality model in the maps from latents to embeddings: K = WᵀĀ, signal and noise columns.

Shapes: map_a, map_b `[run, m, d]`, the first r columns of the signal; scales `[run, d]` or `[d]`, the singular values
of the data, σ_1..σ_r and σ_ξ; D = diag(scales²); N_A² = ‖map_a‖_F²/d; G = map_aᵀmap_b/(N_A N_B); M the force on G.

- Gradients are divided by τ² and time is that of W̊ = −∂L/∂W/τ².
- ‖map D^{-1/2}‖_F of either modality is conserved for any M, as the outputs do not change with the scale of W.
- The Gram matrices of the columns satisfy a closed equation, so the width enters only through the start: a start of
  m > 2d rows may be replaced by the R factor of [map_a map_b].
- The batch norm pulls a column along itself only; directions turn through M alone (`column_rates`).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .contrastive_force import force, non_contrastive_force
from .model import Signs, correlation


class Trajectory(NamedTuple):
    """The maps along the flow, and how well the conserved quantities were preserved."""

    map_a: Tensor  # [time, run, m, d]
    map_b: Tensor  # [time, run, m, d]
    error: Tensor  # [run] largest relative drift of ‖map_a D^{-1/2}‖_F and ‖map_b D^{-1/2}‖_F


def velocity(map_a: Tensor, map_b: Tensor, scales: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """K̊_A = [K_B Mᵀ/(N_A N_B) − ⟨M, G⟩K_A/(d N_A²)]D and K̊_B = [K_A M/(N_A N_B) − ⟨M, G⟩K_B/(d N_B²)]D.

    Source: ren-li-2023, eq. (5) and Lemma A.3, and eq. (6) for the non-contrastive M, there column by column.
    Args:
        map_a, map_b: `[run, m, d]`.
        scales: `[run, d]` or `[d]`.
        m: the force M, `[run, d, d]` or `[d, d]`.
    Returns: both velocities, as the maps.
    Cost: 6·run·m·d² flops.
    """
    d, products = map_a.shape[-1], scales.square().unsqueeze(-2)
    square_a, square_b = (x.square().sum((-2, -1), keepdim=True) / d for x in (map_a, map_b))
    both = (square_a * square_b).rsqrt()
    level = both * ((map_a @ m) * map_b).sum((-2, -1), keepdim=True) / d  # ⟨M, G⟩/d
    move_a = both * (map_b @ m.mT) - level / square_a * map_a
    move_b = both * (map_a @ m) - level / square_b * map_b
    return move_a * products, move_b * products


def column_rates(map_a: Tensor, map_b: Tensor, scales: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """How the columns of K_A grow and turn along the flow; for K_B call it with the maps exchanged and Mᵀ.

    d‖k_p‖²/dt = 2σ_p²[⟨k_p, h_p⟩ − ⟨M, G⟩‖k_p‖²/(d N_A²)] and d(k_p/‖k_p‖)/dt = σ_p²(I − k_p k_pᵀ/‖k_p‖²)h_p/‖k_p‖,
    h_p column p of K_B Mᵀ/(N_A N_B).
    Source: ren-li-2023, Lemma A.5.
    Args: as `velocity`; no column of map_a may be 0.
    Returns: `[run, d]` and `[run, m, d]`.
    Cost: as `velocity`.
    """
    moved, _ = velocity(map_a, map_b, scales, m)
    size = map_a.norm(dim=-2, keepdim=True)
    unit = map_a / size
    along = (unit * moved).sum(-2, keepdim=True)
    return 2 * (size * along).squeeze(-2), (moved - unit * along) / size


def contrastive_flow(
    map_a: Tensor,
    map_b: Tensor,
    scales: Tensor,
    signs: Signs,
    times: Tensor,
    tau_squared: float | Tensor,
    negatives: float | Tensor,
    *,
    rtol: float = 1e-7,
) -> Trajectory:
    """The flow of the contrastive loss at one τ²; a schedule is one call per stage, from where the last one ended.

    Runs share the steps, so up to the error a run is the same alone and in a batch.
    Source: ren-li-2023, eq. (5), Algorithm 3.1 in continuous time.
    Args:
        map_a, map_b: at the start, `[run, m, d]`, finite, not 0.
        scales: `[run, d]` or `[d]`.
        signs: positive pairs over which the mean is taken, `[state, d]` each.
        times: `[t]`, increasing from 0.
        tau_squared: τ² > 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
        rtol: tolerance per step in every run, relative to the entries and to their rms at the start; > 100·ε.
    Returns: Trajectory.
    Raises: ValueError for other shapes and values.
    Error: about rtol times the number of steps (dopri5); `error` shows part of it.
    Cost: 6 `force` per step; t·run·m·2d numbers.
    """

    def pull(a: Tensor, b: Tensor) -> Tensor:
        return force(correlation(a, b), signs, tau_squared, negatives)

    return _integrate(map_a, map_b, scales, pull, times, rtol, "contrastive_flow")


def non_contrastive_flow(
    map_a: Tensor, map_b: Tensor, scales: Tensor, rank: int, times: Tensor, *, rtol: float = 1e-7
) -> Trajectory:
    """The flow of the loss of positive pairs alone, L̂ = −E f_A·f_B.

    Source: ren-li-2023, eq. (6).
    Args:
        rank: r of the signal, 1 to d.
        others: as in `contrastive_flow`.
    Returns, Raises and Error: as `contrastive_flow`.
    Cost: 36·run·m·d² flops per step.
    """
    m = non_contrastive_force(rank, map_a.shape[-1], map_a.device, map_a.dtype)
    return _integrate(map_a, map_b, scales, lambda a, b: m, times, rtol, "non_contrastive_flow")


def _integrate(
    map_a: Tensor,
    map_b: Tensor,
    scales: Tensor,
    pull: Callable[[Tensor, Tensor], Tensor],
    times: Tensor,
    rtol: float,
    name: str,
) -> Trajectory:
    _check(map_a, map_b, scales, times, rtol, name)
    from torchdiffeq import odeint

    start = torch.stack([map_a, map_b])
    size = start.square().mean((0, 2, 3)).sqrt()[:, None, None]  # one unit per run: neither runs nor units mix
    # The worst run determines the step, however many others are at rest.
    how = {"norm": lambda y: y.square().mean((0, -2, -1)).amax().sqrt()}
    path = odeint(
        lambda _, y: torch.stack(velocity(*y, scales, pull(*y))),
        start,
        times.to(start),
        rtol=rtol,
        atol=rtol * size,
        options=how,
    )
    # A column of scale 0 is 0 and stays so.
    kept = (path / torch.where(scales > 0, scales, 1).unsqueeze(-2)).norm(dim=(-2, -1))
    return Trajectory(path[:, 0], path[:, 1], (kept / kept[0] - 1).abs().amax((0, 1)))


def _check(map_a: Tensor, map_b: Tensor, scales: Tensor, times: Tensor, rtol: float, name: str) -> None:
    if map_a.ndim != 3 or map_a.shape != map_b.shape or scales.shape not in (map_a.shape[::2], map_a.shape[2:]):
        got = ", ".join(str(list(part.shape)) for part in (map_a, map_b, scales))
        raise ValueError(f"{name}: map_a, map_b and scales must be [run, m, d], twice, and [run, d] or [d], got {got}")
    if not all(bool(part.isfinite().all() & part.flatten(1).any(-1).all()) for part in (map_a, map_b)):
        raise ValueError(f"{name}: every run of both maps must be finite and not 0, got 0, NaN or infinity")
    if times.ndim != 1 or not times.numel() or times[0] != 0 or not bool((times.diff() > 0).all()):
        raise ValueError(f"{name}: times must be [t], increasing from 0, got {times.tolist()}")
    if rtol <= 100 * torch.finfo(map_a.dtype).eps:
        raise ValueError(f"{name}: rtol must be > 100·ε, got {rtol}")
