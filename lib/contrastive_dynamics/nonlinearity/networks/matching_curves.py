"""Matching scores over training, of many configurations at once: blocks of networks, one process a block.

Arms are configurations with their seeds, name → (configuration, seeds). Their networks are sorted into blocks that are
trained as one program, those with the same minibatches side by side. The operations of a block are too small to be
split, and threads would wait for each other at every one of them, so on a CPU each core has a process of its own.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .ensemble_training import Run, train
from .matching_score import matching_scores
from .token_configuration import TokenTraining

BLOCK = 10  # networks trained together on a CPU: what a cache holds
PADDING = 1e-3  # of the author's score
Arms = dict[Hashable, tuple[TokenTraining, Iterable[int]]]
Curve = dict[str, Tensor]


class Block(NamedTuple):
    """Runs that are trained together, and of each the name of its arm and its place among the arm's seeds."""

    runs: list[Run]
    owners: list[tuple[Hashable, int]]


def training_blocks(arms: Arms, device: torch.device | str = "cpu", workers: int = 1) -> list[Block]:
    """Sort the networks of all arms into blocks: at most 10 on a CPU, elsewhere all that make one program.

    Args: workers, processes that are to be kept busy.

    Raises: ValueError for an arm without seeds, and where a block needs more memory than there is.
    """
    rows = [(t, seed, (name, i)) for name, (t, seeds) in arms.items() for i, seed in enumerate(seeds)]
    empty = [name for name in arms if name not in {owner[0] for *_, owner in rows}]
    if empty:
        raise ValueError(f"training_blocks: arm {empty[0]!r} has no seeds, allowed are one or more")
    rows.sort(key=lambda row: (row[0].program, row[0].candidates, row[1], row[0].loss, row[0].activation))
    blocks = []
    for _, group in itertools.groupby(rows, key=lambda row: row[0].program):
        group = list(group)
        count = _block_count(len(group), workers) if torch.device(device).type == "cpu" else 1
        edges = [len(group) * b // count for b in range(count + 1)]
        for part in (group[a:b] for a, b in itertools.pairwise(edges)):
            part[0][0].require_memory(len(part), device)
            blocks.append(Block([(t, seed) for t, seed, _ in part], [owner for *_, owner in part]))
    return blocks


def _block_count(networks: int, workers: int) -> int:
    """Blocks of a program: a multiple of the workers, unless that makes them tiny."""
    least = math.ceil(networks / BLOCK)
    return min(math.ceil(least / workers) * workers, max(least, networks // 4))


def block_curves(block: Block, steps: int, points: int = 25, device: torch.device | str | None = None) -> Curve:
    """Train a block and measure it on the way; the run is the first axis.

    Returns: `step` [point]; the scores `plus` and `minus` [run, point] with the author's padding and |cos| for linear
    filters; `printed` [run, 2], both at the end by (16) as it stands; the final filters `w` [run, K, M, d] and the
    tokens of the generators, `candidates` bool [run, K, d].
    Args: 2 ≤ points ≤ steps, evenly spaced from the first minibatch to the last. Raises: ValueError outside, and as
    `token_ensemble.train`; FloatingPointError where training has diverged. Cost: as there.
    """
    if not 2 <= points <= steps:
        raise ValueError(f"block_curves: got {points} points, {steps} steps, allowed are 2 ≤ points ≤ steps")
    device = torch.get_default_device() if device is None else torch.device(device)
    candidates = torch.cat([training.pool([seed], device).candidates() for training, seed in block.runs])
    linear = torch.tensor([training.activation == "linear" for training, _ in block.runs], device=device)
    marks, scores = torch.linspace(1, steps, points, dtype=torch.float64).long(), []
    at = set(marks.tolist())
    for step, weights in enumerate(train(block.runs, steps, device), 1):
        if step in at:
            scores.append(torch.stack(matching_scores(weights.w, candidates, linear, PADDING)))
    if not weights.w.isfinite().all():
        bad = [run for run, w in zip(block.runs, weights.w, strict=True) if not w.isfinite().all()]
        raise FloatingPointError(f"training diverged: seed {bad[0][1]} of {bad[0][0]}")
    plus, minus = torch.stack(scores, -1)
    printed = torch.stack(matching_scores(weights.w, candidates), -1)
    return {"step": marks, "plus": plus, "minus": minus, "printed": printed, "w": weights.w, "candidates": candidates}


def default_workers() -> int:
    """Processes of a training on the CPU: one a core that may be used (LOKY_MAX_CPU_COUNT sets fewer), 4 at most."""
    from joblib import cpu_count

    return min(4, cpu_count())


def train_blocks(
    blocks: list[Block],
    steps: int,
    points: int = 25,
    device: torch.device | str | None = None,
    workers: int | None = None,
) -> Iterator[Curve]:
    """`block_curves` of every block, in order.

    On a CPU blocks are trained side by side in `workers` processes of one thread (default: `default_workers()`), which
    stay for the next call; with one worker, and elsewhere, one after the other in this process. A network is the same
    in any block.
    """
    device = torch.get_default_device() if device is None else torch.device(device)
    workers = (workers or default_workers()) if device.type == "cpu" else 1
    if workers == 1:
        yield from (block_curves(block, steps, points, device) for block in blocks)
        return
    from joblib import Parallel, delayed

    done = Parallel(workers, return_as="generator", batch_size=1, max_nbytes=None)(
        delayed(_curves_as_arrays)(block, steps, points) for block in blocks
    )
    yield from ({key: torch.from_numpy(value) for key, value in curve.items()} for curve in done)


def _curves_as_arrays(block: Block, steps: int, points: int) -> dict[str, np.ndarray]:
    """`block_curves` in a worker; as arrays, since tensors would travel through shared memory, of which some machines
    have little."""
    torch.set_num_threads(1)
    return {key: value.numpy() for key, value in block_curves(block, steps, points, "cpu").items()}


def by_arm(blocks: list[Block], curves: Iterable[Curve]) -> dict[Hashable, Curve]:
    """The curves of each arm, its seeds in their order; `curves` are those of `train_blocks`."""
    found: dict[Hashable, dict[int, Curve]] = {}
    for block, curve in zip(blocks, curves, strict=True):
        step = curve["step"]
        for row, (name, place) in enumerate(block.owners):
            found.setdefault(name, {})[place] = {key: v[row] for key, v in curve.items() if key != "step"}
    return {
        name: {key: torch.stack([runs[i][key] for i in range(len(runs))]) for key in runs[0]} | {"step": step}
        for name, runs in found.items()
    }


def matching_curves(
    arms: Arms,
    steps: int,
    points: int = 25,
    keep: tuple[str, ...] = ("w", "candidates"),
    *,
    device: torch.device | str | None = None,
    workers: int | None = None,
    watch: Callable[[list[Block]], Iterable[Block]] = iter,
) -> dict[Hashable, Curve]:
    """The curves of every arm: `training_blocks`, `train_blocks` and `by_arm` in one.

    Args: keep, which of the filters and candidates to hand over, which for a grid are many; watch wraps the list of
    blocks, as a progress bar does. Raises: as the three, before any work.
    """
    device = torch.get_default_device() if device is None else torch.device(device)
    blocks = training_blocks(arms, device, workers or default_workers())
    done = train_blocks(blocks, steps, points, device, workers)
    dropped = {"w", "candidates"} - set(keep)
    curves = ({k: v for k, v in next(done).items() if k not in dropped} for _ in watch(blocks))
    return by_arm(blocks, curves)
