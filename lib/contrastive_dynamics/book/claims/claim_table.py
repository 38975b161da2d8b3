"""Claims: what a paper says, the rule it is held to, and the verdict on what a run measured."""

from dataclasses import dataclass, field, fields
from pathlib import Path

from ..ground.errors import BookError
from .rules import MET, MISSED, UNDECIDED, Rule
from .statistics import FAMILY_LEVEL, Sample, holm_levels, seeds_to_decide

# verdict -> symbol: the shape says it without colour
VERDICTS = {
    "reproduced": "●",
    "with conditions": "◐",
    "undecided": "?",
    "not reproduced": "○",
    "contradicted": "✕",
    "not run": "–",
}
KINDS = ("identity", "bound", "rate", "trend", "count", "counter-example", "table", "illustration")


@dataclass(frozen=True)
class Claim:
    """One row of `chapters/claims/NAME.yaml`, written before the run.

    `rule` is None for a claim that this edition does not run; `needs` then says what it takes.
    `erratum` names the corrected form of a statement whose printed form fails, `conditions` the region where it holds.
    """

    id: str
    locator: str
    statement: str
    kind: str
    regime: str = ""
    statistic: str = ""
    expected: str = ""
    rule: Rule | None = None
    tolerance_reason: str = ""
    by_chance: bool = False
    control: str = ""
    planted: str = ""
    erratum: str = ""
    conditions: str = ""
    data: str = "generated"
    needs: str = ""
    note: str = ""
    changed: tuple = ()

    @classmethod
    def parse(cls, row: dict, where: str) -> "Claim":
        """Check one row; raises BookError naming the claim, the field and what is allowed."""
        where = f"{where}: claim {row.get('id', '?')}"
        known = {f.name for f in fields(cls)}
        required = {"id", "locator", "statement", "kind"}
        run = {"regime", "statistic", "expected", "rule", "tolerance_reason", "control"}
        required |= {"needs"} if "needs" in row else run
        if missing := required - row.keys():
            raise BookError(f"{where}: missing {', '.join(sorted(missing))}")
        if unknown := row.keys() - known:
            raise BookError(f"{where}: unknown {', '.join(sorted(unknown))}; allowed are {', '.join(sorted(known))}")
        if row["kind"] not in KINDS:
            raise BookError(f"{where}: kind is {row['kind']!r}, allowed are {', '.join(KINDS)}")
        rule = Rule.parse(row["rule"], where) if "rule" in row else None
        return cls(**{**row, "rule": rule, "changed": tuple(row.get("changed", ()))})

    def rule_for_hash(self) -> list:
        """What a result depends on: the rule and how it is applied, not the wording around it."""
        return [self.id, str(self.rule), self.by_chance, bool(self.erratum), bool(self.conditions), self.data]


@dataclass(frozen=True)
class Claims:
    """All claims of one paper, with the labels that the paper prints (for the completeness test)."""

    paper: str
    title: str
    labels: dict[str, int]
    rows: dict[str, Claim]

    @classmethod
    def load(cls, path: Path) -> "Claims":
        """Read `chapters/claims/NAME.yaml`; raises BookError."""
        import yaml  # here, not above: a machine that only records needs no YAML

        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise BookError(f"{path.name}: not readable as YAML: {str(error).splitlines()[0]}") from None
        rows = [Claim.parse(row, path.name) for row in content["claims"]]
        if len({row.id for row in rows}) < len(rows):
            ids = [row.id for row in rows]
            raise BookError(f"{path.name}: claim {next(i for i in ids if ids.count(i) > 1)} stands twice")
        return cls(content["paper"], content["title"], content["labels"], {row.id: row for row in rows})

    @property
    def by_chance(self) -> int:
        """How many claims of the chapter are decided by chance: the family that Holm's correction is over."""
        return sum(claim.by_chance for claim in self.rows.values())


@dataclass(frozen=True)
class Reading:
    """What a run measured for one claim: the statistic, by case, of each arm of the test.

    `observed` is the claim itself, `control` the mistake that must miss the rule, `mended` the corrected form,
    `outside` the statistic outside the stated conditions, `planted` a case built to meet the rule.
    """

    observed: dict[str, Sample]
    control: dict[str, Sample]
    mended: dict[str, Sample] = field(default_factory=dict)
    outside: dict[str, Sample] = field(default_factory=dict)
    planted: dict[str, Sample] = field(default_factory=dict)

    @classmethod
    def of(cls, **arms: object) -> "Reading":
        """Build from numbers, sequences (one value a seed), shares, or dictionaries case → one of these."""

        def cases(given: object) -> dict[str, Sample]:
            is_share = isinstance(given, dict) and set(given) == {"hits", "trials"}
            given = given if isinstance(given, dict) and not is_share else {"": given}
            return {str(case): Sample.of(value) for case, value in given.items()}

        return cls(**{arm: cases(given) for arm, given in arms.items() if given is not None})

    def to_json(self) -> dict:
        return {
            f.name: {case: sample.to_json() for case, sample in getattr(self, f.name).items()}
            for f in fields(self)
            if getattr(self, f.name)
        }


@dataclass(frozen=True)
class Verdict:
    """A verdict and the one-line reason behind it."""

    claim: Claim
    verdict: str
    reason: str
    level: float
    reading: Reading | None = None


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
    """Hold a reading against its claim's rule; `level` is the confidence level after Holm's correction."""
    rule = claim.rule
    if rule is None:
        raise BookError(f"claim {claim.id} has no rule: it stands as not run ({claim.needs})")

    def verdict(word: str, reason: str) -> Verdict:
        return Verdict(claim, word, reason, level, reading)

    met_controls = [case for case, s in reading.control.items() if rule.outcome(s, level) != MISSED]
    if not reading.control or met_controls:
        return verdict("undecided", f"the control does not miss the rule {', '.join(met_controls)}".strip())
    outcome = _worst(rule, reading.observed, level)
    if outcome == UNDECIDED:
        return verdict("undecided", _undecided(claim, reading, level))
    if outcome == MET:
        return _met(claim, reading, level, data, verdict)
    shown = [arm for arm in (reading.mended, reading.planted) if arm]
    if claim.erratum and shown and all(_worst(rule, arm, level) == MET for arm in shown):
        return verdict("contradicted", claim.erratum)
    return verdict("not reproduced", f"the rule {rule} is missed")


def _met(claim: Claim, reading: Reading, level: float, data: str, verdict) -> Verdict:
    if reading.outside and claim.conditions:
        if all(claim.rule.outcome(s, level) == MISSED for s in reading.outside.values()):
            return verdict("with conditions", claim.conditions)
        return verdict("undecided", f"the rule is not shown to fail outside: {claim.conditions}")
    if claim.data not in ("generated", data):
        return verdict("with conditions", f"data: {data} in place of {claim.data}")
    return verdict("reproduced", f"the rule {claim.rule} is met")


def p_value(claim: Claim, reading: Reading) -> float:
    """The level at which a claim is just decided: all cases must meet the rule, or one of them miss it."""
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
