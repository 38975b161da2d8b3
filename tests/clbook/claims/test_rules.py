"""Rules: each maps a sample to met, missed or undecided, and anything but the five rules is rejected."""

import math

import pytest

from clbook.claims.rules import KINDS, MET, MISSED, UNDECIDED, Rule
from clbook.claims.statistics import Sample
from clbook.common.errors import BookError

AROUND_ONE = [0.9, 1.1, 1.0, 0.95, 1.05]  # 95 % interval about [0.90, 1.10]


def rule(spec):
    return Rule.parse(spec, "here")


@pytest.mark.parametrize(
    ("spec", "measured", "outcome"),
    [
        ({"at_most": 1e-10}, 1e-10, MET),
        ({"at_most": 1e-10}, 1.1e-10, MISSED),
        ({"at_most": 1.2}, AROUND_ONE, MET),
        ({"at_most": 1.05}, AROUND_ONE, UNDECIDED),
        ({"at_most": 0.8}, AROUND_ONE, MISSED),
        ({"at_least": 2}, 2, MET),
        ({"at_least": 2}, 1.99, MISSED),
        ({"at_least": 0.5}, {"hits": 80, "trials": 100}, MET),
        ({"at_least": 0.8}, {"hits": 80, "trials": 100}, UNDECIDED),
        ({"at_least": 0.95}, {"hits": 80, "trials": 100}, MISSED),
        ({"between": [0.8, 1.2]}, AROUND_ONE, MET),
        ({"between": [0.95, 1.2]}, AROUND_ONE, UNDECIDED),
        ({"between": [0.99, 1.01]}, AROUND_ONE, UNDECIDED),
        ({"between": [2, 3]}, AROUND_ONE, MISSED),
        ({"between": {"low": 0, "high": 1}}, 0.5, MET),
        ({"equals": 2}, 2, MET),
        ({"equals": 2}, 3, MISSED),
        ({"equals": 1}, AROUND_ONE, UNDECIDED),
        ({"rate": {"predicted": 1, "rival": 2}}, AROUND_ONE, MET),
        ({"rate": {"predicted": 1, "rival": 1.05}}, AROUND_ONE, UNDECIDED),
        ({"rate": {"predicted": 2, "rival": 1}}, AROUND_ONE, MISSED),
        ({"rate": {"predicted": 2, "rival": 3}}, AROUND_ONE, MISSED),
        ({"at_most": 1.0}, float("inf"), MISSED),
    ],
)
def test_outcomes(spec, measured, outcome):
    assert rule(spec).outcome(Sample.of(measured), 0.05) == outcome


def test_a_stricter_level_makes_undecided_what_was_met():
    near = rule({"at_most": 1.12})
    assert near.outcome(Sample.of(AROUND_ONE), 0.05) == MET
    assert near.outcome(Sample.of(AROUND_ONE), 0.001) == UNDECIDED


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"below": 1}, "here: rule must be one of at_most, at_least, between, equals, rate, got {'below': 1}"),
        ({"at_most": 1, "at_least": 0}, "must be one of"),
        ({}, "must be one of"),
        (None, "must be one of"),
        ("at_most", "must be one of"),
        ({"at_most": "1e-3"}, "rule at_most takes finite numbers for bound, got '1e-3'"),
        ({"at_most": float("nan")}, "takes finite numbers for bound, got nan"),
        ({"between": [0, float("inf")]}, "takes finite numbers for low, high"),
        ({"equals": True}, "takes finite numbers for number, got True"),
        ({"at_most": None}, "takes finite numbers for bound"),
        ({"at_most": [1, 2]}, "takes finite numbers for bound"),
        ({"between": 1}, "takes finite numbers for low, high"),
        ({"between": [2, 1]}, "between needs low <= high"),
        ({"rate": {"predicted": 1}}, "takes finite numbers for predicted, rival"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_line(spec, said):
    with pytest.raises(BookError) as caught:
        rule(spec)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_p_value_says_at_which_level_a_rule_is_just_decided():
    sample = Sample.of(AROUND_ONE)
    for spec in ({"at_most": 1.1}, {"between": [0.7, 1.1]}, {"rate": {"predicted": 1, "rival": 1.2}}):
        p = rule(spec).p_value(sample)
        assert rule(spec).outcome(sample, p * 1.01) == MET
        assert rule(spec).outcome(sample, p * 0.99) == UNDECIDED


def test_a_rule_reads_as_a_formula():
    specs = ({"at_most": 1e-10}, {"at_least": 0.5}, {"between": [1, 2]}, {"equals": 3})
    assert [str(rule(s)) for s in specs] == ["≤ 1e-10", "≥ 0.5", "in [1, 2]", "= 3"]
    assert str(rule({"rate": {"predicted": -0.5, "rival": -1}})) == "holds -0.5, excludes -1"
    assert len(KINDS) == 5


def test_what_a_rule_allows_is_a_range():
    specs = (
        {"at_most": 1},
        {"at_least": 1},
        {"between": [1, 2]},
        {"equals": 3},
        {"rate": {"predicted": -1, "rival": 0}},
    )
    ranges = [rule(spec).range for spec in specs]
    assert ranges == [(-math.inf, 1), (1, math.inf), (1, 2), (3, 3), (-1, -1)]
