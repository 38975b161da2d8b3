"""Matching scores over training for many configurations at once, in blocks that run in one process each.

Arms are configurations with their seeds, name → (configuration, seeds). Their networks are sorted into blocks that are
trained as one program, those with the same minibatches side by side. The operations of a block are too small to be
split, and threads would wait for one another at every one, so on a CPU each core runs its own process.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.nonlinearity.networks.ensemble_training import Run, starting_weights
from contrastive_dynamics.nonlinearity.networks.fused_training import AS_MIXTURE
from contrastive_dynamics.nonlinearity.networks.matching_score import matching_scores
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at
from contrastive_dynamics.numerics.side_by_side import default_workers, side_by_side

BLOCK = 10  # networks trained together on a CPU: as many as fit a cache
PADDING = 1e-3  # in the author's score
FILTERS = ("start", "w", "candidates")  # the large parts of a curve
Arms = dict[Hashable, tuple[TokenTraining, Iterable[int]]]
Curve = dict[str, Tensor]


class Block(NamedTuple):
    """Runs that are trained together and, for each, the name of its arm and its place among the arm's seeds."""

    runs: list[Run]
    owners: list[tuple[Hashable, int]]


def training_blocks(arms: Arms, device: torch.device | str = "cpu", workers: int = 1) -> list[Block]:
    """Sort the networks of all arms into blocks: at most 10 networks each on a CPU, elsewhere whole programs.

    Args:
        arms: name → (configuration, seeds).
        device: where the blocks will be trained.
        workers: number of processes to keep busy.
    Raises: ValueError for an arm without seeds, and for a block that needs more memory than the device has.
    """
    rows = [(t, seed, (name, i)) for name, (t, seeds) in arms.items() for i, seed in enumerate(seeds)]
    empty = [name for name in arms if name not in {owner[0] for *_, owner in rows}]
    if empty:
        raise ValueError(f"arm {empty[0]!r} must have one seed or more, got none")
    on_cpu, blocks = torch.device(device).type == "cpu", []

    def together(row):  # on a CPU also whether the compiled step knows the loss
        return row[0].program, on_cpu and row[0].loss in AS_MIXTURE

    rows.sort(key=lambda row: (*together(row), row[0].candidates, row[1], row[0].loss, row[0].activation))
    for _, group in itertools.groupby(rows, key=together):
        group = list(group)
        count = _block_count(len(group), workers) if on_cpu else 1
        edges = [len(group) * b // count for b in range(count + 1)]
        for part in (group[a:b] for a, b in itertools.pairwise(edges)):
            part[0][0].require_memory(len(part), device)
            blocks.append(Block([(t, seed) for t, seed, _ in part], [owner for *_, owner in part]))
    return blocks


def _block_count(networks: int, workers: int) -> int:
    """Number of blocks of a program: a multiple of the workers, unless that makes the blocks tiny."""
    least = math.ceil(networks / BLOCK)
    return min(math.ceil(least / workers) * workers, max(least, networks // 4))


def block_curves(block: Block, steps: int, points: int = 25, device: torch.device | str | None = None) -> Curve:
    """Train a block and measure it along the way; the first axis is the run.

    Args:
        block: the runs.
        steps: number of minibatches.
        points: number of measurements, evenly spaced from the first minibatch to the last, 2 ≤ points ≤ steps.
        device: where to train, by default torch's default device.
    Returns: `step` [point]; the scores `plus` and `minus` [run, point], with the author's padding, and with |cos| for
        linear filters; both scores [run, 2] of the start, `untrained`, of the end against the candidates of the place
        before, `neighbour`, and of the end by (16) as printed, `printed`; the filters at the start and the end, `start`
        and `w` [run, K, M, d]; and the tokens of the generators, `candidates` bool [run, K, d].
    Raises: ValueError for points outside this range and as `weights_at`; FloatingPointError if training diverged.
    Cost: as `weights_at`.
    """
    if not 2 <= points <= steps:
        raise ValueError(f"points must be ≥ 2 and ≤ steps, got {points} points and {steps} steps")
    device = torch.get_default_device() if device is None else torch.device(device)
    candidates = torch.cat([training.pool([seed], device).candidates() for training, seed in block.runs])
    linear = torch.tensor([training.activation == "linear" for training, _ in block.runs], device=device)
    marks, scores = torch.linspace(1, steps, points, dtype=torch.float64).long(), []

    def of(w, among=candidates):
        return torch.stack(matching_scores(w, among, linear, PADDING))

    begun = starting_weights(block.runs, device)
    start = begun.w.clone()
    for weights in weights_at(marks.tolist(), block.runs, device, start=begun):
        scores.append(of(weights.w))
    if not weights.w.isfinite().all():
        bad = [run for run, w in zip(block.runs, weights.w, strict=True) if not w.isfinite().all()]
        raise FloatingPointError(f"training diverged: seed {bad[0][1]} of {bad[0][0]}")
    plus, minus = torch.stack(scores, -1)
    printed = torch.stack(matching_scores(weights.w, candidates), -1)
    two = {"untrained": of(start).mT, "neighbour": of(weights.w, candidates.roll(1, 1)).mT, "printed": printed}
    filters = {"start": start, "w": weights.w, "candidates": candidates}
    return {"step": marks, "plus": plus, "minus": minus} | two | filters


def train_blocks(
    blocks: list[Block],
    steps: int,
    points: int = 25,
    device: torch.device | str | None = None,
    workers: int | None = None,
    keep: tuple[str, ...] = FILTERS,
    watch: Callable[[list], Iterable] = iter,
) -> list[Curve]:
    """`block_curves` of every block, in order, on a CPU side by side in processes of one thread each.

    A network is the same in any block.

    Args:
        blocks: as from `training_blocks`.
        steps: number of minibatches.
        points: number of measurements, as in `block_curves`.
        device: where to train, by default torch's default device.
        workers: number of processes on a CPU, by default `default_workers()`.
        keep: which of FILTERS to return; in a grid these are large.
        watch: wraps the list of blocks, as a progress bar does.
    """
    device = torch.get_default_device() if device is None else torch.device(device)
    cases = [(block, steps, points, device, keep) for block in blocks]
    return side_by_side(_kept_curves, cases, watch, workers if device.type == "cpu" else 1)


def _kept_curves(block: Block, steps: int, points: int, device: torch.device, keep: tuple[str, ...]) -> Curve:
    """`block_curves` without the filters that nobody asked for."""
    dropped = set(FILTERS) - set(keep)
    return {name: v for name, v in block_curves(block, steps, points, device).items() if name not in dropped}


def by_arm(blocks: list[Block], curves: Iterable[Curve]) -> dict[Hashable, Curve]:
    """The curves of each arm, its seeds in order; `curves` are those of `train_blocks`."""
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

    Args:
        arms: name → (configuration, seeds).
        steps: number of minibatches.
        points: number of measurements, as in `block_curves`.
        keep: which of FILTERS to return; in a grid these are large.
        device: where to train, by default torch's default device.
        workers: number of processes on a CPU, by default `default_workers()`.
        watch: wraps the list of blocks, as a progress bar does.
    Returns: name → curves, as in `block_curves`.
    Raises: as these three.
    """
    device = torch.get_default_device() if device is None else torch.device(device)
    blocks = training_blocks(arms, device, workers or default_workers())
    return by_arm(blocks, train_blocks(blocks, steps, points, device, workers, keep, watch))
