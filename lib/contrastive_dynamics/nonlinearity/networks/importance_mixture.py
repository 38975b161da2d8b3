"""Importances between InfoNCE and the uniform one, and a top layer with a pace of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from ...losses.named_losses import ContrastiveLoss, Loss, infonce, quadratic
from .field_network import Batch, FieldNetwork, Weights

TAU = 0.1  # temperature of both ends, the author's


class Variation(NamedTuple):
    """What a run has in place of the loss of its configuration.

    Args:
        uniform: the share s of the uniform importance, 0 to 1.
        positive: ε, the weight of the positive pair in the denominator of InfoNCE: 1, or 0 so that rows of α sum to 1.
        pace: what the top layer's rate is multiplied by, > 0.
    """

    uniform: float = 0.0
    positive: float = 1.0
    pace: float = 1.0


def check_variations(variations: Sequence[Variation]) -> None:
    """Raise a one-line ValueError for a share, an ε or a pace outside its range."""
    for uniform, positive, pace in variations:
        if not 0 <= uniform <= 1:
            raise ValueError(f"s must be ≥ 0 and ≤ 1, got {uniform:g}")
        if positive not in (0, 1):
            raise ValueError(f"positive must be 0 or 1, got {positive:g}")
        if not pace > 0:
            raise ValueError(f"paces must be > 0, got {pace:g}")


@dataclass(frozen=True)
class ImportanceMixture:
    """The loss with importance α = (1 − s) α_InfoNCE + s/N, s for each run; a `named_losses.Loss`.

    Rows of the uniform part sum to 1, and those of InfoNCE to 1 less the share of the positive pair, or to 1 with
    ε = 0. All have the weight 2N/τ in ∇L = −weight·∇E. A gradient is linear in α, so it is mixed from those of the
    losses: s = 0 is InfoNCE, s = 1 the quadratic loss over τ.

    Source: ours; the two ends are tian-2023, eqs. (1) and (2).
    Args:
        s: `[run, 1, 1]`, 0 to 1.
        positive: ε of each run `[run, 1, 1]`, 0 or 1.
    """

    s: Tensor
    positive: Tensor

    def gradient(self, f: Tensor, f_view: Tensor) -> tuple[Tensor, Tensor]:
        """As `ContrastiveLoss.gradient`; f, f_view `[run, N, j]`."""
        return self._mixed([loss.gradient(f, f_view) for loss in self._losses])

    def unit_gradient(self, z: Tensor, z_view: Tensor) -> tuple[Tensor, Tensor]:
        """As `ContrastiveLoss.unit_gradient`; z, z_view `[run, N, j]`."""
        return self._mixed([loss.unit_gradient(z, z_view) for loss in self._losses])

    @cached_property  # before a step is captured as a graph: the device is asked for a value
    def _losses(self) -> list[ContrastiveLoss]:
        return [quadratic(TAU), infonce(TAU)] + ([infonce(TAU, 0.0)] if not self.positive.all() else [])

    def _mixed(self, parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        of_uniform, of_infonce = parts[0], parts[1]
        if len(parts) > 2:
            of_infonce = [torch.lerp(a, b, self.positive) for a, b in zip(parts[2], of_infonce, strict=True)]
        first, second = (torch.lerp(a, b, self.s) for a, b in zip(of_infonce, of_uniform, strict=True))
        return first, second


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


def varied(
    network: FieldNetwork, variations: Sequence[Variation], weight_decay: float, like: Tensor
) -> tuple[PacedNetwork, ImportanceMixture]:
    """The network and the loss of runs that vary, on the device and with the dtype of a tensor.

    Args:
        network: the networks of all runs.
        variations: one per run.
        weight_decay: as in `PacedNetwork`.
        like: gives dtype and device.
    Raises: as `check_variations`.
    """
    check_variations(variations)
    s, positive, pace = torch.tensor(variations, dtype=like.dtype, device=like.device).T.reshape(3, -1, 1, 1)
    return PacedNetwork(network, pace.unsqueeze(-1), weight_decay), ImportanceMixture(s, positive)
