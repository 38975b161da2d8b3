"""Rules: what a statistic must satisfy, fixed before the run. Each maps a sample to met, missed or undecided.

A new kind of rule is an entry of `KINDS`. Each allows a range, and the whole interval must lie in it: fewer values have
a wider interval, so no rule is met the more easily the fewer there are.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..common.errors import BookError, cut
from .statistics import LEVEL, Sample

MET, MISSED, UNDECIDED = "met", "missed", "undecided"


def is_finite(number: float) -> bool:
    """Whether a number is finite as a float; a whole number of 400 digits is not."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


@dataclass(frozen=True)
class Kind:
    """A kind of rule: the names of its numbers, how it is written, and the range that it allows."""

    fields: tuple[str, ...]
    words: str  # enters the digest of every rule of this kind
    range: Callable[..., tuple[float, float]]


KINDS = {
    "at_most": Kind(("bound",), "≤ {}", lambda bound: (-math.inf, bound)),
    "at_least": Kind(("bound",), "≥ {}", lambda bound: (bound, math.inf)),
    "between": Kind(("low", "high"), "in [{}, {}]", lambda low, high: (low, high)),
    "equals": Kind(("number",), "= {}", lambda number: (number, number)),
}


@dataclass(frozen=True)
class Rule:
    """One of: at_most b, at_least b, between [lo, hi], equals n (a count)."""

    name: str
    numbers: tuple[float, ...]

    @classmethod
    def parse(cls, spec: dict, where: str) -> "Rule":
        """Read `{at_most: 1e-10}`, `{between: [lo, hi]}`; raises BookError."""
        if not isinstance(spec, dict) or len(spec) != 1 or next(iter(spec)) not in KINDS:
            raise BookError(f"{where}: rule must be one of {', '.join(KINDS)}, got {spec!r}")
        name, given = next(iter(spec.items()))
        fields = KINDS[name].fields
        if isinstance(given, dict):
            given = [given.get(field) for field in fields]
        given = given if isinstance(given, list) else [given]
        numbers = [v for v in given if isinstance(v, (int, float)) and not isinstance(v, bool) and is_finite(v)]
        if len(given) != len(fields) or len(numbers) < len(given):
            raise BookError(
                f"{where}: rule {name} takes finite numbers for {', '.join(fields)}, got {cut(repr(spec[name]), 100)}"
            )
        if name == "between" and given[0] > given[1]:
            raise BookError(f"{where}: rule between needs low <= high, got {given}")
        return cls(name, tuple(float(v) for v in given))

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest value that the rule allows, both allowed."""
        return KINDS[self.name].range(*self.numbers)

    def outcome(self, sample: Sample, level: float = LEVEL) -> str:
        """Met by the whole interval, missed by the whole interval, or undecided."""
        low, high = sample.interval(level)
        wanted_low, wanted_high = self.range
        if wanted_low <= low and high <= wanted_high:
            return MET
        return MISSED if high < wanted_low or low > wanted_high else UNDECIDED

    def outcome_of_all(self, cases: Mapping[str, Sample]) -> str:
        """Met if every case is; missed if one is at the level over the number of cases, so that many are no lottery."""
        if all(self.outcome(sample) == MET for sample in cases.values()):
            return MET
        missed = any(self.outcome(sample, LEVEL / len(cases)) == MISSED for sample in cases.values())
        return MISSED if missed else UNDECIDED

    def excess(self, value: float) -> float:
        """How far a value lies beyond what the rule allows; negative inside, the more so the farther from its edges."""
        low, high = self.range
        return abs(value - low) if low == high else max(value - high, low - value)

    def __str__(self) -> str:
        return KINDS[self.name].words.format(*(f"{number:.6g}" for number in self.numbers))
