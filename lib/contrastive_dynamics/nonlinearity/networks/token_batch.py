"""A minibatch of token sequences as a sparse matrix: sums of a table over the places of a view, and the adjoint.

A view has K places, each with one of d tokens, so a linear map of its one-hot code is a sum of K rows of a
(K·d)-row table. Views may form groups with separate tables, as when first and second views are normalised apart.
Shapes: tokens int `[run, 2N, K]`, tables `[run, K, group·d, j]`, values of the views `[run, 2N, j]`.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


@dataclass(frozen=True)
class TokenBatch:
    """One minibatch: where its tokens stand in the table, and which views hold each token; a `field_network.Batch`.

    Rows and views are counted over all runs.

    Args:
        rows: `[run, 2N, K]`, rows of the run's table.
        holders: `[run, 2N·K]`, views sorted by row.
        starts: `[run, K·group·d]`, where in holders the views of each row begin.
        shares: `[run, K, group, 1, d]`, the share of a group's views that hold the token.
    """

    rows: Tensor
    holders: Tensor
    starts: Tensor
    shares: Tensor

    def filtered(self, w: Tensor) -> Tensor:
        """wᵀx of the one-hot tokens: every token's weights, `[run, K, 1, d, M]`."""
        return w.mT.unsqueeze(2)

    def on_filters(self, gradient: Tensor) -> Tensor:
        """The adjoint: `[run, K, group, d, M]` to `[run, K, M, d]`."""
        return gradient.sum(2).mT

    def sum_over_places(self, table: Tensor) -> Tensor:
        """f_i = Σ_k table[k, a_k(i)]: `[run, K, group·d, j]` to `[run, 2N, j]`. Cost: 2N·K·j additions per run."""
        runs, j = table.shape[0], table.shape[-1]
        return embedding_bag(self.rows.flatten(0, 1), table.reshape(-1, j), mode="sum").view(runs, -1, j)

    def sum_over_views(self, f: Tensor) -> Tensor:
        """The adjoint, table[k, a] = Σ_{i: a_k(i) = a} f_i, `[run, 2N, j]` to `[run, K, group·d, j]`. Same cost."""
        flat, (runs, places) = f.reshape(-1, f.shape[-1]), self.shares.shape[:2]
        table = embedding_bag(self.holders.flatten(), flat, self.starts.flatten(), mode="sum")
        return table.view(runs, places, -1, flat.shape[-1])

    def shared(self, source: Tensor) -> "TokenBatch":
        """The batch of an ensemble whose run i sees what run source[i] of this one sees; source int64 `[new run]`."""
        (_, views, places), table = self.rows.shape, self.starts.shape[1]
        step = torch.arange(len(source), device=source.device) - source
        step = step.to(self.rows.dtype).unsqueeze(-1)
        rows = self.rows[source] + (table * step).unsqueeze(-1)
        holders, starts = self.holders[source] + views * step, self.starts[source] + views * places * step
        return TokenBatch(rows, holders, starts, self.shares[source])


def token_batches(tokens: Tensor, d: int, groups: int = 1, dtype: torch.dtype = torch.float32) -> list[TokenBatch]:
    """Index minibatches of tokens, several at once because calls cost more than sorts.

    Args:
        tokens: 0 to d−1, `[step, run, 2N, K]`.
        d: number of tokens.
        groups: 1, or 2 for first and second views apart.
        dtype: dtype of the shares.
    Returns: one TokenBatch per step.
    Raises: ValueError if 2N is not a multiple of groups.
    Cost: a sort of 2N·K numbers per step and run.
    """
    steps, runs, views, places = tokens.shape
    if views % groups:
        raise ValueError(f"groups must divide the number of views, got {groups} groups and {views} views")

    table = places * groups * d
    kind = torch.int32 if steps * runs * table < 2**31 else torch.int64

    def index(size: int, axis: int) -> Tensor:
        return torch.arange(size, dtype=kind, device=tokens.device).view(-1, *[1] * (3 - axis))

    group = index(views, 2) // (views // groups)
    row = ((index(runs, 1) * places + index(places, 3)) * groups + group) * d + tokens
    keys = (row + index(steps, 0) * (runs * table)).flatten()
    own = row - index(runs, 1) * table
    first_view = index(runs, 1).view(1, -1, 1) * views
    holders = (_stable_order(own.flatten(2), table) // places).to(kind) + first_view
    counts = torch.bincount(keys, minlength=steps * runs * table).view(steps, -1)
    starts = (counts.cumsum(-1) - counts).to(kind).view(steps, runs, -1)
    shares = (counts.to(dtype) * (groups / views)).view(steps, runs, places, groups, 1, d)
    parts = row, holders, starts, shares
    return [TokenBatch(*(part[s] for part in parts)) for s in range(steps)]


def _stable_order(keys: Tensor, bound: int) -> Tensor:
    """The stable sorting order along the last axis of numbers below `bound`.

    On a CPU it comes from numpy, whose radix sort of 16-bit numbers takes a third of the time of torch's.
    """
    if keys.device.type == "cpu" and bound <= 2**15:
        return torch.from_numpy(np.argsort(keys.to(torch.int16).numpy(), axis=-1, kind="stable"))
    return keys.sort(dim=-1, stable=True).indices
