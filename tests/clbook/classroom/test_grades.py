"""A class of submissions becomes tables, pages and a file: a row for each, whatever it is, and one line as it goes."""

import csv
import os

import nbformat
import pytest
from one_line_error import one_line_error
from stand_in_exercises import answered, source_file
from typer.testing import CliRunner

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from clbook.classroom import grades, submission_process  # noqa: E402
from clbook.classroom.exercises import assign
from clbook.classroom.feedback import open_folder, write_feedback
from clbook.classroom.grades import by_question, by_student, grade, write_csv
from clbook.classroom.roster import Roster
from clbook.classroom.submission_process import Case, NotGraded, Question
from clbook.cli import app
from clbook.common.errors import BookError

RIGHT, HALF = "def double(x):\n    return 2 * x", "def double(x):\n    return abs(2 * x)"
FULL = Question(6.0, (Case(False, True), Case(True, True)))
SOME = Question(2.0, (Case(False, True), Case(True, False, ("also below 0", "other <numbers>"))))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return source_file(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def sheet(source, tmp_path_factory):
    return assign(source, tmp_path_factory.mktemp("work"))


@pytest.fixture
def runs(monkeypatch):
    """The notebooks that are run; the tests' results follow from what is in them."""
    seen = []

    def run(notebook, bundle, seconds):
        seen.append(notebook)
        if b"dies" in notebook:
            raise NotGraded("died (signal 9)")
        if b"while" in notebook:
            return {"w1_double": Question(2.0, (Case(True, False, ("no end after 1 s: why?",)),))}
        return {"w1_double": SOME if b"abs" in notebook else FULL}

    monkeypatch.setattr(grades, "tested", run)
    return seen


@pytest.fixture
def put(sheet, tmp_path):
    """A function that puts an answer into a file of the class, which it returns the folder of."""

    def put(name, code, change=lambda notebook: None):
        path = tmp_path / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        notebook = answered(sheet, code)[0]
        change(notebook)
        nbformat.write(notebook, path)
        return tmp_path / "class"

    return put


def test_each_has_a_row_whatever_the_others_are(source, put, runs, tmp_path):
    put("ada.ipynb", RIGHT)
    put("bob.ipynb", f"{RIGHT}  # dies")
    put("cyd.ipynb", RIGHT, lambda n: n.metadata["otter"].update(assignment_name="products"))
    put("dee.ipynb", RIGHT, lambda n: n.metadata.clear())
    put("fay.ipynb", RIGHT, lambda n: n.metadata["clbook"].update(seed=7))
    folder = put("=1+1.ipynb", HALF)
    (folder / "eve.ipynb").write_bytes(b"")
    told = []
    sheet, graded = grade(source, folder, 9.0, tell=told.append)
    assert told == graded and len(runs) == 4
    assert {each.student: (each.total, each.notes) for each in graded} == {
        "=1+1.ipynb": (2, []),
        "ada.ipynb": (6, []),
        "bob.ipynb": (0, ["not graded: died (signal 9)"]),
        "cyd.ipynb": (0, ["not graded: this is the sheet 'products'"]),
        "dee.ipynb": (6, []),
        "eve.ipynb": (0, ["not graded: an empty file"]),
        "fay.ipynb": (0, ["not graded: its numbers are those of seed 7, this is seed 0"]),
    }
    assert by_question(sheet, graded)[1] == ["w1_double", "6", "2.0", "2", "4"]
    write_csv(by_student(sheet, graded), tmp_path / "grades.csv")
    assert (
        (tmp_path / "grades.csv")
        .read_bytes()
        .startswith(b"\xef\xbb\xbfstudent,w1_double,sheet,projects,p1_report,sum,notes\r\n'=1+1.ipynb,2,2,0,,2,")
    )


def test_a_table_is_text_for_a_spreadsheet(tmp_path):
    rows = [["Zoë", "-1", "+1", "@x", "\t=1", "a=b", '"', "\ud800"]]
    write_csv(rows, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        assert next(csv.reader(file)) == ["Zoë", "'-1", "'+1", "'@x", "'\t=1", "a=b", '"', r"\ud800"]
    with one_line_error(BookError, "cannot be written"):
        write_csv(rows, tmp_path / "nowhere" / "a.csv")


def test_of_two_files_of_one_student_that_with_most_points_counts(source, put, runs):
    put("ada.ipynb", HALF)
    put("ada (1).ipynb", RIGHT)
    put("bob/sums-exercises.ipynb", RIGHT)
    sheet, graded = grade(source, put("bob/sums-exercises (1).ipynb", RIGHT), 9.0)
    assert {each.student: (each.counts, each.notes) for each in graded} == {
        "ada (1).ipynb": (True, []),
        "ada.ipynb": (False, ["does not count: ada (1).ipynb of the same student does"]),
        "bob/sums-exercises (1).ipynb": (True, []),
        "bob/sums-exercises.ipynb": (False, ["does not count: bob/sums-exercises (1).ipynb of the same student does"]),
    }
    assert by_question(sheet, graded)[1] == ["w1_double", "6", "6.0", "2", "0"]


def students(tmp_path, text):
    (tmp_path / "students.csv").write_text(text, encoding="utf-8-sig")
    return Roster.read(tmp_path / "students.csv")


def test_a_list_of_students_names_rows_and_those_who_are_missing(source, put, runs, tmp_path):
    roster = students(tmp_path, "File;ID;Name\nAda;47;Ada L.\nbob;48;\nhal;49;Hal\n")
    put("ada.ipynb", RIGHT)
    put("bob/draft.ipynb", RIGHT)
    put("bob/final.ipynb", HALF)
    put("x_bob_12345.ipynb", HALF)
    sheet, graded = grade(source, put("eve.ipynb", RIGHT), 9.0, roster=roster)
    rows = by_student(sheet, graded)
    assert rows[0] == ["student", "id", "name", "w1_double", "sheet", "projects", "p1_report", "sum", "notes"]
    note = "does not count: bob/draft.ipynb of the same student does"
    assert rows[1:] == [
        ["ada.ipynb", "47", "Ada L.", "6", "6", "0", "", "6", ""],
        ["bob/draft.ipynb", "48", "48", "6", "6", "0", "", "6", ""],
        ["bob/final.ipynb", "48", "48", "2", "2", "0", "", "2", note],
        ["eve.ipynb", "", "", "6", "6", "0", "", "6", "not in the list of students"],
        ["x_bob_12345.ipynb", "48", "48", "2", "2", "0", "", "2", note],
        ["hal", "49", "Hal", "0", "0", "0", "", "0", "nothing handed in"],
    ]
    assert by_question(sheet, graded)[1][2] == "6.0"


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "must have the columns file and id"),
        ("file,name\na,b\n", "must have the columns file and id"),
        ("file,id\na,\n", "line 2: needs a file of its own and an id"),
        ("file,id\na,1\nA,2\n", "line 3: needs a file of its own and an id"),
    ],
)
def test_a_damaged_list_of_students_is_refused(tmp_path, text, said):
    with one_line_error(BookError, said):
        students(tmp_path, text)


def test_what_is_kept_is_not_run_again(source, put, runs, tmp_path):
    """Nor by a line that was cut; other code is run, and so is what could not be graded or was stopped."""
    put("ada.ipynb", RIGHT)
    put("eve.ipynb", f"{RIGHT}  # while")
    folder = put("bob.ipynb", f"{RIGHT}  # dies")
    back = tmp_path / "back"
    first = grade(source, folder, 9.0, kept=open_folder(back))[1]
    with (back / "results.jsonl").open("a") as file:
        file.write('[]\n{"of": "x", "questions": {"w1_d')
    again = grade(source, folder, 9.0, kept=open_folder(back))[1]
    assert first == again and [b"dies" in n or b"while" in n for n in runs] == [False, True, True, True, True]
    grade(source, put("ada.ipynb", HALF), 9.0, kept=open_folder(back))
    assert b"abs" in runs[5]


def test_a_page_for_each_student_has_points_and_hidden_hints(source, put, runs, tmp_path):
    put("ada.ipynb", HALF)
    put("ada (1).ipynb", f"{RIGHT}  # dies")
    put("a/b.ipynb", RIGHT)
    put("<i>.ipynb", RIGHT)
    roster = students(tmp_path, "file,id,name\nada.ipynb,47,Ada & L.\nhal,49,Hal\n")
    pages = write_feedback(*grade(source, put("a-b.ipynb", RIGHT), 9.0, roster=roster), tmp_path)
    assert [path.name for path in pages] == ["i.html", "a-b.html", "a-b-2.html", "ada-1.html", "47.html"]
    text = {path.name: path.read_text(encoding="utf-8") for path in pages}
    assert "Ada &amp; L., ada.ipynb: <strong>2 of 6 points</strong>" in text["47.html"]
    assert 'also below 0<br>other &lt;numbers&gt; <span class="kind">(hidden test)</span>' in text["47.html"]
    assert "<li>not graded: died (signal 9)</li>" in text["ada-1.html"] and "&lt;i&gt;.ipynb" in text["i.html"]


def test_a_folder_of_feedback_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "a").write_text("")
    with one_line_error(BookError, "cannot be made or read"):
        open_folder(tmp_path / "a")


@pytest.mark.parametrize("error", [OSError("no room"), EOFError("died (signal 9)"), MemoryError(), ValueError("x\ny")])
def test_a_process_that_fails_is_a_reason(monkeypatch, tmp_path, error):
    def run(*args, **options):
        raise error

    monkeypatch.setattr(submission_process, "run_in_process", run)
    with one_line_error(NotGraded, type(error).__name__):
        submission_process.tested(b"{}", tmp_path, 9.0)


def test_the_command_prints_tables_and_writes_what_is_asked_for(source, put, runs, tmp_path, monkeypatch):
    """A name is no markup and may have any bytes; what the command writes into the folder is no submission later."""
    monkeypatch.setenv("CLBOOK_ROOT", str(source.parents[2]))
    put("[red]ada.ipynb", RIGHT)
    put("[/b].ipynb", HALF)
    folder = put(os.fsdecode(b"Zo\xeb.ipynb"), HALF)
    command = ["grade", "sums", str(folder), "--out", str(folder / "grades.csv"), "--feedback", str(folder / "back")]
    for _ in range(2):
        done = CliRunner().invoke(app, command, env={"COLUMNS": "120"})
        assert done.exit_code == 0, done.output
        for row in ("w1_double 6 3.3 1 0", "[red]ada.ipynb 6", "[/b].ipynb 2", r"Zo\xeb.ipynb 2"):
            assert row in " ".join(done.stdout.split())
        assert "[red]ada.ipynb: 6 points" in done.stderr.splitlines()
    rows = (folder / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows[0] == "student,w1_double,sheet,projects,p1_report,sum,notes" and len(rows) == 4
    assert sorted(path.name for path in (folder / "back").iterdir()) == [
        "Zo-xeb.html",
        "b.html",
        "red-ada.html",
        "results.jsonl",
    ]
    assert len(runs) == 2  # of equal code once


def test_the_command_refuses_a_list_or_a_folder_before_it_grades(source, put, runs, tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(source.parents[2]))
    folder = put("ada.ipynb", RIGHT)
    for options in (["--students", str(tmp_path / "nowhere.csv")], ["--feedback", str(folder / "ada.ipynb")]):
        done = CliRunner().invoke(app, ["grade", "sums", str(folder), *options])
        assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1 and runs == []


def test_a_kernel_may_start_as_late_as_the_submission_may_run(monkeypatch):
    """In otter's own way of asking for it, which of itself waits for a minute."""
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    from traitlets.config import Config

    monkeypatch.setattr(preprocessors, "ExecutePreprocessor", preprocessors.ExecutePreprocessor)
    assert preprocessors.ExecutePreprocessor().startup_timeout == 60
    submission_process._await_start(240.0)
    made = preprocessors.ExecutePreprocessor(config=Config({"ExecutePreprocessor": {"allow_errors": True}}))
    assert made.startup_timeout == 240 and made.allow_errors
