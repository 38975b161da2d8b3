"""The unit in which a duration is shown, and which numbers of seconds an option takes."""

import math

import pytest
from one_line_error import one_line_error

from clbook.common.durations import check_seconds, duration
from clbook.common.errors import BookError


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (9000, "2 h")]
)
def test_a_duration_has_a_fitting_unit(seconds, shown):
    assert duration(seconds) == shown


def test_hours_may_have_digits():
    assert duration(9000, hour_digits=1) == "2.5 h" and duration(300, hour_digits=1) == "5 min"


@pytest.mark.parametrize("seconds", [-1.0, 0.0, math.nan, math.inf, -math.inf])
def test_seconds_that_limit_nothing_or_everything_are_refused(seconds):
    with one_line_error(BookError, r"^--sample: must be seconds, > 0 and finite, got "):
        check_seconds("--sample", seconds)
    if seconds:
        with one_line_error(BookError, r"^--seconds: must be seconds, ≥ 0 and finite, got "):
            check_seconds("--seconds", seconds, zero=True)


def test_seconds_that_limit_something():
    for seconds in (1e-9, 90, None):
        check_seconds("--sample", seconds)
    check_seconds("--seconds", 0.0, zero=True)
