"""Token sequences from a pool of generators such as **C*B*A*D*: the data of two-layer networks, with exact moments.

Shapes: a pool a run; G generators of K places over d tokens. Views of one sample come from one generator.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..two_layers.conditional_independence import ConditionalFields
from .token_batch import TokenBatch, token_batches

WILDCARD = -1
CHUNK = 25  # minibatches drawn at a time; a constant, since a stream's numbers depend on the shapes drawn from it


@dataclass(frozen=True)
class TokenGenerators:
    """Patterns int32 `[run, G, K]`: the token that generator g fixes at place k, or −1 for the wildcard *.

    Source: tian-2023, Section 5 and Figure 3. Raises: ValueError for tokens outside −1..d−1 and d < 2.
    """

    patterns: Tensor
    d: int

    def __post_init__(self):
        low, high = int(self.patterns.min()), int(self.patterns.max())
        if self.d < 2 or low < WILDCARD or high >= self.d:
            raise ValueError(f"TokenGenerators: got tokens {low}..{high} and d={self.d}, allowed are −1..d−1, d ≥ 2")

    def candidates(self) -> Tensor:
        """Tokens that some generator fixes at place k, bool `[run, K, d]`: R_k^g, less what no generator uses."""
        tokens = torch.arange(self.d, device=self.patterns.device)
        return (self.patterns.unsqueeze(-1) == tokens).any(1)

    def fields(self, norms: Tensor | None = None, dtype: torch.dtype = torch.float64) -> ConditionalFields:
        """The exact law: given the generator z, places are independent, P[token a at k | z] = 1[a fixed] or 1/d.

        The input of place k is u_a = ‖u_a‖ e_a. Source: tian-2023, Section 5; a case of Assumption 2 with C = G.
        Args: norms `[d]`, default 1. Returns: fields with a run on the first axis.
        """
        runs, count, places = self.patterns.shape
        tokens = torch.arange(self.d, device=self.patterns.device)
        fixed = (self.patterns.unsqueeze(-1) == tokens).to(dtype)
        given = torch.where(self.patterns.unsqueeze(-1) == WILDCARD, 1 / self.d, fixed)
        norms = torch.ones(self.d, dtype=dtype, device=tokens.device) if norms is None else norms.to(dtype)
        points = torch.diag(norms).expand(runs, places, self.d, self.d)
        return ConditionalFields(points, given, given.new_full((runs, count), 1 / count))

    def views(self, streams: list[torch.Generator], n: int, steps: int) -> Tensor:
        """Minibatches of n samples in two views, int32 `[step, run, 2n, K]`; views i and n + i share a generator.

        The sample's generator is uniform, each view fills its wildcards with uniform tokens of its own.
        Args: one stream a run; n ≥ 1; steps ≥ 1. Raises: ValueError for another number of streams and n < 1.
        """
        runs, count, places = self.patterns.shape
        if len(streams) != runs or n < 1:
            raise ValueError(f"views: got {len(streams)} streams, n={n}, allowed are {runs} streams, n ≥ 1")
        device = self.patterns.device
        pick, fill = [], []
        for g in streams:
            pick.append(torch.randint(count, (steps, n), generator=g, device=device))
            fill.append(torch.randint(self.d, (steps, 2, n, places), generator=g, device=device, dtype=torch.int32))
        first = count * torch.arange(runs, device=device).view(-1, 1, 1)
        pattern = self.patterns.flatten(0, 1)[torch.stack(pick) + first].unsqueeze(2)  # [run, step, 1, n, K]
        return torch.where(pattern == WILDCARD, torch.stack(fill), pattern).flatten(2, 3).transpose(0, 1)

    def batches(
        self, streams: list[torch.Generator], n: int, groups: int = 1, dtype: torch.dtype = torch.float32
    ) -> Iterator[TokenBatch]:
        """Minibatches without end, as `views`, indexed as in `token_batches`."""
        while True:
            yield from token_batches(self.views(streams, n, CHUNK), self.d, groups, dtype)


def draw_generators(
    streams: list[torch.Generator], count: int = 40, places: int = 10, length: int = 5, d: int = 20, p: int = 5
) -> TokenGenerators:
    """Pools of random generators: each place admits p of the d tokens; a generator fixes one at `length` places.

    Source: tian-2023, Section 5 ("randomly picking 5 receptive fields, then picking one of the P tokens").
    Args: one stream a run; count ≥ 1; 1 ≤ length ≤ places; 1 ≤ p ≤ d, d ≥ 2. Raises: ValueError outside.
    """
    check_generators(count, places, length, d, p)
    patterns = []
    for g in streams:
        drawn = {"generator": g, "device": g.device, "dtype": torch.float64}  # the same whatever dtype is the default
        allowed = torch.rand(places, d, **drawn).argsort(-1)[:, :p]
        chosen = torch.randint(p, (count, places), generator=g, device=g.device)
        tokens = allowed.gather(1, chosen.mT).mT
        rank = torch.rand(count, places, **drawn).argsort(-1).argsort(-1)
        patterns.append(torch.where(rank < length, tokens, WILDCARD).to(torch.int32))
    return TokenGenerators(torch.stack(patterns), d)


def check_generators(count: int, places: int, length: int, d: int, p: int) -> None:
    """Raises ValueError in one line for a pool that cannot be: p > d, length > places, numbers below their least."""
    if d < 2 or not 1 <= p <= d:
        raise ValueError(f"draw_generators: got p={p} candidates of d={d} tokens, allowed are 1 ≤ p ≤ d, d ≥ 2")
    if count < 1 or not 1 <= length <= places:
        raise ValueError(
            f"draw_generators: got {count} generators of length {length} on {places} places, "
            f"allowed are 1 or more, 1 ≤ length ≤ places"
        )


def token_norms(d: int, zeta: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """‖u_a‖ = ζ for the first ⌊d/2⌋ tokens and 1/ζ for the others. Source: tian-2023, Appendix E.2.

    Args: d ≥ 2; zeta ≥ 1, the non-uniformity. Returns: `[d]`. Raises: ValueError outside.
    """
    if d < 2 or not zeta >= 1:
        raise ValueError(f"token_norms: got d={d}, zeta={zeta}, allowed are d ≥ 2, zeta ≥ 1")
    return torch.tensor([zeta] * (d // 2) + [1 / zeta] * (d - d // 2), dtype=dtype)
