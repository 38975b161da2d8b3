"""The race of the patterns for one filter, ẏ_j = P⊥ (g(y_j) + v_j) y_j: who wins from a start, and who leads at it.

y_j = u_jᵀw are the coordinates of the filter in orthonormal patterns, g is any increasing function, and v_j is the vote
of the top layer for pattern j. Shapes: starts `[n, d]`.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

Growth = Callable[[Tensor], Tensor]  # y ↦ g(y), elementwise, increasing


def votes_for(first: float, d: int, like: Tensor) -> Tensor:
    """The votes v = (first, 0, …, 0) for d patterns, on the device and in the dtype of `like`."""
    return torch.cat([like.new_full((1,), first), like.new_zeros(d - 1)])


def race_winner(y0: Tensor, growth: Growth, votes: Tensor, end: float = 0.999, max_steps: int = 20_000) -> Tensor:
    """The pattern +u_j at which the projected flow ẏ = P⊥_y [(g(y) + v) ∘ y] ends, or −1 if it ends elsewhere.

    A component keeps its sign, so that a start without a positive component has no winner. Fourth-order Runge–Kutta in
    steps of one over the largest spread of the rates; starts leave the batch when they are decided.

    Source: tian-2023, eq. (145) with P⊥; v is c u_l u_lᵀ of Theorem 6.
    Args:
        y0: unit starts `[n, d]`.
        growth: g.
        votes: v `[d]`.
        end: |y_j| at which a start counts as decided, below 1 and high enough that nothing overtakes.
        max_steps: number of steps after which a start counts as undecided.
    Returns: int64 `[n]`.
    Error: a start within about 1e-4 of a border between two basins may end on either side.
    Cost: some 30 to 100 steps of 40·d flops per start.
    """
    winner = torch.full(y0.shape[:1], -1, dtype=torch.int64, device=y0.device)
    left = (y0 > 0).any(-1).nonzero().squeeze(-1)
    y = y0[left]
    ends = growth(torch.stack([-torch.ones_like(votes), torch.ones_like(votes)]))
    h = 1 / (ends[1] - ends[0] + votes.amax() - votes.amin()).amax()

    def slope(y: Tensor) -> Tensor:
        push = (growth(y) + votes) * y
        return push - y * (y * push).sum(-1, keepdim=True) / y.square().sum(-1, keepdim=True)

    for _ in range(max_steps):
        if not len(left):
            break
        y = normalize(_runge_kutta_step(y, slope, h), dim=-1)
        top = y.abs().max(-1)
        rates = growth(y) + votes
        own = rates.gather(-1, top.indices.unsqueeze(-1))  # a start may pass by −u_j, where another rate is larger
        decided = (top.values > end) & (rates <= own).logical_or(y <= 0).all(-1)
        if bool(decided.any()):
            at = top.indices[decided]
            positive = y[decided].gather(-1, at.unsqueeze(-1)).squeeze(-1) > 0
            winner[left[decided]] = torch.where(positive, at, -1)
            left, y = left[~decided], y[~decided]
    return winner


def _runge_kutta_step(y: Tensor, slope: Callable[[Tensor], Tensor], h: Tensor) -> Tensor:
    """y after one classical fourth-order step of length h of the flow ẏ = slope(y)."""
    k1 = slope(y)
    k2 = slope(y + h / 2 * k1)
    k3 = slope(y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))


def first_wins(y0: Tensor, growth: Growth, vote: float) -> Tensor:
    """Whether the projected flow ends at +u_0 when the votes are (vote, 0, …, 0). y0 `[n, d]`; returns bool `[n]`.

    Source: tian-2023, Theorem 6 with c = vote.
    Args: as in `race_winner`; only starts with y_0 > 0 are followed, as a component keeps its sign.
    """
    wins = y0[:, 0] > 0
    wins[wins.clone()] = race_winner(y0[wins], growth, votes_for(vote, y0.shape[-1], y0)) == 0
    return wins


def free_race_winner(y0: Tensor, b: Tensor, ceiling: float = 1e8, max_steps: int = 2000) -> Tensor:
    """The component that is largest when the race without projection, ẏ_j = (y_j + b_j) y_j, blows up; −1 if none does.

    Fourth-order Runge–Kutta with steps of 0.05 over the fastest rate, up to `ceiling`; independent of eq. (150).

    Source: tian-2023, eq. (146), the flow of the proof of Theorem 6, "we omit the projection".
    Args:
        y0: starts `[n, d]`.
        b: `[d]`, ≥ 0.
        ceiling: the largest y_j at which a start is decided.
    Returns: int64 `[n]`.
    Cost: about 400 steps of 20·d flops per start.
    """
    runs = (y0 > 0).any(-1)
    y = torch.where(runs.unsqueeze(-1), y0, 0.0)

    def slope(y: Tensor) -> Tensor:
        return (y + b) * y

    for _ in range(max_steps):
        moving = runs & (y.amax(-1) < ceiling)
        if not bool(moving.any()):
            break
        h = (0.05 * moving / (y + b).abs().amax(-1)).unsqueeze(-1)
        y = _runge_kutta_step(y, slope, h)
    return torch.where(runs, y.argmax(-1), -1)


def leads(y0: Tensor, first: int = 0) -> Tensor:
    """Whether the component is positive and none is larger. y0 `[n, d]`; returns bool `[n]`.

    These starts are the basin of +u_first for v = 0, but for ties, and they lie in it for any v_first > 0: r_j =
    y_j/y_first obeys d ln|r_j|/dt = g(y_j) − g(y_first) − v_first.

    Source: derived, in place of the proof of Theorem 6 of tian-2023, for any increasing g.
    """
    return (y0[..., first] > 0) & (y0 <= y0[..., first : first + 1]).all(-1)


def leading_share(d: int) -> float:
    """Share of the sphere on which one component leads: (1 − 2^−d)/d, as each is largest on 1/d, and with all signs
    negative nobody leads. Source: derived."""
    return (1 - 0.5**d) / d
