"""Measures of a chapter's page: by a browser where there is one, otherwise by words; a second edition keeps limits."""

import pytest

pytest.importorskip("bs4")

from clbook.pages import page_measures, site_check  # noqa: E402
from clbook.pages.page_measures import Measure, by_words, find_browser, in_browser  # noqa: E402

PICTURE = "<svg width='300' height='200'></svg>"
CODE = "<div class='highlight'><pre>{}</pre></div>"
PAGE = (
    "<html><head><title>A</title><style>* {{ margin: 0 }} pre {{ line-height: 20px }}</style></head>"
    "<body><article>{}</article></body></html>"
)


def write(folder, body, name="one"):
    page = folder / "html" / "chapters" / f"{name}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(PAGE.format(body), encoding="utf-8")
    return page


@pytest.fixture
def browser():
    found = find_browser()
    if found is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(page_measures.BROWSERS)})")
    return found


def test_a_browser_measures_what_is_shown(tmp_path, browser):
    script = "<script>document.querySelector('#grows').style.height = '3000px'</script>"
    folded = f"<details><summary>more</summary>{CODE.format('x')}{PICTURE}</details>"
    hundred = CODE.format("\n".join(["x"] * 50))  # 50 lines of 20 px
    page = write(tmp_path, f"{folded}<div id='grows'></div>{script}{hundred}{PICTURE}")
    found = in_browser(page, browser, 300)
    assert 4200 < found.height < 4300 and 4000 < found.picture < 4100
    assert found.code == pytest.approx(1000 / found.height, rel=1e-3) and not found.estimated
    assert {p.name for p in page.parent.iterdir()} == {"one.html"}


def test_a_page_finds_what_it_loads(tmp_path, browser):
    (tmp_path / "html" / "_static").mkdir(parents=True)
    (tmp_path / "html" / "_static" / "grow.js").write_text("document.body.style.height = '5000px'")
    page = write(tmp_path, "<script src='../_static/grow.js'></script>")
    assert in_browser(page, browser, 300).height == 5000


@pytest.mark.parametrize("program", ["exit 1", "echo '<p>no measure</p>'", "exec sleep 60"])
def test_where_a_browser_fails_words_are_counted_and_the_reason_is_given(tmp_path, monkeypatch, program):
    fake = tmp_path / "bin" / "chromium"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(page_measures, "find_browser", lambda: str(fake))
    monkeypatch.setattr(page_measures, "SECONDS", 2.0)
    page = write(tmp_path, "<p>few words</p>")
    found, how = page_measures.measure_pages([page])
    assert found[page].estimated and how.startswith("estimated from words and lines: chromium gave no answer (")


def test_without_a_browser_this_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    _, how = page_measures.measure_pages([write(tmp_path, "<p>few words</p>")])
    assert how == "estimated from words and lines: no browser is installed"
    assert page_measures.measure_pages([]) == ({}, "")


def test_words_lines_and_pictures_add_up(tmp_path):
    text = f"<p>{'word ' * 1200}</p>"
    code = CODE.format("\n".join(["x = 1"] * 100))
    plain = by_words(write(tmp_path, text))
    assert 2000 < plain.height < 3500 and plain.picture is None and plain.code == 0
    both = by_words(write(tmp_path, f"{text}<img src='x.png' alt='x'>{code}"))
    assert both.picture == pytest.approx(plain.height) and 0.25 < both.code < 0.45
    folded = by_words(write(tmp_path, f"{text}<details>{code}</details><div class='dropdown'>{code}{text}</div>"))
    assert folded.code == 0 and folded.height < plain.height + 100


def test_a_picture_counts_as_high_as_it_is_shown(tmp_path):
    def height(content: bytes) -> float:
        (tmp_path / "html" / "wide.png").write_bytes(content)
        return by_words(page).height

    def head(width: int) -> bytes:
        return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + (1000).to_bytes(4, "big")

    page = write(tmp_path, "<img src='../wide.png?x' alt='x'>")
    assert height(head(2 * page_measures._ARTICLE)) == pytest.approx(500, abs=40)
    twice = b"pHYs" + round(192 / 0.0254).to_bytes(4, "big")  # a resolution of 192 pixels to an inch
    assert height(head(600) + twice) == pytest.approx(500, abs=40)
    assert height(b"GIF89a") == pytest.approx(page_measures._UNKNOWN, abs=40)


def test_the_limits_and_the_slack_of_an_estimate():
    assert Measure(25_000, 1_500, 0.25).problems() == []
    assert Measure(25_001, 1_501, 0.26).problems() == [
        "the page must be at most 25,000 px high, got 25,001",
        "the first picture must stand within 1,500 px, got 1,501",
        "at most 25% of the page may be visible code, got 26%",
    ]
    assert Measure(25_000, None, 0).problems() == ["the page must show a picture, got none"]
    assert Measure(27_000, 1_640, 0.27, estimated=True).problems() == []
    assert Measure(40_000, 100, 0.1, estimated=True).problems() == [
        "the page must be at most 25,000 px high, got about 40,000"
    ]


def test_only_a_second_edition_must_keep_the_limits(tmp_path, monkeypatch, capsys):
    long = Measure(40_000, 100, 0.1)
    monkeypatch.setattr(site_check, "measure_pages", lambda pages: (dict.fromkeys(pages, long), "measured in x"))
    monkeypatch.setattr(site_check, "launch_problems", lambda *given: [])
    for name in ("one", "two", "no-notebook"):
        write(tmp_path, "", name)
    (tmp_path / "chapters").mkdir()
    for name in ("one", "two"):
        (tmp_path / "chapters" / f"{name}.ipynb").touch()
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "chapters.yaml").write_text("one: {}\ntwo: {}\n")
    monkeypatch.chdir(tmp_path)
    assert site_check.main(["html"]) == 0
    said = "40,000 px high, first picture at 100 px, 10% visible code"
    lines = [f"chapters/one.html: {said}", f"chapters/two.html: {said}", "at a width of 1300 px, measured in x"]
    assert capsys.readouterr().out.splitlines() == lines
    (tmp_path / "book" / "chapters.yaml").write_text("one: {}\ntwo: {edition: 2}\n")
    assert site_check.main(["html"]) == 1
    too_long = "chapters/two.html: the page must be at most 25,000 px high, got 40,000"
    assert capsys.readouterr().out.splitlines() == [*lines, too_long]
