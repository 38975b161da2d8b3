"""A minibatch of token sequences as a sparse matrix: sums of a table over the places of a view, and the adjoint.

A view is K tokens, one of d at each place, so a linear map of its one-hot code is a sum of K rows of a (K·d)-row table.
Views may form groups, each with a table of its own, as where first and second views are normalised apart.
Shapes: tokens int `[run, 2N, K]`, tables `[run, K, group·d, j]`, values of the views `[run, 2N, j]`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


@dataclass(frozen=True)
class TokenBatch:
    """One minibatch: where its tokens stand in the table, and which views hold each token.

    rows `[run·2N, K]`, rows of the flattened table; holders `[run·2N·K]`, views sorted by row, those of one row begin
    at starts `[run·K·group·d]`; shares `[run, K, group, d, 1]`, of a group's views the share that holds the token.
    """

    rows: Tensor
    holders: Tensor
    starts: Tensor
    shares: Tensor

    def sum_over_places(self, table: Tensor) -> Tensor:
        """f_i = Σ_k table[k, a_k(i)]: `[run, K, group·d, j]` to `[run, 2N, j]`. Cost: 2N·K·j additions a run."""
        runs, j = table.shape[0], table.shape[-1]
        return embedding_bag(self.rows, table.reshape(-1, j), mode="sum").view(runs, -1, j)

    def sum_over_views(self, f: Tensor) -> Tensor:
        """The adjoint, table[k, a] = Σ_{i: a_k(i) = a} f_i, `[run, 2N, j]` to `[run, K, group·d, j]`. Same cost."""
        flat, (runs, places) = f.reshape(-1, f.shape[-1]), self.shares.shape[:2]
        return embedding_bag(self.holders, flat, self.starts, mode="sum").view(runs, places, -1, flat.shape[-1])


def token_batches(tokens: Tensor, d: int, groups: int = 1, dtype: torch.dtype = torch.float32) -> list[TokenBatch]:
    """Index minibatches of tokens 0..d−1, `[step, run, 2N, K]`, several at once since one long sort is cheaper.

    Args: groups, 1, or 2 for first and second views apart; dtype of the shares.
    Cost: one sort of step·run·2N·K numbers. Raises: ValueError where 2N is no multiple of groups.
    """
    steps, runs, views, places = tokens.shape
    if views % groups:
        raise ValueError(f"token_batches: got {views} views in {groups} groups, allowed are groups that divide them")

    table = runs * places * groups * d
    kind = torch.int32 if steps * table < 2**31 else torch.int64

    def index(size: int, axis: int) -> Tensor:
        return torch.arange(size, dtype=kind, device=tokens.device).view(-1, *[1] * (3 - axis))

    group = index(views, 2) // (views // groups)
    row = ((index(runs, 1) * places + index(places, 3)) * groups + group) * d + tokens
    keys = (row + index(steps, 0) * table).flatten()
    order = keys.sort(stable=True).indices.view(steps, -1)
    holders = (order % (runs * views * places) // places).to(kind)
    counts = torch.bincount(keys, minlength=steps * table).view(steps, -1)
    starts = (counts.cumsum(-1) - counts).to(kind)
    shares = (counts.to(dtype) * (groups / views)).view(steps, runs, places, groups, d, 1)
    parts = row.flatten(1, 2), holders, starts, shares
    return [TokenBatch(*(part[s] for part in parts)) for s in range(steps)]
