"""Positive pairs alone with a predictor and a stop-gradient, in the linear model of two modalities.

L = −½E[p_A·sg(f_B) + p_B·sg(f_A)] over positive pairs, f = Ku/N, p_A = P_A f_A normalised like an output, E‖p_A‖² = 1.
With X = P_A K_A and J = diag(1, …, 1, 0, …, 0), r ones: E p_A·f_B = ⟨XJ, K_B⟩/(‖X‖_F‖K_B‖_F) =: c_A, and
  U_A = ∂c_A/∂X = K_B J/(‖X‖‖K_B‖) − c_A X/‖X‖²,  V_A = ∂c_A/∂K_B = XJ/(‖X‖‖K_B‖) − c_A K_B/‖K_B‖².
  K̊_A = ½[P_AᵀU_A + V_B]D − λK_A, V_B only without the stop-gradient; P̊_A = ½ρU_A K_Aᵀ − μP_A; mirrored for B.

- Without predictors L = L̂; the stop-gradient alone then halves the velocity and does nothing else.
- ‖K D^{-1/2}‖e^{λt} and ‖P‖e^{μt} are conserved, as L knows no scale; with the stop-gradient and λ = μ = 0 also
  P_AᵀP_A/ρ − K_A D^{-1}K_Aᵀ.
- Noise columns of one scale enter through K_ξK_ξᵀ alone, so m columns stand for any number.
Shapes: maps `[run, m, d]`, predictors `[run, m, m]`, scales `[run, d]` or `[d]`, D = diag(scales²).
"""

from typing import NamedTuple

import torch
from torch import Tensor


class PredictorMaps(NamedTuple):
    """The maps, and the predictors or None for none; also used for their velocity, and with a first axis of times."""

    map_a: Tensor  # [run, m, d]
    map_b: Tensor  # [run, m, d]
    predictor_a: Tensor | None = None  # [run, m, m]
    predictor_b: Tensor | None = None  # [run, m, m]


def predictor_velocity(
    maps: PredictorMaps,
    scales: Tensor,
    rank: int,
    *,
    stop_gradient: bool,
    predictor_rate: float | Tensor = 1.0,
    decay: float | Tensor = 0.0,
    predictor_decay: float | Tensor = 0.0,
) -> PredictorMaps:
    """The velocities at the top, for the weights of encoders and predictors.

    Source: derived; ren-li-2023, Section 7, names predictors as open; Chen and He, Exploring simple Siamese
        representation learning (2021); Tian et al., Understanding self-supervised learning dynamics without contrastive
        pairs (2021).
    Args:
        maps: `[run, ...]`.
        scales: `[run, d]` or `[d]`.
        rank: r, 1 to d.
        stop_gradient: whether the target is held fixed.
        predictor_rate: ρ, learning rate of the predictors over that of the encoders, a number or `[run]`.
        decay, predictor_decay: λ and μ, a number or `[run]`.
    Returns: as maps.
    Cost: 8·run·m²·d flops.
    """
    a, b, p_a, p_b = maps
    rho, weak, predictor_weak = (_of_run(x, a) for x in (predictor_rate, decay, predictor_decay))
    (up_a, aside_b), (up_b, aside_a) = (_pull(x, p, y, rank) for x, p, y in ((a, p_a, b), (b, p_b, a)))
    moves = [up if p is None else p.mT @ up for up, p in ((up_a, p_a), (up_b, p_b))]
    if not stop_gradient:
        moves = [moves[0] + aside_a, moves[1] + aside_b]
    moves = [m * scales.square().unsqueeze(-2) / 2 - weak * x for m, x in zip(moves, (a, b), strict=True)]
    parts = ((up_a, a, p_a), (up_b, b, p_b))
    return PredictorMaps(*moves, *(p if p is None else rho / 2 * (u @ x.mT) - predictor_weak * p for u, x, p in parts))


def predictor_flow(
    maps: PredictorMaps,
    scales: Tensor,
    rank: int,
    times: Tensor,
    *,
    stop_gradient: bool,
    predictor_rate: float | Tensor = 1.0,
    decay: float | Tensor = 0.0,
    predictor_decay: float | Tensor = 0.0,
    rtol: float = 1e-7,
) -> tuple[PredictorMaps, Tensor]:
    """The flow of `predictor_velocity`, and how well the norms were preserved.

    Source: as `predictor_velocity`.
    Args:
        maps: at the start, `[run, ...]`, no map and no predictor 0.
        times: `[time]`, increasing from 0; a map takes a time of order ‖K‖² ~ d, a predictor one of ‖P‖²/ρ ~ m/ρ.
        rtol: tolerance per step, relative to the rms of each part at the start.
        others: as in `predictor_velocity`.
    Returns: PredictorMaps `[time, run, ...]`, and `[run]`, the largest relative drift of what the norms should be.
    Raises: ValueError for other shapes and values.
    Error: about rtol times the number of steps (dopri5).
    Cost: 6 velocities per step.
    """
    _check(maps, scales, rank, times, predictor_rate, decay, predictor_decay)
    from torchdiffeq import odeint

    parts = [x for x in maps if x is not None]
    sizes = [x.square().mean((-2, -1), keepdim=True).sqrt() for x in parts]
    counts = [x[0].numel() for x in parts]
    how = {"predictor_rate": predictor_rate, "decay": decay, "predictor_decay": predictor_decay}

    def whole(y: Tensor) -> list[Tensor]:
        return [x.view_as(p) * s for x, p, s in zip(y.split(counts, -1), parts, sizes, strict=True)]

    def flat(xs) -> Tensor:
        return torch.cat([(x / s).flatten(1) for x, s in zip(xs, sizes, strict=True)], -1)

    def velocity(_, y: Tensor) -> Tensor:
        moved = predictor_velocity(PredictorMaps(*whole(y)), scales, rank, stop_gradient=stop_gradient, **how)
        return flat([x for x in moved if x is not None])

    options = {"norm": lambda y: y.square().mean(-1).amax().sqrt()}  # the worst run determines the step
    path = odeint(velocity, flat(parts), times.to(parts[0]), rtol=rtol, atol=rtol, method="dopri5", options=options)
    path = PredictorMaps(*(torch.stack(x) for x in zip(*(whole(y) for y in path), strict=True)))
    return path, _drift(path, scales, times.to(parts[0]), decay, predictor_decay)


def _pull(own: Tensor, predictor: Tensor | None, target: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """U and V of one modality."""
    x = own if predictor is None else predictor @ own
    square_x, square_t = (k.square().sum((-2, -1), keepdim=True) for k in (x, target))
    both = (square_x * square_t).rsqrt()
    x_j, t_j = (torch.nn.functional.pad(k[..., :rank], (0, k.shape[-1] - rank)) for k in (x, target))
    c = both * (x_j * t_j).sum((-2, -1), keepdim=True)
    return both * t_j - c / square_x * x, both * x_j - c / square_t * target


def _drift(path: PredictorMaps, scales: Tensor, times: Tensor, decay, predictor_decay) -> Tensor:
    unit = torch.where(scales > 0, scales, 1).unsqueeze(-2)  # a column of scale 0 is 0
    kept = [torch.linalg.matrix_norm(x / unit) for x in path[:2]]
    faded = [x * (times.unsqueeze(-1) * torch.as_tensor(decay).to(times)).exp() for x in kept]
    for p in path[2:]:
        if p is not None:
            grown = (times.unsqueeze(-1) * torch.as_tensor(predictor_decay).to(times)).exp()
            faded.append(torch.linalg.matrix_norm(p) * grown)
    return torch.stack([(x / x[0] - 1).abs().amax(0) for x in faded]).amax(0)


def _of_run(x: float | Tensor, like: Tensor) -> Tensor:
    return torch.as_tensor(x, dtype=like.dtype, device=like.device).reshape(-1, 1, 1)


def _check(maps: PredictorMaps, scales: Tensor, rank: int, times: Tensor, rho, decay, predictor_decay) -> None:
    a, b, p_a, p_b = maps
    if a.ndim != 3 or a.shape != b.shape or scales.shape not in (a.shape[::2], a.shape[2:]):
        got = ", ".join(str(list(x.shape)) for x in (a, b, scales))
        raise ValueError(f"map_a, map_b and scales must be [run, m, d], twice, and [run, d] or [d], got {got}")
    square = (len(a), a.shape[1], a.shape[1])
    if (p_a is None) != (p_b is None) or not all(p is None or p.shape == square for p in (p_a, p_b)):
        got = ", ".join("None" if p is None else str(list(p.shape)) for p in (p_a, p_b))
        raise ValueError(f"predictors must be {list(square)} both, or None both, got {got}")
    if not all(bool(x.isfinite().all() & x.flatten(1).any(-1).all()) for x in maps if x is not None):
        raise ValueError("every run of maps and predictors must be finite and not 0, got 0, NaN or infinity")
    if not 1 <= rank <= a.shape[-1]:
        raise ValueError(f"rank must be 1 to d = {a.shape[-1]}, got {rank}")
    if times.ndim != 1 or len(times) < 2 or times[0] != 0 or not bool((times.diff() > 0).all()):
        raise ValueError(f"times must be [time], ≥ 2, increasing from 0, got {times.tolist()}")
    for name, value in (("predictor_rate", rho), ("decay", decay), ("predictor_decay", predictor_decay)):
        number = torch.as_tensor(value)
        if number.shape not in ((), a.shape[:1]) or not bool((number >= 0).all()):
            raise ValueError(f"{name} must be ≥ 0, one number or [run], got {value}")
