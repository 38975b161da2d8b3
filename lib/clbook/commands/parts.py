"""Part of a stored reading, computed at part of the cost: a few of its seeds or a few of its cases.

Run k's draws depend only on (seed, k, purpose), so a run with fewer seeds or cases gives the same values for them.
"""

import hashlib
import re
from dataclasses import dataclass

from ..provenance.digests import ChapterDigests
from ..provenance.spelling import BLOCK

SMALLEST = 3  # values of a sample to recompute if the range allows even fewer; the chapters judge no fewer
CASES = 3  # entries that are kept of a list; the chapters fit powers to no fewer


@dataclass(frozen=True)
class Part:
    """Parameters of a smaller run, its share of the cost, and which part of the stored reading it gives.

    Seeds: `count` values of each sample, from `start` on. Cases: those named after one of `entries`.
    """

    parameters: dict
    share: float
    start: int = 0
    count: int | None = None
    entries: tuple = ()

    @property
    def key(self) -> tuple:
        return self.start, self.count, self.entries, repr(sorted(self.parameters.items()))

    def cut(self, stored: dict, now: dict) -> tuple[dict, dict]:
        """Both readings, arm by arm, restricted to the runs that they share.

        A chapter may show fewer cases than the list has entries, such as all but the smallest two; of cases, only those
        that both readings have are left, perhaps none.
        """

        def few(value: object, start: int) -> object:
            return value[start : start + self.count] if isinstance(value, list) and self.count else value

        def of(arms: dict, start: int, other: dict) -> dict:
            kept = {
                arm: {case: few(value, start) for case, value in cases.items() if self._holds(case, other.get(arm))}
                for arm, cases in arms.items()
            }
            return {arm: cases for arm, cases in kept.items() if cases}

        return of(stored, self.start, now), of(now, 0, stored)

    def _holds(self, case: str, other: dict | None) -> bool:
        return not self.entries or case in (other or ()) and any(_names(entry, case) for entry in self.entries)


def part_of(digests: ChapterDigests, stamp: dict, claim: str, by: str) -> Part | None:
    """A part of a reading's seeds, otherwise of its cases, drawn by `by`; None if neither is possible."""
    by = f"{by} {stamp['chapter']} {stamp['profile']}"
    return few_seeds(digests, stamp, claim, by) or few_cases(digests, stamp, claim, by)


def few_seeds(digests: ChapterDigests, stamp: dict, claim: str, by: str) -> Part | None:
    """Some of the seeds, if every sample has one value per seed.

    A parameter counts runs if a sample has that many values; it is set to the least that its range allows. If the claim
    reads the block of seeds but not the first seed itself, a part of the block is drawn; otherwise the first runs are
    taken.
    """
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
        start = _draw(by, parameters["seeds"] - few["seeds"] + 1)
        changed["first_seed"] = parameters["first_seed"] + start
    return Part(parameters | changed, count / min(sizes), start, count)


def few_cases(digests: ChapterDigests, stamp: dict, claim: str, by: str) -> Part | None:
    """Some neighbouring entries of a list whose entries name the cases of a reading, as 4 names the case `r=4`."""
    parameters, known = stamp["parameters"], digests.story.parameters
    cases = stamp["readings"][claim]["observed"]
    for name in sorted(digests.claim(claim).parameters):
        entries = parameters.get(name)
        if name not in known or not isinstance(entries, list) or len(entries) <= CASES:
            continue
        if not all(any(_names(entry, case) for entry in entries) for case in cases):
            continue
        start = _draw(by, len(entries) - CASES + 1)
        few = entries[start : start + CASES]
        if any(_names(entry, case) for entry in few for case in cases):
            return Part(parameters | {name: few}, CASES / len(entries), entries=tuple(few))
    return None


def _names(entry: object, case: str) -> bool:
    """Whether a case is named after an entry of a list: `r=4`, `d = 0.5`, `relu, h=10`."""
    said = f"{entry:g}" if isinstance(entry, float) else str(entry)
    return re.search(rf"=\s*{re.escape(said)}(?![\w.])", case) is not None


def _draw(by: str, among: int) -> int:
    return int(hashlib.sha256(by.encode()).hexdigest(), 16) % among
