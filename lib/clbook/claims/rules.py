"""Rules: what a statistic must satisfy, fixed before the run. Each maps a sample to met, missed or undecided."""

import math
from dataclasses import dataclass

from ..common.errors import BookError
from .statistics import Sample

MET, MISSED, UNDECIDED = "met", "missed", "undecided"

# rule name -> its fields
FIELDS = {
    "at_most": ("bound",),
    "at_least": ("bound",),
    "between": ("low", "high"),
    "equals": ("number",),
    "rate": ("predicted", "rival"),
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
        if not isinstance(spec, dict) or len(spec) != 1 or next(iter(spec)) not in FIELDS:
            raise BookError(f"{where}: rule must be one of {', '.join(FIELDS)}, got {spec!r}")
        name, given = next(iter(spec.items()))
        fields = FIELDS[name]
        if isinstance(given, dict):
            given = [given.get(field) for field in fields]
        given = given if isinstance(given, list) else [given]
        numbers = [v for v in given if isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)]
        if len(given) != len(fields) or len(numbers) < len(given):
            raise BookError(f"{where}: rule {name} takes finite numbers for {', '.join(fields)}, got {spec[name]!r}")
        if name == "between" and given[0] > given[1]:
            raise BookError(f"{where}: rule between needs low <= high, got {given}")
        return cls(name, tuple(float(v) for v in given))

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The values that the interval must exclude for the rule to be decided."""
        return self.numbers[1:] if self.name == "rate" else self.numbers

    def outcome(self, sample: Sample, level: float) -> str:
        """Met by the whole interval, missed by the whole interval, or undecided."""
        low, high = sample.interval(level)
        if self.name == "rate":
            return self._rate(sample, level)
        wanted_low, wanted_high = self._range()
        if wanted_low <= low and high <= wanted_high:
            return MET
        return MISSED if high < wanted_low or low > wanted_high else UNDECIDED

    def _rate(self, sample: Sample, level: float) -> str:
        predicted, rival = self.numbers
        low, high = sample.interval(level)
        if not low <= predicted <= high:
            return MISSED
        return UNDECIDED if low <= rival <= high else MET

    def _range(self) -> tuple[float, float]:
        first, last = self.numbers[0], self.numbers[-1]
        return {"at_most": (-math.inf, first), "at_least": (first, math.inf)}.get(self.name, (first, last))

    def p_value(self, sample: Sample) -> float:
        """The level at which the rule is just decided on this sample."""
        return max(sample.p_value(t) for t in self.thresholds)

    def __str__(self) -> str:
        a, b = f"{self.numbers[0]:.6g}", f"{self.numbers[-1]:.6g}"
        return {
            "at_most": f"≤ {a}",
            "at_least": f"≥ {a}",
            "between": f"in [{a}, {b}]",
            "equals": f"= {a}",
            "rate": f"holds {a}, excludes {b}",
        }[self.name]
