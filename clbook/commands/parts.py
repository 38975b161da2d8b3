"""Part of a stored reading, computed at part of the cost: a few of its seeds, or of its cases.

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
    """A smaller run: its parameters, share of the cost, and slice of each sample (`count` values from `start` on).

    Without a count it has some of the cases, and of each the first values, as many as it gives.
    """

    parameters: dict
    share: float
    start: int = 0
    count: int | None = None

    @property
    def key(self) -> tuple:
        return self.start, self.count, repr(sorted(self.parameters.items()))

    def cut(self, stored: dict, now: dict) -> tuple[dict, dict]:
        """Both readings, arm by arm, restricted to the seeds that they share, and to the cases of the smaller run."""
        if self.count is None:
            return _beside(stored, now), now
        return _few(stored, self.start, self.count), _few(now, 0, self.count)


def _few(arms: dict, start: int, count: int) -> dict:
    def of(values: object) -> object:
        return values[start : start + count] if isinstance(values, list) else values

    return {arm: {case: of(values) for case, values in cases.items()} for arm, cases in arms.items()}


def _beside(stored: dict, now: dict) -> dict:
    """What is stored of the values that a smaller run gave; a case that is not stored is not there."""

    def of(value: object, there: object) -> object:
        return value[: len(there)] if isinstance(value, list) and isinstance(there, list) else value

    both = {arm: {case: v for case, v in cases.items() if case in stored.get(arm, {})} for arm, cases in now.items()}
    return {arm: {case: of(stored[arm][case], v) for case, v in cases.items()} for arm, cases in both.items()}


def few_cases(stamp: dict, part: dict) -> Part | None:
    """The part that a claim's row names; None if the stored run is no larger one, as a run of other cases is not."""
    stored, asked = stamp["parameters"], part["parameters"]
    if not all(name in stored and _within(value, stored[name]) for name, value in asked.items()):
        return None
    return Part(stored | asked, part["share"])


def _within(few: object, stored: object) -> bool:
    """Whether a parameter asks for no more than was run; of words nobody can tell."""
    if isinstance(stored, list):
        return isinstance(few, list) and all(one in stored for one in few)
    return isinstance(stored, str) or few <= stored


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
