"""What a run measured for a claim, and the verdict on it.

`judge` alone gives verdicts, each from one reading and its own intervals; no other claim enters. `over_blocks` then
asks the other blocks of seeds of a record. Cards, the last line, pages, partial runs and sweeps show what they return.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from ..common.errors import BookError
from .claim_table import NEGATIVE, Claim, Claims
from .rules import MET, MISSED, UNDECIDED, Rule
from .statistics import LEVEL, Sample, seeds_to_decide

CLEAR_LEVEL = 0.05  # of a comparison inside a grid whose row says why that is enough
SEPARATOR = ": "  # between the group and the cell in the name of a case
# what a card says of a verdict: the kind of `with conditions`, or that the paper's own experiment is another one
CONDITIONS = {"range": "within a range", "reading": "under one reading", "stand-in": "on a stand-in"}
NOT_JUDGED, OUTSIDE = "not judged here", "the parameters of this run are outside the claim's regime: {}"


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

        Each arm then has one number per group of cases, the share of those that are clear: whose interval over networks
        at LEVEL (or at 95 %, see `Claim`), or with `clear_by: mean` whose mean, lies above `claim.clear`. With
        `clear_by: agreement` values are differences from a number, in units of its standard error, and a case is clear
        if their mean is at most `claim.clear` standard errors of both from 0.
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
    if claim.clear_by == "mean":
        return sample.estimate > claim.clear
    return sample.interval(CLEAR_LEVEL if claim.clear_at_95 else LEVEL)[0] > claim.clear


@dataclass(frozen=True)
class Verdict:
    """A verdict and the one-line reason behind it.

    `before_review` is the verdict of the rule and of the arms beside it, before asking whether the authors' side was
    run. `condition` is one of CONDITIONS, or empty. `reading` is the one to which the rule applies, see
    `Reading.as_judged`; a stamp holds the one before.
    """

    claim: Claim
    verdict: str
    reason: str
    reading: Reading
    before_review: str
    condition: str = ""


def judge(claim: Claim, reading: Reading, data: str = "generated") -> Verdict:
    """Judge a reading by its claim's rule, chance at LEVEL; `data` is the data set of the run."""
    rule = claim.rule
    if rule is None:
        raise BookError(f"claim {claim.id} has no rule: it is listed as not run ({claim.needs})")
    judged = reading.as_judged(claim)
    smallest = min((sample.size for sample in reading.observed.values()), default=0)

    def verdict(word: str, reason: str, condition: str = "", before_review: str = "") -> Verdict:
        return Verdict(claim, word, reason, judged, before_review or word, condition)

    met_controls = [case for case, sample in judged.control.items() if rule.outcome(sample) != MISSED]
    if not judged.control or met_controls:
        return verdict("undecided", f"the control does not miss the rule {', '.join(met_controls)}".strip())
    outcome = rule.outcome_of_all(judged.observed)
    if outcome == UNDECIDED:
        return verdict("undecided", _undecided(claim, judged, data))
    if outcome == MISSED and smallest < claim.least:
        return verdict("undecided", f"{claim.least} networks per case decide, this run has {smallest}")
    return verdict(*(_met if outcome == MET else _missed)(claim, judged, data))


def over_blocks(verdict: Verdict, others: Sequence[str]) -> Verdict:
    """The verdict of a record that has runs on other blocks of seeds: open unless all of them give the same word."""
    same = list(others).count(verdict.verdict)
    if same == len(others) or verdict.verdict == "undecided":
        return verdict
    reason = f'"{verdict.verdict}" in {same + 1} of {len(others) + 1} blocks of seeds, not in all, so it stays open'
    return replace(verdict, verdict="undecided", before_review="undecided", reason=reason, condition="")


def deciding_case(rule: Rule, cases: Mapping[str, Sample]) -> str:
    """The case that decides: one that misses the rule, and of several the one whose interval reaches farthest."""

    def reach(case: str) -> tuple[bool, float]:
        sample = cases[case]
        missed = rule.outcome(sample, LEVEL / len(cases)) == MISSED
        return missed, max(rule.excess(end) for end in sample.interval())

    return max(cases, key=reach)


def _stand_in(claim: Claim, data: str) -> str:
    """What the run has in place of the paper's own experiment; empty if nothing."""
    other = [] if claim.data in ("generated", data) else [f"{data} in place of {claim.data}"]
    return "; ".join([claim.stand_in] * bool(claim.stand_in) + other)


def _undecided(claim: Claim, reading: Reading, data: str) -> str:
    rule, cases = claim.rule, reading.observed
    open_cases = {case: sample for case, sample in cases.items() if rule.outcome(sample) == UNDECIDED}
    case = deciding_case(rule, open_cases or cases)
    sample = cases[case]
    threshold = min(rule.numbers, key=lambda t: abs(t - sample.estimate))
    needed = _seeds_needed(claim, reading, data)
    would = f"about {needed} would decide" if needed else "no number of seeds would decide"
    over = case.startswith("over ")  # of a case such as "over images" a value is a group of images, and no seed
    named = f" {case}" if over else f" of {case}" if case else ""
    return f"the interval{named} contains {threshold:g}; {sample.size} {'values' if over else 'seeds'}, {would}"


def _seeds_needed(claim: Claim, reading: Reading, data: str) -> int | None:
    """Seeds after which a verdict is expected, if all cases keep mean and spread; None if there would be none.

    A rule that would be missed gives none if the miss leaves the claim open.
    """
    rule, cases = claim.rule, reading.observed.values()
    beyond = [sample for sample in cases if rule.excess(sample.estimate) > 0]
    if not beyond:
        needed = [seeds_to_decide(s, t) for s in cases if rule.outcome(s) != MET for t in rule.numbers]
        return None if None in needed else max(needed)
    if _missed(claim, reading, data)[0] == "undecided":
        return None
    nearest = [min(rule.numbers, key=lambda t: abs(t - s.estimate)) for s in beyond]
    needed = [seeds_to_decide(s, t, LEVEL / len(cases)) for s, t in zip(beyond, nearest, strict=True)]
    return min(filter(None, needed), default=None)


def _met(claim: Claim, reading: Reading, data: str) -> tuple[str, ...]:
    """Verdict, reason and condition if what was observed meets the rule."""
    if ours := _stand_in(claim, data):
        return "seen", ours, "stand-in"
    if reading.outside and claim.conditions:
        if all(claim.rule.outcome(sample) == MISSED for sample in reading.outside.values()):
            return "with conditions", claim.conditions, claim.conditions_kind
        return "undecided", f"the rule is not shown to fail outside: {claim.conditions}"
    return "reproduced", f"the rule {claim.rule} is met"


def _missed(claim: Claim, reading: Reading, data: str) -> tuple[str, ...]:
    """Verdict, reason, condition and verdict before review if the rule is missed.

    No negative verdict on a paper without the authors' side: met, the claim holds under that reading; not run, open.
    """
    if ours := _stand_in(claim, data):
        return "not seen", ours, "stand-in"
    word, reason = _against(claim, reading)
    if word not in NEGATIVE or claim.beyond:
        return word, reason
    if not (claim.advocate and reading.advocate):
        reason = f"the rule {claim.rule} is missed; a reading under which the authors are right has not been run yet"
        return "undecided", reason, "", word
    if claim.rule.outcome_of_all(reading.advocate) == MET:
        return "with conditions", f"read so: {claim.advocate}", "reading", word
    return word, reason


def _against(claim: Claim, reading: Reading) -> tuple[str, str]:
    """Verdict and reason if the rule is missed, from the claim's own arms."""
    found = {claim.rule.outcome_of_all(arm) for arm in (reading.mended, reading.planted) if arm}
    if claim.vacuous:
        return "vacuous", claim.vacuous
    if claim.erratum and found == {MET}:
        return ("misprint" if claim.slip else "contradicted"), claim.erratum
    if claim.erratum and UNDECIDED in found:
        return "undecided", f"the rule {claim.rule} is missed; this run does not decide about the mended form"
    return "not reproduced", f"the rule {claim.rule} is missed"


def judge_all(claims: Claims, readings: dict[str, Reading], data: str = "generated") -> dict[str, Verdict]:
    """Verdicts on a whole run, one claim after the other."""
    return {claim: judge(claims.rows[claim], reading, data) for claim, reading in readings.items()}
