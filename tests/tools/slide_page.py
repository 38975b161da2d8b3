"""Slides in a browser: what leaves a slide of 1280 x 720 px, and what is set smaller than a room can read."""

from pathlib import Path

from browser import Page

WIDTH, HEIGHT, SMALLEST = 1280, 720, 24  # px
# Every box that is drawn, but for what is cut by design (a picture in its frame); the size of every text; blocks that
# lie on each other.
MEASURE = """(() => {
  const slide = Reveal.getCurrentSlide(), found = [], box = (e) => e.getBoundingClientRect();
  const before = (p, q) => p.right <= q.left + 1 || p.bottom <= q.top + 1;
  for (const e of slide.querySelectorAll("*")) {
    if (e.closest("aside, mjx-assistive-mml, figure.picture > *") || !e.checkVisibility() || !box(e).width) continue;
    const { left, top, right, bottom } = box(e), words = `${e.tagName} ${e.textContent.trim().slice(0, 40)}`;
    if (left < -1 || top < -1 || right > WIDTH + 1 || bottom > HEIGHT + 1) found.push(`leaves the slide: ${words}`);
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const drawn = e.ownerSVGElement ? e.getScreenCTM().a : 1;  // a picture is larger than its units
    const size = drawn * parseFloat(getComputedStyle(e).fontSize);
    if (own && !e.closest("mjx-container, sub, sup") && size < SMALLEST) found.push(`${size} px: ${words}`);
  }
  const blocks = [...slide.children].filter((e) => e.tagName !== "ASIDE" && e.checkVisibility() && box(e).height);
  blocks.forEach((a, k) => blocks.slice(k + 1).forEach((b) => {
    if (!before(box(a), box(b)) && !before(box(b), box(a))) found.push(`overlap: ${a.tagName}, ${b.tagName}`);
  }));
  return found;
})()"""
for _name, _value in {"WIDTH": WIDTH, "HEIGHT": HEIGHT, "SMALLEST": SMALLEST}.items():
    MEASURE = MEASURE.replace(_name, str(_value))
_READY = """(async () => {
  await (window.MathJax && MathJax.startup && MathJax.startup.promise);
  await document.fonts.ready;
})()"""


def open_page(page: Page, path: Path, width: int = WIDTH, height: int = HEIGHT) -> None:
    """A file in a window of this size."""
    page.open(path, width)
    page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def open_deck(page: Page, path: Path) -> int:
    """Open a deck with its formulas set; returns the number of its slides."""
    open_page(page, path)
    page.until("window.Reveal && Reveal.isReady()")
    page.run(_READY)
    return page.run("Reveal.getTotalSlides()")


def problems(page: Page, number: int) -> list[str]:
    """What is wrong with a slide, from 0 on: covered first, then with all that its steps show."""
    page.run(f"Reveal.slide({number})")
    found = page.run(MEASURE)
    page.run("while (Reveal.availableFragments().next) Reveal.nextFragment()")
    return [f"slide {number + 1}: {line}" for line in dict.fromkeys(found + page.run(MEASURE))]
