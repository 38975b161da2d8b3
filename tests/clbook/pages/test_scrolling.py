"""An equation wider than the screen shows that it scrolls: it fades at the ends that hide something."""

import pytest
from browser import browser, written
from checkout import ROOT

STYLE = (ROOT / "book" / "_static" / "custom.css").as_uri()
PAGE = f"""<link rel="stylesheet" href="{STYLE}">
<style>mjx-container {{ display: block; overflow: auto; width: 300px }}</style>
<div class="math"><mjx-container><p style="width: 900px">wide</p></mjx-container></div>
<div class="math"><mjx-container><p style="width: 200px">narrow</p></mjx-container></div>"""
EDGES = "['left', 'right'].map((end) => parseFloat(getComputedStyle({0}).getPropertyValue('--fade-' + end)))"
WIDE, NARROW = (f"document.querySelectorAll('mjx-container')[{k}]" for k in (0, 1))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with browser() as page:
        page.open(written(tmp_path_factory.mktemp("scrolling"), PAGE), 390)
        yield page


@pytest.mark.parametrize("scrolled, left, right", [(0, False, True), (300, True, True), (600, True, False)])
def test_what_is_hidden_fades(page, scrolled, left, right):
    page.run(f"{WIDE}.scrollLeft = {scrolled}")
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
    assert [edge > 0 for edge in page.run(EDGES.format(WIDE))] == [left, right]
    assert "gradient" in page.run(f"getComputedStyle({WIDE}).maskImage")


def test_nothing_fades_where_nothing_is_hidden(page):
    assert page.run(EDGES.format(NARROW)) == [0, 0]


def test_nothing_fades_on_paper(page):
    page.send("Emulation.setEmulatedMedia", media="print")
    assert page.run(f"getComputedStyle({WIDE}).maskImage") == "none"
    page.send("Emulation.setEmulatedMedia", media="screen")


@pytest.mark.parametrize("kind, wraps", [("text", False), ("python", True)])
def test_on_a_phone_code_wraps_and_a_drawing_keeps_its_lines(tmp_path, kind, wraps):
    block = f'<div class="highlight-{kind}"><div class="highlight"><pre>a / b</pre></div></div>'
    body = f'<link rel="stylesheet" href="{STYLE}"><article class="bd-article"><section>{block}</section></article>'
    with browser() as page:
        page.open(written(tmp_path, body), 390)
        assert (page.run("getComputedStyle(document.querySelector('pre')).whiteSpace") == "pre-wrap") is wraps
