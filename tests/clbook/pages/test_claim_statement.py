"""A statement is typed once: the chapters show rows by the directive `claim`, and repeat none."""

import re

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.common.sources import ChapterFiles, chapter_names

BLOCK = re.compile(r"^(`{3,}|:{3,})\{prf:(?!proof)\w+\}.*\n((?:.*\n)*?)\1$", re.MULTILINE)
CLAIM = re.compile(r"^`{3,}\{claim\} *(\S*)", re.MULTILINE)
CHAPTERS = {name: ChapterFiles(ROOT, name) for name in chapter_names(ROOT)}


def statements(chapter: str) -> dict[str, str]:
    return {claim: row.statement for claim, row in Claims.load(CHAPTERS[chapter].claims).rows.items()}


def prose(chapter: str) -> str:
    return "\n\n".join(cell.source.replace("\n# ", "\n").replace("\n#\n", "\n\n") for cell in markdown(chapter))


def markdown(chapter: str) -> list:
    return [cell for cell in CHAPTERS[chapter].cells() if cell.markdown]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_directive_names_a_row_of_its_chapter_once(chapter):
    text = prose(chapter)
    named = CLAIM.findall(text)
    assert len(named) == text.count("{claim}") and set(named) <= statements(chapter).keys()
    assert len(set(named)) == len(named) > 3


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_block_repeats_the_statement_of_a_row(chapter):
    bodies = {match[0].partition("\n")[0]: flat(match[2]) for match in BLOCK.finditer(prose(chapter))}
    assert len(bodies) > 5
    twice = [(head, claim) for head, body in bodies.items() for claim, s in statements(chapter).items() if s in body]
    assert not twice, "show the row's statement by the directive `claim`"
