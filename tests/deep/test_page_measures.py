"""Where the first picture of each built chapter's page stands, at 1300 px and on a phone, and how much of it is code.

The pages in `_build/html` are measured in a browser, and the measures of every page are printed (`pytest -s`). Chapters
keep the limits; their appendices need not.
"""

import pytest
from browser import browser
from checkout import ROOT

from clbook.common.sources import ChapterFiles, chapter_names

PICTURE, CODE = {1300: 1_300, 390: 2_300}, 0.25  # px for each width of the window; share of the height
MEASURE = """(async () => {
  const whole = "section { content-visibility: visible !important }"; // also what is far from the screen
  document.head.append(Object.assign(document.createElement("style"), { textContent: whole }));
  await (window.MathJax && MathJax.startup && MathJax.startup.promise);
  await document.fonts.ready;
  const article = document.querySelector("article") || document.body;
  const shown = (names) => [...article.querySelectorAll(names)].filter((e) => e.checkVisibility());
  const box = (e) => e.getBoundingClientRect();
  const pictures = shown("img, svg, canvas, .explorable").filter((e) => box(e).height > 60);
  const code = shown("div.highlight").filter((e) => !e.closest(".cell_output"));
  const height = document.documentElement.scrollHeight;
  return {
    height: height,
    picture: pictures.length ? Math.min(...pictures.map((e) => box(e).top + scrollY)) : null,
    code: code.reduce((sum, e) => sum + box(e).height, 0) / height,
  };
})()"""
PAGES = [ROOT / "_build" / "html" / "chapters" / f"{files.stem}.html" for name in chapter_names(ROOT)
         for files in ChapterFiles(ROOT, name).notebooks]  # fmt: skip
EXAMPLE = (
    "<style>* {{ margin: 0 }} pre {{ line-height: 20px }}</style><article><details><summary>more</summary>{code}"
    "{picture}</details><div id='grows'></div><script>document.querySelector('#grows').style.height = '{px}px'</script>"
    "{code}{picture}</article>"
)


@pytest.fixture(scope="module")
def page():
    with browser() as page:
        yield page


def problems(measure: dict, width: int = 1300) -> list[str]:
    """What a chapter does not keep."""
    lines = []
    if measure["picture"] is None:
        lines.append("the page must show a picture, got none")
    elif measure["picture"] > PICTURE[width]:
        lines.append(f"the first picture must stand within {PICTURE[width]:,} px, got {measure['picture']:,.0f}")
    if measure["code"] > CODE:
        lines.append(f"at most {CODE:.0%} of the page may be visible code, got {measure['code']:.0%}")
    return lines


@pytest.mark.parametrize("width", PICTURE)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_chapter_keeps_the_limits(page, path, width):
    if not path.is_file():
        pytest.skip("the pages are not built: `make book`")
    page.open(path, width)
    measure = page.run(MEASURE)
    print(f"{path.stem} at {width}: {measure['height']:,} px high, first picture at {measure['picture'] or 0:,.0f} px,"
          f" {measure['code']:.0%} visible code")  # fmt: skip
    if path.stem in chapter_names(ROOT):
        assert problems(measure, width) == []


@pytest.mark.parametrize(("px", "expected"), [(400, []), (1600, ["the first picture must stand within 1,300 px"])])
def test_what_is_folded_does_not_count_and_what_a_script_adds_does(page, tmp_path, px, expected):
    code, picture = (
        "<div class='highlight'><pre>" + 10 * "x\n" + "</pre></div>",
        "<svg width='300' height='1000'></svg>",
    )
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html>{EXAMPLE.format(code=code, picture=picture, px=px)}", encoding="utf-8")
    page.open(path)
    measure = page.run(MEASURE)
    assert px + 200 < measure["picture"] < px + 300 and measure["code"] == pytest.approx(200 / measure["height"])
    assert [line.partition(", got")[0] for line in problems(measure)] == expected


def test_a_page_without_a_picture_or_full_of_code_is_found():
    assert problems({"picture": None, "code": 0.26}) == [
        "the page must show a picture, got none",
        "at most 25% of the page may be visible code, got 26%",
    ]
