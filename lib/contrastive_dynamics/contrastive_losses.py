"""Contrastive losses as pairwise importance: ∇L = −weight(N) · ∇E_sg(α), the α-CL family."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .pairwise_importance import (
    gaussian_importance,
    half_squared_distances,
    infonce_importance,
    uniform_importance,
)


@dataclass(frozen=True)
class ContrastiveLoss:
    """A loss of two views of N outputs, given by its importance α(f, f_view) `[..., N, N]` and weight(N).

    Source: tian-2023, Section 2, eqs. (1) to (3).
    """

    name: str
    importance: Callable[[Tensor, Tensor], Tensor]
    weight: Callable[[int], float]

    def gradient(self, f: Tensor, f_view: Tensor) -> tuple[Tensor, Tensor]:
        """∂L/∂f_i and ∂L/∂f_i' in closed form, α held constant.

        With r_i = Σ_j α_ij and the sums c_j = Σ_i α_ij,
        2N² ∂E/∂f_i = (r_i + c_i) f_i − Σ_j (α_ij + α_ji) f_j − r_i (f_i − f_i'),  2N² ∂E/∂f_i' = r_i (f_i − f_i').
        Source: tian-2023, eqs. (2), (3). Args: f, f_view `[..., N, j]`. Cost: 2·N²·j flops, 3·N² numbers.
        """
        n = f.shape[-2]
        alpha, scale = self.importance(f, f_view), -self.weight(n) / (2 * n * n)
        r = alpha.sum(-1, keepdim=True)
        both = alpha + alpha.mT
        pull = r * (f - f_view)
        g = both.sum(-1, keepdim=True) * f - both @ f - pull
        return scale * g, scale * pull


def infonce(tau: float = 0.1, eps: float = 1.0) -> ContrastiveLoss:
    """Mean cross entropy of the positive pair, eq. (1)/(τN). With ε = 1 and unit outputs it is the author's loss."""

    def importance(f, f_view):
        return infonce_importance(f, f_view, tau, eps)

    return ContrastiveLoss("infonce", importance, lambda n: 2 * n / tau)


def quadratic() -> ContrastiveLoss:
    """−2E_α with α = 1. With unit outputs and s the similarities, the positive ones on the diagonal, it is the
    author's −(1 + 1/N)·mean(diag s) + mean(s), up to a constant."""
    return ContrastiveLoss("quadratic", lambda f, f_view: uniform_importance(f), lambda n: 2.0)


def gaussian(tau: float = 0.1) -> ContrastiveLoss:
    """−2E_α with Gaussian α of the first views' outputs, α_ij = e^{−‖f_i − f_j‖²/2τ} (tian-2023, Lemma 1)."""
    return ContrastiveLoss("gaussian", lambda f, f_view: gaussian_importance(f, tau), lambda n: 2.0)


def triplet(margin: float = 0.5) -> ContrastiveLoss:
    """Mean over pairs i ≠ j of max(0, d_i² − d_ij² + margin), with N² pairs in the mean; α_ij = 1 where it is open."""

    def importance(f, f_view):
        positive = (f - f_view).square().sum(-1, keepdim=True) / 2
        alpha = (positive - half_squared_distances(f) + margin > 0).to(f.dtype)
        alpha.diagonal(dim1=-2, dim2=-1).zero_()
        return alpha

    return ContrastiveLoss("triplet", importance, lambda n: 2.0)


LOSSES = {"infonce": infonce, "quadratic": quadratic, "gaussian": gaussian, "triplet": triplet}


def contrastive_loss(name: str) -> ContrastiveLoss:
    """A loss by name, with its default temperature or margin; raises ValueError naming the allowed ones."""
    if name not in LOSSES:
        raise ValueError(f"contrastive_loss: got {name!r}, allowed are {', '.join(LOSSES)}")
    return LOSSES[name]()


def unit_outputs(f: Tensor) -> tuple[Tensor, Tensor]:
    """z = f/‖f‖ and ‖f‖ `[..., 1]`; for f = 0 they are 0 and ∞, so that nothing flows back. Args: f `[..., j]`."""
    length = torch.linalg.vector_norm(f, dim=-1, keepdim=True)
    length = torch.where(length > 0, length, torch.inf)
    return f / length, length
