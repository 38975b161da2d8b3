"""The claims of a section that a run does not judge are one line, on a page built from a notebook."""

from claim_row import ROW
from nbformat.v4 import new_markdown_cell
from notebook_page import cell, page_of

from clbook.claims.claim_table import Claim
from clbook.claims.judging import Reading, judge
from clbook.notebook.card import Headline, card_not_judged


def unjudged(claim_id: str, recorded: bool) -> str:
    """The card of such a claim as HTML, with a record's verdict if there is one."""
    claim = Claim.parse(ROW | {"id": claim_id}, "f")
    found = Headline(judge(claim, Reading.of(observed=0.5, control=2.0)), "paper")
    return card_not_judged(claim, found if recorded else None).html


def test_what_a_section_does_not_judge_is_one_line_at_the_place_of_the_last(tmp_path):
    page, warnings = page_of(
        tmp_path,
        new_markdown_cell("## A section\n\nFirst."),
        cell("x = 1", "hide-input", said=unjudged("fig-1", recorded=True)),
        cell("y = 1", "hide-input", said='<div class="claim claim-reproduced" id="eq-1">judged</div>'),
        cell("z = 1", "hide-input", said=unjudged("fig-1-a", recorded=False)),
        cell("v = 1", "hide-input", said=unjudged("fig-2", recorded=True)),
        new_markdown_cell("After.\n\n## Another section"),
        cell("w = 1", "hide-input", said='<div class="claim claim-reproduced" id="eq-2">judged</div>'),
    )
    lines = page.select("details.unjudged-claims")
    assert len(lines) == 1 and not warnings
    said = lines[0].summary.get_text()
    assert said == "Not judged in this run; the long run: ● reproduced fig-1, fig-2; no record fig-1-a"
    assert [card["id"] for card in lines[0].select(".claim[id]")] == ["fig-1", "fig-1-a", "fig-2"]
    assert [card["id"] for card in page.select(".claim[id]")] == ["eq-1", "fig-1", "fig-1-a", "fig-2", "eq-2"]
    assert lines[0].find_next("p", string="After.")
