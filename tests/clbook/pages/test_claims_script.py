"""The script of the claims page in a browser: filters in the address, search, and the claim that the address names."""

import pytest
from browser import browser
from checkout import ROOT
from claim_row import result

from clbook.pages.claim_rows import filter_form, row

ROWS = [
    result("thm-1"),
    result("thm-2", "misprint", statement="a lost sign", data="mnist"),
    result("thm-3", "misprint", beyond=True),
    result("lem-1", paper="b"),
]
_IDS = "Array.from(document.querySelectorAll('details.claim-row{0}'), (row) => row.id)"


class ClaimsPage:
    """The page of `ROWS` in a browser."""

    def __init__(self, page, folder):
        self.page, self.path = page, folder / "claims.html"
        papers = dict.fromkeys(r.paper for r in ROWS)
        sections = (f"<section id='{p}'>{''.join(row(r) for r in ROWS if r.paper == p)}</section>" for p in papers)
        script = f"<script src='{(ROOT / 'book' / '_static' / 'claims.js').as_uri()}'></script>"
        text = f"<meta charset='utf-8'>{filter_form(ROWS, {})}{''.join(sections)}{script}"
        self.path.write_text(text, encoding="utf-8")

    def look(self, address=""):
        """The ids that are shown once an address ends so."""
        self.page.send("Page.navigate", url="about:blank")
        self.page.send("Page.navigate", url=self.path.as_uri() + address)
        self.page.until("document.readyState === 'complete' && location.protocol === 'file:'")
        return self.ids(":not([hidden])")

    def ids(self, which):
        """The ends of the ids of some rows."""
        return [i.split("/")[1] for i in self.page.run(_IDS.format(which))]

    @property
    def told(self):
        return self.page.run("document.querySelector('output').textContent")


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    with browser() as page:
        yield ClaimsPage(page, tmp_path_factory.mktemp("claims"))
        assert not page.complaints


def test_filters_and_search_stand_in_the_address(claims):
    assert len(claims.look()) == len(ROWS) and not claims.ids("[open]") and claims.told == "4 claims"
    assert claims.page.run("!document.querySelector('form').hidden")
    assert claims.look("?verdict=misprint") == ["thm-2", "thm-3"]
    assert claims.look("?verdict=misprint&beyond=no") == ["thm-2"]
    assert claims.look("?q=SIGN+lost") == claims.look("?data=mnist") == ["thm-2"]
    assert claims.look("?paper=b") == ["lem-1"] and claims.told == "1 of 4 claims"
    assert claims.page.run("document.getElementById('tian-2023').hidden")


def test_a_choice_is_kept_in_the_address(claims):
    claims.look()
    claims.page.run(
        "(() => { const field = document.querySelector('[name=verdict]'); field.value = 'misprint';"
        " field.dispatchEvent(new Event('input', { bubbles: true })) })()"
    )
    assert claims.ids(":not([hidden])") == ["thm-2", "thm-3"]
    assert claims.page.run("location.search") == "?verdict=misprint"


def test_the_claim_that_the_address_names_opens_though_a_filter_hides_it(claims):
    assert len(claims.look("#tian-2023/thm-2")) == 4 and claims.ids("[open]") == ["thm-2"]
    assert len(claims.look("?verdict=reproduced#tian-2023/thm-2")) == 4 and claims.ids("[open]") == ["thm-2"]
    claims.look("#nowhere")
    assert claims.ids("[open]") == []


def test_what_is_shown_opens_at_once_and_all_comes_back(claims):
    assert claims.look("?verdict=misprint") == ["thm-2", "thm-3"]
    claims.page.run("document.querySelector('button[name=open]').click()")
    assert claims.ids("[open]") == ["thm-2", "thm-3"]
    claims.page.run("document.querySelector('button[type=reset]').click()")
    claims.page.until("document.querySelector('output').textContent === '4 claims'")
    assert len(claims.ids(":not([hidden])")) == 4
