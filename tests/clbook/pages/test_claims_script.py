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
PLACES = [
    result("lem-9", locator="Lemma 9", statement="Needs Theorem 2."),
    result("thm-21", locator="Theorem 21"),
    result("thm-2-a", paper="b", locator="Theorem 2, eq. (9)"),
    result("thm-4.3b", paper="b", locator="Theorem 4.3 (b)"),
]
_IDS = "Array.from(document.querySelectorAll('details.claim-row{0}'), (row) => row.id)"


class ClaimsPage:
    """The page of some rows in a browser."""

    def __init__(self, page, folder, rows=ROWS):
        self.page, self.path = page, folder / "claims.html"
        papers = dict.fromkeys(r.paper for r in rows)
        ours = {"tian-2023/thm-2"}
        sections = (
            f"<section id='{p}'>{''.join(row(r, None, ours) for r in rows if r.paper == p)}</section>" for p in papers
        )
        script = f"<script src='{(ROOT / 'book' / '_static' / 'claims.js').as_uri()}'></script>"
        text = f"<meta charset='utf-8'>{filter_form(rows, {'b': 'B, 2001'}, ours)}{''.join(sections)}{script}"
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
def page():
    with browser() as page:
        yield page
        assert not page.complaints


@pytest.fixture(scope="module")
def claims(page, tmp_path_factory):
    return ClaimsPage(page, tmp_path_factory.mktemp("claims"))


@pytest.fixture(scope="module")
def places(page, tmp_path_factory):
    return ClaimsPage(page, tmp_path_factory.mktemp("places"), PLACES)


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


def test_what_surprised_us_is_a_box_and_stands_in_the_address(claims):
    assert claims.look("?surprise=yes") == ["thm-2"] and claims.look("?surprise=yes&verdict=reproduced") == []
    claims.look()
    claims.page.run("document.querySelector('[name=surprise]').click()")
    assert claims.ids(":not([hidden])") == ["thm-2"] and claims.page.run("location.search") == "?surprise=yes"
    claims.page.run("document.querySelector('[name=surprise]').click()")
    assert len(claims.ids(":not([hidden])")) == 4 and claims.page.run("location.search") == ""


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


@pytest.mark.parametrize("query", ["Theorem 2", "theorem+2", "thm. 2", "thm-2"])
def test_a_place_that_the_search_names_stands_first(places, query):
    found = places.look(f"?q={query}")
    assert found[0] == "thm-2-a" and "thm-2-a" in places.ids(":is(.claims-first *)")
    assert places.told.endswith("1 of them at this place")
    assert places.page.run("document.querySelector('.claims-first .locator').dataset.paper") == "B, 2001"


def test_what_only_mentions_the_place_follows_in_its_section(places):
    assert places.look("?q=Theorem 2") == ["thm-2-a", "lem-9"] and places.look("?q=Theorem 21") == ["thm-21"]
    assert places.look("?q=2")[0] == "lem-9"  # a number alone is no place
    assert places.look("?q=Theorem 4.3") == ["thm-4.3b"] == places.look("?q=theorem 4.3b")
    assert (
        places.look("?q=eq. (9)&paper=b")[0] == "thm-2-a" and places.look("?q=Theorem 2&paper=tian-2023")[0] == "lem-9"
    )


def test_a_search_without_a_place_leaves_every_claim_in_its_section(places):
    places.look("?q=Theorem 2")
    places.page.run("document.querySelector('button[type=reset]').click()")
    places.page.until("document.querySelector('output').textContent === '4 claims'")
    assert places.ids("") == [row.claim.id for row in PLACES] and places.page.run(
        "document.querySelector('.claims-first').hidden && !document.querySelector('.claims-first details')"
    )
