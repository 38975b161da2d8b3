"""Grade a folder of submissions: each in a process of its own, so that one that hangs or is damaged stops no other."""

import csv
import io
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..common.atomic import atomic_write
from ..common.errors import BookError
from .exercises import Sheet, assign
from .kept_results import Kept
from .notes import cell_notes, equal_answers, grader_notes, prediction_answers, prediction_notes, with_sealed
from .roster import Roster
from .sheets import points
from .submission_process import NotGraded, Question, tested
from .submissions import Submission, submissions

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


@dataclass
class Graded:
    """One submission: its points per question, and what its owner or teacher has to look at.

    Several of one `owner` are all graded, and the one with most points `counts`. `name` is how a roster names them.
    """

    student: str
    scores: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    owner: str = ""
    name: str = ""
    counts: bool = True
    notebook: bytes = field(default=b"", repr=False, compare=False)
    predicted: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)  # for the teacher alone

    @property
    def total(self) -> float:
        return sum(self.scores.values())


def grade(source: Path, folder: Path, seconds: float, *, seed: int = 0, roster: Roster | None = None,
          kept: Kept | None = None, leave: tuple[Path, ...] = (), tell: Callable[[Graded], None] = lambda graded: None,
          ) -> tuple[Sheet, list[Graded]]:  # fmt: skip
    """Grade every submission of the sheet of a seed, at most `seconds` each, in the order of their names.

    `tell` is called with each as soon as it is graded; what `kept` knows is not graded again; files in `leave` are no
    submissions. Raises BookError for a folder without submissions.
    """
    folder, roster, results = folder.absolute(), roster or Roster(), []
    with tempfile.TemporaryDirectory(prefix="clbook-") as work:
        sheet = assign(source, Path(work), seed)
        for submission in submissions(folder, sheet.name, leave=leave):
            results.append(_graded(sheet, submission, seconds, roster, kept or Kept()))
            tell(results[-1])
    for entry in roster.without(each.owner for each in results):
        results.append(Graded(entry.file, {}, ["nothing handed in"], owner=entry.id, name=entry.name, counts=False))
    _count(results)
    _compare(sheet, results)
    return sheet, results


def _graded(sheet: Sheet, submission: Submission, seconds: float, roster: Roster, kept: Kept) -> Graded:
    entry = roster.entry(submission)
    result = Graded(submission.place, owner=entry.id if entry else submission.student, name=entry.name if entry else "")
    result.notes += [] if entry or not roster.entries else ["not in the list of students"]
    wanted = sheet.student.metadata["otter"].get("assignment_name")
    if reason := submission.reason or _other_sheet(sheet, submission, wanted):
        result.notes.append(f"not graded: {reason}")
        return result
    result.notebook = notebook = submission.notebook if submission.sheet else _as_sheet(submission.notebook, wanted)
    result.predicted, run = prediction_answers(sheet, notebook), with_sealed(sheet, notebook)
    try:
        result.questions = kept.questions(sheet, run, lambda: tested(run, sheet.bundle, seconds))
        result.scores = {name: q.score for name, q in result.questions.items() if name in sheet.tests}
    except NotGraded as error:
        result.notes.append(f"not graded: {error}")
    result.notes += [*submission.notes, *cell_notes(sheet, notebook)]
    result.notes += prediction_notes(sheet, notebook)
    result.seen = grader_notes(sheet, notebook, result.scores)
    return result


def _other_sheet(sheet: Sheet, submission: Submission, wanted: str | None) -> str:
    """Which other sheet a submission is of, in words; "" for the right one, and for one that does not say."""
    about = json.loads(submission.notebook)["metadata"].get("clbook", {})
    here = sheet.student.metadata["clbook"]["seed"]
    if submission.sheet not in ("", wanted):
        return f"this is the sheet {submission.sheet!r}"
    seed = about.get("seed", here)
    return "" if seed == here else f"its numbers are those of seed {seed!r}, this is seed {here}"


def _as_sheet(notebook: bytes, name: str | None) -> bytes:
    """A notebook that lost its metadata, as one of a sheet."""
    content = json.loads(notebook)
    content["metadata"].setdefault("otter", {})["assignment_name"] = name
    return json.dumps(content).encode("utf-8")


def _count(results: list[Graded]) -> None:
    """Let one submission of each owner count: the one with most points, of equal ones the first."""
    best: dict[str, Graded] = {}
    for each in results:
        if each.counts and (each.owner not in best or each.total > best[each.owner].total):
            best[each.owner] = each
    for each in results:
        if each.counts and (other := best[each.owner]) is not each:
            each.counts = False
            each.notes.append(f"does not count: {other.student} of the same student does")


def _compare(sheet: Sheet, results: list[Graded]) -> None:
    """Note answers that are equal across the class; they are seen when all are graded."""
    notebooks = defaultdict(list)
    for each in results:
        if each.notebook:
            notebooks[each.owner].append(each.notebook)
    found = equal_answers(sheet, notebooks)
    for each in results:
        each.seen += found.get(each.owner, []) if each.notebook and each.counts else []


def totals(sheet: Sheet) -> dict[str, float]:
    """The points of each question that tests grade; those by hand are left out."""
    return {question: sum(shares) for question, shares in points(sheet).items() if question in sheet.tests}


def by_question(sheet: Sheet, graded: list[Graded]) -> list[list[str]]:
    """Rows of a table of the class: question, points, mean, how many have all of them, how many none."""
    rows = [["question", "points", "mean", "all", "none"]]
    counted = [each for each in graded if each.counts]
    for question, worth in totals(sheet).items():
        scores = [each.scores.get(question, 0) for each in counted]
        full, none = sum(s >= worth for s in scores), sum(s == 0 for s in scores)
        rows.append([question, f"{worth:g}", f"{sum(scores) / len(scores):.1f}", str(full), str(none)])
    return rows


def by_student(sheet: Sheet, graded: list[Graded]) -> list[list[str]]:
    """Rows of a table of students: points per question, what is to be looked at; id and name if known.

    Then the sums of the `sheet` (warm-ups and core) and of the `projects`, whose reports have empty columns, and `sum`.
    """
    worth, known = totals(sheet), any(each.name for each in graded)
    reports = list(sheet.manual)
    rows = [["student", *(["id", "name"] if known else []), *worth, "sheet", "projects", *reports, "sum", "notes"]]
    for each in graded:
        scores = {question: each.scores.get(question, 0) for question in worth}
        projects = sum(score for question, score in scores.items() if question.startswith("p"))
        sums = [f"{s:g}" for s in (*scores.values(), each.total - projects, projects)]
        who = [each.owner if each.name else "", each.name] if known else []
        rows.append(
            [each.student, *who, *sums, *("" for _ in reports), f"{each.total:g}", "; ".join([*each.notes, *each.seen])]
        )
    return rows


def write_csv(rows: list[list[str]], path: Path) -> None:
    """Write a table that a spreadsheet reads: UTF-8 with its mark, no cell a formula.

    Raises BookError where it cannot be written.
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    try:
        atomic_write(path, text.getvalue().encode("utf-8-sig", errors="backslashreplace"))
    except OSError as error:
        raise BookError(f"{path}: cannot be written ({error.strerror})") from None
