"""How far a recomputed reading may be from the stored one."""

import math
from collections.abc import Iterable

from ..claims.claim_table import Claim
from ..claims.statistics import Sample

ZERO_RELATIVE = 1e-13  # of the largest number of a reading: what is below is rounding
ROUNDING_RELATIVE = 1e-6  # of a number, what other instructions make of it
RULE_RELATIVE = 1e-4  # of the rule's smallest number: differences of small differences lose digits, and decide nothing
CONTROL_RELATIVE = 0.05  # of how far a control is from its rule; a trained network's was moved by a fortieth of it
REST_RELATIVE = 1e-3  # of an upper bound: what a search or a descent has left of a number that is 0
CHANCE_LEVEL = 0.05  # of intervals that other seeds may leave; the level of verdicts would tolerate thrice as much
STEPS_RELATIVE = 1e-2  # of the largest number of a sample, for an integrator with other steps; 7e-4 was seen


def same_arithmetic(before: dict, now: dict) -> bool:
    """Whether two runs must agree to the last bit; they need not if a stamp does not name its instructions."""
    keys = ("versions", "device", "capability", "blas", "threads")
    return all(key in before and before[key] == now[key] for key in keys)


def distances(row: Claim, stored: dict, now: dict, chance: bool, other_steps: bool = False) -> Iterable[float]:
    """The distance of each sample from the stored one in units of its tolerance; infinite if arms or cases differ.

    Rounding is tolerated, also in a number that is zero up to rounding beside the others of its reading; with `chance`
    (on another processor) so is any difference that other seeds would make, if seeds decide the claim. Otherwise, and
    where all seeds give one number, so is a ten-thousandth of the rule's smallest number, of a control a twentieth of
    how far it is from the rule, and whatever stays within a thousandth of an upper bound. With `other_steps` so is what
    an adaptive integrator, whose steps all runs of a batch share, makes of a smaller batch.
    """
    if not _same_cases(stored, now):
        yield float("inf")
        return
    samples = {(arm, case): Sample.of(value) for arm, cases in stored.items() for case, value in cases.items()}
    zero = ZERO_RELATIVE * _largest(x for sample in samples.values() for x in sample.values)
    level = CHANCE_LEVEL if chance and row.seeds_decide else None
    if level and row.clear is not None:
        level /= len(samples)  # otherwise one of a grid's hundred samples would be too far by chance
    for (arm, case), before in samples.items():
        after = Sample.of(now[arm][case])
        undecided = _deciding_nothing(row, arm, before, after) if chance else 0.0
        yield _distance(row, before, after, level, max(zero, undecided), STEPS_RELATIVE if other_steps else 0.0)


def _deciding_nothing(row: Claim, arm: str, before: Sample, after: Sample) -> float:
    """The size of a difference that other rounding may make and that decides nothing; 0 where an interval says it."""
    if row.rule is None or (row.seeds_decide and before.standard_error > 0):
        return 0.0
    sizes = [RULE_RELATIVE * min((abs(t) for t in row.rule.numbers if t), default=0.0)]
    if arm == "control":
        sizes.append(CONTROL_RELATIVE * row.rule.excess(before.estimate))
    rest = REST_RELATIVE * row.rule.numbers[0] if row.rule.name == "at_most" else 0.0
    if _largest((*before.values, *after.values)) <= rest:
        sizes.append(rest)
    return max(sizes)


def _distance(row: Claim, before: Sample, after: Sample, level: float | None, noise: float, share: float) -> float:
    """The distance of two samples over the tolerance: of rounding, the size of a residue (`Claim.residue`), chance, and
    a share of the largest number.

    With a level, different rounding may change the course of training as other seeds would; the two means may then
    differ by the sum of both half-widths.
    """
    if before.size != after.size:
        return float("inf")
    if before == after:
        return 0.0
    allowed = max(row.residue, noise, share * _largest(before.values), 1e-300)
    if level is not None and before.by_chance:
        half = sum((high - low) / 2 for low, high in (before.interval(level), after.interval(level)))
        return abs(before.estimate - after.estimate) / max(half, ROUNDING_RELATIVE * abs(before.estimate), allowed)
    pairs = zip(before.values, after.values, strict=True)
    return max(abs(a - b) / max(allowed, ROUNDING_RELATIVE * abs(a)) for a, b in pairs)


def _largest(values: Iterable[float]) -> float:
    return max((abs(x) for x in values if math.isfinite(x)), default=0.0)


def beyond(row: Claim, stored: dict, now: dict, chance: bool, other_steps: bool = False) -> list[str]:
    """The values of a reading that are beyond their tolerance (see `distances`), the farthest first, in words."""
    if not _same_cases(stored, now):
        return [first_difference(stored, now)]
    names, said = [(arm, case) for arm, cases in stored.items() for case in cases], []
    far = zip(names, distances(row, stored, now, chance, other_steps), strict=True)
    for (arm, case), distance in sorted(far, key=lambda pair: -pair[1]):
        if not distance <= 1.0:  # one that is no number is beyond, too
            name, moved = f"{arm} {case}".strip(), _farthest(stored[arm][case], now[arm][case])
            said.append(f"{name}: {distance:.2g} times its tolerance, {moved}")
    return said


def _same_cases(stored: dict, now: dict) -> bool:
    return {arm: set(cases) for arm, cases in stored.items()} == {arm: set(cases) for arm, cases in now.items()}


def _farthest(before: object, after: object) -> str:
    """The number that moved most, in few characters; how many there are, if that differs."""
    before, after = Sample.of(before), Sample.of(after)
    if before.size != after.size:
        return f"{before.size} → {after.size} values"
    pairs = zip(before.values, after.values, strict=True)
    return " → ".join(f"{x:.6g}" for x in max(pairs, key=lambda pair: abs(pair[0] - pair[1])))


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
