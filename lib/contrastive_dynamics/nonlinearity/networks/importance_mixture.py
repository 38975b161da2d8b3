"""Importances between InfoNCE and the uniform one, and a top layer with a pace of its own."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...losses.named_losses import ContrastiveLoss, Loss, infonce, quadratic
from .field_network import Batch, FieldNetwork, Weights

TAU = 0.1  # temperature of both ends, the author's


@dataclass(frozen=True)
class ImportanceMixture:
    """The loss with importance α = (1 − s) α_InfoNCE + s/N, s for each run; a `named_losses.Loss`.

    Rows of the uniform part sum to 1, those of InfoNCE to 1 less the share of the positive pair, and both have the
    weight 2N/τ in ∇L = −weight·∇E. A gradient is linear in α, so it is mixed from those of the two losses: s = 0 is
    InfoNCE, s = 1 the quadratic loss over τ.

    Source: ours; the two ends are tian-2023, eqs. (1) and (2).
    Args:
        s: `[run, 1, 1]`, 0 to 1.
    Raises: ValueError for s outside this range.
    """

    s: Tensor

    def __post_init__(self):
        if not bool(((self.s >= 0) & (self.s <= 1)).all()):
            raise ValueError(f"s must be ≥ 0 and ≤ 1, got {self.s.min():g} to {self.s.max():g}")

    def gradient(self, f: Tensor, f_view: Tensor) -> tuple[Tensor, Tensor]:
        """As `ContrastiveLoss.gradient`; f, f_view `[run, N, j]`."""
        return self._mixed(*(loss.gradient(f, f_view) for loss in _ends()))

    def unit_gradient(self, z: Tensor, z_view: Tensor) -> tuple[Tensor, Tensor]:
        """As `ContrastiveLoss.unit_gradient`; z, z_view `[run, N, j]`."""
        return self._mixed(*(loss.unit_gradient(z, z_view) for loss in _ends()))

    def _mixed(self, of_infonce: tuple[Tensor, Tensor], of_uniform: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        first, second = (torch.lerp(a, b, self.s) for a, b in zip(of_infonce, of_uniform, strict=True))
        return first, second


def _ends() -> tuple[ContrastiveLoss, ContrastiveLoss]:
    return infonce(TAU), quadratic(TAU)


@dataclass(frozen=True)
class PacedNetwork:
    """A network whose top layer SGD trains at a multiple of the rate, though the optimiser knows one rate only.

    SGD with weight decay λ follows g + λV with momentum, which is linear in it. The top layer's gradient is therefore
    given as c (g + λV) − λV, and its steps are those of the rate c·η, weight decay included: a factor c changes how
    fast V moves, and no stationary point.

    Args:
        network: the network.
        pace: c > 0 for each run, `[run, 1, 1, 1]`.
        weight_decay: λ ≥ 0, that of the optimiser.
    """

    network: FieldNetwork
    pace: Tensor
    weight_decay: float

    def gradients(self, weights: Weights, batch: Batch, loss: Loss) -> Weights:
        """As `FieldNetwork.gradients`, the top layer's as above."""
        of = self.network.gradients(weights, batch, loss)
        decay = self.weight_decay * weights.v
        return Weights(of.w, self.pace * (of.v + decay) - decay)
