"""What otter's tests say of each exercise: the solution, the untouched notebook, and every mistake of its source."""

import numpy as np
import pytest
from checkout import ROOT

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from clbook.classroom.exercises import (
    assign,
    check,
    check_mistake,
    code_of,
    exercise_sources,
    hints,
    read_source,
    run_code,
)  # fmt: skip
from clbook.classroom.sheets import points


@pytest.fixture(scope="module", params=exercise_sources(ROOT), ids=lambda path: path.parent.name)
def sheet(request, tmp_path_factory):
    return assign(request.param, tmp_path_factory.mktemp(request.param.parent.name))


@pytest.fixture(scope="module")
def solved(sheet):
    return run_code(sheet.solved)


def test_the_solution_passes_all(sheet, solved):
    results = [check(sheet, question, solved) for question in sheet.tests]
    assert [hints(r, False) + hints(r, True) for r in results if not r.passed_all] == []
    assert sum(r.score for r in results) == 76 and sum(sheet.manual.values()) == 24
    assert sum(map(sum, points(sheet).values())) == 100


def test_the_untouched_notebook_fails_every_test(sheet):
    names = run_code(sheet.student)
    results = {question: check(sheet, question, names) for question in sheet.tests}
    passed = [q for q, r in results.items() if any(case.passed for case in r.test_case_results)]
    assert passed == [] and len(results) >= 14


def test_every_mistake_fails_with_a_hint(sheet, solved):
    """By an assertion of the test that says more than its name, and not by a crash."""
    for mistake in sheet.mistakes:
        result = check_mistake(sheet, mistake, solved)
        said = [hint for hidden in (False, True) for hint in hints(result, hidden)]
        failed = [case.message for case in result.test_case_results if not case.passed]
        assert result.score < result.possible, (mistake.question, mistake.title)
        assert any("AssertionError: " in text for text in failed), (mistake.title, failed)
        assert any(len(hint.split()) >= 4 for hint in said), (mistake.title, said)


# What each prediction is scored against with the numbers of the book.
TRUTHS = {
    "collapse-and-constraints": {
        "moons_prediction": 1.932952788900908,
        "share_prediction": 0.26 / 1.44,
        "wait_prediction": 0.57522825749899,
    },
    "alignment-and-balance": {
        "missed_prediction": 0.5,
        "ratio_prediction": 1.19034,
        "slower_prediction": 106.5,
    },
    "nonlinearity": {
        "nudge_prediction": -(1 - 1 / np.pi) * 0.1,
        "variance_prediction": 137.0,
        "line_prediction": 0.0,
    },
    "feature-decoupling": {
        "factor_prediction": 0.05 / (0.09 * 64),
        "lead_prediction": 1.0,
        "oracle_prediction": 0.7005,
    },
    "one-testbed": {
        "three_outputs_prediction": 1.5,
        "noise_prediction": 2 * np.sqrt(0.125 * 0.875),
        "flood_prediction": 0.4,
    },
}


def test_a_prediction_is_scored_against_what_the_solution_gives(sheet):
    """The truth with an interval of a thousandth has all three points, and ten times as much has none."""
    for question, (variable, truth) in zip(("c1", "c2", "c3"), TRUTHS[sheet.name].items(), strict=True):
        width = max(abs(truth), 0.1) / 1000
        right = check(sheet, f"{question}_prediction", {variable: (truth, truth - width, truth + width)})
        assert right.score == right.possible == 3, (variable, truth)
        far = truth + max(9 * abs(truth), 1.0)
        wrong = check(sheet, f"{question}_prediction", {variable: (far, far - width, far + width)})
        assert wrong.score == 0, variable
        vague = check(sheet, f"{question}_prediction", {variable: (truth, truth - 1e6, truth + 1e6)})
        assert not vague.test_case_results[0].passed and not vague.test_case_results[1].passed, variable


def test_the_student_sees_neither_solutions_nor_hidden_tests_nor_mistakes(sheet):
    text = "\n".join(cell.source for cell in sheet.student.cells)
    assert "SOLUTION" not in text and "Rubric" not in text
    assert all(mistake.code not in text for mistake in sheet.mistakes)
    told = sheet.student.metadata["otter"]["tests"]
    assert all("hidden=True" not in source for source in told.values())
    assert all("visible checks passed" in source for source in told.values())
    starters = [source for source in code_of(sheet.student.cells) if "..." in source]
    assert len(starters) == len(sheet.tests)


def test_only_solution_regions_are_blanked(sheet):
    """Given data, docstrings and figures stay, and the starter code runs."""
    given = [s for s in code_of(sheet.solved.cells) if "SOLUTION" not in s]
    assert given and all(source in code_of(sheet.student.cells) for source in given)
    drawn = [c.source for c in sheet.student.cells if "plt.show()" in c.source]
    assert len(drawn) == 3
    names: dict = {}
    for source in code_of(sheet.student.cells):
        exec(compile(source, "<starter>", "exec"), names)
    functions = [f for f in names.values() if callable(f) and getattr(f, "__module__", "x") is None]
    assert all(function.__doc__ for function in functions)


@pytest.mark.parametrize("path", exercise_sources(ROOT), ids=lambda path: path.parent.name)
def test_a_seed_turns_the_numbers_of_a_sheet(path, tmp_path):
    """Its own solution has all points; the book's misses every border, a prediction and what a number stands in."""
    turned = assign(path, tmp_path, seed=7)
    own, book = run_code(turned.solved), run_code(read_source(path)[0])
    results = [check(turned, question, own) for question in turned.tests]
    assert [hints(r, False) + hints(r, True) for r in results if not r.passed_all] == []
    assert sum(r.score for r in results) == 76
    lost = {question: 3 - check(turned, question, book).score for question in turned.tests if question[3] in "pr"}
    assert all(lost[f"c{k}_refutation"] == 3 for k in (1, 2, 3)), lost
    assert any(lost[f"c{k}_prediction"] for k in (1, 2, 3)), lost  # an honest interval may hold both truths
    assert "{{" not in "".join(cell.source for cell in turned.student.cells if cell.cell_type == "code")
    for question in TURNED.get(turned.name, []):
        assert check(turned, question, book).score < check(turned, question, own).score, question


# Functions in which a number of the seed stands.
TURNED = {
    "collapse-and-constraints": ["w1_length", "c3_length", "c3_closed_form"],
    "alignment-and-balance": ["c1_push"],
    "nonlinearity": ["w2_rates", "w3_finds"],
    "feature-decoupling": ["w2_share", "c2_lead"],
    "one-testbed": ["w1_shares"],
}
