"""Grade a folder of submissions: each in a process of its own, so that one that hangs or is damaged stops no other."""

import csv
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..common.errors import BookError, cut
from ..common.subprocess_call import TookTooLong, death, run_in_process
from .exercises import Sheet, assign, code_of
from .in_sheet import defined
from .sheets import points

_SUFFIXES = (".ipynb", ".zip")


@dataclass
class Graded:
    """One submission: its points per question, and what its owner or teacher has to look at."""

    student: str
    scores: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def grade(source: Path, folder: Path, seconds: float) -> tuple[Sheet, list[Graded]]:
    """Grade every notebook or exported zip in a folder, at most `seconds` each, in the order of their names.

    Raises BookError for a folder without submissions.
    """
    folder = folder.absolute()
    found = [p for p in folder.rglob("*") if p.suffix in _SUFFIXES and ".ipynb_checkpoints" not in p.parts]
    if not found:
        raise BookError(f"{folder}: no submission in it, a notebook (.ipynb) or an exported zip for each student")
    with tempfile.TemporaryDirectory(prefix="clbook-") as work:
        sheet = assign(source, Path(work))
        return sheet, [_graded(sheet, path, path.relative_to(folder).as_posix(), seconds) for path in sorted(found)]


def _graded(sheet: Sheet, path: Path, student: str, seconds: float) -> Graded:
    result = Graded(student)
    with tempfile.TemporaryDirectory(prefix="clbook-") as out:
        command = [sys.executable, "-m", "otter", "run", str(path), "-a", str(sheet.bundle), "-o", out, "--no-logo"]
        try:
            done = run_in_process(_run, command, out, seconds=seconds)  # whose group ends with this process
            report = json.loads((Path(out) / "results.json").read_text(encoding="utf-8"))
            result.scores = {t["name"]: t["score"] for t in report["tests"] if t["name"] in sheet.tests}
            if not result.scores:
                result.notes.append("not graded: its run ended before the results were written")
        except TookTooLong:
            result.notes.append(f"not graded: ran longer than {seconds:g} s")
        except (OSError, ValueError, KeyError):
            last = (done.stderr.strip().splitlines() or [death(done.returncode)])[-1]
            result.notes.append(f"not graded: {cut(last, 100)}")
    result.notes += cell_notes(sheet, path)
    return result


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def cell_notes(sheet: Sheet, path: Path) -> list[str]:
    """Answers and checks of the handed-out notebook that a submission lacks or has more than once."""
    try:
        cells = code_of_submission(path)
    except (OSError, ValueError, TypeError, LookupError, StopIteration, zipfile.BadZipFile):
        return ["the notebook cannot be read"]
    asked = Counter(name for source in _answer_cells(sheet.student) for name in defined(source))
    given = Counter(name for source in cells for name in defined(source))
    wanted = [f'grader.check("{question}")' for question in sheet.tests]
    checks = {call: sum(source.count(call) for source in cells) for call in wanted}
    missing = [name for name in asked if not given[name]] + [call for call in wanted if not checks[call]]
    doubled = [name for name in asked if given[name] > asked[name]] + [call for call in wanted if checks[call] > 1]
    return [f"missing: {each}" for each in missing] + [f"more than once: {each}" for each in doubled]


def code_of_submission(path: Path) -> list[str]:
    """The code cells of a notebook or of the one in an exported zip."""
    data = path.read_bytes()
    if path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            data = file.read(next(name for name in file.namelist() if name.endswith(".ipynb")))
    cells = json.loads(data)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _answer_cells(notebook) -> list[str]:
    tagged = [c for c in notebook.cells if "otter_answer_cell" in c.metadata.get("tags", [])]
    return code_of(tagged)


def totals(sheet: Sheet) -> dict[str, float]:
    """The points of each question that tests grade; those by hand are left out."""
    return {question: sum(shares) for question, shares in points(sheet).items() if question in sheet.tests}


def by_question(sheet: Sheet, graded: list[Graded]) -> list[list[str]]:
    """Rows of a table of the class: question, points, mean, how many have all of them, how many none."""
    rows = [["question", "points", "mean", "all", "none"]]
    for question, worth in totals(sheet).items():
        scores = [each.scores.get(question, 0) for each in graded]
        full, none = sum(s >= worth for s in scores), sum(s == 0 for s in scores)
        rows.append([question, f"{worth:g}", f"{sum(scores) / len(scores):.1f}", str(full), str(none)])
    return rows


def by_student(sheet: Sheet, graded: list[Graded]) -> list[list[str]]:
    """Rows of a table of students: points per question, their sum, what is to be looked at."""
    worth = totals(sheet)
    rows = [["student", *worth, "sum", "notes"]]
    for each in graded:
        scores = [each.scores.get(question, 0) for question in worth]
        rows.append([each.student, *(f"{s:g}" for s in scores), f"{sum(scores):g}", "; ".join(each.notes)])
    return rows


def write_csv(rows: list[list[str]], path: Path) -> None:
    """Write a table; raises BookError where it cannot be written."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    except OSError as error:
        raise BookError(f"{path}: cannot be written ({error.strerror})") from None
