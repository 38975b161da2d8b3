"""Numbers that a seed turns, and the tests of a border."""

import pytest
from nbformat.v4 import new_code_cell, new_raw_cell
from one_line_error import one_line_error

from clbook.classroom.borders import border_tests, fill_solutions
from clbook.classroom.seeds import with_numbers
from clbook.common.errors import BookError

TEXT = (
    "# %% [raw]\n# # NUMBERS\n# b: 0.8, from 0.6 to 0.9 by 0.05\n# n: 3, from 2 to 5 by 1\n\n# %%\nx = {{b}} * {{n}}\n"
)
BORDER = "# BORDER\nname: edge\ntruth: half(6)\nhint: look at both\nnear: 6 | that is twice as much"


def test_seed_0_has_the_book_s_numbers_and_another_has_others():
    assert with_numbers(TEXT, 0, "here") == "# %%\nx = 0.8 * 3\n"
    drawn = {with_numbers(TEXT, seed, "here") for seed in range(1, 40)}
    assert len(drawn) > 5 and all("{{" not in text and "0.8 " not in text and "* 3" not in text for text in drawn)
    assert with_numbers(TEXT, 5, "here") == with_numbers(TEXT, 5, "here")


def test_braces_of_other_names_stay():
    assert with_numbers("{{other}} and {x}", 3, "here") == "{{other}} and {x}"


def test_a_number_without_a_range_is_named():
    with one_line_error(BookError, "here: a number must be as in 'b2: 0.8, from 0.72 to 0.95 by 0.01', got '# b: 0.8'"):
        with_numbers(TEXT.replace(", from 0.6 to 0.9 by 0.05", ""), 0, "here")


def run(tests, value):
    """What the visible and the hidden test of a border say of a number."""
    said = []
    for source in tests:
        names = {}
        exec(source, names)
        (function,) = [each for name, each in names.items() if name.startswith("test_")]
        try:
            function(value)
            said.append("")
        except AssertionError as error:
            said.append(str(error))
    return said


def test_a_border_is_hidden_right_to_one_part_in_a_hundred_and_knows_foreseen_mistakes():
    tests = border_tests(BORDER, {"half": lambda x: x / 2})
    assert ["hidden: true" in each for each in tests] == [False, True] and "points: 3" in tests[1]
    assert run(tests, 3.02) == ["", ""] and run(tests, 6.0) == ["", "that is twice as much"]
    assert run(tests, 3.1) == ["", "it is not within one part in a hundred"]
    assert run(tests, float("nan"))[0] == "give a finite number"


@pytest.mark.parametrize(
    "source, said",
    [
        ("# BORDER\nname: edge\ntruth: 1", "a border must have name, truth, hint"),
        (BORDER.replace("half(6)", "third(6)"), "edge: its border cannot be computed: NameError"),
        (BORDER.replace("near: 6", "near: 3.01"), "edge: a wrong number is as good as right"),
    ],
)
def test_a_border_that_is_damaged_is_refused(source, said):
    with one_line_error(BookError, said):
        border_tests(source, {"half": lambda x: x / 2})


def test_the_solution_is_the_truth_which_has_to_be_computed():
    cells = [new_code_cell("edge = None  # SOLUTION"), new_raw_cell(BORDER)]
    fill_solutions(cells, {"half": lambda x: x / 2})
    assert cells[0].source == "edge = 3  # SOLUTION"
    cells = [new_code_cell("edge = None  # SOLUTION"), new_raw_cell(BORDER)]
    with one_line_error(BookError, "edge: its border cannot be computed: NameError"):
        fill_solutions(cells, {})
