"""Neighbouring cards are one card with a row for each claim; single cards stay, and no text is lost."""

import pytest
from claim_row import ROW
from nbformat.v4 import new_markdown_cell
from notebook_page import cell, page_of

from clbook.claims.claim_table import Claim
from clbook.claims.judging import Reading, judge
from clbook.notebook.card import card
from clbook.pages.card_groups import as_row

PLAIN = ["What {0} found.", "It differs by {{worst}}, the control by {{control}}."]


def html(name: str, kind: str = "bound") -> str:
    row = {"id": name, "kind": kind, "plain": [text.format(name) for text in PLAIN]}
    return card(judge(Claim.parse(ROW | row, "f"), Reading.of(observed=0.5, control=2.0))).html


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    judged = ("hide-input",)
    cells = [
        new_markdown_cell("## One"),
        *(cell("x = 1", *judged, said=html(name)) for name in ("thm-1-a", "thm-1-b", "thm-1-c")),
        new_markdown_cell("Between."),
        cell("x = 2", *judged, said=html("thm-2")),
        new_markdown_cell("## Two"),
        cell("x = 3", *judged, said=html("eq-1", "identity")),
    ]
    return page_of(tmp_path_factory.mktemp("page"), *cells)


def test_neighbours_are_rows_of_one_card(page):
    soup, warnings = page
    assert warnings == ""
    (group,) = soup.select(".claim-group")
    assert [row["id"] for row in group.select(".claim-row")] == ["thm-1-a", "thm-1-b", "thm-1-c"]
    for row in group.select(".claim-row"):
        assert "What" in row.summary.strong.get_text() and "reproduced" in row.summary.get_text()
        assert row.find("svg", class_="gauge", recursive=False)
        assert "It differs by 0.50, the control by 2." in " ".join(row.details.get_text().split())
        assert "how it was measured" in row.details.get_text()


def test_a_single_card_stays_whole_and_an_identity_is_a_row(page):
    soup, _ = page
    single = soup.find(id="thm-2")
    assert "claim-row" not in single["class"] and single.find("p", class_="claim-found", recursive=False)
    identity = soup.find(id="eq-1")
    assert "claim-row" in identity["class"] and "eq-1 found" in identity.summary.get_text()
    assert len(soup.select(".claim")) == 5


def test_a_row_keeps_every_word_and_what_is_no_card_stays():
    whole = html("thm-1")
    row = as_row(whole)
    for part in ("● reproduced", "What thm-1 found.", "It differs by", "how it was measured", "<svg", 'id="thm-1"'):
        assert whole.count(part) == row.count(part) >= 1
    assert as_row("<p>no card</p>") == "<p>no card</p>"
