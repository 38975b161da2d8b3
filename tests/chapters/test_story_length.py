"""A story is read in half an hour, cards included: how many cards and words it has."""

import re

import pytest
from bs4 import BeautifulSoup
from checkout import ROOT

from clbook.common.formats import read_notebook
from clbook.common.sources import ChapterFiles, chapter_names

CARDS, WORDS = 18, 1000
PACE, MINUTES = 150, 30  # words a minute, for a page that is half formulas
NAMES = chapter_names(ROOT)
ASIDE = r"\{exercise\}|^## Exercises|^:class: worked"  # is worked through
SYMBOLS = r"^\(\w+-symbols\)=.*\Z"  # a table to look up, to the end of its cell
# No word: symbols, displays, strips, options and fences of directives. One word: formulas, roles. A link is its text.
LEFT_OUT = (
    (SYMBOLS, ""),
    (r"\$\$.*?\$\$(\s*\([\w-]+\))?|```\{strip\}.*?```|^:[\w-]+:.*?$|^`{3,}.*?$", ""),
    (r"\$[^$]*\$|\{[\w:-]+\}`[^`]*`", "x"),
    (r"\]\([^)]*\)|<[^>]*>", ""),
)


def cards(name: str) -> list[str]:
    """What the cards of a story say: headline and finding, without what is one click away, such as folded cards."""
    notebook = read_notebook(ChapterFiles(ROOT, name).notebooks[0].notebook)
    found = []
    for cell in notebook.cells:
        for output in [] if "hide-cell" in cell.metadata.get("tags", []) else cell.get("outputs", []):
            page = BeautifulSoup(str(output.get("data", {}).get("text/html", "")), "html.parser")
            for card in page.select("div.claim[id]"):
                found.append(" ".join(part.get_text(" ") for part in card.select(".claim-head, .claim-found")))
    return found


def words(text: str) -> int:
    """How many words a markdown text has, captions among them; a formula in a line is one."""
    for pattern, left in LEFT_OUT:
        text = re.sub(pattern, f" {left} ", text, flags=re.DOTALL | re.MULTILINE)
    return len(re.findall(r"[^\W_][\w’'-]*", text))


@pytest.mark.parametrize("name", NAMES)
def test_a_story_has_few_cards_of_few_words(name):
    shown = cards(name)
    on_cards = sum(len(re.findall(r"\S+", text)) for text in shown)
    print(f"{name}: {len(shown)} cards, {on_cards} words")
    assert 5 < len(shown) <= CARDS and 5 * len(shown) < on_cards <= WORDS


@pytest.mark.parametrize("name", NAMES)
def test_a_story_takes_half_an_hour_with_its_cards(name):
    cells = read_notebook(ChapterFiles(ROOT, name).notebooks[0].notebook).cells
    told = [cell.source for cell in cells if cell.cell_type == "markdown" and not re.search(ASIDE, cell.source, re.M)]
    count = sum(map(words, told))
    on_cards = sum(len(re.findall(r"\S+", text)) for text in cards(name))
    print(f"{name}: {count} words and {on_cards} on cards, {(count + on_cards) / PACE:.0f} minutes")
    assert PACE * MINUTES / 2 < count + on_cards <= PACE * MINUTES


def test_what_is_a_word():
    text = (
        "```{figure} x\n:alt: a b c\n\nTwo *words*, $a+b$ and [a link](page.html#x).\n```\n$$\nx\n$$ (ab-eq)\n{cite}`k`"
    )
    assert words(text) == len("Two words x and a link x".split())
    assert words("What is open.\n\n(ab-symbols)=\n## Symbols\n\n| $x$ | a meaning |") == 3
