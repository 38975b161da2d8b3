"""The infinitely wide flow of `predictor_flow` with the stop-gradient: 6r + 2 numbers per run.

At infinite width all columns of both maps start orthogonal. Column p of K_A and of K_B then stays in the plane that the
two span at the start, and P_A maps this plane into itself. In the basis of the two at the start, at unit length, the
column of K_A is k_p, that of K_B is k̃_p, which is k_p with its entries exchanged, and P_A is a 2 × 2 matrix P_p; P_B is
its mirror image. A noise column keeps its direction, which P_A multiplies by π. With x_p = P_p k_p, N = d − r,
s² = Σ|x_p|² + Nπ²κ², t² = Σ|k_p|² + Nκ², κ the length of one noise column, c = Σx_p·k̃_p/(st) and
u_p = k̃_p/(st) − c x_p/s²:
  k̊_p = ½σ_p²P_pᵀu_p, P̊_p = ½ρu_pk_pᵀ, κ̊ = −½σ_ξ²cπ²κ/s², π̊ = −½ρcπκ²/s².
P_pᵀP_p/ρ − k_pk_pᵀ/σ_p² and π²/ρ − κ²/σ_ξ² are conserved, and d = Σ|k_p|²/σ_p² + Nκ²/σ_ξ².
"""

import torch
from torch import Tensor

from .infinite_width_flow import Scalar, WideState, wide_start


def wide_predictor_flow(
    sigma: Tensor, noise: Scalar, dim: Scalar, times: Tensor, *, predictor_rate: float = 1.0, rtol: float = 1e-8
) -> WideState:
    """The state at times t from W of variance 1/m, m → ∞, and predictors that start as the identity.

    Source: derived, as `predictor_velocity`.
    Args:
        sigma: σ_p > 0, `[run, r]`.
        noise: σ_ξ > 0, a number or `[run]`.
        dim: d ≥ r, a number or `[run]`, up to 1e12 and beyond.
        times: in units of d, `[time]`, increasing from 0.
        predictor_rate: ρ ≥ 0, learning rate of the predictors over that of the encoders.
        rtol: relative tolerance per step.
    Returns: WideState `[time, run, ...]`.
    Raises: ValueError for an argument outside its range.
    Error: about rtol per step (LSODA: noise fades over a time of d², signals move in d).
    Cost: some thousand velocities of 6r + 2 numbers per run.
    """
    from torchdiffeq import odeint

    dim, noise = (torch.as_tensor(x, dtype=sigma.dtype, device=sigma.device).expand(len(sigma)) for x in (dim, noise))
    columns = dim - sigma.shape[-1]
    begin = wide_start(sigma, noise, columns)
    if not bool((noise > 0).all()) or not predictor_rate >= 0:
        raise ValueError(f"noise and predictor_rate must be > 0 and ≥ 0, got {noise.tolist()} and {predictor_rate}")
    if times.ndim != 1 or len(times) < 2 or times[0] != 0 or not bool((times.diff() > 0).all()):
        raise ValueError(f"times must be [time], ≥ 2, increasing from 0, got {times.tolist()}")
    shape, ones = sigma.shape, torch.ones_like(dim)
    signal = torch.stack([begin.kappa_squared.sqrt(), torch.zeros_like(sigma)], -1)
    turns = torch.eye(2, dtype=sigma.dtype, device=sigma.device).expand(*shape, 2, 2)
    start = torch.cat([signal.flatten(1), turns.flatten(1), noise[:, None], ones[:, None]], -1)

    def parts(y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        count = 2 * shape[1]
        k, p = y[..., :count].unflatten(-1, (-1, 2)), y[..., count : 3 * count].unflatten(-1, (-1, 2, 2))
        return k, p, y[..., -2], y[..., -1]

    def rate(_, y: Tensor) -> Tensor:
        k, p, kappa, pi = parts(y)
        x, target = (p @ k.unsqueeze(-1)).squeeze(-1), k.flip(-1)
        square_x = x.square().sum((-2, -1)) + columns * (pi * kappa).square()
        both = (square_x * (k.square().sum((-2, -1)) + columns * kappa.square())).rsqrt()
        c = both * (x * target).sum((-2, -1))
        u = both[:, None, None] * target - (c / square_x)[:, None, None] * x
        moved = sigma.square().unsqueeze(-1) * (p.mT @ u.unsqueeze(-1)).squeeze(-1)
        turned = predictor_rate * u.unsqueeze(-1) * k.unsqueeze(-2)
        loss = -c * pi * kappa / square_x
        rest = torch.stack([noise.square() * loss * pi, predictor_rate * loss * kappa], -1)
        return dim.unsqueeze(-1) / 2 * torch.cat([moved.flatten(1), turned.flatten(1), rest], -1)

    how = {"solver": "LSODA"}
    path = odeint(rate, start, times.to(start), rtol=rtol, atol=rtol, method="scipy_solver", options=how)
    k, _, kappa, _ = parts(path)
    return WideState(k.square().sum(-1), 2 * k.prod(-1), columns * kappa.square())
