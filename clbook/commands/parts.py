"""Part of a stored reading, computed at part of the cost: a few of its seeds.

Run k's draws depend only on (seed, k, purpose), so a run with fewer seeds gives the same values for them.
"""

import hashlib
from dataclasses import dataclass

from ..common import project
from ..provenance.digests import ChapterDigests
from ..provenance.spelling import BLOCK

SMALLEST = 3  # values of a sample to recompute if the range allows even fewer; the chapters judge no fewer


@dataclass(frozen=True)
class Part:
    """A smaller run: its parameters, share of the cost, and slice of each sample (`count` values from `start` on)."""

    parameters: dict
    share: float
    start: int
    count: int

    @property
    def key(self) -> tuple:
        return self.start, self.count, repr(sorted(self.parameters.items()))

    def cut(self, stored: dict, now: dict) -> tuple[dict, dict]:
        """Both readings, arm by arm, restricted to the seeds that they share."""
        return _few(stored, self.start, self.count), _few(now, 0, self.count)


def _few(arms: dict, start: int, count: int) -> dict:
    def of(values: object) -> object:
        return values[start : start + count] if isinstance(values, list) else values

    return {arm: {case: of(values) for case, values in cases.items()} for arm, cases in arms.items()}


def counts_runs(parameter: str) -> bool:
    return parameter.rpartition("_")[2] in project.count_words()


def part_of(digests: ChapterDigests, stamp: dict, claim: str, by: str) -> Part | None:
    """A part of a reading, with seeds drawn by `by`, if every sample has one value per seed; otherwise None.

    A parameter counts runs if its name says so (`counts` in pyproject.toml) and a sample has that many values; it is
    set to the least that its range allows. If the claim reads the block of seeds but not the first seed itself,
    consecutive seeds are drawn; otherwise the first are taken.
    """
    parameters, known = stamp["parameters"], digests.code.parameters
    reads = digests.claim(claim).parameters
    values = [v for cases in stamp["readings"][claim].values() for v in cases.values()]
    sizes = {len(v) for v in values if isinstance(v, list)}
    counted = {"seeds"} if BLOCK in reads else set()
    counted |= {p for p in reads if p in known and known[p].type == "int" and counts_runs(p)}
    counts = {p: parameters[p] for p in counted if p in known and parameters[p] in sizes}
    if len(sizes) != 1 or not all(isinstance(v, list) for v in values) or not counts:
        return None
    reduced = {p: max(int(known[p].low or 1), SMALLEST) for p in counts}
    count = min(reduced.values())
    if count >= min(sizes):
        return None
    start, changed = 0, dict(reduced)
    if BLOCK in reads and "first_seed" not in reads and set(counts) == {"seeds"}:
        start = _draw(f"{by} {stamp['chapter']} {stamp['profile']}", parameters["seeds"] - reduced["seeds"] + 1)
        changed["first_seed"] = parameters["first_seed"] + start
    return Part(parameters | changed, count / min(sizes), start, count)


def _draw(by: str, among: int) -> int:
    return int(hashlib.sha256(by.encode()).hexdigest(), 16) % among
