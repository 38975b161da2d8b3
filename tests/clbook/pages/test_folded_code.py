"""What is folded between two paragraphs is one strip, on a page built from a notebook."""

from nbformat.v4 import new_markdown_cell
from notebook_page import cell, page_of

FIGURE = "```{figure} plot.png\n:alt: A line.\n\nA caption.\n```"
LONG = "\n".join(f"step_{k} = {k}" for k in range(90))


def names(page) -> list[str]:
    return [summary.get_text() for summary in page.select("details.folded-code > summary")]


def test_what_is_folded_between_two_paragraphs_is_one_strip_below_the_outputs(tmp_path):
    page, warnings = page_of(
        tmp_path,
        cell("x = 1\n\ny = 2", "hide-input"),
        cell("z = 3"),
        cell("chapter.judge(x)", "hide-input", said="reproduced"),
        new_markdown_cell("## Another section"),
        cell("w = 4", "hide-input"),
    )
    assert names(page) == ["the run: 2 steps, 3 lines", "the code: 1 line"] and not warnings
    strip = page.select_one("details.folded-code")
    assert [pre.get_text().strip() for pre in strip.select("pre")] == ["x = 1\n\ny = 2", "chapter.judge(x)"]
    assert strip.find_previous(class_="claim").get_text() == "reproduced" and not strip.select(".claim")
    shown = [pre.get_text().strip() for pre in page.select("pre") if not pre.find_parent("details")]
    assert shown == ["z = 3"] and not page.select("details.hide") and not strip.summary.attrs


def test_short_runs_of_a_section_share_a_strip_below_the_last(tmp_path):
    page, _ = page_of(
        tmp_path,
        cell("x = 1", "hide-input", said="first"),
        new_markdown_cell("Between."),
        cell(LONG, "hide-input", said="second"),
        new_markdown_cell("Between."),
        cell(LONG, "hide-input", said="third"),
        new_markdown_cell("Between."),
        cell("y = 2", "hide-input", said="fourth"),
    )
    assert names(page) == ["the code: 2 steps, 91 lines", "the code: 2 steps, 91 lines"]
    above = [strip.find_previous(class_="claim").get_text() for strip in page.select("details.folded-code")]
    assert above == ["second", "fourth"]


def test_the_code_of_a_picture_stands_below_the_picture(tmp_path):
    page, _ = page_of(
        tmp_path,
        cell("x = 1", "hide-input"),
        cell("fig = draw()\nglue.figure(fig, 'plot')", "hide-input", "remove-output", said="not shown"),
        new_markdown_cell(FIGURE),
        new_markdown_cell("After."),
    )
    assert names(page) == ["the code: 1 line", "code of this picture: 2 lines"]
    assert [tag.name for tag in page.select("details.folded-code, figure")] == ["details", "figure", "details"]
    assert not page.select(".claim")


def test_cells_folded_with_their_outputs_are_one_strip_of_their_own(tmp_path):
    page, _ = page_of(
        tmp_path,
        cell("x = 1", "hide-cell"),
        cell("x", "hide-cell", said="one"),
        cell("open_chapter()", "hide-input"),
    )
    assert names(page) == ["code of this solution: 2 steps, 2 lines", "parameters and set-up: 1 line"]
    assert page.select_one("details.folded-code .claim").get_text() == "one"


def test_the_code_of_a_picture_that_is_shown_elsewhere_does_not_claim_to_be_that_of_this_one(tmp_path):
    drawn = cell("fig = draw()\nglue.figure(fig, 'plot')", "hide-input", "remove-output", said="not shown")
    page, _ = page_of(tmp_path, cell("x = 1", "hide-input"), drawn, new_markdown_cell("After."))
    assert names(page) == ["the code: 2 steps, 3 lines"]
