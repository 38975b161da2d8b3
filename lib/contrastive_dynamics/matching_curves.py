"""Matching scores over training, of several configurations at once: one thread a block of networks, in small blocks."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from .matching_score import matching_scores
from .token_training import TokenTraining

BLOCK = 8  # networks trained together on a CPU: what a cache holds
PADDING = 1e-3  # of the author's score
Curve = dict[str, Tensor]


def matching_curve(
    training: TokenTraining,
    seeds: Iterable[int],
    steps: int,
    points: int = 25,
    device: torch.device | str | None = None,
) -> Curve:
    """Train one network a seed and measure it on the way.

    Returns: `step` [point], the scores `plus` and `minus` [run, point] with the author's padding (|cos| for linear
    filters), the final filters `w` [run, K, M, d] and the tokens of the generators, `candidates` bool [run, K, d].
    Args: 2 ≤ points ≤ steps, evenly spaced from the first minibatch to the last. Raises: ValueError outside, and as
    `TokenTraining.train`. Cost: as there.
    """
    if not 2 <= points <= steps:
        raise ValueError(f"matching_curve: got {points} points, {steps} steps, allowed are 2 ≤ points ≤ steps")
    seeds = list(seeds)
    device = torch.get_default_device() if device is None else torch.device(device)
    candidates, linear = training.pool(seeds, device).candidates(), training.activation == "linear"
    marks = torch.linspace(1, steps, points).long()
    at, scores = set(marks.tolist()), []
    for step, weights in enumerate(training.train(seeds, steps, device), 1):
        if step in at:
            scores.append(torch.stack(matching_scores(weights.w, candidates, linear, PADDING)))
    plus, minus = torch.stack(scores, -1)
    return {"step": marks, "plus": plus, "minus": minus, "w": weights.w, "candidates": candidates}


def matching_curves(
    arms: dict[str, tuple[TokenTraining, Iterable[int]]],
    steps: int,
    points: int = 25,
    device: torch.device | str | None = None,
    workers: int | None = None,
) -> Iterator[tuple[str, Curve]]:
    """`matching_curve` of every arm, name → (configuration, seeds), in order.

    On a CPU blocks of 8 networks run side by side in `workers` threads (default: one a core, 4 at most), each of which
    wants torch on one thread; elsewhere an arm is one block. A network is the same in any block.
    """
    device = torch.get_default_device() if device is None else torch.device(device)
    arms = {name: (training, list(seeds)) for name, (training, seeds) in arms.items()}
    blocks = [(name, training, part) for name, (training, seeds) in arms.items() for part in _parts(seeds, device)]
    for training, seeds in arms.values():
        training.require_memory(len(seeds), device)

    def train(block: tuple[str, TokenTraining, list[int]]) -> Curve:
        return matching_curve(*block[1:], steps, points, device)

    if device.type != "cpu":
        yield from ((block[0], train(block)) for block in blocks)
        return
    pool = ThreadPoolExecutor(workers or min(4, os.cpu_count() or 1))
    try:
        done = pool.map(train, blocks)
        for name in arms:
            curves = [next(done) for block in blocks if block[0] == name]
            yield name, {key: torch.cat([c[key] for c in curves]) for key in curves[0]} | {"step": curves[0]["step"]}
    finally:  # an error or Ctrl-C does not wait for blocks that have not begun
        pool.shutdown(cancel_futures=True)


def _parts(seeds: list[int], device: torch.device) -> list[list[int]]:
    """Blocks of seeds of about equal size."""
    blocks = math.ceil(len(seeds) / BLOCK) if device.type == "cpu" else 1
    edges = [len(seeds) * b // blocks for b in range(blocks + 1)]
    return [seeds[a:b] for a, b in itertools.pairwise(edges)]
