"""Token sequences from a pool of generators such as **C*B*A*D*: the data of two-layer networks, with exact moments.

Shapes: one pool per run; G generators of K places over d tokens. Both views of a sample come from one generator.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..two_layers.conditional_independence import ConditionalFields
from .token_batch import TokenBatch, token_batches

WILDCARD = -1
CHUNK = 25  # minibatches drawn at a time; a constant, since a stream's numbers depend on the shapes drawn from it


def letters(tokens: Tensor) -> str:
    """A sequence `[K]` as text: A, B, C … for tokens 0, 1, 2 …, and * for the wildcard."""
    return "".join("*" if token < 0 else chr(ord("A") + token) for token in tokens.tolist())


@dataclass(frozen=True)
class TokenGenerators:
    """A pool of generators for each run: the token that generator g fixes at place k, or −1 for the wildcard *.

    Source: tian-2023, Section 5 and Figure 3.
    Args:
        patterns: int32 `[run, G, K]`, tokens −1 to d−1.
        d: number of tokens, ≥ 2.
    Raises: ValueError for tokens outside −1..d−1 and for d < 2.
    """

    patterns: Tensor
    d: int

    def __post_init__(self):
        low, high = int(self.patterns.min()), int(self.patterns.max())
        if self.d < 2 or low < WILDCARD or high >= self.d:
            raise ValueError(f"patterns must be in −1..d−1 and d ≥ 2, got {low}..{high} and d={self.d}")

    def candidates(self) -> Tensor:
        """Tokens that some generator fixes at place k, bool `[run, K, d]`: R_k^g without those never used."""
        tokens = torch.arange(self.d, device=self.patterns.device)
        return (self.patterns.unsqueeze(-1) == tokens).any(1)

    def fields(self, norms: Tensor | None = None, dtype: torch.dtype = torch.float64) -> ConditionalFields:
        """The exact law: given the generator z, places are independent, P[token a at k | z] = 1[a fixed] or 1/d.

        The input of place k is u_a = ‖u_a‖ e_a.

        Source: tian-2023, Section 5; a case of Assumption 2 with C = G.
        Args:
            norms: `[d]`, 1 by default.
            dtype: dtype of the result.
        Returns: fields with the run on the first axis.
        """
        runs, count, places = self.patterns.shape
        tokens = torch.arange(self.d, device=self.patterns.device)
        fixed = (self.patterns.unsqueeze(-1) == tokens).to(dtype)
        given = torch.where(self.patterns.unsqueeze(-1) == WILDCARD, 1 / self.d, fixed)
        norms = torch.ones(self.d, dtype=dtype, device=tokens.device) if norms is None else norms.to(dtype)
        points = torch.diag(norms).expand(runs, places, self.d, self.d)
        return ConditionalFields(points, given, given.new_full((runs, count), 1 / count))

    def views(self, streams: list[torch.Generator], n: int, steps: int) -> Tensor:
        """Minibatches of n samples in two views; views i and n + i share a generator.

        The generator of a sample is uniform; each view fills its wildcards with uniform tokens of its own.

        Args:
            streams: random streams, one per run.
            n: samples per minibatch, ≥ 1.
            steps: number of minibatches, ≥ 1.
        Returns: tokens, int32 `[step, run, 2n, K]`.
        Raises: ValueError for any other number of streams and for n < 1.
        """
        runs, count, places = self.patterns.shape
        if len(streams) != runs or n < 1:
            raise ValueError(f"streams must be {runs}, one per run, and n ≥ 1, got {len(streams)} streams and n={n}")
        pick, fill = zip(*(draw_views(g, count, self.d, n, places, steps) for g in streams), strict=True)
        first = count * torch.arange(runs, device=self.patterns.device).view(-1, 1, 1)
        pattern = self.patterns.flatten(0, 1)[torch.stack(pick) + first].unsqueeze(2)  # [run, step, 1, n, K]
        return torch.where(pattern == WILDCARD, torch.stack(fill), pattern).flatten(2, 3).transpose(0, 1)

    def batches(
        self, streams: list[torch.Generator], n: int, groups: int = 1, dtype: torch.dtype = torch.float32
    ) -> Iterator[TokenBatch]:
        """Endless minibatches, drawn as in `views` and indexed as in `token_batches`."""
        while True:
            yield from token_batches(self.views(streams, n, CHUNK), self.d, groups, dtype)


def draw_views(g: torch.Generator, count: int, d: int, n: int, places: int, steps: int) -> tuple[Tensor, Tensor]:
    """Minibatches of one run before its patterns are put in, on the device of its stream.

    Args:
        g: random stream.
        count: number of generators, ≥ 1.
        d: number of tokens, ≥ 2.
        n: samples per minibatch, ≥ 1.
        places: K.
        steps: number of minibatches, ≥ 1.
    Returns: the generator of each sample, int64 `[step, n]`, and uniform tokens for the wildcards of both views, int32
        `[step, 2, n, K]`.
    """
    pick = torch.randint(count, (steps, n), generator=g, device=g.device)
    return pick, torch.randint(d, (steps, 2, n, places), generator=g, device=g.device, dtype=torch.int32)


def draw_generators(
    streams: list[torch.Generator], count: int = 40, places: int = 10, length: int = 5, d: int = 20, p: int = 5
) -> TokenGenerators:
    """Pools of random generators: each place admits p of the d tokens; a generator fixes one at `length` places.

    Source: tian-2023, Section 5 ("randomly picking 5 receptive fields, then picking one of the P tokens").
    Args:
        streams: random streams, one per run.
        count: generators per pool, ≥ 1.
        places: K receptive fields.
        length: 1 ≤ length ≤ places.
        d: number of tokens, ≥ 2.
        p: candidates per place, 1 ≤ p ≤ d.
    Raises: ValueError for sizes outside these ranges.
    """
    check_generators(count, places, length, d, p)
    patterns = []
    for g in streams:
        drawn = {"generator": g, "device": g.device, "dtype": torch.float64}  # the same whatever the default dtype
        allowed = torch.rand(places, d, **drawn).argsort(-1)[:, :p]
        chosen = torch.randint(p, (count, places), generator=g, device=g.device)
        tokens = allowed.gather(1, chosen.mT).mT
        rank = torch.rand(count, places, **drawn).argsort(-1).argsort(-1)
        patterns.append(torch.where(rank < length, tokens, WILDCARD).to(torch.int32))
    return TokenGenerators(torch.stack(patterns), d)


def check_generators(count: int, places: int, length: int, d: int, p: int) -> None:
    """Raise a one-line ValueError for an impossible pool: p > d, length > places, or a number below its minimum."""
    if d < 2 or not 1 <= p <= d:
        raise ValueError(f"p must be ≥ 1 and ≤ d, and d ≥ 2, got p={p} and d={d}")
    if count < 1 or not 1 <= length <= places:
        raise ValueError(
            f"count must be ≥ 1, and length ≥ 1 and ≤ places, got count={count}, length={length}, places={places}"
        )


def token_norms(d: int, zeta: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """‖u_a‖ = ζ for the first ⌊d/2⌋ tokens and 1/ζ for the others.

    Source: tian-2023, Appendix E.2.
    Args:
        d: number of tokens, ≥ 2.
        zeta: the non-uniformity ζ, ≥ 1.
        dtype: dtype of the result.
    Returns: `[d]`.
    Raises: ValueError for d or zeta outside its range.
    """
    if d < 2 or not zeta >= 1:
        raise ValueError(f"d must be ≥ 2 and zeta ≥ 1, got d={d}, zeta={zeta}")
    return torch.tensor([zeta] * (d // 2) + [1 / zeta] * (d - d // 2), dtype=dtype)
