"""Two-layer networks with disjoint receptive fields on tokens: an ensemble's exact gradients from one table a batch.

A place shows one of d tokens, so all that comes before the sum over places is a function of (place, token): the top
layer costs 2·groups·K·d·M·j flops a run where 2N views one by one cost 2·2N·K·M·j, and BatchNorm's statistics are
weighted sums. Shapes: runs first; K places, M filters, d tokens, j outputs; w `[run, K, M, d]`, v `[run, K, M, j]`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .activations import Activation
from .batch_norm import BACKPROPAGATED
from .contrastive_losses import ContrastiveLoss, unit_outputs
from .token_batch import TokenBatch

BATCH_NORM = ("off", *BACKPROPAGATED)


class Weights(NamedTuple):
    """Filters w `[run, K, M, d]` and top layer v `[run, K, M, j]`, or their gradients."""

    w: Tensor
    v: Tensor


def initial_weights(
    streams: list[torch.Generator], places: int, filters: int, d: int, outputs: int, dtype: torch.dtype = torch.float32
) -> Weights:
    """Uniform in ±1/√fan_in, the default of a linear layer without bias: fan-in d below, K·M above.

    Args: one stream a run; sizes ≥ 1. Returns: Weights on the device of the streams.
    """

    def layer(g, outputs, fan_in):  # drawn in double precision, so that every dtype starts from the same numbers
        drawn = torch.rand(places, filters, outputs, generator=g, device=g.device, dtype=torch.float64)
        return ((2 * drawn - 1) / math.sqrt(fan_in)).to(dtype)

    runs = [(layer(g, d, d), layer(g, outputs, places * filters)) for g in streams]
    return Weights(*(torch.stack(part) for part in zip(*runs, strict=True)))


@dataclass(frozen=True)
class TokenNetwork:
    """f = Σ_k V_kᵀ BN(h(W_k x_k)), x_k = ‖u_a‖ e_a, divided by its length where `unit`.

    batch_norm: "off", or the statistics that are back-propagated (both, mean, variance, none). They have no affine part
    and no running mean, stand after h, and are those of all 2N views, as in the paper, or where `views_apart` those of
    the first and of the second views, as in the author's run; σ² gets eps. norms `[d]`, default 1.
    Source: tian-2023, Section 5, Definition 5, Appendix E.2. Raises: ValueError for another batch_norm.
    """

    act: Activation
    batch_norm: str = "mean"
    views_apart: bool = False
    unit: bool = True
    norms: Tensor | None = None
    eps: float = 1e-5

    def __post_init__(self):
        if self.batch_norm not in BATCH_NORM:
            raise ValueError(f"batch_norm: got {self.batch_norm!r}, allowed are {', '.join(BATCH_NORM)}")

    @property
    def groups(self) -> int:
        """Groups of views with statistics of their own, for `token_batches`."""
        return 2 if self.views_apart and self.batch_norm != "off" else 1

    def outputs(self, weights: Weights, batch: TokenBatch) -> Tensor:
        """f `[run, 2N, j]` of a batch, unit length where `unit`. Cost: 2·groups·K·d·M·j + 2N·K·j flops a run."""
        b, _ = self._normalised(self.act.h(self._filtered(weights.w)), batch.shares)
        f = batch.sum_over_places(b.flatten(2, 3) @ weights.v)
        return unit_outputs(f)[0] if self.unit else f

    def gradients(self, weights: Weights, batch: TokenBatch, loss: ContrastiveLoss) -> Weights:
        """∂L/∂w and ∂L/∂v in closed form. Cost: 6·groups·K·d·M·j + 4N·K·j + 4·N²·j flops a run; 4·N² numbers."""
        filtered = self._filtered(weights.w)
        b, sigma = self._normalised(self.act.h(filtered), batch.shares)
        table = b.flatten(2, 3)
        f = batch.sum_over_places(table @ weights.v)
        z, length = unit_outputs(f) if self.unit else (f, None)
        g = torch.cat(loss.gradient(*z.chunk(2, -2)), -2)
        if self.unit:
            g = (g - z * (z * g).sum(-1, keepdim=True)) / length
        on_table = batch.sum_over_views(g)
        on_b = (on_table @ weights.v.mT).view_as(b)
        on_h = self._through_statistics(on_b, b, sigma, batch.shares).sum(2)
        return Weights(self._scaled((on_h * self.act.slope(filtered)).mT), table.mT @ on_table)

    def _filtered(self, w: Tensor) -> Tensor:  # wᵀu_a of every token, [run, K, d, M]
        return self._scaled(w).mT

    def _scaled(self, w: Tensor) -> Tensor:
        return w if self.norms is None else w * self.norms

    def _normalised(self, h: Tensor, share: Tensor) -> tuple[Tensor, Tensor | None]:
        """b = (h − μ)/σ `[run, K, group, d, M]` and σ; share `[run, K, group, d, 1]` of a group's views."""
        h = h.unsqueeze(2)
        if self.batch_norm == "off":
            return h, None
        centred = h - (share * h).sum(-2, keepdim=True)
        sigma = ((share * centred.square()).sum(-2, keepdim=True) + self.eps).sqrt()
        return centred / sigma, sigma

    def _through_statistics(self, g: Tensor, b: Tensor, sigma: Tensor | None, share: Tensor) -> Tensor:
        """∂L/∂h from ∂L/∂b: (g − [mean] p Σg − [variance] p b Σgb)/σ, p = share, sums over the tokens."""
        if self.batch_norm == "off":
            return g
        mean, variance = BACKPROPAGATED[self.batch_norm]
        back = share * g.sum(-2, keepdim=True) if mean else 0
        back = back + share * b * (g * b).sum(-2, keepdim=True) if variance else back
        return (g - back) / sigma
