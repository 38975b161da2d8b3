"""Rules: each maps a sample to met, missed or undecided, and anything but the four rules is rejected."""

import math

import pytest

from clbook.claims.rules import KINDS, MET, MISSED, UNDECIDED, Rule
from clbook.claims.statistics import LEVEL, Sample
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
        ({"below": 1}, "here: rule must be one of at_most, at_least, between, equals, got {'below': 1}"),
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
    ],
)
def test_what_is_no_rule_is_refused_in_one_line(spec, said):
    with pytest.raises(BookError) as caught:
        rule(spec)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_many_cases_are_met_together_and_missed_at_the_level_over_their_number():
    """Three standard errors off, one case misses at the level; among twenty it leaves the claim open."""
    spread = [-1.0, 0.0, 1.0] * 20
    error = Sample.of(spread).standard_error
    off, met = Sample.of([value + 1 + 3 * error for value in spread]), Sample.of([value - 1 for value in spread])
    small = rule({"at_most": 1.0})
    assert small.outcome(off) == MISSED and small.outcome(off, LEVEL / 20) == UNDECIDED
    assert small.outcome_of_all({"a": met, "b": met}) == MET and small.outcome_of_all({"a": off}) == MISSED
    assert small.outcome_of_all({str(k): met for k in range(19)} | {"off": off}) == UNDECIDED


def test_a_rule_reads_as_a_formula():
    specs = ({"at_most": 1e-10}, {"at_least": 0.5}, {"between": [1, 2]}, {"equals": 3})
    assert [str(rule(s)) for s in specs] == ["≤ 1e-10", "≥ 0.5", "in [1, 2]", "= 3"]
    assert len(KINDS) == 4


def test_what_a_rule_allows_is_a_range():
    specs = (
        {"at_most": 1},
        {"at_least": 1},
        {"between": [1, 2]},
        {"equals": 3},
    )
    ranges = [rule(spec).range for spec in specs]
    assert ranges == [(-math.inf, 1), (1, math.inf), (1, 2), (3, 3)]
