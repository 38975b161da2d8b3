"""HTML in a claims file, a record or its parameters is text wherever a page or a notebook shows it."""

import json
from itertools import product

import pytest
import yaml
from bs4 import BeautifulSoup
from claim_row import result
from stand_in import CLAIMS, SOURCE
from stand_in_record import recorded

from clbook.claims.claim_table import VERDICTS, Claims
from clbook.claims.judging import Reading, judge_all
from clbook.notebook.card import Headline, card, card_not_judged
from clbook.notebook.display import summary_table, unjudged_line
from clbook.notebook.results import load_results, stored_runs
from clbook.pages.book_pages import chapter_box
from clbook.pages.claim_marks import Html, in_markdown
from clbook.pages.claims_page import claims_page
from clbook.pages.errata_page import errata_page
from clbook.pages.record_gallery import gallery
from clbook.provenance.records import sealed_record
from clbook.provenance.stamps import seal

TAG = "<img src=planted onerror=alert(1)>"
PLANTED = [
    TAG,
    f"a $x {TAG}$ b",
    f"5$ {TAG} 6$",
    rf"\${TAG}$",
    f"a `b {TAG}` c",
    rf"\`{TAG}`",
    f"a `{TAG}",
    f"\"> '> --> ]]> </code></script></style> {TAG}",
    f"one\n\n{TAG}\n\n```{{raw}} html\n{TAG}\n```\n",
    "<svg/onload=alert(1) data-planted>",
    "<script data-planted>alert(1)</script>",
    "<https://planted.example>",
    "[a](javascript:alert(1)) <planted",
]
NAMES = {"id", "kind"}  # what is no free text


def live(html: str) -> list[str]:
    """What a planted text has become that is more than text."""
    return [
        str(tag)
        for tag in BeautifulSoup(html, "html.parser").find_all(True)
        if tag.name.startswith("planted")
        or any(name.startswith("on") or name == "data-planted" for name in tag.attrs)
        or tag.attrs.get("src") == "planted"
        or tag.attrs.get("href", "").startswith(("javascript:", "https://planted"))
    ]


def built(text: str) -> str:
    """The HTML of a page in Markdown, as MyST makes it, and of what its directives hold; none may be `raw`."""
    mdit = pytest.importorskip("myst_parser.parsers.mdit")
    from markdown_it.renderer import RendererHTML
    from myst_parser.config.main import MdParserConfig

    extensions = {"amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "tasklist"}
    parser = mdit.create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)
    fences = [t for t in parser.parse(text) if t.type in ("fence", "colon_fence") and t.info.startswith("{")]
    assert not [fence for fence in fences if "raw" in fence.info]
    return parser.render(text) + "".join(built(fence.content) for fence in fences)


def planted_claims(text: str) -> str:
    """The stand-in's claims with a text in every field that takes one."""
    content = yaml.safe_load(CLAIMS)
    for row in content["claims"]:
        row |= {key: f"{value} {text}" for key, value in row.items() if isinstance(value, str) and key not in NAMES}
        row |= dict.fromkeys(("note", "stand_in", "conditions"), text)
    content["claims"][1].pop("stand_in")  # so that it stands among the errata
    return yaml.safe_dump(content | {"title": text}, sort_keys=False)


def planted_stamp(stamp: dict, text: str) -> dict:
    """A stamp with a text in place of every word that a page may show."""
    readings = {
        claim: {arm: {f"{text}{n}": value for n, value in enumerate(cases.values())} for arm, cases in arms.items()}
        for claim, arms in stamp["readings"].items()
    }
    words = dict.fromkeys(("device", "time", "capability", "blas"), text) | {"versions": {"torch": text, text: text}}
    rows = {claim: row | {"reading": text} for claim, row in stamp["claims"].items()}
    words |= {"parameters": stamp["parameters"] | {text: text}}
    return seal(stamp | words | {"readings": readings, "claims": rows})


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The stand-in with its record, and the whole of that record."""
    with pytest.MonkeyPatch.context() as patch:
        files = recorded(tmp_path_factory.mktemp("book"), patch, SOURCE, "seeds: 4\n")
        yield files, json.loads(files.record("paper").read_text()), patch


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_record_and_claims_file_run_on_no_page(book, text):
    files, record, _ = book
    files.claims.write_text(planted_claims(text), encoding="utf-8")
    files.record("paper").write_text(json.dumps(sealed_record([planted_stamp(record["run"], text)], 1)))
    runs, results = stored_runs(files), load_results(files.root)
    stamps = {profile: run.stamp for profile, run in runs.items()}
    pages = [
        claims_page(results, {}),
        errata_page(results),
        gallery(files, runs["paper"]),
        chapter_box({"question": "a", "prerequisites": ["b"]}, stamps, "none"),
    ]
    assert all("alert" in page or "planted" in page for page in (pages[0], *pages[2:]))
    assert [tag for page in pages for tag in live(built(page))] == []


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_record_and_claims_file_run_in_no_card(book, text):
    files, record, _ = book
    files.claims.write_text(planted_claims(text), encoding="utf-8")
    stamp, claims = planted_stamp(record["run"], text), Claims.load(files.claims)
    verdicts = judge_all(claims, {claim: Reading.of(**arms) for claim, arms in stamp["readings"].items()})
    lines = [summary_table(verdicts, stamp), unjudged_line(text, Reading.of(observed={text: 1.0}, control=0.0))]
    for verdict in verdicts.values():
        lines += [card(verdict, None, claims), card(verdict, Headline(verdict, "paper"), claims)]
        lines.append(card_not_judged(verdict.claim, Headline(verdict, "paper"), claims))
    assert [tag for line in lines for tag in live(line.html)] == []


def planted_result(verdict: str, text: str):
    """A result with a text in every field that takes one."""
    made = {"chapter": text, "profile": text, "data": text, "reason": text, "recurs": {text: [verdict]}}
    run = {"stale": True, "device": text, "reading": text, "rule": text}
    arms = {arm: {f"{text}: {text}": 1.0} for arm in ("observed", "control", "mended", "advocate")}
    if verdict == "not run":
        made, arms = {"chapter": text, "reason": text, "needs": text}, {}
    else:
        made |= {"run": run}
    return result("thm-1", verdict, arms, locator=text, statement=text, note=text, statistic=text, **made)


def test_every_field_of_a_result_is_text_on_the_claims_page():
    problems = []
    for verdict, text in product(VERDICTS, PLANTED):
        row = planted_result(verdict, text)
        for name, page in (("claims", claims_page([row])), ("errata", errata_page([row]))):
            problems += [f"{verdict}, {text!r}: {tag} on the page of {name}" for tag in live(built(page))]
    assert problems == []


def test_formulas_code_and_html_of_our_own_stay():
    text = "for $a<b$ and $0 < t$, `p_0`, p < 3 and *now*"
    assert in_markdown(text) == r"for $a\lt b$ and $0 < t$, `p_0`, p &lt; 3 and *now*"
    assert in_markdown(Html("<b>bold</b>")) == "<b>bold</b>" and in_markdown("a\n  b") == "a b"
