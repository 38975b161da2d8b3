"""What a class is given: the student's notebooks with the autograder bundles, and the instructor's edition."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..commands.jupyter_kernel import disk_errors
from ..commands.output_place import check_output, output_folder
from ..common.formats import place_of
from .exercises import Sheet, assign, check_mistake, exercise_sources, hints, run_code
from .solutions import (
    ANSWERS,
    BOARD,
    CHAPTERS,
    EXAMS,
    chapter_solutions,
    exam_sheet,
    exam_to_print,
    executed,
    read_solutions,
    solution_sources,
)

_SECONDS = 600  # for one cell of a solution


def write_student(root: Path, out: Path, seed: int = 0) -> list[Path]:
    """Write notebooks/NAME-exercises.ipynb, to hand out, and autograder/NAME.zip, to keep, into a new folder.

    `seed` turns the numbers of the sheets. Returns the files. Raises BookError for a folder that is not empty or a
    source that otter refuses.
    """
    import nbformat

    out = check_output(out.absolute())
    written = []
    with disk_errors(out), output_folder(out) as folder:
        for kind in ("notebooks", "autograder"):
            (folder / kind).mkdir()
        for source in exercise_sources(root):
            with tempfile.TemporaryDirectory(prefix="clbook-") as work:
                sheet = assign(source, Path(work), seed)
                nbformat.write(sheet.student, folder / "notebooks" / f"{sheet.name}-exercises.ipynb")
                shutil.copy(sheet.bundle, folder / "autograder" / f"{sheet.name}.zip")
            written += [out / "notebooks" / f"{sheet.name}-exercises.ipynb", out / "autograder" / f"{sheet.name}.zip"]
    return written


def write_solutions(root: Path, out: Path, seed: int = 0) -> list[Path]:
    """Write the instructor's edition: sheets, the exercises of the chapters, exams; all solved and with outputs.

    NAME-solutions.ipynb is the sheet with rubric and common mistakes, NAME-chapter-solutions.ipynb what the chapter
    asks at its end; EXAM.ipynb and EXAM.html, to print, are for students, EXAM-solutions.ipynb is for the teacher;
    board-text.ipynb has what a plan derives at the board, answers.md the answers to votes and exit tickets. Returns
    the files. Raises BookError as `write_student`, and for a solution that does not run.
    """
    import nbformat

    out = check_output(out.absolute())
    with disk_errors(out), output_folder(out) as folder:
        for source in exercise_sources(root):
            with tempfile.TemporaryDirectory(prefix="clbook-") as work:
                sheet = assign(source, Path(work), seed)
                nbformat.write(solutions_notebook(sheet, Path(work)), folder / f"{sheet.name}-solutions.ipynb")
        for name, notebook in _solved_elsewhere(root, seed):
            nbformat.write(notebook, folder / f"{name}.ipynb")
        for source in solution_sources(root, EXAMS):
            page = exam_to_print(exam_sheet(read_solutions(source, seed)), source.name)
            (folder / f"{source.stem}.html").write_text(page, encoding="utf-8")
        for source in solution_sources(root, ANSWERS):
            shutil.copy(source, folder)
        names = sorted(path.name for path in folder.glob("[!.]*"))  # without the lock
    return [out / name for name in names]


def _solved_elsewhere(root: Path, seed: int) -> Iterator[tuple[str, object]]:
    """Name and notebook of what no sheet holds: the chapters' exercises, and the exams with and without solutions."""
    for source in solution_sources(root, CHAPTERS):
        yield f"{source.parent.name}-chapter-solutions", _executed(chapter_solutions(root, source), place_of(source))
    for source in solution_sources(root, EXAMS):
        yield source.stem, exam_sheet(read_solutions(source, seed))
        yield f"{source.stem}-solutions", _executed(read_solutions(source, seed), source.name)
    for source in solution_sources(root, BOARD):
        yield source.stem, _executed(read_solutions(source), source.name)


def _executed(notebook, name: str):
    with tempfile.TemporaryDirectory(prefix="clbook-") as work:
        return executed(notebook, name, Path(work), _SECONDS)


def solutions_notebook(sheet: Sheet, work: Path):
    """The solved notebook, run in `work`: a rubric first, and each question's common mistakes after its check."""
    import nbformat

    solved = sheet.solved
    solved.cells = [
        c for c in solved.cells if "grader.export(" not in c.source and not c.source.startswith("## Submission")
    ]
    nbformat.write(solved, work / f"{sheet.name}-exercises.ipynb")
    executed(solved, sheet.name, work, _SECONDS)
    names, cells = run_code(solved), []
    for cell in solved.cells:
        cells.append(cell)
        if cell.source.startswith('grader.check("'):
            cells += _mistakes(sheet, cell.source.split('"')[1], names)
    solved.cells = [*cells[:2], nbformat.v4.new_markdown_cell(rubric(sheet)), *cells[2:]]
    return solved


def _mistakes(sheet: Sheet, question: str, names: dict) -> list:
    from nbformat.v4 import new_markdown_cell

    told = []
    for mistake in (each for each in sheet.mistakes if each.question == question):
        result = check_mistake(sheet, mistake, names)
        lines = [
            f"*{mistake.title}* ({result.score:g} of {result.possible:g} points)",
            f"```python\n{mistake.code}\n```",
        ]
        for when, hidden in (("The check says", False), ("Grading says", True)):
            if said := hints(result, hidden):
                lines.append("\n".join([f"{when}:\n", *(f"- {hint}" for hint in said)]))
        told.append("\n\n".join(lines))
    return [new_markdown_cell("\n\n".join(["**Common mistakes**", *told]))] if told else []


def points(sheet: Sheet) -> dict[str, tuple[float, float, float]]:
    """Points of each question by visible tests, by hidden tests and by hand."""
    from otter.test_files import ExceptionTestFile

    found = {}
    for question, text in sheet.tests.items():
        cases = ExceptionTestFile.from_string(text, question).test_cases
        shares = [sum(case.points for case in cases if case.hidden is hidden) for hidden in (False, True)]
        found[question] = (*shares, 0)
    return found | {question: (0, 0, worth) for question, worth in sheet.manual.items()}


def rubric(sheet: Sheet) -> str:
    """The table of points, by question."""
    worth = points(sheet)
    rows = [f"| `{q}` | {a:g} | {b:g} | {c:g} | {a + b + c:g} |" for q, (a, b, c) in worth.items()]
    total = sum(map(sum, worth.values()))
    head = "## Rubric\n\n| question | visible tests | hidden tests | by hand | points |\n|---|---|---|---|---|\n"
    return f"{head}" + "\n".join(rows) + f"\n| **sum** | | | | **{total:g}** |"
