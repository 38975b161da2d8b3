"""Samples and their intervals: Student's t over seeds, Wilson's for shares, all at one level."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from scipy.special import ndtri, stdtrit

LEVEL = 0.005  # of every interval that decides a claim; Benjamin et al., Nature Human Behaviour 2 (2018)
MOST = 1_000_000  # seeds or trials; whatever needs more lies on its threshold


@cache
def quantile(level: float, degrees: int) -> float:
    """Half the width of a two-sided interval of confidence 1 − level in standard errors; normal for 0 degrees."""
    return float(stdtrit(degrees, 1 - level / 2) if degrees else ndtri(1 - level / 2))


def _sum(values: Sequence[float]) -> float:
    """Their sum, rounded once. `sum` is more exact from Python 3.12 on, so that ties of digits came out otherwise."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # too large, or infinities of both signs
        return float(sum(values))


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

    @cached_property
    def estimate(self) -> float:
        return self.values[0] / self.trials if self.trials else _sum(self.values) / len(self.values)

    @cached_property
    def standard_error(self) -> float:
        """Of the estimate; 0 for a number and for equal values, infinite for values without bounds."""
        if self.trials:
            return math.sqrt(self.estimate * (1 - self.estimate) / self.trials)
        if min(self.values) == max(self.values):
            return 0.0
        gaps = [value - self.estimate for value in self.values]
        error = math.sqrt(_sum([gap * gap for gap in gaps]) / (len(gaps) - 1) / len(gaps))
        return error if math.isfinite(error) else math.inf

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Two-sided interval of confidence 1 − level: Wilson for a share, t for seeds, a point for a number."""
        if self.trials:
            return self._wilson(quantile(level, 0))
        if self.standard_error == 0.0:
            return self.estimate, self.estimate
        if math.isinf(self.standard_error):
            return -math.inf, math.inf
        half = quantile(level, self.size - 1) * self.standard_error
        return self.estimate - half, self.estimate + half

    def _wilson(self, z: float) -> tuple[float, float]:
        """The values p for which the estimate lies within z standard errors √(p(1 − p)/n) of p."""
        n, share = self.trials, self.estimate
        middle = share + z * z / (2 * n)
        half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        low, high = ((middle + end) / (1 + z * z / n) for end in (-half, half))
        return low if share > 0 else 0.0, high if share < 1 else 1.0


def seeds_to_decide(sample: Sample, threshold: float, level: float = LEVEL) -> int | None:
    """Seeds (or trials) after which the interval is expected to exclude the threshold; None if that is beyond MOST."""
    distance = abs(sample.estimate - threshold)
    if distance == 0 or not sample.by_chance or math.isinf(sample.standard_error):
        return None
    ratio = (sample.standard_error * math.sqrt(sample.size) / distance) ** 2
    if quantile(level, 0) ** 2 * ratio > MOST:
        return None
    count = max(math.ceil(quantile(level, 0) ** 2 * ratio), 2)
    if sample.trials:
        return count
    while quantile(level, count - 1) ** 2 * ratio > count:  # few seeds: wider than the normal
        count += 1
    return count
