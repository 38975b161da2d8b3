"""Labels: all pages of the book share them, so none occurs twice; a claim's id is the anchor of its own line alone."""

import re
from collections import Counter

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.common.sources import ChapterFiles, chapter_names

CHAPTERS = chapter_names(ROOT)
# what stands before a heading, an option of a directive, what ends a formula
LABEL = re.compile(r"^(?:# )?(?:\(([^()\s]+)\)=|:(?:label|name): *(\S+)|.*\$\$ *\(([^()\s]+)\)) *$", re.MULTILINE)
STATEMENT = re.compile(r"^(?:# )?(?:`{3,}|:{3,})\{prf:(?!proof)\w+\} *(.*)\n((?:(?:# )?:\w+:.*\n)*)", re.MULTILINE)


def labels(text: str) -> list[str]:
    """All labels that a page defines, in the form in which they are compared."""
    return [next(filter(None, found.groups())).lower() for found in LABEL.finditer(text)]


def unlabelled(text: str) -> list[str]:
    """Statements without a label: each page numbers them from 0, so labels of different pages collide."""
    return [found[1] for found in STATEMENT.finditer(text) if ":label:" not in found[2]]


def chapter_text(name: str) -> str:
    return "\n".join(cell.source for cell in ChapterFiles(ROOT, name).cells() if cell.markdown) + "\n"


def test_no_label_of_the_book_stands_twice():
    pages = {f"chapters/{name}": chapter_text(name) for name in CHAPTERS}
    pages |= {f"book/{path.stem}": path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")}
    given = [(label, page) for page, text in pages.items() for label in labels(text)]
    count = Counter(label for label, _ in given)
    assert len(given) > 50 and [pair for pair in given if count[pair[0]] > 1] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_statement_of_a_chapter_has_a_label(name):
    assert unlabelled(chapter_text(name)) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_label_of_a_chapter_is_the_id_of_a_claim(name):
    rows = Claims.load(ChapterFiles(ROOT, name).claims).rows
    assert [label for label in labels(chapter_text(name)) if label in rows] == []


PAGE = """
# (Of-a-Section)=
# ## A section
#
# $$ x = 1 $$ (eq-x)
# $$
# y = (2)
# $$ (eq-y)
#
# ```{prf:lemma} no. 1: named
# :label: lem-named
# :nonumber:
# With {prf:ref}`this <lem-named>`.
# ```
# ````{prf:theorem} no. 2: nameless
# :nonumber:
# It holds.
# ````
:::{prf:definition}
Nameless, without a title.
:::
# ```{prf:proof}
# A proof takes no label.
# ```
# ```{glue:figure} plot
# :alt: (text)=
# :name: of-a-figure
# ```
"""


def test_every_form_of_a_label_is_found():
    assert labels(PAGE) == ["of-a-section", "eq-x", "eq-y", "lem-named", "of-a-figure"]


def test_a_statement_without_a_label_is_found():
    assert unlabelled(PAGE) == ["no. 2: nameless", ""]
