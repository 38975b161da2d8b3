"""A class day: the sheets are written, a notebook is graded by its bundle, a batch by `clbook grade`."""

import copy
import csv
import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from checkout import ROOT, files, import_path
from stand_in_exercises import SOURCE, answered

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from otter.api import grade_submission  # noqa: E402

from clbook.classroom.exercises import assign, exercise_sources
from clbook.classroom.grades import by_question, by_student, grade, write_csv
from clbook.classroom.sheets import write_solutions, write_student
from clbook.classroom.solutions import executed
from clbook.common.errors import BookError  # noqa: E402


def filled(sheet, keep):
    """The student's notebook with the solution in its answer cells, from those whose number `keep` accepts."""
    notebook = copy.deepcopy(sheet.student)
    ours, theirs = ([c for c in n.cells if c.cell_type == "code"] for n in (sheet.solved, notebook))
    answers = [
        pair for pair in zip(ours, theirs, strict=True) if "otter_answer_cell" in pair[1].metadata.get("tags", [])
    ]
    for number, (solved, cell) in enumerate(answers):
        if keep(number):
            cell.source = solved.source
    return notebook


@pytest.mark.parametrize("source", exercise_sources(ROOT), ids=lambda path: path.parent.name)
def test_the_bundle_grades_a_right_a_half_right_and_an_empty_notebook(source, tmp_path):
    sheet, scores = assign(source, tmp_path), {}
    for name, keep in (("right", lambda k: True), ("half", lambda k: k % 2 == 0), ("empty", lambda k: False)):
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(filled(sheet, keep), path)
        result = grade_submission(str(path), str(sheet.bundle), quiet=True)
        assert set(result.results) == set(sheet.tests)
        scores[name] = result.total
    assert scores["right"] == 76 and scores["empty"] == 0 and 20 < scores["half"] < 60, scores


@pytest.mark.parametrize("source", exercise_sources(ROOT), ids=lambda path: path.parent.name)
@pytest.mark.parametrize("state", ["untouched", "half done"])
def test_run_all_goes_through_a_sheet_in_any_state(source, state, tmp_path):
    """As JupyterLab does, where a cell that fails ends it unless it is tagged: open answers get a line or two."""
    (tmp_path / "work").mkdir()
    sheet = assign(source, tmp_path / "work")
    notebook = filled(sheet, lambda k: state == "half done" and k % 2 == 0)
    nbformat.write(notebook, tmp_path / "my sheet (1).ipynb")
    done = executed(notebook, sheet.name, tmp_path, 300)
    texts = {c.source: "".join(o.get("text", "") for o in c.outputs) for c in done.cells if c.cell_type == "code"}
    checks = [text for code, text in texts.items() if code.startswith("grader.check(")]
    told = [text for text in checks if text.startswith(("`", "Predict first: ")) and text.count("\n") <= 2]
    assert len(told) == len(checks) if state == "untouched" else 0 < len(told) < len(checks)
    assert "passed" in str(done.cells) or state == "untouched"
    assert all(text.count("\n") <= 1 for code, text in texts.items() if "plt.show()" in code)


def on_a_platform(folder, bundle, notebook):
    """What a course platform shows of a submission: the bundle's own entry point in the folders that it expects.

    `folder` stands for /autograder, and a command that does nothing for the conda that the bundle's setup.sh installs.
    """
    for name in ("source", "submission", "results", "bin"):
        (folder / name).mkdir(parents=True)
    shutil.unpack_archive(bundle, folder / "source")
    nbformat.write(notebook, folder / "submission" / "ada.ipynb")
    (folder / "submission_metadata.json").write_text("{}")
    for path in (folder / "source" / "run_autograder", folder / "source" / "run_otter.py"):
        assert "/autograder" in path.read_text()
        path.write_text(path.read_text().replace("/autograder", str(folder)))
    for name, does in (("mamba", "true"), ("python", f'exec "{sys.executable}" "$@"')):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / "bin" / name).chmod(0o755)
    variables = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "JUPYTER_PREFER_ENV_PATH": "1"}
    command = ["bash", str(folder / "source" / "run_autograder")]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "results" / "results.json").read_text())["tests"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_a_course_platform_runs_the_bundle(tmp_path):
    """By its own entry point on a right, a half-right and an empty notebook; points wait until grades are published."""
    (tmp_path / "made").mkdir()
    sheet, totals = assign(ROOT / "chapters" / "nonlinearity" / "exercises.py", tmp_path / "made"), {}
    for name, keep in (("right", lambda k: True), ("half", lambda k: k % 2 == 0), ("empty", lambda k: False)):
        public, *graded = on_a_platform(tmp_path / name, sheet.bundle, filled(sheet, keep))
        assert public["name"] == "Public Tests" and public["visibility"] == "visible" and "score" not in public
        assert public["status"] == ("passed" if name == "right" else "failed")
        assert {each["name"] for each in graded} == set(sheet.tests)
        assert {each["visibility"] for each in graded} == {"after_published"}
        assert sum(each["max_score"] for each in graded) == 76
        totals[name] = sum(each["score"] for each in graded)
    assert totals["right"] == 76 and totals["empty"] == 0 and 20 < totals["half"] < 60, totals


def test_the_folders_of_a_class(tmp_path):
    """Nothing that is handed out has a solution or a hidden test; what the teacher keeps has both, and figures."""
    names = [source.parent.name for source in exercise_sources(ROOT)]
    write_student(ROOT, tmp_path / "student")
    handed = [path.read_text() for path in sorted((tmp_path / "student" / "notebooks").iterdir())]
    assert len(handed) == len(names) and not any("SOLUTION" in t or "hidden=True" in t for t in handed)
    assert [path.stem for path in sorted((tmp_path / "student" / "autograder").iterdir())] == names
    with pytest.raises(BookError, match="student: not empty; give a folder that is empty or does not exist yet"):
        write_student(ROOT, tmp_path / "student")
    paths = write_solutions(ROOT, tmp_path / "solutions")
    written = {path.stem: nbformat.read(path, as_version=4) for path in paths if path.suffix == ".ipynb"}
    kinds = [f"{name}-{kind}" for name in names for kind in ("solutions", "chapter-solutions")]
    exams = [path.stem for path in (ROOT / "course" / "exams").iterdir()]
    assert written.keys() == {*kinds, "board-text", *exams, *(f"{exam}-solutions" for exam in exams)}
    assert {path.name for path in paths} - {f"{name}.ipynb" for name in written} == {
        "answers.md",
        *(f"{exam}.html" for exam in exams),
    }
    for name, notebook in written.items():
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert not [output for output in outputs if output.output_type == "error"], name
        if name.removesuffix("-solutions") in names:
            assert sum("image/png" in output.get("data", {}) for output in outputs) == 3, name
            assert sum(cell.source.startswith("**Common mistakes**") for cell in notebook.cells) >= 12, name


def transcript(clone, command, *words):
    """A command in the clone as a reader of the page would type it, and what it prints."""
    variables = os.environ | {"PYTHONPATH": import_path(clone), "CLBOOK_ROOT": str(clone), "COLUMNS": "100"}
    done = subprocess.run([*command, *words], cwd=clone, env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return f"$ {command[-1]} {' '.join(words)}\n{done.stdout}"


def upto(notebook, question, code):
    """The cells as far as the check of a question, with this code as the answer to it."""
    at = next(n for n, c in enumerate(notebook.cells) if c.source.startswith(f'grader.check("{question}")'))
    shown = copy.deepcopy(notebook)
    shown.cells = shown.cells[: at + 1]
    answers = [c for c in shown.cells if "otter_answer_cell" in c.metadata.get("tags", [])]
    answers[-1].source = code
    return shown


def checked(folder, notebook):
    """What the last cell of a notebook shows after it was run beside the sheets, as text."""
    outputs = executed(notebook, "sheet", folder, 300).cells[-1].outputs
    shown = [o.get("data", {}).get("text/plain", o.get("text", "")) for o in outputs]
    return f"> {notebook.cells[-1].source}\n{''.join(shown)}\n"


def test_a_class_day_from_a_clone(tmp_path):
    """What git has, one command, a sheet opened, a wrong answer with its hint, the right one, the table of the class.

    `pytest -s` shows the transcript.
    """
    clone, clbook = tmp_path / "clone", [sys.executable, "-m", "clbook"]
    for path in files():
        (clone / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, clone / path.relative_to(ROOT))
    said = transcript(clone, clbook, "student", "class")
    sheets = clone / "class" / "notebooks"
    handed = nbformat.read(sheets / "nonlinearity-exercises.ipynb", as_version=4)
    sheet = assign(clone / "chapters" / "nonlinearity" / "exercises.py", tmp_path)
    right = next(c.source for c in sheet.solved.cells if c.source.startswith("def hills("))
    (wrong,) = (m.code for m in sheet.mistakes if m.title == "Half of the circle.")
    said += (no := checked(sheets, upto(handed, "w1_hills", wrong)))
    said += (yes := checked(sheets, upto(handed, "w1_hills", right)))
    assert "Test case failed" in no and "the whole circle: w and −w both count" in no
    assert "visible checks passed, 1 hidden one remains" in yes and "failed" not in yes
    (clone / "submissions").mkdir()
    nbformat.write(filled(sheet, lambda k: True), clone / "submissions" / "ada.ipynb")
    said += transcript(clone, clbook, "grade", "nonlinearity", "submissions", "--out", "grades.csv")
    print(said)
    _, ada = csv.reader((clone / "grades.csv").read_text(encoding="utf-8-sig").splitlines())
    assert "w1_hills" in said and ada[0] == "ada.ipynb" and ada[-2] == "76"
    assert "predictions without a time" in ada[-1] and "to the book's solution" in ada[-1]


def test_a_batch_is_graded_whatever_is_in_it(tmp_path):
    """Right, half right and empty ones; a doubled answer; a damaged file, one that dies."""
    source, work = tmp_path / "sums.py", tmp_path / "work"
    source.write_text(SOURCE)
    work.mkdir()
    sheet = assign(source, work)
    folder = tmp_path / "class"
    folder.mkdir()
    right = "def double(x):\n    return 2 * x"
    batch = {"ada": right, "bob": "def double(x):\n    return abs(2 * x)", "eve": "import os\nos._exit(1)"}
    for name, code in batch.items():
        nbformat.write(answered(sheet, code)[0], folder / f"{name}.ipynb")
    nbformat.write(sheet.student, folder / "cyd.ipynb")
    doubled, at = answered(sheet, right)
    doubled.cells.insert(at, nbformat.v4.new_code_cell(right))
    nbformat.write(doubled, folder / "dee.ipynb")
    (folder / "gus.ipynb").write_text(json.dumps({"cells": 3}))
    graded = {each.student: each for each in grade(source, folder, seconds=600.0)[1]}
    scores = {name.removesuffix(".ipynb"): each.scores.get("w1_double") for name, each in graded.items()}
    assert scores == {"ada": 6, "bob": 2, "cyd": 0, "dee": 6, "eve": None, "gus": None}
    notes = {name.removesuffix(".ipynb"): "; ".join(each.notes) for name, each in graded.items()}
    assert notes["ada"] == notes["bob"] == notes["cyd"] == ""
    assert notes["dee"] == "more than once: double" and "missing: double" in notes["eve"]
    assert "not graded" in notes["eve"] and "not graded" in notes["gus"]
    assert "the notebook cannot be read" in notes["gus"]
    rows = by_student(sheet, list(graded.values()))
    assert rows[:3] == [
        ["student", "w1_double", "sheet", "projects", "p1_report", "sum", "notes"],
        ["ada.ipynb", "6", "6", "0", "", "6", ""],
        ["bob.ipynb", "2", "2", "0", "", "2", ""],
    ]
    assert by_question(sheet, list(graded.values()))[1] == ["w1_double", "6", "2.3", "2", "3"]
    write_csv(rows, tmp_path / "grades.csv")
    assert (tmp_path / "grades.csv").read_text().splitlines()[1] == "ada.ipynb,6,6,0,,6,"
    with pytest.raises(BookError, match="cannot be written"):
        write_csv(rows, tmp_path / "nowhere" / "grades.csv")
