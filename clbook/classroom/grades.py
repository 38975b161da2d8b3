"""Grade a folder of submissions: each in a process of its own, so that one that hangs or is damaged stops no other."""

import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..common.atomic import atomic_write
from ..common.errors import BookError
from .exercises import Sheet, assign, code_of
from .in_sheet import defined
from .kept_results import Kept
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

    @property
    def total(self) -> float:
        return sum(self.scores.values())


def grade(source: Path, folder: Path, seconds: float, *, roster: Roster | None = None, kept: Kept | None = None,
          leave: tuple[Path, ...] = (), tell: Callable[[Graded], None] = lambda graded: None,
          ) -> tuple[Sheet, list[Graded]]:  # fmt: skip
    """Grade every submission in a folder, at most `seconds` each, in the order of their names.

    `tell` is called with each as soon as it is graded; what `kept` knows is not graded again; files in `leave` are no
    submissions. Raises BookError for a folder without submissions.
    """
    folder, roster, results = folder.absolute(), roster or Roster(), []
    with tempfile.TemporaryDirectory(prefix="clbook-") as work:
        sheet = assign(source, Path(work))
        for submission in submissions(folder, sheet.name, leave=leave):
            results.append(_graded(sheet, submission, seconds, roster, kept or Kept()))
            tell(results[-1])
    for entry in roster.without(each.owner for each in results):
        results.append(Graded(entry.file, {}, ["nothing handed in"], owner=entry.id, name=entry.name, counts=False))
    _count(results)
    return sheet, results


def _graded(sheet: Sheet, submission: Submission, seconds: float, roster: Roster, kept: Kept) -> Graded:
    entry = roster.entry(submission)
    result = Graded(submission.place, owner=entry.id if entry else submission.student, name=entry.name if entry else "")
    result.notes += [] if entry or not roster.entries else ["not in the list of students"]
    wanted = sheet.student.metadata["otter"].get("assignment_name")
    if submission.reason or submission.sheet not in ("", wanted):
        result.notes.append(f"not graded: {submission.reason or f'this is the sheet {submission.sheet!r}'}")
        return result
    notebook = submission.notebook if submission.sheet else _as_sheet(submission.notebook, wanted)
    try:
        result.questions = kept.questions(sheet, notebook, lambda: tested(notebook, sheet.bundle, seconds))
        result.scores = {name: q.score for name, q in result.questions.items() if name in sheet.tests}
    except NotGraded as error:
        result.notes.append(f"not graded: {error}")
    result.notes += [*submission.notes, *cell_notes(sheet, notebook)]
    return result


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


def cell_notes(sheet: Sheet, notebook: bytes) -> list[str]:
    """Answers and checks of the handed-out notebook that a submission lacks or has more than once."""
    cells = [cell["source"] for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    cells = ["".join(source) for source in cells]
    asked = dict.fromkeys(name for source in _answer_cells(sheet.student) for name in defined(source))
    handed = Counter(name for cell in sheet.student.cells if cell.cell_type == "code" for name in defined(cell.source))
    given = Counter(name for source in cells for name in defined(source))
    wanted = [f'grader.check("{question}")' for question in sheet.tests]
    checks = {call: sum(source.replace("'", '"').count(call) for source in cells) for call in wanted}
    missing = [name for name in asked if given[name] < handed[name]] + [call for call in wanted if not checks[call]]
    doubled = [name for name in asked if given[name] > handed[name]] + [call for call in wanted if checks[call] > 1]
    return [f"missing: {each}" for each in missing] + [f"more than once: {each}" for each in doubled]


def _answer_cells(notebook) -> list[str]:
    tagged = [c for c in notebook.cells if "otter_answer_cell" in c.metadata.get("tags", [])]
    return code_of(tagged)


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
    """Rows of a table of students: points per question, their sum, what is to be looked at; id and name if known."""
    worth, known = totals(sheet), any(each.name for each in graded)
    rows = [["student", *(["id", "name"] if known else []), *worth, "sum", "notes"]]
    for each in graded:
        scores = [each.scores.get(question, 0) for question in worth]
        who = [each.owner if each.name else "", each.name] if known else []
        rows.append([each.student, *who, *(f"{s:g}" for s in scores), f"{sum(scores):g}", "; ".join(each.notes)])
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
