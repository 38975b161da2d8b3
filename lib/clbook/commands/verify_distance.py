"""How far a recomputed reading may be from the stored one."""

import math
from collections.abc import Iterable

from ..claims.claim_table import Claim
from ..claims.statistics import Sample

ZERO = 1e-13  # of the largest number of a reading: what is below is rounding
ROUNDING = 1e-6  # of a number, what other instructions make of it
STEPS = 1e-5  # of a number, where an integrator took other steps, each within its tolerance of 1e-7


def same_arithmetic(before: dict, now: dict) -> bool:
    """Whether two runs must agree to the last bit; they need not if a stamp does not name its instructions."""
    keys = ("versions", "device", "capability", "blas", "threads")
    return all(key in before and before[key] == now[key] for key in keys)


def distances(row: Claim, stored: dict, now: dict, chance: bool, steps: bool = False) -> Iterable[float]:
    """How far each sample is off, in units of what is allowed; infinite if arms or cases differ.

    Rounding is allowed, also of a number that is zero but for rounding beside the others of its reading; with `chance`
    (on another processor) so is any difference that other seeds would make; with `steps` so is what other steps of an
    integrator make of a number.
    """
    if {a: set(cases) for a, cases in stored.items()} != {a: set(cases) for a, cases in now.items()}:
        yield float("inf")
        return
    samples = {(arm, case): Sample.of(value) for arm, cases in stored.items() for case, value in cases.items()}
    noise = ZERO * max((abs(x) for s in samples.values() for x in s.values if math.isfinite(x)), default=0.0)
    for (arm, case), before in samples.items():
        yield _distance(row, before, Sample.of(now[arm][case]), chance, noise, STEPS if steps else ROUNDING)


def _distance(row: Claim, before: Sample, after: Sample, chance: bool, noise: float, relative: float) -> float:
    """The distance of two samples over what is allowed: rounding, an identity's rule, or what chance leaves open.

    If seeds decide, different rounding may lead training elsewhere, as other seeds would; the two means may then differ
    by half of either interval.
    """
    if before.size != after.size:
        return float("inf")
    if before == after:
        return 0.0
    if chance and before.by_chance and row.by_chance:
        half = sum((high - low) / 2 for low, high in (before.interval(), after.interval()))
        return abs(before.estimate - after.estimate) / max(half, relative * abs(before.estimate), 1e-300)
    allowed = min((abs(t) for t in row.rule.thresholds if t), default=0.0) if row.kind == "identity" else 0.0
    pairs = zip(before.values, after.values, strict=True)
    return max(abs(a - b) / max(allowed, relative * abs(a), noise, 1e-300) for a, b in pairs)


def first_difference(stored: dict, now: dict) -> str:
    """The first value that differs, in words."""
    for arm in stored.keys() | now.keys():
        for case in stored.get(arm, {}).keys() | now.get(arm, {}).keys():
            a, b = stored.get(arm, {}).get(case), now.get(arm, {}).get(case)
            if repr(a) != repr(b):
                pairs = zip(a, b, strict=False) if isinstance(a, list) and isinstance(b, list) else [(a, b)]
                x, y = next(((x, y) for x, y in pairs if repr(x) != repr(y)), (a, b))
                return f"{arm} {case}: stored is {x}, computed {y}".replace(" :", ":")
    return "stored and computed differ"
