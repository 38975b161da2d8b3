"""How many dimensions the outputs of a model fill: real-valued ranks, from the singular values σ of u.

Shapes: outputs u `[..., m, z]` of m points, neither centred nor with normalised rows; leading axes are batch axes.
"""

import torch
from torch import Tensor


def effective_rank(u: Tensor) -> Tensor:
    """exp of the entropy of p_i = σ_i²/Σσ²: 1 if the outputs lie on one line, r for r equal singular values.

    Each point is weighted by its energy ‖u(x)‖², so that collapse shows when the growing direction takes over. Give
    unit rows where short ones are to count as much as long ones.

    Source: Roy and Vetterli, The effective rank (2007), there with σ_i/Σσ.
    Args:
        u: outputs, `[..., m, z]`, finite, m and z ≥ 1.
    Returns: `[...]`, 1 to min(m, z), the same for every multiple of u; 0 for u = 0.
    Raises: ValueError for another u.
    Cost: about 4·m·z·min(m, z) flops.
    """
    energy = _relative_singular_values(u, "effective_rank").square()
    total = energy.sum(-1, keepdim=True)
    p = energy / total.clamp(min=1)  # total is 0 or at least 1
    return torch.special.entr(p).sum(-1).exp() * total.squeeze(-1).sign()


def stable_rank(u: Tensor) -> Tensor:
    """‖u‖_F²/‖u‖₂² = Σσ²/max σ², which never exceeds `effective_rank`.

    Args, Returns, Raises and Cost: as `effective_rank`.
    """
    return _relative_singular_values(u, "stable_rank").square().sum(-1)


def _relative_singular_values(u: Tensor, name: str) -> Tensor:
    """σ_i/max σ, whose squares neither overflow nor vanish."""
    if u.ndim < 2 or 0 in u.shape[-2:] or not bool(u.isfinite().all()):
        raise ValueError(f"{name}: u must be finite and [..., m, z], m and z ≥ 1, got shape {tuple(u.shape)}")
    sigma = torch.linalg.svdvals(u)
    return sigma / torch.where(sigma[..., :1] > 0, sigma[..., :1], 1)
