"""A stored reading for few of its seeds: run k's draws depend on (seed, k, purpose) alone, so they are the same values.

A parameter counts runs if a sample of the reading has as many values as it says; such parameters are set to the least
that their ranges allow. A claim that reads the block of seeds and not the first seed itself is tried on a part of the
block that is drawn; else the first runs are.
"""

import hashlib
from dataclasses import dataclass

from ..provenance.digests import ChapterDigests
from ..provenance.spelling import BLOCK

SMALLEST = 2  # values of a sample that are computed again, where a range allows fewer


@dataclass(frozen=True)
class Fewer:
    """Parameters with few runs, how many there are, where they begin in the stored samples, the share of the cost."""

    parameters: dict
    count: int
    start: int
    share: float

    @property
    def key(self) -> tuple:
        return self.start, repr(sorted(self.parameters.items()))

    def cut(self, stored: dict, now: dict) -> tuple[dict, dict]:
        """The samples of both readings, arm by arm, as far as they hold the same runs."""

        def few(value: object, start: int) -> object:
            return value[start : start + self.count] if isinstance(value, list) else value

        cases = {arm: {c: few(v, self.start) for c, v in cases.items()} for arm, cases in stored.items()}
        return cases, {arm: {c: few(v, 0) for c, v in cases.items()} for arm, cases in now.items()}


def fewer(digests: ChapterDigests, stamp: dict, claim: str, by: str) -> Fewer | None:
    """How to compute a few seeds of a reading, or None where its values are not one a seed."""
    parameters, known = stamp["parameters"], digests.story.parameters
    reads = digests.claim(claim).parameters
    values = [v for cases in stamp["readings"][claim].values() for v in cases.values()]
    sizes = {len(v) for v in values if isinstance(v, list)}
    counted = {"seeds"} if BLOCK in reads else set()
    counted |= {p for p in reads if p in known and known[p].type == "int"}
    counts = {p: parameters[p] for p in counted if p in known and parameters[p] in sizes and p != "first_seed"}
    if len(sizes) != 1 or not all(isinstance(v, list) for v in values) or not counts:
        return None
    few = {p: max(int(known[p].low or 1), SMALLEST) for p in counts}
    count = min(few.values())
    if count >= min(sizes):
        return None
    start, changed = 0, dict(few)
    if BLOCK in reads and "first_seed" not in reads and set(counts) == {"seeds"}:
        draw = int(hashlib.sha256(f"{by} {stamp['chapter']} {stamp['profile']}".encode()).hexdigest(), 16)
        start = draw % (parameters["seeds"] - few["seeds"] + 1)
        changed["first_seed"] = parameters["first_seed"] + start
    return Fewer(parameters | changed, count, start, count / min(sizes))
