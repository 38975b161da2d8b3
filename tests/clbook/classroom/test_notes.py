"""What a teacher is told: points without an answer, cells that name the grader, answers in common, predictions."""

import copy
import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from stand_in_exercises import PREDICTED, answered, source_file

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from clbook.classroom.exercises import assign, check, hints  # noqa: E402
from clbook.classroom.in_sheet import Sentence, answer
from clbook.classroom.notes import (
    BOOK,
    equal_answers,
    grader_notes,
    prediction_answers,
    prediction_notes,
    sealed,
    with_sealed,
)  # fmt: skip

LONG = """
def double(x):
    \"\"\"Twice.\"\"\"
    total = 0
    for step in range(2):  # two times
        if x > step or x <= step:
            total = total + x * (step + 1) - x * step
    return total
"""
OTHER = LONG.replace("Twice.", "By a sum.").replace("total", "s").replace("step", "k").replace("  # two times", "")


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    return assign(source_file(tmp_path_factory.mktemp("book"), PREDICTED), tmp_path_factory.mktemp("work"))


def written(notebook, **sealed_as):
    """The bytes of a submission, with predictions that an export wrote into it."""
    if sealed_as:
        notebook.metadata["clbook"]["sealed"] = sealed_as
    return nbformat.writes(notebook).encode()


def handed_in(sheet, code, said="...", treble="def treble(x):\n    return 3 * x"):
    notebook = answered(sheet, code)[0]
    for cell in notebook.cells:
        if cell.source.startswith("def treble"):
            cell.source = treble
        if cell.source.startswith("guess = "):
            cell.source = f"guess = {said}"
    return notebook


def test_points_for_an_untouched_answer_are_named(sheet):
    untouched = copy.deepcopy(sheet.student)
    assert grader_notes(sheet, written(untouched), {"w1_double": 0}) == []
    said = "points for an answer that is as it was handed out: w1_double"
    assert grader_notes(sheet, written(untouched), {"w1_double": 6}) == [said]
    assert grader_notes(sheet, written(handed_in(sheet, LONG)), {"w1_double": 6}) == []


@pytest.mark.parametrize(
    "code, names",
    [
        ("import otter.test_files as t\nt.run = 1", "`otter`"),
        ("grader = None", "`grader`"),
        ("import sys\nsys.modules['otter']", "`modules`"),
        ("%%time\nfrom inspect import stack", "`inspect`"),
    ],
)
def test_a_cell_that_names_what_grades_is_named(sheet, code, names):
    notebook = handed_in(sheet, LONG)
    notebook.cells.append(new_code_cell(code))
    assert grader_notes(sheet, written(notebook), {}) == [f"a cell names {names}"]


def test_a_check_in_a_cell_of_one_s_own_is_no_matter(sheet):
    notebook = handed_in(sheet, f"{LONG}\ngrader.check('w1_double')\n# otter is nice")
    assert grader_notes(sheet, written(notebook), {}) == []


def test_answers_in_common_are_named_by_what_they_are(sheet):
    """One answer of two is no matter, two are; a short one that anybody would write is none."""
    both = lambda code: written(handed_in(sheet, code, treble=code.replace("def double", "def treble")))  # noqa: E731
    found = equal_answers(sheet, {"ada": [both(LONG)], "bob": [both(OTHER)], "cyd": [both("def double(x): return x")]})
    assert found == {
        "ada": ["equal but for names and comments to bob: double, treble"],
        "bob": ["equal but for names and comments to ada: double, treble"],
    }
    one = {"ada": [written(handed_in(sheet, LONG))], "bob": [written(handed_in(sheet, OTHER))]}
    assert not any(equal_answers(sheet, one).values())
    assert equal_answers(sheet, {"ada": [both(LONG), both(OTHER)]}) == {} and BOOK not in found


def test_a_prediction_is_graded_as_it_was_written_down(sheet):
    first = {"said": [5.0, 4.0, 6.5], "at": "2026-11-27 10:00:00"}
    changed = written(handed_in(sheet, LONG, "(6, 5.9, 6.1)"), c1_prediction=first)
    assert sealed(sheet, changed) == {"c1_prediction": first}
    assert prediction_notes(sheet, changed) == ["graded as written down, changed later: c1_prediction"]
    assert prediction_answers(sheet, changed) == {
        "c1_prediction": "You said 5 (4 to 6.5) at 2026-11-27 10:00:00; it is 6."
    }
    codes = ["".join(cell["source"]) for cell in json.loads(with_sealed(sheet, changed))["cells"]]
    at = codes.index('grader.check("c1_prediction")')
    assert codes[at - 1] == "guess = (5.0, 4.0, 6.5)"
    late = written(handed_in(sheet, LONG, "(6, 5.9, 6.1)"))
    assert prediction_notes(sheet, late) == ["predictions without a time: c1_prediction"]
    assert json.loads(with_sealed(sheet, late)) == json.loads(late)


@pytest.mark.parametrize("damaged", [[], {"c1_prediction": 3}, {"c1_prediction": {"said": [1, "2", 3]}}, {"x": {}}])
def test_a_damaged_seal_is_none(sheet, damaged):
    notebook = handed_in(sheet, LONG)
    notebook.metadata["clbook"]["sealed"] = damaged
    assert sealed(sheet, written(notebook)) == {}


@pytest.mark.parametrize(
    "said, points, hint",
    [
        ((6.0, 5.9, 6.1), 3, None),
        ((6.0, 6.0, 6.0), 0, None),
        ((6.0, 1.0, 9.0), 2, "so wide that it says nothing"),
        ((6.0, 6.1, 6.2), 0, "the value must lie in its own interval"),
        ((4.0, 3.5, 4.5), 0, "misses what the run shows"),
    ],
)
def test_a_prediction_s_points_and_what_is_said(sheet, said, points, hint):
    result = check(sheet, "c1_prediction", {"guess": said})
    assert result.score == (points if said[1] < said[2] else result.score)
    assert hint is None or any(hint in each for each in hints(result, True))
    assert said[1] < said[2] or not result.test_case_results[0].passed


def test_an_object_that_says_itself_what_it_equals_is_refused():
    names = {"__name__": "__main__"}
    exec("class Any:\n    __eq__ = lambda self, other: True\n\ndef f(x):\n    return x\n\ng = Any()", names)
    for call in (lambda: answer("f", names)(names["g"]), lambda: answer("f", names)((1, names["g"]))):
        with pytest.raises(Sentence, match="`f` returns an object of the kind `Any`: numbers, arrays"):
            call()
    with pytest.raises(Sentence, match="`g` is an object of the kind `Any`"):
        answer("g", names)
