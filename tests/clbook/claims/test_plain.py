"""What was found, in sentences: numbers as a reader wants them, places filled from a reading, bad templates refused."""

import math
from dataclasses import replace

import pytest
from claim_row import ROW

from clbook.claims.claim_table import Claim
from clbook.claims.judging import Reading, Verdict
from clbook.claims.plain import as_html, number, per_cent, sentences
from clbook.claims.rules import Rule
from clbook.claims.sentence_templates import problem
from clbook.common.errors import BookError

READING = Reading.of(
    observed={"tanh": [0.5, 0.7], "relu": [0.1, 0.3]}, control={"half": 2.0, "other": 5.0}, mended=math.pi / 6
)
TEXT = ("A headline.", "It is {worst}; without, {control}.")


def filled(*templates: str, rule=("at_most", (1.0,)), reading=READING, word="reproduced") -> list[str]:
    claim = replace(Claim.parse(ROW, "f"), plain=templates, rule=Rule(*rule))
    return ["".join(parts) for parts in sentences(Verdict(claim, word, "", reading, word))]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.351e-16, "3·10⁻¹⁶"), (9.6e-16, "1·10⁻¹⁵"), (0.0, "0"), (2.0, "2"), (-0.483, "−0.48"), (0.5, "0.50"),
        (99.6, "100"), (12345.6, "12000"), (2.5e7, "2·10⁷"), (-1e-9, "−1·10⁻⁹"), (math.inf, "∞"), (0.998, "1.0"),
    ],
)  # fmt: skip
def test_a_number_has_two_digits_and_a_minus_sign(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.117, "12 %"),
        (1.0, "100 %"),
        (0.9983, "99.8 %"),
        (0.99996, "99.996 %"),
        (0.9999999, "99.99999 %"),
        (1.00004, "100 %"),  # of a first value, say; more than all is no share that is not all
        (0.0, "0 %"),
        (4e-16, "4·10⁻¹⁶"),
    ],
)  # fmt: skip
def test_a_share_that_is_not_all_is_never_a_hundred_per_cent(value, text):
    assert per_cent(value) == text


def test_places_are_filled_with_the_case_that_decides():
    assert filled("{worst} {least} {most} {control} {cases} {seeds} {rule}") == ["0.60 0.20 0.60 2 2 2 1"]
    assert filled("{worst} {control}", rule=("at_least", (0.1,))) == ["0.20 5"]
    assert filled("{worst} {control}", rule=("between", (0.5, 0.7))) == ["0.20 2"]
    assert filled("{observed[relu]:%} {control[other]:n} {mended:°} {control:x}") == ["20 % 5 30° 2 times"]


def test_an_interval_has_as_many_digits_as_tell_its_ends_apart():
    near = Reading.of(observed=[0.9991, 0.9993, 0.9992] * 4, control=2.0)
    assert filled("{interval}", reading=near) == ["0.9991 to 0.9993"]


def test_the_interval_is_that_of_the_case_that_decides():
    """A wide interval about a smaller mean reaches farther beyond the rule; one that misses it comes first."""
    wide, narrow = [0.1, 0.9, 0.5], [0.7, 0.72, 0.71]
    reading = Reading.of(observed={"narrow": narrow, "wide": wide}, control=2.0)
    assert filled("{worst} {interval}", reading=reading) == [f"0.71 {filled('{interval[wide]}', reading=reading)[0]}"]
    missed = Reading.of(observed={"missed": [1.5, 1.51, 1.52], "wide": [-9.0, 9.0, 0.0]}, control=2.0)
    assert filled("{interval}", reading=missed) == filled("{interval[missed]}", reading=missed)


def test_a_headline_that_the_run_does_not_bear_out_says_so_and_takes_bare_assertions_with_it():
    texts = ("It is small.", "It is {worst}.", "So it holds.")
    assert filled(*texts) == ["It is small.", "It is 0.60.", "So it holds."]
    assert filled(*texts, word="not reproduced") == ["Not in this run: It is small.", "It is 0.60."]
    assert filled(*texts, word="not seen")[0] == "Not in this run: It is small."
    assert filled(*texts, word="undecided") == ["Open in this run: It is small.", "It is 0.60."]


def test_a_sentence_on_a_case_that_a_run_lacks_is_left_out():
    assert filled("A.", "{observed[gelu]} B.", "{planted} C.", "{control} D.") == ["A.", "2 D."]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("A.", "It is small; {control}."), "must show what was measured"),
        (("A.", "It is {worst}."), "must show what was measured and the control"),
        (("A.", "{worst} {control} {typo}"), "{typo} is no place"),
        (("A.", "{worst:.3f} {control}"), "{worst:.3f} is no place"),
        (("A.", "{worst {control}"), "plain: "),
        (("A.", "{worst} against 0.41, {control}"), "a number that a run makes is not typed, got '0.4'"),
        (("A.", "{worst} of 12 %, {control}"), "is not typed, got '2 %'"),
        (("A.", "{worst} below 10⁻³, {control}"), "is not typed, got '10⁻'"),
    ],
)
def test_a_text_that_says_too_little_or_types_a_number_is_refused(texts, said):
    assert said in problem(texts)
    with pytest.raises(BookError, match="^f: claim thm-1: plain"):
        Claim.parse(ROW | {"plain": list(texts)}, "f")


def test_a_headline_alone_is_refused():
    assert "a headline and at least one sentence" in problem(("A headline.",))
    with pytest.raises(BookError, match="^f: claim thm-1: plain"):
        Claim.parse(ROW | {"plain": ["A headline."]}, "f")


def test_a_text_that_names_quantity_and_control_is_taken():
    assert problem(TEXT) == "" and Claim.parse(ROW | {"plain": list(TEXT)}, "f").plain == TEXT


def test_a_fraction_as_an_exponent_is_raised_as_one():
    assert as_html(["as h⁻¹ᐟ², d₁⁻³ᐟ² < 10⁻¹⁶"]) == "as h<sup>−1/2</sup>, d₁<sup>−3/2</sup> &lt; 10⁻¹⁶"
