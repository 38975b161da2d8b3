"""A source of exercises becomes notebooks and a bundle, and what a submission lacks is named."""

import nbformat
import pytest
from one_line_error import one_line_error
from stand_in_exercises import SOURCE, answered, source_file

from clbook.classroom.exercises import assign, exercise_source, read_source
from clbook.classroom.grades import grade
from clbook.classroom.in_sheet import defined
from clbook.classroom.notes import cell_notes
from clbook.classroom.predictions import prediction_tests
from clbook.classroom.sheets import rubric, solutions_notebook, write_solutions, write_student
from clbook.common.errors import BookError


@pytest.fixture
def source(tmp_path):
    return source_file(tmp_path)


@pytest.fixture
def sheet(source, tmp_path):
    pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")
    (tmp_path / "work").mkdir()
    return assign(source, tmp_path / "work")


def test_mistakes_are_taken_out_and_hidden_tests_are_announced(source):
    notebook, (mistake,), _ = read_source(source)
    assert (mistake.question, mistake.title) == ("w1_double", "The square.")
    assert mistake.code == "def double(x):\n    return x * x"
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "x * x" not in text and text.count("visible checks passed, 1 hidden one remains") == 1


def test_a_chapter_without_exercises_is_named(source, tmp_path):
    assert exercise_source(tmp_path, "sums") == source
    with pytest.raises(BookError, match="no exercises for 'sum', got sums"):
        exercise_source(tmp_path, "sum")
    source.unlink()
    with pytest.raises(BookError, match="chapters: no exercises, a file NAME/exercises.py for each chapter"):
        exercise_source(tmp_path, "sums")


def test_a_book_without_exercises_ends_in_one_line(tmp_path):
    for write in (write_student, write_solutions):
        with one_line_error(BookError, "no exercises, a file NAME/exercises.py for each chapter"):
            write(tmp_path, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_source_that_otter_refuses_is_named(sheet, source, tmp_path):
    source.write_text(SOURCE.replace("# # END SOLUTION\n", "", 1))
    (tmp_path / "again").mkdir()
    with pytest.raises(BookError, match="chapters/sums/exercises.py: otter assign refuses it: "):
        assign(source, tmp_path / "again")


def test_names_that_an_answer_defines():
    assert defined("x = 1\na, b = 2, 3\ndef f():\n    y = 4\nclass C: pass") == ["f", "C", "x", "a", "b"]
    assert defined("def f(:") == []


def test_the_rubric_adds_up(sheet):
    assert rubric(sheet).splitlines()[-3:] == [
        "| `w1_double` | 2 | 4 | 0 | 6 |",
        "| `p1_report` | 0 | 0 | 3 | 3 |",
        "| **sum** | | | | **9** |",
    ]


def test_the_instructor_s_edition_runs_and_shows_mistakes_with_their_hints(sheet, tmp_path):
    made = solutions_notebook(sheet, tmp_path / "work")
    text = "\n".join(cell.source for cell in made.cells)
    assert "return 2 * x" in text and "**Rubric.** All or nothing." in text and "grader.export" not in text
    assert "*The square.* (0 of 6 points)" in text and "- that is the square\n- twice, not squared" in text
    assert "passed!" in str([cell.get("outputs") for cell in made.cells])


def notes(sheet, notebook):
    return cell_notes(sheet, nbformat.writes(notebook).encode())


def test_missing_and_doubled_cells_are_named(sheet):
    right = "def double(x):\n    return 2 * x"
    doubled, at = answered(sheet, right)
    doubled.cells.insert(at, nbformat.v4.new_code_cell(right))
    assert notes(sheet, doubled) == ["more than once: double"]
    del doubled.cells[at : at + 3]
    assert notes(sheet, doubled) == ["missing: double", 'missing: grader.check("w1_double")']
    assert notes(sheet, sheet.student) == []


def test_a_name_that_a_given_cell_defines_again_is_not_doubled(sheet):
    sheet.student.cells.append(nbformat.v4.new_code_cell("double = 3"))
    assert notes(sheet, answered(sheet, "def double(x):\n    return 2 * x")[0]) == []


def test_a_magic_or_other_quotes_hide_no_answer(sheet):
    timed, at = answered(sheet, "%%time\n%matplotlib inline\ndef double(x):\n    return 2 * x")
    timed.cells[at + 1].source = "grader.check('w1_double')"
    assert notes(sheet, timed) == []


def test_a_folder_without_submissions_is_refused(source, tmp_path):
    pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BookError, match="no submission in it"):
        grade(source, tmp_path / "empty", 10.0)


@pytest.mark.parametrize("wrong", ["scale: inches", "scale: factor\nnarrowest: 1"])
def test_a_prediction_with_other_fields_is_refused(wrong):
    cell = f"# PREDICTION\nname: p\ntruth: 1\nwidest: 2\nfar: 2\nnear: 1\n{wrong}"
    with one_line_error(BookError, "a prediction must have far, name, near, scale, truth, widest, scale difference or"):
        prediction_tests(cell, {})


@pytest.mark.parametrize(
    "truth, said", [("twice(3)", "NameError: "), ("1 +", "SyntaxError: "), ("max('x')", "ValueError: ")]
)
def test_a_truth_that_cannot_be_computed_is_refused(truth, said):
    cell = f"# PREDICTION\nname: p\ntruth: {truth}\nscale: factor\nwidest: 2\nfar: 2\nnear: 1"
    with one_line_error(BookError, f"p: its truth cannot be computed: {said}"):
        prediction_tests(cell, {})


def test_a_truth_is_what_the_solution_gives():
    cell = "# PREDICTION\nname: p\ntruth: twice(3)\nscale: factor\nwidest: 2\nfar: 2\nnear: 1"
    assert "    truth = 6.0\n" in prediction_tests(cell, {"twice": lambda x: 2 * x})[1]
