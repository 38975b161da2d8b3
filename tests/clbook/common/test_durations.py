"""The unit in which a duration is shown."""

import pytest

from clbook.common.durations import duration


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (9000, "2 h")]
)
def test_a_duration_has_a_fitting_unit(seconds, shown):
    assert duration(seconds) == shown


def test_hours_may_have_digits():
    assert duration(9000, hour_digits=1) == "2.5 h" and duration(300, hour_digits=1) == "5 min"
