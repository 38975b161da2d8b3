"""Rules: what a statistic must satisfy, fixed before the run. Each maps a sample to met, missed or undecided.

A new kind of rule is an entry of `KINDS`. Only a kind that more than a range decides, as `rate` is, takes a branch in
`Rule.thresholds` and `Rule.outcome` too, and one in `judging.p_value`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..common.errors import BookError, cut
from .statistics import Sample

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
    "rate": Kind(("predicted", "rival"), "holds {}, excludes {}", lambda predicted, rival: (predicted, predicted)),
}


@dataclass(frozen=True)
class Rule:
    """One of: at_most b, at_least b, between [lo, hi], equals n (a count), rate {predicted, rival}.

    `rate` holds if the interval contains the predicted exponent and excludes its nearest rival.
    """

    name: str
    numbers: tuple[float, ...]

    @classmethod
    def parse(cls, spec: dict, where: str) -> "Rule":
        """Read `{at_most: 1e-10}`, `{between: [lo, hi]}`, `{rate: {predicted: a, rival: b}}`; raises BookError."""
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
        """The least and the greatest value that the rule allows, both allowed; of a rate, its predicted exponent."""
        return KINDS[self.name].range(*self.numbers)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The values that the interval must exclude for the rule to be decided."""
        return self.numbers[1:] if self.name == "rate" else self.numbers

    def outcome(self, sample: Sample, level: float) -> str:
        """Met by the whole interval, missed by the whole interval, or undecided."""
        if self.name == "rate":
            return self._rate(sample, level)
        low, high = sample.interval(level)
        wanted_low, wanted_high = self.range
        if wanted_low <= low and high <= wanted_high:
            return MET
        return MISSED if high < wanted_low or low > wanted_high else UNDECIDED

    def _rate(self, sample: Sample, level: float) -> str:
        predicted, rival = self.numbers
        low, high = sample.interval(level)
        if not low <= predicted <= high:
            return MISSED
        return UNDECIDED if low <= rival <= high else MET

    def p_value(self, sample: Sample) -> float:
        """The level at which the rule is just decided on this sample."""
        return max(sample.p_value(t) for t in self.thresholds)

    def __str__(self) -> str:
        return KINDS[self.name].words.format(*(f"{number:.6g}" for number in self.numbers))
