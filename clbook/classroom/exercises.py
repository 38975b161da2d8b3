"""The exercises of a class: one source per chapter, of which otter-grader makes notebooks and an autograder bundle.

A source, chapters/NAME/exercises.py, is a master notebook of `otter assign` in the percent format: raw cells begin and
end questions, solutions and tests. In addition a cell with the tag "mistake" holds a plausible wrong answer to its
question under a comment that names it; otter never sees these cells.
"""

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..common.errors import BookError
from ..common.formats import place_of, text_of
from ..common.sources import ChapterFiles
from .borders import MARK as BORDER
from .borders import border_tests, fill_solutions
from .first_cell import open_by_itself, run_through
from .predictions import MARK, asked, follow_truth, prediction_tests
from .seeds import with_numbers

MISTAKE = "mistake"
_NOT_COMPUTED = ("grader = ", "grader.", "plt.show()")
_CONFIG = "# BEGIN TEST CONFIG\n"
_QUESTION = re.compile(r"# BEGIN QUESTION\nname: (\w+)")
_BY_HAND = re.compile(r"# BEGIN QUESTION\nname: (\w+)\nmanual: true\npoints: (\d+)")
_HIDDEN = re.compile(r"^hidden: true$", re.MULTILINE)


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: the question it answers, its name, its code."""

    question: str
    title: str
    code: str


@dataclass(frozen=True)
class Sheet:
    """What otter made of a source: notebooks of teacher and student, the bundle, and each question's tests."""

    name: str
    solved: object
    student: object
    bundle: Path
    mistakes: tuple[Mistake, ...]
    tests: dict[str, str]  # of each question that tests grade, hidden ones included, as source text
    manual: dict[str, float]  # points of questions that are graded by hand


def exercise_sources(root: Path) -> list[Path]:
    """The sources of a book, sorted by name; raises BookError if there are none."""
    found = sorted((root / "chapters").glob("*/exercises.py"))
    if not found:
        raise BookError(f"{root / 'chapters'}: no exercises, a file NAME/exercises.py for each chapter")
    return found


def exercise_source(root: Path, chapter: str) -> Path:
    """The source of one chapter; raises BookError if it has none."""
    path, known = ChapterFiles(root, chapter).exercises, exercise_sources(root)
    if path not in known:
        raise BookError(f"no exercises for '{chapter}', got {', '.join(p.parent.name for p in known)}")
    return path


def read_source(path: Path, seed: int = 0) -> tuple[object, tuple[Mistake, ...], dict[str, dict[str, str]]]:
    """The master notebook for `otter assign`, the mistakes, which are taken out of it, and what is predicted.

    `seed` turns the numbers that the source names; 0 gives those of the book.
    """
    import jupytext

    notebook = jupytext.reads(with_numbers(text_of(path), seed, place_of(path)), fmt="py:percent")
    cells, mistakes, question = [], [], ""
    for cell in notebook.cells:
        if match := _QUESTION.match(cell.source):
            question = match[1]
        if MISTAKE in cell.metadata.get("tags", []):
            title, _, code = cell.source.partition("\n")
            mistakes.append(Mistake(question, title.removeprefix("# "), code.strip("\n")))
        else:
            cells.append(cell)
    notebook.cells, predictions = cells, asked(cells)
    if any(cell.source.startswith((MARK, BORDER)) for cell in cells):
        solved = run_code(notebook)
        fill_solutions(cells, solved)
        if seed:
            follow_truth(cells, solved)
        notebook.cells = cells = [each for cell in cells for each in _with_tests(cell, solved)]
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for tests in _groups(cells, "TESTS"):
        _announce_hidden(tests)
    return notebook, tuple(mistakes), predictions


def _with_tests(cell, solved: dict) -> list:
    """The cell, or the tests that stand for it if it is a prediction or a border."""
    from nbformat.v4 import new_code_cell

    for mark, tests in ((MARK, prediction_tests), (BORDER, border_tests)):
        if cell.source.startswith(mark):
            return [*map(new_code_cell, tests(cell.source, solved))]
    return [cell]


def _groups(cells: list, kind: str) -> Iterator[list]:
    """The cells between each pair `# BEGIN KIND` and `# END KIND`."""
    group = None
    for cell in cells:
        if cell.source.startswith(f"# BEGIN {kind}"):
            group = []
        elif cell.source.startswith(f"# END {kind}") and group is not None:
            yield group
            group = None
        elif group is not None:
            group.append(cell)


def _announce_hidden(tests: list) -> None:
    """Let the last visible test of a question say how many hidden ones remain."""
    visible = [cell for cell in tests if not _HIDDEN.search(cell.source)]
    count = len(tests) - len(visible)
    if visible:
        remain = (
            "no hidden one remains" if not count else f"{count} hidden {'one remains' if count == 1 else 'ones remain'}"
        )
        told = f"{_CONFIG}success_message: visible checks passed, {remain}\n"
        visible[-1].source = visible[-1].source.replace(_CONFIG, told, 1)


def assign(path: Path, folder: Path, seed: int = 0) -> Sheet:
    """Let `otter assign` make notebooks and bundle of a source, with the numbers of a seed, in an empty folder.

    Raises BookError if otter refuses the source or is not installed.
    """
    import nbformat

    try:
        from otter.assign import main as otter_assign
    except ModuleNotFoundError:
        raise BookError("otter-grader is not installed; `make student` installs it") from None

    notebook, mistakes, predictions = read_source(path, seed)
    master = folder / f"{path.parent.name}-exercises.ipynb"
    nbformat.write(notebook, master)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            otter_assign(str(master), str(folder / "made"), no_run_tests=True, no_pdfs=True)
    except Exception as error:  # of whatever kind its parsers raise
        raise BookError(f"{place_of(path)}: otter assign refuses it: {error}") from None
    made = {kind: folder / "made" / kind for kind in ("autograder", "student")}
    solved, student = (nbformat.read(made[kind] / master.name, as_version=4) for kind in made)
    for each in (solved, student):
        open_by_itself(each, path.parent.name, predictions, seed)
    run_through(student)
    (bundle,) = made["autograder"].glob("*.zip")
    by_hand = {m[1]: float(m[2]) for cell in notebook.cells if (m := _BY_HAND.match(cell.source))}
    texts = solved.metadata["otter"]["tests"]  # sorted by name
    tests = {m[1]: texts[m[1]] for cell in notebook.cells if (m := _QUESTION.match(cell.source)) and m[1] in texts}
    return Sheet(path.parent.name, solved, student, bundle, mistakes, tests, by_hand)


def code_of(cells: list) -> list[str]:
    """The code cells that compute, without those that call the grader or draw."""
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    return [source for source in sources if not any(call in source for call in _NOT_COMPUTED)]


def run_code(notebook) -> dict:
    """The names that a notebook's code cells define, run here; a cell that fails is passed over, as in grading."""
    names: dict = {"__name__": "__main__"}
    for source in code_of(notebook.cells):
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            exec(compile(source, "<exercise>", "exec"), names)
    return names


def check(sheet: Sheet, question: str, names: dict):
    """Otter's result of all tests of a question, hidden ones included, for answers in `names`."""
    from otter.test_files import ExceptionTestFile

    result = ExceptionTestFile.from_string(sheet.tests[question], question)
    with warnings.catch_warnings(action="ignore"):
        result.run(names)
    return result


def check_mistake(sheet: Sheet, mistake: Mistake, names: dict):
    """The result of a wrong answer in place of the right one."""
    wrong = dict(names)
    exec(compile(mistake.code, "<mistake>", "exec"), wrong)
    return check(sheet, mistake.question, wrong)


def hints(result, hidden: bool) -> list[str]:
    """What the failed visible or hidden tests of a result tell: the assertion's message, then the test's own hint."""
    told = []
    for each in result.test_case_results:
        if not each.passed and each.test_case.hidden is hidden:
            told.append(each.message.rpartition("\n")[2].removeprefix("AssertionError: "))
            told.append(each.test_case.failure_message or "")
    return [hint for hint in dict.fromkeys(told) if hint]
