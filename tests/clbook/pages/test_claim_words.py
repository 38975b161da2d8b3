"""What a run found, in words: statistics, how far one lies from its rule, and reasons that say what was found."""

import pytest
from claim_row import result

from clbook.claims.claim_table import NEGATIVE
from clbook.claims.statistics import Sample
from clbook.notebook.results import load_results
from clbook.pages.claim_words import explanation, finding, required, show_arm


@pytest.fixture(scope="module")
def stored():
    return load_results()


@pytest.mark.parametrize(
    ("arm", "shown"),
    [
        ({}, ""),
        ({"": 3.0}, "3"),
        ({"": 0.125}, "0.125"),
        ({"a": 1e-12, "b": [1.0, 2.0]}, "a 1e-12; b 1.5 (mean of 2)"),
        ({"": {"hits": 80.0, "trials": 100}}, "0.8 (80 of 100)"),
        ({"near": {"hits": 1.0, "trials": 4}}, "near 0.25 (1 of 4)"),
    ],
)
def test_every_form_of_a_statistic_is_shown(arm, shown):
    assert show_arm({case: Sample.of(value) for case, value in arm.items()}) == shown


@pytest.mark.parametrize(
    ("rule", "value", "told"),
    [
        ({"at_most": 1}, 5.97, "at most 1 was required: 6 times as much."),
        ({"at_most": 1}, 1.5, "at most 1 was required: 0.5 above it."),
        ({"at_most": 1e-10}, 0.9, "at most 1e-10 was required: 10 orders of magnitude above it."),
        ({"at_most": 0}, 0.04, "at most 0 was required: on the wrong side of zero."),
        ({"at_least": 0.9}, 0.78, "at least 0.9 was required: 0.12 below it."),
        ({"between": [0.9, 1.1]}, 2.0, "between 0.9 and 1.1 was required: 0.9 above it."),
        ({"equals": 8}, 6.0, "where 8 was required: 2 below it."),
    ],
)
def test_a_finding_says_what_was_measured_and_how_far_it_lies_from_the_rule(rule, value, told):
    row = result(rule=rule, arms={"observed": value})
    assert finding(row).startswith("Largest relative error: ") and finding(row).endswith(told)


def test_a_finding_names_the_worst_case_and_how_many_miss():
    row = result(rule={"at_most": 1}, arms={"observed": {"a": 0.1, "b": 2.0, "c": 3.0}})
    assert "3 for c, where at most 1" in finding(row) and finding(row).endswith("; 2 of 3 cases miss the rule.")


def test_no_reason_only_names_its_rule():
    """The reasons that `judging.py` gives where a rule is missed or open, each turned into what was found."""
    bare = {"rule": {"at_least": 0.9}, "arms": {"observed": 0.3}}
    said = "Largest relative error: 0.3, where at least 0.9 was required: 0.6 below it."
    missed = result(verdict="not reproduced", reason="the rule ≥ 0.9 is missed", **bare)
    left = {"verdict": "undecided", "reason": "the rule ≥ 0.9 is missed; not run yet"} | bare
    review = result(**left, profile="paper", before_review="not reproduced")
    wide = bare | {"arms": {"observed": [0.8, 1.0]}}
    touching = "the interval contains 0.9; 2 seeds, about 8 would decide"
    assert explanation(missed) == said
    assert explanation(review) == f"{said} Under review: not run yet."
    assert explanation(result(**left)) == f"{said} not run yet."
    assert explanation(result(verdict="undecided", reason=touching, **wide)).endswith(
        "the interval reaches across that line. It rests on 2 seeds, about 8 would decide."
    )
    control = result(verdict="undecided", reason="the control does not miss the rule", **bare)
    assert "The control (no gate) gives 0.41" in explanation(control)
    assert explanation(result(verdict="with conditions", reason="for n > 3")) == "for n > 3"


def test_every_stored_reason_says_more_than_its_rule(stored):
    open_ones = [row for row in stored if row.verdict in ("undecided", *NEGATIVE)]
    assert len(open_ones) > 5
    for row in open_ones:
        told = explanation(row)
        assert required(row) in told and "is missed" not in told, row.id
