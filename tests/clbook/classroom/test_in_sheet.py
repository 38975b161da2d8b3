"""A sheet runs through untouched, finds its file by any name, ends what is endless and exports what was run."""

import json
import signal
import time
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from stand_in_exercises import PREDICTED, SOURCE, answered, source_file

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from otter.test_files import ExceptionTestFile  # noqa: E402
from otter.test_files.exception_test import test_case

from clbook.classroom.exercises import assign
from clbook.classroom.in_sheet import Grader, Sentence, answer, defined, limit_cases
from clbook.classroom.solutions import executed

RIGHT = "def double(x):\n    return 2 * x"
FIGURE = """# %%
import matplotlib.pyplot as plt
plt.figure()
plt.plot([1, 2], [double(1)[0], 2])
plt.show()

"""
STUBBORN = """
def double(x):
    while x < 0:
        try:
            1 / 0
        except Exception:
            pass
    return 2 * x
"""
REPORT = "# %% [raw]\n# # BEGIN QUESTION\n# name: p1_report"


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    return assign(
        source_file(tmp_path_factory.mktemp("book"), SOURCE.replace(REPORT, FIGURE + REPORT)),
        tmp_path_factory.mktemp("work"),
    )


@pytest.fixture(autouse=True)
def otter_as_it_is(monkeypatch):
    """Limits that a sheet sets in this process end with the test."""
    for owner, name in ((test_case, "call_func"), (ExceptionTestFile, "_generate_error_message")):
        monkeypatch.setattr(owner, name, getattr(owner, name))


def shown(cell):
    """What a cell shows, as text."""
    outputs = [o for o in cell.get("outputs", []) if o.output_type != "error"]
    return "".join(o.get("text", "") or o.data.get("text/plain", "") for o in outputs)


def run_in(folder, notebook):
    """The texts that the cells of a notebook show, run in a folder, by the first words of each."""
    done = executed(notebook, "sheet", folder, 120)
    return {cell.source.split("(")[0]: shown(cell) for cell in done.cells if cell.cell_type == "code"}


def test_run_all_goes_through_an_untouched_sheet_of_any_name(sheet, tmp_path):
    """Beside other notebooks, damaged ones too: a sentence at the check, one at the figure, one at the export."""
    (tmp_path / "0.ipynb").write_bytes(b"\xff{")
    (tmp_path / "1.ipynb").write_text("[" * 100_000)
    (tmp_path / "tests").mkdir()
    nbformat.write(sheet.student, tmp_path / "sums-exercises (1).ipynb")
    told = run_in(tmp_path, answered(sheet, next(c.source for c in sheet.student.cells if "def double" in c.source))[0])
    assert told["grader.check"] == "`double` returns nothing yet\n"
    assert told["import matplotlib.pyplot as plt\nplt.figure"] == (
        "No figure yet: it is drawn with `double` (TypeError: 'NoneType' object is not subscriptable)\n"
    )
    (export,) = [text for name, text in told.items() if "grader.export" in name]
    assert export.startswith("Nothing is exported: write your name and number into the first cell")
    assert not list(tmp_path.glob("*.zip"))


def test_a_solved_sheet_is_checked_and_exported_from_the_file_that_holds_it(sheet, tmp_path):
    """The untouched file beside it is not what is handed in, and the name says whose it is."""
    solved = answered(sheet, f"%%time\n{RIGHT}")[0]
    solved.cells[0].source = solved.cells[0].source.replace('student = ""', 'student = "Zoë Noether, 47"')
    nbformat.write(sheet.student, tmp_path / "sums-exercises.ipynb")
    nbformat.write(solved, tmp_path / "sums-exercises (1).ipynb")
    told = run_in(tmp_path, solved)
    assert "visible checks passed, 1 hidden one remains" in told["grader.check"]
    with zipfile.ZipFile(tmp_path / "Zoë-Noether-47-sums.zip") as archive:
        assert archive.namelist() == ["Zoë-Noether-47-sums.ipynb"]
        assert b"return 2 * x" in archive.read("Zoë-Noether-47-sums.ipynb")


def test_only_a_student_s_sheet_goes_on_behind_a_cell_that_fails(sheet):
    """The instructor's edition must not hide that a solution does not run."""
    tagged = [c.source for c in sheet.student.cells if "raises-exception" in c.metadata.get("tags", [])]
    assert len(tagged) == 2 and "def double" in tagged[0] and "plt.show()" in tagged[1]
    assert not [c for c in sheet.solved.cells if "raises-exception" in c.metadata.get("tags", [])]


def test_without_a_file_every_cell_says_what_to_do(sheet, tmp_path):
    """As in Colab, where a notebook that is open lies in no folder."""
    told = run_in(tmp_path, answered(sheet, RIGHT)[0])
    said = [text for name, text in told.items() if "grader" in name or name.startswith("student")]
    assert len(said) == 3 and all("sums-exercises.ipynb, is not in this folder" in text for text in said)
    assert all("upload it" in text for text in said)


class Shell:
    """An IPython shell that has run some cells."""

    def __init__(self, *ran):
        self.history_manager = self
        self.input_hist_raw = ["", *ran]

    def set_custom_exc(self, kinds, handler):
        pass


def grader(sheet, folder, *ran, student="Ada 1", **names):
    env = {"get_ipython": lambda: Shell(*ran), "student": student, "__name__": "__main__", **names}
    return Grader(json.loads(nbformat.writes(sheet.student))["metadata"], env, folder)


def test_the_export_names_what_the_file_lacks(sheet, tmp_path, capsys):
    nbformat.write(sheet.student, tmp_path / "a.ipynb")
    for ran, said in ((RIGHT, "the file does not hold what you ran last (double)"), ("x = 1", "run all cells first")):
        grader(sheet, tmp_path, ran).export(pdf=False)
        assert said in capsys.readouterr().out and not list(tmp_path.glob("*.zip"))
    (tmp_path / "a.ipynb").unlink()
    grader(sheet, tmp_path, RIGHT).export()
    assert "Download .ipynb" in capsys.readouterr().out


def test_an_answer_in_a_cell_of_its_own_is_exported(sheet, tmp_path):
    notebook, at = answered(sheet, "def double(x):\n    ...")
    notebook.cells.insert(at + 1, new_code_cell(RIGHT))
    nbformat.write(notebook, tmp_path / "a.ipynb")
    grader(sheet, tmp_path, "def double(x):\n    ...", RIGHT).export()
    assert (tmp_path / "Ada-1-sums.zip").exists()


def by_name(source):
    """The names that code defines in a notebook."""
    names = {"__name__": "__main__"}
    exec(source, names)
    return names


@pytest.mark.parametrize(
    "source, said",
    [
        ("def twice(x):\n    return 2 * x", "`double` is not defined: "),
        ("double = ...", "`double` is still `...`"),
        ("def double(x):\n    ...", "`double` returns nothing yet"),
        ("def double(x):\n    print(2 * x)", "`double` returns nothing yet"),
    ],
)
def test_an_open_answer_is_one_sentence_before_any_test(sheet, tmp_path, capsys, source, said):
    assert grader(sheet, tmp_path, **by_name(source)).check("w1_double") is None
    told = capsys.readouterr().out.splitlines()
    assert told[-1].startswith(said) and "Test case failed" not in "".join(told)


def test_a_wrong_answer_gets_the_hints_of_its_test(sheet, tmp_path):
    result = grader(sheet, tmp_path, **by_name("def double(x):\n    return x * x")).check("w1_double")
    assert "that is the square" in repr(result) and "twice, not squared" in repr(result)


@pytest.fixture(scope="module")
def predicting(tmp_path_factory):
    return assign(source_file(tmp_path_factory.mktemp("book"), PREDICTED), tmp_path_factory.mktemp("work"))


def test_a_prediction_comes_first_is_written_down_once_and_answered(predicting, tmp_path, capsys):
    names = by_name(f"{RIGHT}\ndef treble(x):\n    return 3 * x\nguess = ...")
    sheet = grader(predicting, tmp_path, RIGHT, **names)
    assert sheet.check("w1_double").passed_all and sheet.check("c1_treble") is None
    assert "Predict first: write three numbers in the cell of `c1_prediction`" in capsys.readouterr().out
    sheet.check("c1_prediction")
    assert "`guess` is still `...`" in capsys.readouterr().out and not sheet.seals.exists()
    sheet.env["guess"] = (5, 4, 6.5)
    assert sheet.check("c1_prediction").passed_all
    assert "5 (4 to 6.5). This is what will be graded." in capsys.readouterr().out
    assert sheet.check("c1_treble").passed_all
    told = "You said 5 (4 to 6.5); by your own answer it is 6, inside your interval."
    assert told in capsys.readouterr().out
    sheet.env["guess"] = (6, 5.9, 6.1)
    sheet.check("c1_prediction")
    assert "A later change does not count: at " in capsys.readouterr().out
    nbformat.write(answered(predicting, RIGHT)[0], tmp_path / "a.ipynb")
    sheet.export()
    with zipfile.ZipFile(tmp_path / "Ada-1-sums.zip") as archive:
        kept = json.loads(archive.read("Ada-1-sums.ipynb"))["metadata"]["clbook"]["sealed"]
    assert kept["c1_prediction"]["said"] == [5, 4, 6.5]


def test_seals_that_are_damaged_are_none(predicting, tmp_path):
    sheet = grader(predicting, tmp_path)
    for text in ("", "[]", "{"):
        sheet.seals.write_text(text)
        assert sheet._sealed() == {}


def test_an_endless_test_case_ends_and_the_next_one_runs():
    limit_cases(0.2)
    text = "from otter.test_files import test_case\nname, points, OK_FORMAT = 'q', None, False\n"
    for number in (-1, 1):
        text += f"@test_case(points=1)\ndef test_{number + 1}(double):\n    assert double({number}) == {2 * number}\n"
    names = by_name(STUBBORN)
    result = ExceptionTestFile.from_string(text, "q")
    result.run(names)
    assert [case.passed for case in result.test_case_results] == [False, True]
    assert result.test_case_results[0].message.endswith("\nno end after 0.2 s: does a loop never end?")
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    end = time.process_time() + 0.3
    while time.process_time() < end:  # no alarm is left
        pass


def test_what_is_no_function_of_the_notebook_is_given_as_it_is():
    env = {"rows": [1], "cos": time.sleep, **by_name("def f(x):\n    return x")}
    assert answer("rows", env) is env["rows"] and answer("cos", env) is time.sleep
    assert answer("f", env)(0) == 0
    with pytest.raises(Sentence, match="`f` returns nothing yet"):
        answer("f", env)(None)


def test_names_behind_magics_are_found():
    assert defined("%%time\n%matplotlib inline\nx = 1\n!ls\ndef f(): pass") == ["f", "x"]
    assert defined("f(\0") == [] == defined("(" * 5000)
