"""Intervals and corrections: Student's t over seeds, Wilson for proportions, Holm over a chapter's claims."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

FAMILY_LEVEL = 0.05  # probability that any verdict of a chapter is luck


@dataclass(frozen=True)
class Sample:
    """One measured quantity: a number, one value per seed, or hits out of trials.

    A number (`values` of length one) has no spread: it is an identity, a count or a search result.
    """

    values: tuple[float, ...]
    trials: int = 0  # > 0: values[0] counts hits out of this many trials

    @classmethod
    def of(cls, observed: "float | Sequence[float] | dict | Sample") -> "Sample":
        """Read what a notebook or a stored result passes in; raises ValueError for an empty or non-finite sample."""
        if isinstance(observed, Sample):
            return observed
        if isinstance(observed, dict):
            hits, trials = observed["hits"], observed["trials"]
            if not 0 <= hits <= trials or trials < 1:
                raise ValueError(f"a share needs 0 <= hits <= trials, got {hits} of {trials}")
            return cls((float(hits),), int(trials))
        values = tuple(float(v) for v in observed) if hasattr(observed, "__iter__") else (float(observed),)
        if not values or any(math.isnan(v) for v in values):
            raise ValueError(f"a statistic must be one number or one per seed, without NaN, got {observed!r}")
        return cls(values)

    def to_json(self) -> float | list[float] | dict:
        if self.trials:
            return {"hits": self.values[0], "trials": self.trials}
        return list(self.values) if len(self.values) > 1 else self.values[0]

    @property
    def by_chance(self) -> bool:
        return self.trials > 0 or len(self.values) > 1

    @property
    def size(self) -> int:
        return self.trials or len(self.values)

    @property
    def estimate(self) -> float:
        return self.values[0] / self.trials if self.trials else sum(self.values) / len(self.values)

    @property
    def standard_error(self) -> float:
        if self.trials:
            return math.sqrt(self.estimate * (1 - self.estimate) / self.trials)
        if len(self.values) < 2:
            return 0.0
        with np.errstate(all="ignore"):  # of values without bounds, or near the largest float, it is not finite
            error = float(stats.sem(self.values))
        return error if math.isfinite(error) else math.inf

    def interval(self, level: float = FAMILY_LEVEL) -> tuple[float, float]:
        """Two-sided interval of confidence 1 − level: Wilson for a share, t for seeds, a point for a number."""
        if self.trials:
            ci = stats.binomtest(int(self.values[0]), self.trials).proportion_ci(1 - level, method="wilson")
            return float(ci.low), float(ci.high)
        if not self.by_chance or self.standard_error == 0.0:
            return self.estimate, self.estimate
        if math.isinf(self.standard_error):
            return -math.inf, math.inf
        half = float(stats.t.ppf(1 - level / 2, self.size - 1)) * self.standard_error
        return self.estimate - half, self.estimate + half

    def p_value(self, threshold: float) -> float:
        """Two-sided p-value of 'the quantity equals the threshold': the level at which the interval just reaches it."""
        distance = abs(self.estimate - threshold)
        if not self.by_chance:
            return 0.0
        if self.trials:
            spread = math.sqrt(max(threshold * (1 - threshold), 0.0) / self.trials)
            return float(2 * stats.norm.sf(distance / spread)) if spread else float(distance == 0)
        if math.isinf(self.standard_error):
            return 1.0
        if self.standard_error == 0.0:
            return float(distance == 0)
        return float(2 * stats.t.sf(distance / self.standard_error, self.size - 1))


def holm_levels(p_values: dict[str, float], level: float = FAMILY_LEVEL) -> dict[str, float]:
    """The level at which each claim is judged by Holm's step-down procedure.

    Sorted by p-value, the i-th of m claims is judged at level/(m − i); after the first that is not decided, the rest
    keep that claim's level. The probability that any of the decisions is wrong is at most `level`.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
    """
    levels, stopped_at = {}, None
    ordered = sorted(p_values, key=p_values.__getitem__)
    for i, key in enumerate(ordered):
        step = stopped_at or level / (len(ordered) - i)
        levels[key] = step
        if p_values[key] > step:
            stopped_at = step
    return levels


def seeds_to_decide(sample: Sample, threshold: float, level: float) -> int | None:
    """Seeds (or trials) after which the interval is expected to exclude the threshold; None if it never would."""
    distance = abs(sample.estimate - threshold)
    if distance == 0 or not sample.by_chance or math.isinf(sample.standard_error):
        return None
    ratio = (sample.standard_error * math.sqrt(sample.size) / distance) ** 2
    count = max(math.ceil(float(stats.norm.ppf(1 - level / 2)) ** 2 * ratio), 2)
    if sample.trials:
        return count
    while float(stats.t.ppf(1 - level / 2, count - 1)) ** 2 * ratio > count:  # few seeds: wider than the normal
        count += 1
    return count
