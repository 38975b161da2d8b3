"""Two-layer networks with disjoint receptive fields: exact gradients of an ensemble, for any kind of input.

A minibatch defines how its inputs enter, so one step serves tokens and image patches. If a place shows one of d tokens,
everything before the sum over places is a function of (place, token): the top layer costs 2·groups·K·d·M·j flops per
run, where 2N views one by one would cost 2·2N·K·M·j, and BatchNorm's statistics are weighted sums.
Shapes: runs first; K places, M filters, d inputs per place, j outputs; w `[run, K, M, d]`, v `[run, K, M, j]`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.named_losses import Loss, unit_outputs
from ..two_layers.batch_norm import Statistics


class Weights(NamedTuple):
    """Filters w `[run, K, M, d]` and top layer v `[run, K, M, j]`, or their gradients."""

    w: Tensor
    v: Tensor


class Batch(Protocol):
    """A minibatch: the rows of a table that its views read, with K places of r rows in each group of views.

    Each group has BatchNorm statistics of its own. shares `[run, K, group, 1, r]`: the share of a group's views that
    read row r. Rows that every group reads alike may appear once in `filtered`, with a group axis of length one.
    """

    shares: Tensor

    def filtered(self, w: Tensor) -> Tensor:
        """wᵀx of every row, `[run, K, group or 1, r, M]`."""

    def on_filters(self, gradient: Tensor) -> Tensor:
        """The adjoint: `[run, K, group, r, M]` to `[run, K, M, d]`."""

    def sum_over_places(self, table: Tensor) -> Tensor:
        """`[run, K, group·r, j]` to the views, `[run, 2N, j]`."""

    def sum_over_views(self, f: Tensor) -> Tensor:
        """The adjoint: `[run, 2N, j]` to `[run, K, group·r, j]`."""


def initial_weights(
    streams: list[torch.Generator], places: int, filters: int, d: int, outputs: int, dtype: torch.dtype = torch.float32
) -> Weights:
    """Uniform in ±1/√fan_in, the default of a linear layer without bias: fan-in d below, K·M above.

    Args:
        streams: random streams, one per run.
        places: K ≥ 1 receptive fields.
        filters: M ≥ 1 filters per place.
        d: inputs per place, ≥ 1.
        outputs: j ≥ 1 outputs.
        dtype: dtype of the weights.
    Returns: Weights on the device of the streams.
    """

    def layer(g, outputs, fan_in):  # drawn in double precision, so that every dtype starts from the same numbers
        drawn = torch.rand(places, filters, outputs, generator=g, device=g.device, dtype=torch.float64)
        return ((2 * drawn - 1) / math.sqrt(fan_in)).to(dtype)

    runs = [(layer(g, d, d), layer(g, outputs, places * filters)) for g in streams]
    return Weights(*(torch.stack(part) for part in zip(*runs, strict=True)))


@dataclass(frozen=True)
class FieldNetwork:
    """f = Σ_k V_kᵀ BN(h(W_k x_k)), divided by its length if `unit`.

    BatchNorm follows h; it has no affine part and no running mean, and eps is added to σ². Its statistics are taken
    over each group of the minibatch: over all 2N views, as in the paper, or over first and second views apart, as in
    the author's run.

    Source: tian-2023, Section 5, Definition 5, Appendix E.2.
    Args:
        act: the activation h.
        statistics: what BatchNorm normalises and back-propagates.
        unit: whether outputs are divided by their length.
        norms: scale of the inputs, x = norm · (what the minibatch shows), `[d]` or `[run, 1, 1, d]`; 1 by default.
        eps: what BatchNorm adds to σ².
    """

    act: Activation
    statistics: Statistics
    unit: bool = True
    norms: Tensor | None = None
    eps: float = 1e-5

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Outputs f of a batch, of unit length if `unit`.

        Args:
            weights: filters and top layer.
            batch: the minibatch.
        Returns: `[run, 2N, j]`.
        Cost: that of the top layer (see above).
        """
        centred, sigma = self._normalised(self.act.h(batch.filtered(self._scaled(weights.w))), batch.shares)
        f = batch.sum_over_places((centred @ (weights.v.unsqueeze(2) / sigma)).flatten(2, 3))
        return unit_outputs(f)[0] if self.unit else f

    def gradients(self, weights: Weights, batch: Batch, loss: Loss) -> Weights:
        """∂L/∂w and ∂L/∂v in closed form.

        With c = h − μ, the table T = c·V/σ and G = ∂L/∂T: ∂L/∂V = cᵀG/σ summed over groups, and
        ∂L/∂h = (G − [mean] p ΣG)(V/σ)ᵀ − [variance] p c Σ_j(cᵀG∘V)/σ³ with p the shares and ΣG the sum over rows.

        Args:
            weights: filters and top layer.
            batch: the minibatch.
            loss: the loss L of the outputs of both views.
        Returns: Weights that hold the gradients.
        Cost: three times the top layer; per run also 4N·K·j flops for the sums, and 4·N²·j flops and 4·N² numbers for
            the pairs.
        """
        filtered = batch.filtered(self._scaled(weights.w))
        centred, sigma = self._normalised(self.act.h(filtered), batch.shares)
        top = weights.v.unsqueeze(2) / sigma  # [run, K, group, M, j]
        f = batch.sum_over_places((centred @ top).flatten(2, 3))
        z, length = unit_outputs(f) if self.unit else (f, None)
        g = torch.cat((loss.unit_gradient if self.unit else loss.gradient)(*z.chunk(2, -2)), -2)
        if self.unit:
            g = torch.addcmul(g, z, (z * g).sum(-1, keepdim=True), value=-1) / length
        on_table = batch.sum_over_views(g).unflatten(2, (sigma.shape[2], -1))
        on_top = centred.mT @ on_table
        on_h = self._through_statistics(on_table, on_top, centred, top, sigma, batch.shares)
        on_w = batch.on_filters(on_h * self.act.slope(filtered))
        return Weights(self._scaled(on_w), (on_top / sigma).sum(2))

    def _scaled(self, w: Tensor) -> Tensor:
        return w if self.norms is None else w * self.norms

    def _normalised(self, h: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """c = h − μ `[run, K, group, r, M]` and σ `[run, K, group, M, 1]`; h and 1 without BatchNorm."""
        on = self.statistics.on
        if on is False:
            return h.expand(*share.shape[:3], *h.shape[3:]), h.new_ones(()).expand(*share.shape[:3], h.shape[-1], 1)
        centred = h - _only(on, share @ h)
        variance = share @ centred.square() + self.eps
        sigma = variance.sqrt() if on is True else torch.where(on > 0, variance, 1).sqrt()
        return centred, sigma.mT

    def _through_statistics(self, on_table, on_top, centred, top, sigma, share) -> Tensor:
        """∂L/∂h `[run, K, group, r, M]`, as in `gradients`."""
        mean, variance = self.statistics.mean, self.statistics.variance
        if mean is not False:
            on_table = on_table - _only(mean, share.mT * on_table.sum(-2, keepdim=True))
        on_h = on_table @ top.mT
        if variance is not False:
            pull = (on_top * top).sum(-1, keepdim=True) / sigma.square()
            on_h = on_h - _only(variance, share.mT * centred * pull.mT)
        return on_h


def _only(where: bool | Tensor, x: Tensor) -> Tensor:
    """x for the runs that `where` selects (True for all, or 0 and 1 per run), and 0 for the others."""
    return x if where is True else where * x
