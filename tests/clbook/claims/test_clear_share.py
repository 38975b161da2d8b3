"""The share of comparisons that are clear: intervals by hand, groups, and too few networks."""

from dataclasses import replace

import pytest
from claim_row import ROW

from clbook.claims.claim_table import Claim
from clbook.claims.judging import Reading, judge, judge_all
from clbook.claims.plain import as_text, sentences
from clbook.common.errors import BookError
from clbook.notebook.card import card

# mean 2, standard error 1/√3, t = 4.302653 with two degrees of freedom: the interval begins at -0.484
THREE = [1.0, 2.0, 3.0]
CLEAR, NOT_CLEAR = [0.2, 0.3, 0.4], [0.1, 0.2, 0.3]  # they begin at 0.3 - 0.248 and at 0.2 - 0.248
GROUPS = {"LeakyReLU, β > 1": {"P = 3, β = 2": CLEAR, "P = 5, β = 2": NOT_CLEAR}, "quadratic": {"P = 3": CLEAR}}
PLAIN = ("Leaky is above linear.", "In {worst:%} of cells; as a control, in {control:%}.")


def claim(**changes) -> Claim:
    return Claim.parse(
        ROW | {"kind": "trend", "rule": {"at_least": 0.9}, "clear": 0, "clear_at_95": "few"} | changes, "file.yaml"
    )


def share(values, clear=0.0) -> float:
    (sample,) = Reading.of(observed=values, control=0).as_judged(claim(clear=clear)).observed.values()
    return sample.estimate


def verdict(row, observed, control=NOT_CLEAR, **arms):
    return judge(row, Reading.of(observed=observed, control=control, **arms))


@pytest.mark.parametrize(
    ("values", "above", "found"),
    [
        (THREE, -0.485, 1), (THREE, -0.484, 0), (CLEAR, 0, 1), (CLEAR, 0.05, 1), (CLEAR, 0.06, 0), (NOT_CLEAR, 0, 0),
        ([1, 1, 1], 0.9, 1), ([0, 0, 0], 0, 0),  # without spread the value itself decides
        (5.0, 0, 0), ([5.0], 0, 0),  # one network is no comparison
        ({"a": CLEAR, "b": NOT_CLEAR, "c": CLEAR, "d": CLEAR}, 0, 0.75),
    ],
)  # fmt: skip
def test_a_case_is_clear_if_its_interval_lies_above_the_number(values, above, found):
    assert share(values, above) == found


def test_by_the_mean_no_interval_is_asked_for():
    by_mean = claim(clear_by="mean")
    reading = Reading.of(observed={"a": NOT_CLEAR, "b": [-1.0, 0.5], "c": [0.0, 0.1]}, control=[-1.0, 0.0])
    judged = reading.as_judged(by_mean).to_json()
    assert judged == {"observed": {"": pytest.approx(2 / 3)}, "control": {"": 0.0}}
    assert by_mean.verdict_key() != claim().verdict_key()


def test_agreement_is_nearness_in_standard_errors_of_both():
    """The mean of four values ±1 beside 3.2 has the standard error 1/√3: 3·√(1 + 1/3) = 3.46, and 3 without it."""
    by_agreement = claim(clear=3, clear_by="agreement")
    near, alone, far = ([x + 3.2 for x in (-1, 1, -1, 1)], [3.2, 3.2], [x - 3.5 for x in (-1, 1, -1, 1)])
    judged = Reading.of(observed={"a": near, "b": alone}, control=far).as_judged(by_agreement).to_json()
    assert judged == {"observed": {"": 0.5}, "control": {"": 0.0}}


def test_groups_of_cases_have_a_share_each():
    reading = Reading.of(observed=GROUPS, control=NOT_CLEAR, outside={"quadratic": {"P = 1": CLEAR, "P = 2": CLEAR}})
    judged = reading.as_judged(claim()).to_json()
    assert judged["observed"] == {"LeakyReLU, β > 1": 0.5, "quadratic": 1.0}
    assert judged["control"] == {"": 0.0} and judged["outside"] == {"quadratic": 1.0}
    assert reading.as_judged(claim()).mended == {}


def test_what_is_stored_are_the_networks_by_group_and_cell():
    reading = Reading.of(observed=GROUPS, control={"a": {"hits": 3, "trials": 4}})
    assert list(reading.observed) == [
        "LeakyReLU, β > 1: P = 3, β = 2",
        "LeakyReLU, β > 1: P = 5, β = 2",
        "quadratic: P = 3",
    ]
    assert reading.to_json()["observed"]["quadratic: P = 3"] == CLEAR and list(reading.control) == ["a"]
    assert Reading.of(**reading.to_json()) == reading == reading.as_judged(replace(claim(), clear=None))


@pytest.mark.parametrize("cells", [{}, {"P: 3": CLEAR}])
def test_a_group_without_cells_and_a_cell_like_a_group_are_refused(cells):
    with pytest.raises(ValueError, match="group 'wide' must have cells, without ': ' in their names, got"):
        Reading.of(observed={"wide": cells}, control=0)


def test_the_worst_group_is_judged_and_shown_as_a_share():
    found = verdict(claim(advocate="a", plain=list(PLAIN)), GROUPS, advocate=NOT_CLEAR)
    assert (found.verdict, found.reason) == ("not reproduced", "the rule ≥ 0.9 is missed")
    assert as_text(sentences(found)[1]) == "In 50 % of cells; as a control, in 0 %."
    line = card(found)
    assert "observed LeakyReLU, β > 1 0.5; quadratic 1 | control 0" in line.plain and "<td>0.5</td>" in line.html
    assert 'aria-label="measured 0.50; the rule: ≥ 0.9; the control: 0"' in line.html
    assert verdict(claim(rule={"at_most": 0.5}), {"a": CLEAR, "b": NOT_CLEAR}, control=CLEAR).verdict == "reproduced"


def test_a_share_is_no_luck():
    reading = Reading.of(observed=CLEAR, control=NOT_CLEAR)
    table = type("Table", (), {"rows": {"thm-1": claim()}})
    assert judge_all(table, {"thm-1": reading})["thm-1"].verdict == "reproduced"


def test_fewer_networks_than_are_needed_do_not_decide_against_the_claim():
    row, ten = claim(least=10, advocate="a"), {"a": NOT_CLEAR * 4, "b": [0.0] * 10}
    few = verdict(row, ten | {"c": NOT_CLEAR}, advocate=NOT_CLEAR)
    assert (few.verdict, few.reason) == ("undecided", "10 networks per case decide, this run has 3")
    assert few.before_review == "undecided" and "this run has 3" in card(few).plain
    assert verdict(row, ten, advocate=NOT_CLEAR).verdict == "not reproduced"
    assert verdict(row, CLEAR).verdict == "reproduced"
    assert "control" in verdict(row, NOT_CLEAR, control=CLEAR).reason


def test_so_it_is_for_a_list_without_clear_and_for_one_number():
    row = Claim.parse(ROW | {"least": 4, "advocate": "a"}, "f")
    for observed, word in (
        ([1.5, 1.6, 1.7], "undecided"),
        ([1.5, 1.6, 1.7, 1.6], "not reproduced"),
        (1.5, "undecided"),
    ):
        assert verdict(row, observed, control=2.0, advocate=2.0).verdict == word
    assert verdict(row, 0.5, control=2.0).verdict == "reproduced"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"kind": "identity"},
            "clear needs a rule at_least or at_most, and a kind other than identity; got ≥ 0.9, ide",
        ),
        ({"rule": {"equals": 1}}, "and a kind other than identity; got = 1, trend"),
        ({"clear": "much"}, "clear must be a number, got 'much'"),
        ({"clear": float("inf")}, "clear must be a finite number, got inf"),
        ({"least": 1}, "least must be ≥ 2, got 1"),
        ({"least": 2.5}, "least must be a whole number, got 2.5"),
    ],
)
def test_a_wrong_combination_is_named(changes, said):
    with pytest.raises(BookError) as caught:
        claim(**changes)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_claim_that_is_not_run_has_no_share():
    row = {k: ROW[k] for k in ("id", "locator", "statement")} | {"kind": "trend", "needs": "time", "clear": 0}
    with pytest.raises(BookError, match="got no rule, trend"):
        Claim.parse(row, "f")


def test_the_fields_are_part_of_what_a_verdict_depends_on_where_they_are_set():
    plain = Claim.parse(ROW, "f")
    assert plain.verdict_key() == ["thm-1", "≤ 1", False, False, False, "generated"] and not plain.seeds_decide
    assert claim().verdict_key()[-1] == ["clear", 0.0] and claim().seeds_decide
    keys = [claim(**c).verdict_key() for c in ({}, {"clear": 0.1}, {"least": 10}, {"clear": 0.0})]
    assert keys[0] == keys[3] and keys[0] != keys[1] and keys[2] == [*keys[0], ["least", 10]]
