"""What is folded in a card is found by the browser's search, and takes no room until it is opened."""

from browser import browser, written
from checkout import ROOT

STYLE = (ROOT / "book" / "_static" / "card.css").as_uri()
CARD = """<div class="claim"><div class="claim-more">
<details><summary>how</summary><dl><dt>rule</dt><dd>a rare wording</dd></dl></details>
<details><summary>again</summary><p>another wording</p></details>
<code class="claim-id">eq-1</code></div></div>"""
PAGE = f'<link rel="stylesheet" href="{STYLE}">{CARD}<p id="next">what follows</p>'
HEIGHT = "document.querySelector('.claim-more').getBoundingClientRect().height"


def test_what_is_folded_is_found(tmp_path):
    with browser() as page:
        page.open(written(tmp_path, PAGE), 800)
        assert page.run("window.find('a rare wording')") and page.run("window.find('another wording')")
        assert not page.run("window.find('a wording that is not there')")


def test_what_is_folded_takes_no_room(tmp_path):
    with browser() as page:
        page.open(written(tmp_path, PAGE), 800)
        closed = page.run(HEIGHT)
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert closed < 30 and page.run(HEIGHT) > closed + 40
        wide = page.run("document.querySelector('dl').getBoundingClientRect().width")
        assert wide > 700  # a row of its own below the links
