"""Contrastive losses as pairwise importance: ∇L = −weight(N) · ∇E_sg(α), the α-CL family.

The docstring of this room says which InfoNCE of the house this one is, and which table of losses.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import torch
from torch import Tensor

from .pairwise_importance import (
    gaussian_importance,
    half_squared_distances,
    infonce_importance,
    require_temperature,
    require_weight,
)


class Loss(Protocol):
    """What the gradient of a network needs from a loss."""

    def gradient(self, f: Tensor, f_view: Tensor) -> tuple[Tensor, Tensor]:
        """∂L/∂f and ∂L/∂f_view, `[run, N, j]` each."""

    def unit_gradient(self, z: Tensor, z_view: Tensor) -> tuple[Tensor, Tensor]:
        """The same for unit outputs, up to multiples of each output."""


@dataclass(frozen=True)
class ContrastiveLoss:
    """A loss of two views of N outputs, given by its importance α and its weight(N).

    importance is a function (f, f_view) ↦ α `[..., N, N]`, or None for α = 1.

    Source: tian-2023, Section 2, eqs. (1) to (3).
    """

    name: str
    importance: Callable[[Tensor, Tensor], Tensor] | None
    weight: Callable[[int], float]
    unit_importance: Callable[[Tensor, Tensor], Tensor] | None = None

    def gradient(self, f: Tensor, f_view: Tensor) -> tuple[Tensor, Tensor]:
        """∂L/∂f_i and ∂L/∂f_i' in closed form, with α held constant.

        With r_i = Σ_j α_ij and the sums c_j = Σ_i α_ij,
        2N² ∂E/∂f_i = (r_i + c_i) f_i − Σ_j (α_ij + α_ji) f_j − r_i (f_i − f_i'),  2N² ∂E/∂f_i' = r_i (f_i − f_i').

        Source: tian-2023, eqs. (2), (3).
        Args:
            f: outputs of the first views, `[..., N, j]`.
            f_view: outputs of the second views, `[..., N, j]`.
        Returns: both gradients, shaped as f.
        Cost: 2·N²·j flops and 3·N² numbers; for α = 1 only N·j.
        """
        n = f.shape[-2]
        scale = -self.weight(n) / (2 * n * n)
        if self.importance is None:
            pull = n * (f - f_view)
            return scale * (2 * (n * f - f.sum(-2, keepdim=True)) - pull), scale * pull
        alpha = self.importance(f, f_view)
        r = alpha.sum(-1, keepdim=True)
        both = alpha + alpha.mT
        pull = r * (f - f_view)
        g = both.sum(-1, keepdim=True) * f - both @ f - pull
        return scale * g, scale * pull

    def unit_gradient(self, z: Tensor, z_view: Tensor) -> tuple[Tensor, Tensor]:
        """`gradient` for outputs of unit length, up to multiples of z_i and z_i', which the normalisation removes.

        What remains is −Σ_j (α_ij + α_ji) z_j + r_i z_i' and r_i z_i, in place of the two right-hand sides in
        `gradient`.

        Args:
            z: unit outputs of the first views, `[run, N, j]`.
            z_view: unit outputs of the second views, `[run, N, j]`.
        Returns: both gradients, shaped as z.
        Cost: as `gradient`, with half as many passes over N² numbers.
        """
        n = z.shape[-2]
        scale = -self.weight(n) / (2 * n * n)
        if self.importance is None:
            return (scale * n) * z_view - (2 * scale) * z.sum(-2, keepdim=True), (scale * n) * z
        alpha = (self.unit_importance or self.importance)(z, z_view)
        r = scale * alpha.sum(-1, keepdim=True)
        return torch.baddbmm(r * z_view, alpha + alpha.mT, z, alpha=-scale), r * z


@dataclass(frozen=True)
class MixedLoss:
    """The losses of an ensemble whose runs have different ones: each loss with its number of consecutive runs."""

    parts: tuple[tuple[ContrastiveLoss, int], ...]

    def gradient(self, f: Tensor, f_view: Tensor) -> tuple[Tensor, Tensor]:
        """As `ContrastiveLoss.gradient`, with each run's own loss; f, f_view `[run, N, j]`."""
        return self._each(f, f_view, lambda loss: loss.gradient)

    def unit_gradient(self, z: Tensor, z_view: Tensor) -> tuple[Tensor, Tensor]:
        """As `ContrastiveLoss.unit_gradient`, with each run's own loss; z, z_view `[run, N, j]`."""
        return self._each(z, z_view, lambda loss: loss.unit_gradient)

    def _each(self, f: Tensor, f_view: Tensor, of: Callable) -> tuple[Tensor, Tensor]:
        losses, sizes = zip(*self.parts, strict=True)
        views = zip(losses, f.split(sizes), f_view.split(sizes), strict=True)
        found = [of(loss)(*each) for loss, *each in views]
        return tuple(torch.cat(part) for part in zip(*found, strict=True))


def infonce(tau: float = 0.1, eps: float = 1.0) -> ContrastiveLoss:
    """Mean cross entropy of the positive pair, eq. (1)/(τN); with ε = 1 and unit outputs it is the author's loss.

    Args:
        tau: temperature, > 0.
        eps: weight of the positive pair in the denominator, ≥ 0.
    Returns: ContrastiveLoss.
    Raises: ValueError outside these ranges.
    """
    require_temperature("infonce: tau", tau)
    require_weight("infonce: eps", eps)

    def importance(f, f_view):
        return infonce_importance(f, f_view, tau, eps)

    def of_unit_outputs(z, z_view):  # ½‖z_i − z_j‖² = 1 − z_iᵀz_j, and softmax ignores the 1
        logits = (z / tau) @ z.mT
        on = logits.diagonal(dim1=-2, dim2=-1)
        on.copy_((z * z_view).sum(-1) / tau + (math.log(eps) if eps else -math.inf))
        alpha = logits.softmax(-1)
        alpha.diagonal(dim1=-2, dim2=-1).zero_()
        return alpha

    return ContrastiveLoss("infonce", importance, lambda n: 2 * n / tau, of_unit_outputs)


def quadratic(tau: float = 1.0) -> ContrastiveLoss:
    """−2E_α/τ with α = 1.

    For unit outputs, with s the similarities over τ and the positive ones on its diagonal, it is the author's
    −(1 + 1/N)·mean(diag s) + mean(s), up to a constant; there τ = 0.1, which the paper does not mention.

    Args:
        tau: temperature, > 0.
    Returns: ContrastiveLoss.
    Raises: ValueError for another temperature.
    """
    require_temperature("quadratic: tau", tau)
    return ContrastiveLoss("quadratic", None, lambda n: 2.0 / tau)


def gaussian(tau: float = 0.1) -> ContrastiveLoss:
    """−2E_α with Gaussian α of the first views' outputs, α_ij = e^{−‖f_i − f_j‖²/2τ} (tian-2023, Lemma 1).

    Args:
        tau: temperature, > 0.
    Returns: ContrastiveLoss.
    Raises: ValueError for another temperature.
    """
    require_temperature("gaussian: tau", tau)
    return ContrastiveLoss("gaussian", lambda f, f_view: gaussian_importance(f, tau), lambda n: 2.0)


def triplet(margin: float = 0.5) -> ContrastiveLoss:
    """Mean over pairs i ≠ j of max(0, d_i² − d_ij² + margin), divided by N²; α_ij = 1 where the maximum is not 0.

    Args:
        margin: ≥ 0 and finite, added to the difference of the squared distances; below 0 it would be a tolerance.
    Returns: ContrastiveLoss.
    Raises: ValueError for another margin.
    """
    require_weight("triplet: margin", margin)

    def importance(f, f_view):
        positive = (f - f_view).square().sum(-1, keepdim=True) / 2
        alpha = (positive - half_squared_distances(f) + margin > 0).to(f.dtype)
        alpha.diagonal(dim1=-2, dim2=-1).zero_()
        return alpha

    return ContrastiveLoss("triplet", importance, lambda n: 2.0)


LOSSES = {
    "infonce": infonce,
    "quadratic": quadratic,
    "quadratic_over_tau": lambda: quadratic(0.1),
    "gaussian": gaussian,
    "triplet": triplet,
}


def contrastive_loss(name: str) -> ContrastiveLoss:
    """A loss by name, with its default temperature or margin; raises ValueError listing the allowed names."""
    if name not in LOSSES:
        raise ValueError(f"contrastive_loss: must be one of {', '.join(LOSSES)}, got {name!r}")
    return LOSSES[name]()


def mixed_loss(names: Sequence[str]) -> Loss:
    """The losses of an ensemble, from one name per run; raises as `contrastive_loss`."""
    parts = tuple((contrastive_loss(name), len(list(runs))) for name, runs in groupby(names))
    return parts[0][0] if len(parts) == 1 else MixedLoss(parts)


def unit_outputs(f: Tensor) -> tuple[Tensor, Tensor]:
    """z = f/‖f‖ and ‖f‖ `[..., 1]` for f `[..., j]`; for f = 0 they are 0 and ∞, so that no gradient flows back.

    Outputs whose squares leave their precision count as 0, too: lengths below 1e-20 or above 1e18 in single precision,
    below 1e-158 or above 1e152 in double.
    """
    length = torch.linalg.vector_norm(f, dim=-1, keepdim=True)
    length = torch.where(length > 0, length, torch.inf)
    return f / length, length
