"""The plain sentences of every claim, filled with every stored reading."""

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.claims.plain import sentences
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook.results import stored_runs

LONGEST_HEADLINE, LONGEST = 90, 420  # characters; a card is read in five seconds


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_every_claim_that_is_run_says_what_was_found(name):
    rows = Claims.load(ROOT / "chapters" / name / "claims.yaml").rows.values()
    assert not [row.id for row in rows if row.rule and not row.plain]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_the_sentences_fit_what_is_stored(name):
    """No place is empty in a notebook or a record, and a card stays short."""
    for run in stored_runs(ChapterFiles.find(name, ROOT)).values():
        for claim, verdict in run.verdicts.items():
            row = verdict.claim
            filled = sentences(row.plain, row.rule, verdict.reading, verdict.level)
            assert len(filled) == len(row.plain), (claim, run.stamp["profile"], row.plain)
            headline, *rest = ("".join(parts) for parts in filled)
            assert len(headline) <= LONGEST_HEADLINE and len(" ".join(rest)) <= LONGEST, (claim, headline, rest)
