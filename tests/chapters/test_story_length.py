"""A story is read in half an hour: how many cards it has, and how many words are on them."""

import re

import pytest
from bs4 import BeautifulSoup
from checkout import ROOT

from clbook.common.formats import read_notebook
from clbook.common.sources import ChapterFiles

CARDS, WORDS = 18, 1000
SHORT = ["alignment-and-balance"]  # a chapter that keeps the limits stands here


def cards(name: str) -> list[str]:
    """What the cards of a story say: the headline and what was found, without what is one click away."""
    notebook = read_notebook(ChapterFiles(ROOT, name).notebooks[0].notebook)
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            page = BeautifulSoup(str(output.get("data", {}).get("text/html", "")), "html.parser")
            for card in page.select("div.claim[id]"):
                found.append(" ".join(part.get_text(" ") for part in card.select(".claim-head, .claim-found")))
    return found


@pytest.mark.parametrize("name", SHORT)
def test_a_story_has_few_cards_of_few_words(name):
    shown = cards(name)
    words = sum(len(re.findall(r"\S+", text)) for text in shown)
    print(f"{name}: {len(shown)} cards, {words} words")
    assert 5 < len(shown) <= CARDS and 5 * len(shown) < words <= WORDS
