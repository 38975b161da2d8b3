"""Claims, read from a file: what a paper says and the rule by which it is judged."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..common import project
from ..common.errors import BookError, cut
from ..common.formats import ANY, NUMBER, TEXT, TRUTH, fault, list_of, map_of, place_of, record_of, text_of
from ..common.yaml_files import yaml_of
from .rules import Rule, is_finite
from .sentence_templates import check as check_sentences
from .settings import FIELDS, filled
from .statistics import LEVEL

# verdict -> symbol, whose shape is readable without colour
VERDICTS = {
    "reproduced": "●",
    "with conditions": "◐",
    "seen": "◆",
    "not seen": "◇",
    "undecided": "?",
    "not reproduced": "○",
    "contradicted": "✕",
    "misprint": "✎",
    "vacuous": "∅",
    "not judged here": "·",
    "not run": "–",
}
NEGATIVE = ("contradicted", "not reproduced", "vacuous")  # never given before the authors' side has been run
STAND_INS = ("seen", "not seen")  # on other data or a smaller network than the paper's own; they count for nobody
PLACES = ("chapter", "appendix")
KINDS = ("identity", "bound", "rate", "trend", "count", "counter-example", "table", "illustration")
LARGEST_RESIDUE = 1e-3  # the bound of a rule at_most: a number that it allows is 0 but for rounding and stopping
# what a claims file, and each of its rows, must look like
_RUN = ("regime", "statistic", "expected", "rule", "tolerance_reason", "control")
_WORDS = "id locator statement planted erratum conditions needs note vacuous stand_in advocate whole clear_at_95"
_CHANGE = record_of("date old_rule old_verdict why", **dict.fromkeys(("date", "old_rule", "old_verdict", "why"), TEXT))
_BREAK = record_of("in old new", **dict.fromkeys(("in", "old", "new"), TEXT), parameters=ANY)
_BREAK |= {"additionalProperties": False}
_PART = record_of("parameters share", parameters={"type": "object"}, share=NUMBER) | {"additionalProperties": False}
_CHOICES = {"kind": KINDS, "data": list(project.data_sets().NEEDS), "slip": ["misprint"], "in": PLACES}
_CHOICES |= {
    "clear_by": ("interval", "mean", "agreement"),
    "conditions_kind": ("range", "reading"),
    "of": ("statement", "remark"),
}
_ROW = {
    "type": "object",
    "required": ["id", "locator", "statement", "kind"],
    "if": {"required": ["needs"]},
    "else": {"required": _RUN},
    "properties": dict.fromkeys([*_WORDS.split(), *_RUN], TEXT)
    | {
        "id": {"type": "string", "pattern": r"^\w[\w.-]*$"},
        "rule": {},
        "changed": list_of(_CHANGE),
        "breaks": _BREAK | list_of(_BREAK, 1) | {"type": ["object", "array"]},
        "beyond": TRUTH,
        "by_chance": TRUTH,
        "clear": NUMBER,
        "least": {"type": "integer", "minimum": 2},
        "part": _PART,
        "plain": list_of(TEXT, 2),
    }
    | {name: {"enum": list(words)} for name, words in _CHOICES.items()},
    "additionalProperties": False,
}
_LABELS = map_of({"type": ["integer", "array"]})  # how many, or which ones
_KEY = {"type": "string", "pattern": r"^[\w.:+-]+$"}  # of a paper in the list of references; addresses hold it
_FILE = record_of("claims", claims={"type": "array"}, paper=_KEY, title=TEXT, labels=_LABELS)


@dataclass(frozen=True)
class Claim:
    """One row of `chapters/NAME/claims.yaml`, written before the run.

    `rule` is None for a claim that this edition does not run; `needs` then says what it takes. `erratum` gives the
    corrected form of a statement whose printed form fails; `slip: misprint` says that nothing rests on the printed
    form. `conditions` names the region where the statement holds, `vacuous` why its premises cannot hold, `stand_in`
    what our run has in place of the paper's own experiment. `advocate` is the strongest reading under which the authors
    are right, run as a separate arm. `whole` says why few seeds give no reading, or another one; it is then not
    verified in part. `part` is a smaller run that gives some of the same values of some of the same cases: the
    `parameters` in which it differs, and its `share` of the cost; `clbook verify` compares these. `beyond` marks a
    claim that is ours and not the paper's. `place` is written `in`: `chapter` or `appendix`. `breaks` are lines of
    kernels that turn the verdict when they are broken: the module that one stands `in`, its `old` and its `new` text,
    and perhaps `parameters` in which the run differs from the smoke profile. The first is the claim's, others are their
    kernels'. `plain` says in sentences what was found, see `sentence_templates`. `conditions_kind` tells a region
    (`range`) from a reading of the text. `of` says whether a row is the statement of its theorem or a `remark` beside
    it. `clear` is a number: a case `GROUP: CELL`, or `CELL`, then has one value per network, and the statistic is, for
    each group, the share of cases whose interval, or by `clear_by` whose mean, lies above this number (see
    `judging.Reading.as_judged`); `clear_at_95` says why 95 % suffice there: what a shuffled grid gives. With fewer
    networks per case than `least` the claim is never judged as missed: it stays undecided.
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
    clear: float | None = None
    clear_by: str = "interval"
    clear_at_95: str = ""
    least: int = 0
    control: str = ""
    planted: str = ""
    erratum: str = ""
    conditions: str = ""
    data: str = "generated"
    needs: str = ""
    note: str = ""
    changed: tuple = ()
    slip: str = ""
    vacuous: str = ""
    stand_in: str = ""
    advocate: str = ""
    whole: str = ""
    part: dict | None = None
    beyond: bool = False
    place: str = "chapter"
    breaks: tuple[dict, ...] = ()
    plain: tuple[str, ...] = ()
    conditions_kind: str = "range"
    of: str = "statement"

    @classmethod
    def parse(cls, row: dict, where: str) -> "Claim":
        """Check one row; raises BookError naming the claim, the field and what is allowed."""
        where = f"{where}: claim {row.get('id', '?')}"
        if problem := fault(row, _ROW):
            raise BookError(f"{where}: {problem}")
        if "slip" in row and "erratum" not in row:
            raise BookError(f"{where}: a misprint needs its corrected form under erratum")
        rule = Rule.parse(row["rule"], where) if "rule" in row else None
        given = {key: value for key, value in row.items() if key != "in"} | {"place": row.get("in", "chapter")}
        given["plain"] = tuple(row.get("plain", ()))
        check_sentences(given["plain"], where)
        breaks = row.get("breaks", [])
        given |= {"breaks": tuple(breaks if isinstance(breaks, list) else [breaks])}
        if "clear" in row:
            given["clear"] = _checked_clear(row["clear"], row["kind"], rule, where)
        return cls(**given | {"rule": rule, "changed": tuple(row.get("changed", ()))})

    def of_run(self, parameters: Mapping[str, object]) -> "Claim":
        """The row with the numbers of a run in its setting, statistic and control."""
        texts = {name: getattr(self, name) for name in FIELDS}
        told = {name: new for name, text in texts.items() if (new := filled(text, parameters)) != text}
        return replace(self, **told) if told else self

    @property
    def seeds_decide(self) -> bool:
        """Whether other seeds may give another outcome: decided by chance, or by intervals over networks."""
        return self.by_chance or self.clear is not None

    @property
    def residue(self) -> float:
        """The size of what rounding and a method's stopping may leave of a number that is 0; 0.0 for other numbers.

        That is the smallest number of an identity's rule, and the bound of a rule that allows so little that only a 0
        can meet it.
        """
        if self.rule is None:
            return 0.0
        number = min((abs(t) for t in self.rule.numbers if t), default=0.0)
        only_zero = self.rule.name == "at_most" and 0 < self.rule.numbers[0] <= LARGEST_RESIDUE
        return number if self.kind == "identity" or only_zero else 0.0

    def verdict_key(self) -> list:
        """What a verdict depends on: the rule and how it is applied, not the wording around it."""
        marks = ("slip", "vacuous", "stand_in", "advocate")
        rest = [name for name in marks if getattr(self, name)]
        rest += [["clear", self.clear]] * (self.clear is not None) + [["least", self.least]] * bool(self.least)
        by_interval = self.clear is not None and self.clear_by == "interval"
        rest += [f"clear by {self.clear_by}"] * (self.clear_by != "interval")
        rest += [f"clear at {LEVEL}"] * (by_interval and not self.clear_at_95)
        return [self.id, str(self.rule), self.by_chance, bool(self.erratum), bool(self.conditions), self.data, *rest]


def _checked_clear(number: float, kind: str, rule: Rule | None, where: str) -> float:
    """The number of `clear`; raises BookError where no share of clear cases can be judged."""
    if not is_finite(number):
        raise BookError(f"{where}: clear must be a finite number, got {cut(repr(number), 100)}")
    if kind == "identity" or rule is None or rule.name not in ("at_least", "at_most"):
        needed = "a rule at_least or at_most, and a kind other than identity"
        raise BookError(f"{where}: clear needs {needed}; got {rule or 'no rule'}, {kind}")
    return float(number)


@dataclass(frozen=True)
class Claims:
    """All claims of one chapter, with the labels that its paper prints (for the completeness test).

    A chapter without a paper has its own name in place of the paper's, and no labels.
    """

    paper: str
    title: str
    labels: dict[str, int]
    rows: dict[str, Claim]
    chapter: str = ""

    @classmethod
    def load(cls, path: Path) -> "Claims":
        """Read `chapters/NAME/claims.yaml`; raises BookError with the line. The same text is read once."""
        return _loaded(cls, path, text_of(path))

    def of_run(self, parameters: Mapping[str, object]) -> "Claims":
        """The table with each row as `Claim.of_run` gives it."""
        return replace(self, rows={name: row.of_run(parameters) for name, row in self.rows.items()})

    @classmethod
    def read(cls, path: Path) -> "Claims":
        """As `load`, from the file as it is now."""
        content, lines = read_yaml(path)
        if problem := fault(content, _FILE):
            raise BookError(f"{place_of(path)}: {problem}")
        rows: dict[str, Claim] = {}
        for row, line in zip(content["claims"], lines, strict=True):
            where = f"{place_of(path)}, line {line}"
            if not isinstance(row, dict):
                raise BookError(f"{where}: must be one claim with its fields, got {row!r}")
            claim = Claim.parse(row, where)
            if claim.id in rows:
                raise BookError(f"{where}: claim {claim.id} occurs twice")
            rows[claim.id] = claim
        names = (content.get(key, path.parent.name) for key in ("paper", "title"))
        return cls(*names, content.get("labels", {}), rows, path.parent.name)


@lru_cache(maxsize=16)
def _loaded(kind: type[Claims], path: Path, text: str) -> Claims:
    return kind.read(path)


def read_yaml(path: Path) -> tuple[object, list[int]]:
    """The contents of a claims file, and the line on which each claim begins; raises BookError."""
    content, tree = yaml_of(path)
    parts = {key.value: value for key, value in tree.value} if isinstance(content, dict) else {}
    rows = parts["claims"].value if isinstance(content, dict) and isinstance(content.get("claims"), list) else []
    return content, [node.start_mark.line + 1 for node in rows]
