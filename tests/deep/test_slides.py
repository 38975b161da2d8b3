"""The slides in a browser at 1280 x 720 px: nothing leaves a slide or lies on something else, and all can be read."""

import re

import pytest
from browser import browser
from checkout import ROOT
from slide_page import HEIGHT, WIDTH, open_deck, open_page, problems

pytest.importorskip("sphinx_revealjs", reason="sphinx-revealjs is not installed: pip install '.[slides]'")

from clbook.classroom.slide_decks import build, decks

TYPE = 18  # px of the smallest label in a figure, 9 pt on its page: can be read from six heights of the screen away
FRAME = (1200, 604)  # of a live picture, as slides.css has it
LIVE_TYPE = 17  # px of its smallest label
OUTSIDE = """[...document.querySelectorAll(".explorable *")].filter((e) => e.checkVisibility()).map((e) => [e,
  e.getBoundingClientRect()]).filter(([, b]) => b.width && (b.right > innerWidth + 1 || b.bottom > innerHeight + 1))
  .map(([e]) => e.outerHTML.slice(0, 80))"""
SMALL = """[...document.querySelectorAll(".explorable :not(title)")].filter((e) => e.checkVisibility()
  && e.getBoundingClientRect().width && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
  .map((e) => [e.ownerSVGElement ? Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) : 1, e])
  .map(([scale, e]) => [scale * parseFloat(getComputedStyle(e).fontSize), e.textContent])
  .filter(([size]) => size < LEAST - 0.1)""".replace("LEAST", str(LIVE_TYPE))
LIVE = re.compile(r"^```\{live\} (\w+)\n(?::question: (\d))?", re.MULTILINE)
LIVE_PAGES = sorted({f"{m[1]}{m[2] or ''}" for deck in decks(ROOT) for m in LIVE.finditer(deck.read_text("utf-8"))})
REMOTE = "dispatchEvent(new KeyboardEvent('keydown', { key: 'PageDown' }))"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slides") / "out"
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def page():
    with browser() as page:
        yield page


@pytest.mark.parametrize("name", [*(path.stem for path in decks(ROOT)), "index"])
def test_every_slide_holds_what_is_on_it(page, built, name):
    count = open_deck(page, built / f"{name}.html")
    assert count >= 8 or name == "index"
    assert [line for number in range(count) for line in problems(page, number)] == []
    assert page.complaints == []


@pytest.mark.parametrize("name", [path.stem for path in decks(ROOT)])
def test_labels_in_figures_can_be_read_from_the_last_row(built, name):
    text = (built / f"{name}.html").read_text(encoding="utf-8")
    sizes = {m[2]: 12 * float(m[1]) for m in re.finditer(r'data-scale="([\d.]+)"><img src="([^"]+)"', text)}
    assert len(sizes) >= 2 and {file: size for file, size in sizes.items() if size < TYPE} == {}


@pytest.mark.parametrize("name", LIVE_PAGES)
def test_a_live_picture_fits_its_frame_and_hears_a_remote(page, built, name):
    """While it asks, and once it has been answered."""
    open_page(page, built / "live" / f"{name}.html", *FRAME)
    page.until("document.querySelectorAll('.answers button').length > 1")
    assert page.run(OUTSIDE) == []
    page.run("addEventListener('message', ({ data }) => { window.heard = data; })")
    page.run(REMOTE)
    assert page.until("window.heard") == '{"method":"next"}'
    assert page.run(SMALL) == []
    page.run("document.querySelector('.answers button').click()")
    page.until("!!document.querySelector('.because')")
    assert page.run(OUTSIDE) == [] and page.run(SMALL) == []
    assert page.complaints == []


def test_nothing_comes_from_a_network(built):
    for path in built.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'src="http' not in text and 'rel="stylesheet" href="http' not in text, path
    assert (built / "_static" / "mathjax" / "tex-chtml-full.js").is_file()
    assert (built / "_static" / "revealjs" / "dist" / "reveal.js").is_file()


def test_what_is_too_small_or_too_much_is_found(page, built, tmp_path):
    """The measure itself, on a slide with three mistakes."""
    text = (built / "index.html").read_text(encoding="utf-8")
    wrong = (
        f'<p style="font-size:12px">small</p><p style="position:absolute;left:{WIDTH - 10}px;width:200px">wide</p>'
        f'<div style="height:{HEIGHT}px">tall</div><div style="margin-top:-90px;height:40px">upon</div>'
    )
    (built / "wrong.html").write_text(text.replace("<h1>", f"{wrong}<h1>", 1), encoding="utf-8")
    open_deck(page, built / "wrong.html")
    found = problems(page, 0)
    (built / "wrong.html").unlink()
    assert "slide 1: 12 px: P small" in found and "slide 1: leaves the slide: P wide" in found
    assert "slide 1: leaves the slide: DIV tall" in found and "slide 1: overlap: DIV, DIV" in found
