"""Cards: the verdict of this run for nbval, the headline and the values for readers."""

import re

import pytest
from checkout import ROOT
from claim_row import ROW

from clbook.claims.claim_table import Claim, Claims
from clbook.claims.judging import Reading, judge
from clbook.notebook.card import Headline, card, card_not_judged

SANITIZE = ROOT / "chapters" / "nbval-sanitize.cfg"
PLAIN = ["The loss is one <trace>.", "They differ by {worst:%}.", "With the other sign: {control}, outside {outside}."]


def made(observed: object = 0.5, **row):
    return judge(Claim.parse(ROW | row, "f"), Reading.of(observed=observed, control=2.0, outside=1.5))


PAPER = Headline(made(conditions="wide enough"), "paper")


def compared(text: str) -> str:
    """The part of a text that nbval compares."""
    for regex, replace in re.findall(r"^regex: (.*)$\n^replace: (.*)$", SANITIZE.read_text(), re.MULTILINE):
        text = re.sub(regex, replace, text)
    return text


def test_a_card_begins_with_id_and_verdict_and_shows_what_was_measured():
    line = card(made())
    values = "rule ≤ 1 | observed 0.5 | control 2 | outside the conditions 1.5 | the rule ≤ 1 is met"
    assert line.plain == f"thm-1: reproduced\n<<{values}>>"
    assert 'id="thm-1"' in line.html and "● reproduced" in line.html and "<td>control</td>" in line.html


def test_a_card_says_what_was_found_with_the_numbers_of_the_run():
    claims = Claims("key-2023", "T", {}, {}, "stand-in")
    line = card(made(kind="bound", plain=PLAIN), claims=claims)
    assert "<<The loss is one <trace>. They differ by 50 %. With the other sign: 2, outside 1.5. | rule" in line.plain
    assert "<strong>The loss is one &lt;trace&gt;.</strong>" in line.html and "differ by <b>50 %</b>." in line.html
    assert 'href="../book/claims.html#key-2023/thm-1"' in line.html and "clbook verify stand-in thm-1" in line.html
    assert 'aria-label="measured 0.50; the rule: ≤ 1; the control: 2"' in line.html


def test_a_card_of_a_claim_that_this_run_does_not_judge_shows_what_the_record_found():
    record = Headline(
        made(0.25, kind="bound", plain=PLAIN, conditions="wide enough", conditions_kind="reading"), "paper"
    )
    line = card_not_judged(record.found.claim, record)
    assert "They differ by 25 %." in line.plain and "<b>25 %</b>" in line.html and "<svg" in line.html
    assert "under one reading" in line.html and "wide enough" in line.html
    assert "<svg" not in card_not_judged(record.found.claim).html


def test_a_card_of_a_row_without_sentences_shows_statement_and_values():
    line = card(made(statement="It is $\\le 1$ & small."))
    assert r'<strong>It is <span class="math">\(\le 1\)</span> &amp; small.</strong>' in line.html
    assert "rule ≤ 1 · observed 0.5 · control 2" in line.html


CONTROL = (
    "They differ by {worst:%}. As a control, with the other sign, eq. (7), by {control:%} or more. Outside, {outside}."
)


def test_the_control_stands_at_its_mark_and_its_sentence_in_the_fold():
    row = {"kind": "bound", "plain": ["The loss is one trace.", CONTROL], "control": "the other sign"}
    line = card(made(**row))
    found, fold = re.search(r'claim-found"[^>]*>(.*?)</p>', line.html)[1], line.html.partition("how it was measured")[2]
    assert found == "They differ by <b>50 %</b>. Outside, <b>1.5</b>."
    assert re.findall(r'control-label"[^>]*>(.*?)<', line.html) == ["✕ the other sign: 2"]  # as the gauge writes 0.50
    assert "As a control, with the other sign, eq. (7), by <b>200 %</b> or more." in fold
    assert "As a control" in line.plain and "the control: the other sign: 2" in line.html


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "identity"},  # no gauge
        {"plain": ["Two.", "By {worst}. As a control, {control[]} in one case, {outside} in another."]},  # not it alone
    ],
)
def test_a_control_that_no_gauge_says_keeps_its_sentence(row):
    line = card(made(**{"kind": "bound", "plain": ["One.", CONTROL], "control": "the other sign"} | row))
    assert "As a control" in re.search(r'claim-found"[^>]*>(.*?)</p>', line.html)[1] and "✕" not in line.html


def test_an_identity_takes_a_line_without_a_gauge():
    line = card(made(kind="identity", plain=PLAIN))
    assert "claim-identity" in line.html and "<svg" not in line.html and "50 %" in line.html


def test_where_the_headline_differs_the_card_shows_both_and_leads_with_it():
    line = card(made(), PAPER)
    assert line.plain.startswith("thm-1: reproduced\n<<with conditions in the long run | rule")
    before, _, after = line.html.partition("this run:")
    assert "◐ with conditions" in before and "● reproduced" in after and "● reproduced" not in before
    same = card(made(), Headline(made(), "paper", 4))
    assert "also in the long run, in 4 of 4 blocks of seeds" in same.plain and same.html.count("● reproduced") == 1


def test_where_they_differ_sentence_and_gauge_are_those_of_the_record():
    """One voice: a run that leaves open what the record decides is a clause beside it."""
    row = {"kind": "bound", "plain": PLAIN}
    line = card(made([0.5, 1.4, 0.9], **row), Headline(made(0.25, **row), "paper"))
    assert "They differ by <b>25 %</b>" in line.html and "Open in this run" not in line.html
    assert "<strong>In the long run: " in line.html and "<<" in line.plain and "In the long run: " in line.plain
    assert "In the long run: " not in card(made(**row), Headline(made(**row), "paper")).html  # they agree
    assert 'aria-label="measured 0.25' in line.html and "? undecided" in line.html
    back = card(made(0.25, **row), Headline(made([0.5, 1.4, 0.9], **row), "paper"))
    assert "<strong>Open in the long run: The loss" in back.html


@pytest.mark.parametrize("headline", [None, PAPER, Headline(made(), "paper")])
@pytest.mark.parametrize("observed", [0.5, 0.75])
def test_nbval_compares_id_and_verdict_of_this_run_alone(headline, observed):
    """A notebook that shows a headline thus agrees with a kernel that knows none."""
    line, live = card(made(observed), headline), card(made())
    assert compared(line.plain) == "thm-1: reproduced\n(not compared)" and compared(line.html) == compared(live.html)
    assert "0.5" not in compared(line.html) and compared(card(made(1.5)).html) != compared(live.html)
    unjudged = card_not_judged(made().claim, headline)
    assert compared(unjudged.html) == compared(card_not_judged(made().claim).html)
    assert compared(unjudged.plain).startswith("thm-1: not judged here")


def test_what_is_beyond_the_paper_says_so():
    row = Claim.parse(ROW | {"beyond": True}, "f")
    line = card(judge(row, Reading.of(observed=0.5, control=2.0)))
    assert line.plain.endswith(" | beyond the paper>>")


def test_on_a_stand_in_the_card_says_so():
    line = card(made(stand_in="a smaller network"))
    assert line.plain.startswith("thm-1: seen\n") and "on a stand-in" in line.html and "a smaller network" in line.html
