"""What a run measured for a claim, and the verdict on it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from ..common.errors import BookError
from .claim_table import NEGATIVE, Claim, Claims
from .rules import MET, MISSED, UNDECIDED, Rule
from .statistics import FAMILY_LEVEL, Sample, holm_levels, seeds_to_decide

SEPARATOR = ": "  # between the group and the cell in the name of a case
CLEAR_LEVEL = 0.05  # of the interval of a single case
# kind of `with conditions` -> how a card says it
CONDITIONS = {
    "range": "within a range",
    "reading": "under one reading",
    "data": "on other data",
    "size": "at another size",
}


@dataclass(frozen=True)
class Reading:
    """What a run measured for one claim: the statistic, by case, of each arm of the test.

    `observed` is the claim itself, `control` the mistake that must miss the rule, `mended` the corrected statement,
    `outside` the statistic outside the stated conditions, `planted` a case built to meet the rule, `advocate` the
    strongest reading under which the authors are right.
    """

    observed: dict[str, Sample]
    control: dict[str, Sample]
    mended: dict[str, Sample] = field(default_factory=dict)
    outside: dict[str, Sample] = field(default_factory=dict)
    planted: dict[str, Sample] = field(default_factory=dict)
    advocate: dict[str, Sample] = field(default_factory=dict)

    @classmethod
    def of(cls, **arms: object) -> "Reading":
        """Build from numbers, sequences (one value per seed), shares, or dictionaries from cases to these.

        A dictionary of dictionaries is one of groups: its cases are named `GROUP: CELL`. Raises ValueError for a group
        without cells, a cell with `: ` in its name, and whatever `Sample.of` refuses.
        """

        def cases(given: object) -> dict[str, Sample]:
            return {case: Sample.of(value) for case, value in _named(given if _has_cases(given) else {"": given})}

        return cls(**{arm: cases(given) for arm, given in arms.items() if given is not None})

    def to_json(self) -> dict:
        return {
            f.name: {case: sample.to_json() for case, sample in getattr(self, f.name).items()}
            for f in fields(self)
            if getattr(self, f.name)
        }

    def as_judged(self, claim: Claim) -> "Reading":
        """The reading to which the rule applies; the stored one, unless the claim has the field `clear`.

        Each arm then has one number per group of cases, the share of those that are clear: whose two-sided 95 %
        interval, or with `clear_by: mean` whose mean, lies above `claim.clear`. The interval is over networks and not
        corrected for other cases. With `clear_by: agreement` values are differences from a number, in units of its
        standard error, and a case is clear if their mean is at most `claim.clear` standard errors of both from 0.
        """
        if claim.clear is None:
            return self
        return Reading(**{f.name: _clear_shares(getattr(self, f.name), claim) for f in fields(self)})


def _has_cases(given: object) -> bool:
    return isinstance(given, dict) and set(given) != {"hits", "trials"}


def _named(given: dict) -> Iterator[tuple[str, object]]:
    """(name, value) of each case, those of groups as `GROUP: CELL`."""
    for name, value in given.items():
        if not _has_cases(value):
            yield str(name), value
            continue
        if not value or any(SEPARATOR in str(cell) for cell in value):
            raise ValueError(f"group {name!r} must have cells, without {SEPARATOR!r} in their names, got {list(value)}")
        yield from ((f"{name}{SEPARATOR}{cell}", values) for cell, values in value.items())


def _clear_shares(arm: dict[str, Sample], claim: Claim) -> dict[str, Sample]:
    """Group → share of its cases that are clear. A single network has no interval, so its case is not clear."""
    groups: dict[str, list[bool]] = {}
    for case, sample in arm.items():
        is_clear = sample.by_chance and _is_clear(sample, claim)
        groups.setdefault(case.rpartition(SEPARATOR)[0], []).append(is_clear)
    return {group: Sample((sum(clear) / len(clear),)) for group, clear in groups.items()}


def _is_clear(sample: Sample, claim: Claim) -> bool:
    if claim.clear_by == "agreement":  # the number that it is compared with has the error 1
        return abs(sample.estimate) <= claim.clear * math.hypot(1, sample.standard_error)
    low = sample.estimate if claim.clear_by == "mean" else sample.interval(CLEAR_LEVEL)[0]
    return low > claim.clear


@dataclass(frozen=True)
class Verdict:
    """A verdict and the one-line reason behind it.

    `before_review` is the verdict of the rule and of the arms beside it, before asking whether the authors' side was
    run. `condition` is the kind of `with conditions`: one of CONDITIONS. `reading` is the one to which the rule
    applies, see `Reading.as_judged`; a stamp holds the one before.
    """

    claim: Claim
    verdict: str
    reason: str
    level: float
    reading: Reading
    before_review: str
    condition: str = ""


def _worst(rule: Rule, arm: dict[str, Sample], level: float) -> str:
    """The outcome over an arm's cases: missed if one is, else undecided if one is, else met."""
    outcomes = {rule.outcome(sample, level) for sample in arm.values()}
    return next(o for o in (MISSED, UNDECIDED, MET) if o in outcomes)


def _undecided(claim: Claim, reading: Reading, level: float) -> str:
    open_cases = {c: s for c, s in reading.observed.items() if claim.rule.outcome(s, level) == UNDECIDED}
    case, sample = next(iter(open_cases.items()))
    threshold = min(claim.rule.thresholds, key=lambda t: abs(t - sample.estimate))
    needed = seeds_to_decide(sample, threshold, level)
    would = f"about {needed} would decide" if needed else "no number of seeds would decide"
    return f"the interval{' of ' + case if case else ''} contains {threshold:g}; {sample.size} seeds, {would}"


def judge(claim: Claim, reading: Reading, level: float = FAMILY_LEVEL, data: str = "generated") -> Verdict:
    """Judge a stored reading by its claim's rule; `level` is the significance level after Holm's correction."""
    rule = claim.rule
    if rule is None:
        raise BookError(f"claim {claim.id} has no rule: it is listed as not run ({claim.needs})")

    smallest = min((sample.size for sample in reading.observed.values()), default=0)
    reading = reading.as_judged(claim)

    def verdict(word: str, reason: str, before_review: str = "", condition: str = "") -> Verdict:
        return Verdict(claim, word, reason, level, reading, before_review or word, condition)

    met_controls = [case for case, s in reading.control.items() if rule.outcome(s, level) != MISSED]
    if not reading.control or met_controls:
        return verdict("undecided", f"the control does not miss the rule {', '.join(met_controls)}".strip())
    outcome = _worst(rule, reading.observed, level)
    if outcome == UNDECIDED:
        return verdict("undecided", _undecided(claim, reading, level))
    if outcome == MET:
        word, reason, condition = _met(claim, reading, level, data)
        return verdict(word, reason, condition=condition)
    if smallest < claim.least:
        return verdict("undecided", f"{claim.least} networks per case decide, this run has {smallest}")
    word, reason = _missed(claim, reading, level)
    fair, reason = _fair(claim, reading, level, word, reason)
    return verdict(fair, reason, word, "reading" if fair == "with conditions" else "")


def _met(claim: Claim, reading: Reading, level: float, data: str) -> tuple[str, str, str]:
    """Verdict, reason and kind of condition if what was observed meets the rule."""
    if reading.outside and claim.conditions:
        if all(claim.rule.outcome(s, level) == MISSED for s in reading.outside.values()):
            return "with conditions", claim.conditions, claim.conditions_kind
        return "undecided", f"the rule is not shown to fail outside: {claim.conditions}", ""
    if claim.data not in ("generated", data):
        return "with conditions", f"data: {data} in place of {claim.data}", "data"
    if claim.smaller:
        return "with conditions", f"smaller than the paper's run: {claim.smaller}", "size"
    return "reproduced", f"the rule {claim.rule} is met", ""


def _missed(claim: Claim, reading: Reading, level: float) -> tuple[str, str]:
    """Verdict and reason if the rule is missed, from the claim's own arms."""
    shown = [arm for arm in (reading.mended, reading.planted) if arm]
    found = {_worst(claim.rule, arm, level) for arm in shown}
    proved = found == {MET}
    if claim.vacuous:
        return "vacuous", claim.vacuous
    if claim.erratum and proved:
        return ("misprint" if claim.slip else "contradicted"), claim.erratum
    if claim.erratum and UNDECIDED in found:
        return "undecided", f"the rule {claim.rule} is missed; this run does not decide about the mended form"
    if claim.smaller:
        return "undecided", f"the rule {claim.rule} is missed in a run smaller than the paper's: {claim.smaller}"
    return "not reproduced", f"the rule {claim.rule} is missed"


def _fair(claim: Claim, reading: Reading, level: float, word: str, reason: str) -> tuple[str, str]:
    """No negative verdict without the authors' side: met, the claim holds under that reading; not run, undecided."""
    if word not in NEGATIVE:
        return word, reason
    if claim.review or not (claim.advocate and reading.advocate):
        open_yet = claim.review or "a reading under which the authors are right has not been run yet"
        return "undecided", f"under review: the rule {claim.rule} is missed; {open_yet}"
    if _worst(claim.rule, reading.advocate, level) == MET:
        return "with conditions", f"read so: {claim.advocate}"
    return word, reason


def p_value(claim: Claim, reading: Reading) -> float:
    """The level at which a claim is just decided: all cases meet the rule, or one of them misses it."""
    reading = reading.as_judged(claim)
    p_values = [claim.rule.p_value(sample) for sample in reading.observed.values()]
    missed = [
        p
        for p, sample in zip(p_values, reading.observed.values(), strict=True)
        if claim.rule.outcome(Sample((sample.estimate,)), 1.0) == MISSED and claim.rule.name != "rate"
    ]
    return min(1.0, min(missed) * len(p_values)) if missed else max(p_values)


def judge_all(claims: Claims, readings: dict[str, Reading], data: str = "generated") -> dict[str, Verdict]:
    """Verdicts on a whole run, with Holm's correction over the claims decided by chance."""
    chance = {i: p_value(claims.rows[i], r) for i, r in readings.items() if claims.rows[i].by_chance}
    levels = holm_levels(chance)
    return {i: judge(claims.rows[i], r, levels.get(i, FAMILY_LEVEL), data) for i, r in readings.items()}
