"""What otter's tests say of each exercise: the solution, the untouched notebook, and every mistake of its source."""

import numpy as np
import pytest
from checkout import ROOT
from scipy.optimize import brentq

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from clbook.commands.exercise_sheets import points  # noqa: E402
from clbook.commands.exercises import (  # noqa: E402
    assign,
    check,
    check_mistake,
    code_of,
    exercise_sources,
    hints,
    run_code,
)


@pytest.fixture(scope="module", params=exercise_sources(ROOT), ids=lambda path: path.stem)
def sheet(request, tmp_path_factory):
    return assign(request.param, tmp_path_factory.mktemp(request.param.stem))


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


# What each prediction is scored against, from the solutions.
TRUTHS = {
    "collapse-and-constraints": {
        "moons_prediction": lambda n: n["q_star"](n["half_moon_mean"], n["half_moon_covariance"], 1),
        "share_prediction": lambda n: 0.26 / 1.2**2,
        "wait_prediction": lambda n: brentq(lambda t: np.sum(n["closed_form"](*WIDE, t) ** 2) - 0.5, 0.1, 3),
    },
    "alignment-and-balance": {
        "missed_prediction": lambda n: n["missed"](np.full(3, 1 / 3), 1e4, 8.0),
        "ratio_prediction": lambda n: n["ratio_for"](10**6, 10.0, 4),
        "slower_prediction": lambda n: (
            n["slowest_decay"](n["sigma"], 4.0, 8.0) / n["slowest_decay"](n["sigma"], 16.0, 8.0)
        ),
    },
    "nonlinearity": {
        "nudge_prediction": lambda n: n["axis_rates"](1.0, 0.8)[0],
        "variance_prediction": lambda n: np.divide(*n["shared"](np.full(5, 0.1), 20).diagonal()[[0, -1]]),
        "line_prediction": lambda n: spread(n["ends"](n["fields"](rng()), n["filters"](rng()), 2, True)),
    },
    "feature-decoupling": {
        "factor_prediction": lambda n: n["least_factor"](0.05, 0.09, 64),
        "lead_prediction": lambda n: n["least_ratio"](0.5),
        "oracle_prediction": lambda n: max(n["oracle_r2"](t, 0.1, 0.3) for t in np.linspace(0.5, 1, 501)),
    },
}
WIDE = np.full(3, 0.01), np.array([-1, -0.5, 1 / 3])


def rng():
    return np.random.default_rng(0)


def spread(filters):
    """Largest σ₂/σ₁ of a field."""
    sigma = np.linalg.svd(filters, compute_uv=False)
    return (sigma[:, 1] / sigma[:, 0]).max()


def test_a_prediction_is_scored_against_what_the_solution_gives(sheet, solved):
    """The truth with an interval of a thousandth has all three points, and ten times as much has none."""
    truths = {variable: float(truth(solved)) for variable, truth in TRUTHS[sheet.name].items()}
    for question, (variable, truth) in zip(("c1", "c2", "c3"), truths.items(), strict=True):
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
