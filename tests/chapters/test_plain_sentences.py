"""The plain sentences of every claim, filled with every stored reading."""

import math
from dataclasses import replace
from functools import cache

import pytest
from bs4 import BeautifulSoup
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.claims.judging import Verdict, judge
from clbook.claims.plain import LEADS, Number, sentences
from clbook.claims.rules import MET, MISSED, UNDECIDED, Rule
from clbook.claims.statistics import Sample
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook.card import card
from clbook.notebook.results import verdicts_of
from clbook.provenance.staleness import stored_stamps

LONGEST_HEADLINE, LONGEST = 90, 420  # characters; a card is read in five seconds


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_every_claim_that_is_run_says_what_was_found(name):
    rows = Claims.load(ROOT / "chapters" / name / "claims.yaml").rows.values()
    assert not [row.id for row in rows if row.rule and not row.plain]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_the_sentences_fit_what_is_stored(name):
    """No place is empty in a notebook or a record, and a card stays short."""
    for where, verdicts in stored_verdicts(name):
        for claim, verdict in verdicts.items():
            shown = sentences(replace(verdict, verdict="reproduced"))
            assert len(shown) == len(verdict.claim.plain), (claim, where, verdict.claim.plain)
            headline, *rest = ("".join(parts) for parts in shown)
            assert len(headline) <= LONGEST_HEADLINE and len(" ".join(rest)) <= LONGEST, (claim, headline, rest)


@cache
def stored_verdicts(name: str) -> list[tuple[str, dict[str, Verdict]]]:
    """Place and verdicts of each stored run of a chapter."""
    files = ChapterFiles.find(name, ROOT)
    return [(run.where, verdicts_of(run.stamp, Claims.load(files.claims))) for run in stored_stamps(files)]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_card_with_a_gauge_has_the_control_at_its_mark(name):
    """No visible sentence speaks of a control that the gauge can name."""
    at_mark = 0
    for where, verdicts in stored_verdicts(name):
        for claim, verdict in verdicts.items():
            page = BeautifulSoup(card(verdict).html, "html.parser")
            marked = "✕" in page.get_text()
            at_mark += marked
            shown = " ".join(part.get_text() for part in page.select(".claim-found"))
            several = any("As a control" in text and text.count("{control") != 1 for text in verdict.claim.plain)
            named = any("{control[" in text for text in verdict.claim.plain)
            assert not page.find("svg") or "As a control" not in shown or several or named, (where, claim, shown)
            assert not marked or "$" not in verdict.claim.control, (claim, "a gauge sets no formula")
    assert at_mark > 20


def moved(sample: Sample, rule: Rule, outcome: str) -> Sample:
    """A sample like this one for which the rule is met, missed or open."""
    low, high = (end if math.isfinite(end) else None for end in rule.range)
    inside = (low + high) / 2 if None not in (low, high) else low + 1 if high is None else high - 1
    edge = low if high is None else high
    beyond = edge + (1 if high is not None else -1) * (1 + abs(edge))
    values = {MET: [inside] * 2, MISSED: [beyond] * 2, UNDECIDED: [edge - 1, edge + 1]}[outcome]
    return Sample.of(values)


@pytest.mark.parametrize("name", chapter_names(ROOT))
@pytest.mark.parametrize("outcome", [MET, MISSED, UNDECIDED])
def test_no_sentence_asserts_what_the_verdict_denies(name, outcome):
    """Where the rule is not met the headline says so, and every other sentence that stays shows a measured number."""
    for _, verdicts in stored_verdicts(name):
        for claim, stored in verdicts.items():
            row = replace(stored.claim, least=0, clear=None)
            cases = {case: moved(sample, row.rule, outcome) for case, sample in stored.reading.observed.items()}
            control = {case: moved(sample, row.rule, MISSED) for case, sample in stored.reading.control.items()}
            verdict = judge(row, replace(stored.reading, observed=cases, control=control), row.data)
            headline, *rest = sentences(verdict)
            open_or_missed = verdict.verdict in ("not reproduced", "not seen", "undecided")
            assert row.rule.outcome_of_all(cases) == outcome and (open_or_missed or outcome != UNDECIDED), claim
            assert (headline[0] == LEADS.get(verdict.verdict, "").format("this run")) == open_or_missed, claim
            assert not open_or_missed or all(any(isinstance(p, Number) for p in parts) for parts in rest), claim
