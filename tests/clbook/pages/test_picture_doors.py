"""A still with a live twin opens it at the scene that its caption names; the sign says so, and not on paper."""

import re

import pytest
from browser import browser, written
from checkout import ROOT
from live_page import NAMES
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from notebook_page import page_of

from clbook.common.formats import read_notebook
from clbook.common.sources import ChapterFiles, chapter_names

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
CAPTIONS = {
    "silent": 'Look at the first arrow. <a href="#arrows:t=20&on=3"></a>',
    "said": 'As <a href="one.html#masks:both=0">a mask</a> does, and <a href="#masks:both=100">none</a>.',
    "none": "See [elsewhere](https://a.b/c#d).",
}
SCENE = re.compile(r'href="(?P<page>[\w.-]*)#(?P<name>[a-z]+):(?P<state>[^"]*)"')
STYLE = (ROOT / "book" / "_static" / "figures.css").as_uri()


def glued(name: str):
    output = new_output("display_data", {"image/png": PIXEL, "text/plain": f"<figure {name}>"})
    output.metadata = {"scrapbook": {"name": name, "mime_prefix": ""}, "image/png": {"width": 700}}
    return new_code_cell("x", metadata={"tags": ["remove-output"]}, outputs=[output])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    cells = [new_markdown_cell("## One"), *map(glued, CAPTIONS)]
    for name, caption in CAPTIONS.items():
        cells.append(
            new_markdown_cell(f"```{{glue:figure}} {name}\n:alt: A still.\n:name: fig-{name}\n\n{caption}\n```")
        )
    soup, warnings = page_of(tmp_path_factory.mktemp("page"), *cells)
    assert warnings == ""
    return soup


def test_the_picture_leads_to_the_first_scene_of_its_caption(page):
    silent, said = (page.find(id=f"fig-{name}") for name in ("silent", "said"))
    assert silent.find("a", class_="door")["href"] == "#arrows:t=20&on=3"
    assert said.find("a", class_="door")["href"] == "one.html#masks:both=0"
    for figure in (silent, said):
        assert figure.find("a", class_="door").img["alt"] == "A still." and figure.find("a", class_="door")["title"]


def test_a_link_without_words_leaves_nothing_in_the_caption_and_others_stay(page):
    assert page.find(id="fig-silent").figcaption.find("a", href=re.compile("arrows")) is None
    assert len(page.find(id="fig-said").figcaption.find_all("a", href=re.compile("masks"))) == 2
    assert page.find(id="fig-none").find("a", class_="door") is None


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_every_chapter_has_doors_to_its_own_live_picture(name):
    """Addresses are those of a live picture, with keys that it has, on this page or on the story's."""
    doors = []
    for files in ChapterFiles(ROOT, name).notebooks:
        for cell in read_notebook(files.notebook).cells:
            if cell.cell_type == "markdown" and re.search(r"\{(glue:figure|record-figure)\}", cell.source):
                doors += SCENE.findall(cell.source)
    assert doors
    for story, live, state in doors:
        keys = (ROOT / "book" / "_static" / "explorables" / f"{live}.js").read_text(encoding="utf-8")
        assert live in NAMES and story in ("", f"{name}.html")
        assert all(re.search(rf"\b{pair.partition('=')[0]}\b", keys) for pair in state.replace("amp;", "").split("&"))


def test_the_sign_is_seen_in_both_schemes_and_not_printed(tmp_path):
    door = f'<a class="door" href="#x:y=1"><img alt="A still." src="data:image/png;base64,{PIXEL}" width="300"></a>'
    body = f'<link rel="stylesheet" href="{STYLE}"><div class="bd-article"><figure>{door}</figure></div>'
    sign = "getComputedStyle(document.querySelector('.door'), '::after').content"
    with browser() as page:
        page.open(written(tmp_path, body), 390)
        assert "opens live" in page.run(sign)
        page.run("document.documentElement.dataset.theme = 'dark'")
        assert "opens live" in page.run(sign)
        page.run("document.querySelector('.door').focus()")
        assert page.run("document.activeElement.href").endswith("#x:y=1")
        page.send("Emulation.setEmulatedMedia", media="print")
        assert page.run(sign) in ("none", "normal")
