"""Prints a digest of trainings in one process and in two: joined ends and curves by arm, at each precision."""

import hashlib
from dataclasses import replace

import torch

from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from experiments.nonlinearity.filter_lines import line_ends
from experiments.nonlinearity.lottery_tickets import ticket_coverage
from experiments.nonlinearity.matching_curves import FILTERS, matching_curves

SMALL = TokenTraining(candidates=2, beta=2, places=3, tokens=6, generators=7, length=2, outputs=5, batch=12)
ARMS = {
    "relu": (SMALL, range(13)),
    "linear": (replace(SMALL, activation="linear"), range(2)),
    "triplet": (replace(SMALL, candidates=1, beta=4, loss="triplet"), range(3)),
}
LINES = [(0, 1), (1, 1), (0.5, 0)], [1.0, 4.0]  # mixtures and paces
WATCHED: list[int] = []


def watch(cases: list):
    """A progress bar that remembers how many cases it was given."""
    WATCHED.append(len(cases))
    return cases


def results(workers: int | None):
    """What the callers of the pools return, one after the other; a list of one case stays in this process."""
    for seeds in (range(1, 2), range(1, 7)):
        yield line_ends(SMALL, list(seeds), *LINES, 30, workers=workers, watch=watch)
        yield ticket_coverage(SMALL, list(seeds), 20, workers=workers, watch=watch)
    for keep in (FILTERS, ("w",)):
        yield from matching_curves(ARMS, 25, 5, keep, workers=workers, watch=watch).values()


def main() -> None:
    seen = hashlib.sha256()
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        for workers in (1, 2):
            for found in results(workers):
                for name in sorted(found):
                    seen.update(f"{name} {found[name].dtype}".encode() + found[name].numpy().tobytes())
    seen.update(str(WATCHED).encode())
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
