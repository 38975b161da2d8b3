"""How tight a bound is: the largest value of a differentiable ratio or excess, found by ascent from many starts."""

from collections.abc import Callable

import torch
from torch import Tensor


def climb(objective: Callable[[Tensor], Tensor], start: Tensor, steps: int = 200, rate: float = 0.02) -> Tensor:
    """Gradient ascent (Adam) of each row independently; returns the best point that each row visited.

    Args:
        objective: `[run, ...] -> [run]`, differentiable, each value depending on its own row alone; −inf, or any lower
            value, outside the region of interest.
        start: `[run, ...]`.
        steps: ≥ 1.
        rate: learning rate of Adam, > 0.
    Returns: points of the shape of start, no worse than it.
    Raises: ValueError for steps or rate outside their range.
    Cost: `steps` gradients of the objective.
    """
    if steps < 1 or not rate > 0:
        raise ValueError(f"steps must be ≥ 1 and rate > 0, got steps={steps}, rate={rate}")
    point = start.detach().clone().requires_grad_()
    optimiser = torch.optim.Adam([point], lr=rate)
    best, top = point.detach().clone(), None
    for step in range(steps + 1):
        value = objective(point)
        now = value.detach()
        better = now > top if top is not None else torch.ones_like(now, dtype=torch.bool)
        wide = better.view(-1, *[1] * (point.ndim - 1))
        best, top = torch.where(wide, point.detach(), best), now if top is None else torch.where(better, now, top)
        if step < steps:
            optimiser.zero_grad()
            (-value.sum()).backward()
            optimiser.step()
    return best
