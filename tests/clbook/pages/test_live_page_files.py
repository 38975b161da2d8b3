"""Live pictures as pages of their own: one file, a link to the chapter, a line to copy that keeps the scene."""

import html
import re

import nbformat
import pytest
from browser import browser
from checkout import ROOT

from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages.live_pages import LivePage, generated, live_pages

NAMES = {"clouds", "arrows", "circle", "masks", "overgrown", "vessel"}


@pytest.fixture(scope="module")
def pages():
    found = {}
    for name in chapter_names(ROOT):
        found |= live_pages(ChapterFiles.find(name, ROOT), name)
    return found


def test_every_live_picture_has_a_page_of_its_own_and_stands_in_the_list(pages):
    assert pages.keys() == NAMES
    files = generated(pages)
    assert files.keys() == {f"static/live/{name}.html" for name in NAMES} | {"live.md"}
    assert all(f'<a href="../_static/live/{name}.html">' in files["live.md"] for name in NAMES)
    loads = re.findall(
        r'(?:src|href)="(?!data:|\.\./\.\./chapters/|#|\$)([^"]+)"', "".join(p.html for p in pages.values())
    )
    assert loads == []


def test_what_a_page_is_given_is_made_harmless():
    listed = generated({"x": LivePage("", "<b>", "a <i> & b")})["live.md"]
    assert "&lt;b&gt;" in listed and "a &lt;i&gt; &amp; b" in listed


def test_a_chapter_without_a_live_picture_has_no_page(tmp_path):
    part = ChapterFiles(tmp_path, "none")
    part.notebook.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(), part.notebook)
    assert live_pages(part, "None") == {} and generated({}) == {"live.md": "\n"}


def test_the_line_to_copy_has_the_scene_and_a_frame_shows_the_picture_alone(pages, tmp_path):
    page = tmp_path / "clouds.html"
    page.write_text(pages["clouds"].html, encoding="utf-8")
    framed = tmp_path / "framed.html"
    frame = f'<iframe srcdoc="{html.escape(pages["clouds"].html)}" width="900" height="900"></iframe>'
    framed.write_text(f"<!doctype html><meta charset=utf-8><title>x</title>{frame}", encoding="utf-8")
    with browser() as tab:
        tab.open(page)
        tab.until("document.querySelector('.explorable.live') !== null")
        tab.run("location.hash = '#clouds:t=3'")
        line = tab.until(
            "document.getElementById('line').value.includes('#clouds:t=3') && document.getElementById('line').value"
        )
        assert line.startswith('<iframe src="file:///') and line.endswith("</iframe>") and tab.complaints == []
        tab.open(framed)
        tab.until("frames[0].document.querySelector('.explorable.live') !== null")
        assert not tab.run("frames[0].document.querySelector('footer').checkVisibility()")
