"""How long a chapter's page is, where its first picture stands, and how much of it is visible code, at 1300 px.

A browser that is installed measures the page as it is shown; without one, words, lines of code and pictures give an
estimate.
"""

import json
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from ..common.pictures import size_on_page

WIDTH = 1300  # px of the window
HEIGHT, PICTURE, CODE = 25_000, 1_500, 0.25  # what a second edition keeps
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 45.0  # for one page, which takes a browser five to ten
SLACK = 1.1  # an estimate fails a page only beyond its own error, at most 10 % on the chapters
_RESULT = re.compile(r'<pre id="measure">(?P<found>.*?)</pre>')
_SCRIPT = """<script>
addEventListener("load", () => setTimeout(async () => {
  await (window.MathJax && MathJax.startup && MathJax.startup.promise);
  await document.fonts.ready;
  const article = document.querySelector("article") || document.body;
  const shown = (names) => [...article.querySelectorAll(names)].filter((e) => e.checkVisibility());
  const box = (e) => e.getBoundingClientRect();
  const pictures = shown("img, svg, canvas, .explorable").filter((e) => box(e).height > 60);
  const code = shown("div.highlight").filter((e) => !e.closest(".cell_output"));
  const height = document.documentElement.scrollHeight;
  const found = {
    height: height,
    picture: pictures.length ? Math.min(...pictures.map((e) => box(e).top + scrollY)) : null,
    code: code.reduce((sum, e) => sum + box(e).height, 0) / height,
  };
  const place = document.createElement("pre");
  place.id = "measure";
  place.textContent = JSON.stringify(found);
  document.body.replaceChildren(place);
}, 0));
</script>"""
_BLOCKS = ["p", "h1", "h2", "h3", "h4", "li", "tr", "pre", "img", "div", "details"]
_ARTICLE = 690  # px of the text at a window of 1300; this and what follows as the theme sets them
_LINE, _WORDS = 26, 12  # px of a line of text, and its words
_CODE_LINE, _GAP = 15, 18  # px of a line of code, and between blocks
_BOXES = {"math": 100, "claim": 100}  # px of a formula on a line of its own, of a claim's card
_FOLDED, _UNKNOWN = 24, 400  # px of folded code (a card's stands beside it), of a picture whose size is not known


class NotMeasured(Exception):
    """No browser, or one that did not answer."""


@dataclass(frozen=True)
class Measure:
    """Height and place of the first picture in px, and the share of the height that is visible code."""

    height: float
    picture: float | None
    code: float
    estimated: bool = False

    def __str__(self) -> str:
        at = "no picture" if self.picture is None else f"first picture at {self.picture:,.0f} px"
        return f"{self.height:,.0f} px high, {at}, {self.code:.0%} visible code"

    def problems(self) -> list[str]:
        """What a second edition does not keep; an estimate must exceed a limit clearly."""
        slack, how = (SLACK, "about ") if self.estimated else (1.0, "")
        found = []
        if self.height > HEIGHT * slack:
            found.append(f"the page must be at most {HEIGHT:,} px high, got {how}{self.height:,.0f}")
        if self.picture is None:
            found.append("the page must show a picture, got none")
        elif self.picture > PICTURE * slack:
            found.append(f"the first picture must stand within {PICTURE:,} px, got {how}{self.picture:,.0f}")
        if self.code > CODE * slack:
            found.append(f"at most {CODE:.0%} of the page may be visible code, got {how}{self.code:.0%}")
        return found


def find_browser() -> str | None:
    """The first of the known browsers that is installed."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def in_browser(page: Path, browser: str, seconds: float) -> Measure:
    """Measure a page in a browser without a window; raises NotMeasured if it fails or takes too long.

    The browser opens a copy with a script that measures; what the page loads is found through the address of the page.
    """
    text = page.read_text(encoding="utf-8")
    text = text.replace("<head>", f'<head><base href="{page.resolve().as_uri()}">', 1)
    with tempfile.TemporaryDirectory(prefix="clbook-", ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch) / page.name
        copy.write_text(text.replace("</body>", f"{_SCRIPT}</body>", 1), encoding="utf-8")
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch}/profile"]
        options += ["--allow-file-access-from-files", f"--window-size={WIDTH},900", "--virtual-time-budget=20000"]
        try:
            done = subprocess.run(
                [browser, *options, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=seconds
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotMeasured(f"{Path(browser).name} gave no answer ({type(error).__name__})") from None
    if not (match := _RESULT.search(done.stdout)):
        raise NotMeasured(f"{Path(browser).name} gave no answer (status {done.returncode})")
    return Measure(**json.loads(match["found"]))


def by_words(page: Path) -> Measure:
    """Estimate a page's measures from its words, its lines of code and its pictures."""
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    height = code = 0.0
    picture = None
    for tag in (soup.find("article") or soup).find_all(_BLOCKS):
        if _is_folded(tag):
            continue
        if tag.name == "img" and picture is None:
            picture = height
        block = _height(tag, page)
        height += block
        code += block if tag.name == "pre" and not tag.find_parent(class_="cell_output") else 0
    return Measure(height, picture, code / height if height else 0.0, estimated=True)


def _is_folded(tag: Tag) -> bool:
    """Whether a reader must open something to see the tag."""
    parents = [parent for parent in tag.parents if isinstance(parent, Tag) and parent.attrs is not None]
    closed = any(parent.name == "details" and not parent.has_attr("open") for parent in parents)
    return closed or any({"dropdown", "toggle"} & set(parent.get("class", [])) for parent in parents)


def _height(tag: Tag, page: Path) -> float:
    """The height of one block without the blocks inside it, in px."""
    if tag.name == "pre":
        return _CODE_LINE * len(tag.get_text().rstrip("\n").splitlines()) + 2 * _GAP
    if tag.name == "img":
        return _picture(tag, page)
    if tag.name == "details":
        return 0.0 if tag.has_attr("open") else _FOLDED
    if tag.name == "div":
        return sum(_BOXES.get(name, 0.0) for name in tag.get("class", []))
    if tag.name != "tr" and tag.find_parent("tr") or tag.name == "li" and tag.find("p"):
        return 0.0
    words = len(tag.get_text(" ").split())
    return _LINE * -(-words // _WORDS) + _GAP


def _picture(tag: Tag, page: Path) -> float:
    """The height at which a PNG is shown: its figure's, less if that is wider than the text."""
    try:
        width, height = size_on_page((page.parent / unquote(urlsplit(tag.get("src", "")).path)).read_bytes())
    except (OSError, ValueError):
        return _UNKNOWN
    return height * min(1.0, _ARTICLE / width) + _GAP


def _all_in_browser(pages: list[Path], browser: str) -> list[Measure]:
    """Two pages at a time, since a browser is busy on one core with a page's formulas; stops at the first failure."""
    with ThreadPoolExecutor(2) as pool:
        try:
            return list(pool.map(lambda page: in_browser(page, browser, SECONDS), pages))
        except NotMeasured:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def measure_pages(pages: list[Path]) -> tuple[dict[Path, Measure], str]:
    """Measure pages, all in the same way, and say in which: a browser's name, or why these are estimates."""
    if not pages:
        return {}, ""
    try:
        if (browser := find_browser()) is None:
            raise NotMeasured("no browser is installed")
        return dict(zip(pages, _all_in_browser(pages, browser), strict=True)), f"measured in {Path(browser).name}"
    except NotMeasured as error:
        return {page: by_words(page) for page in pages}, f"estimated from words and lines: {error}"
