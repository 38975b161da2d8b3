"""A Sphinx extension: what the slides of a lecture, NAME.md or a later one, NAME-2.md, take from the chapter NAME.

    ```{picture} cc-plot-prop-3       a figure of the committed notebook, or of a record (`:profile: paper`)
    :crop: 0 10 50 100                the part that is shown: left, top, right, bottom in percent of the figure
    :cover: 40 0 100 100              parts, likewise, with `;` between them, that the next step uncovers
    :size: 760 540                    the most pixels that it takes; below 900 text stands beside it
    ```
    ```{live} clouds                  a live picture; it asks its first question
    :question: 2                      or another one
    :scene: t=8&nu=2.5                or opens at a scene
    ```
    ```{card} thm-2                   a claim's gauge, what is measured, setting, rule and control, without the verdict
    ```{vote}                         a question
    ```{answer}                       what the next step shows; below a picture of the whole width the question goes
    ```{notes}                        what the lecturer alone sees

The role {number}`cc-gap-wide:.3f` is a number that the notebook stores, {verdict}`thm-2` the verdict of a claim,
{found}`thm-2` what its run found, by the second sentence of its card. The figures are copied beside the slides as they
are stored. A name that the chapter does not know is an error.
"""

import re
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from ..claims.claim_table import Claims
from ..claims.judging import Verdict as Found
from ..claims.plain import as_html, sentences
from ..common.errors import BookError
from ..common.pictures import size_on_page
from ..common.sources import ChapterFiles, find_root
from ..notebook.explorables import live_html
from ..notebook.gauge import gauge
from ..notebook.results import headlines, verdicts_of
from ..pages.stored_figures import StoredFigures, stored_figures
from ..provenance.staleness import notebooks_stamp

FIGURES, LIVE = "figures", "live"  # folders beside the slides
_SIZE = (1200, 560)  # px below a slide's title
_BESIDE = 900  # px; text stands beside a picture that may be less wide
_QUESTION = """addEventListener("load", () => {{ const more = [...document.querySelectorAll(".explorable .foot button")]
  .find((button) => button.textContent === "Next question"); for (let k = 1; k < {number}; k++) more.click(); }});"""
# a page in a frame gets the keys of a presenter's remote, and arrows, which a slider that has the focus needs itself;
# the slides hear them by reveal.js's messages
_KEYS = """addEventListener("keydown", ({ key, target }) => {
  const arrow = target.closest?.("input, select") ? "" : { ArrowRight: "next", ArrowLeft: "prev" }[key];
  const method = { PageDown: "next", PageUp: "prev" }[key] || arrow;
  if (method) parent.postMessage(JSON.stringify({ method }), "*");
});"""


def _percent(text: str) -> tuple[float, ...]:
    """Left, top, right, bottom in percent, as shares of one."""
    sides = tuple(float(part) / 100 for part in text.split())
    if len(sides) != 4 or not (0 <= sides[0] < sides[2] <= 1 and 0 <= sides[1] < sides[3] <= 1):
        raise ValueError(f"must be left top right bottom in percent, got {text!r}")
    return sides


def _covers(text: str) -> list[tuple[float, ...]]:
    return [_percent(part) for part in text.split(";")]


def _pixels(text: str) -> tuple[int, ...]:
    size = tuple(int(part) for part in text.split())
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"must be width and height in pixels, got {text!r}")
    return size


def _scene(text: str) -> str:
    if not re.fullmatch(r"(?:[a-z]+=-?[\d.]+(?:&|$))+", text):
        raise ValueError(f"must be a scene such as t=8&nu=2.5, got {text!r}")
    return text


def _chapter(env: BuildEnvironment) -> str:
    """The chapter of a deck: its name, without the number of a further lecture."""
    return re.sub(r"-\d$", "", env.docname)


class _OfChapter(SphinxDirective):
    @property
    def stored(self) -> StoredFigures:
        return stored_figures(find_root(), _chapter(self.env))

    def write(self, name: str, content: bytes) -> None:
        path = Path(self.env.app.outdir) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Picture(_OfChapter):
    required_arguments = 1
    option_spec = {"profile": directives.unchanged, "crop": _percent, "cover": _covers, "size": _pixels,
                   "alt": directives.unchanged_required}  # fmt: skip

    def run(self) -> list[nodes.Node]:
        name, profile = self.arguments[0], self.options.get("profile", "default")
        try:
            content = self.stored.picture(name, profile)
            alt = self.options.get("alt") or self.stored.alt(name, profile)
        except BookError as error:
            raise self.error(f"picture {name}: {error}") from None
        file = f"{FIGURES}/{name}{'' if profile == 'default' else f'-{profile}'}.png"
        self.write(file, content)
        html = _figure(file, alt, size_on_page(content), self.options)
        return [nodes.raw("", html, format="html")]


def _figure(file: str, alt: str, whole: tuple[int, int], options: dict) -> str:
    """A figure, or a part of it, as large as its room allows."""
    left, top, right, bottom = options.get("crop", (0.0, 0.0, 1.0, 1.0))
    most = options.get("size", _SIZE)
    scale = min(most[0] / (whole[0] * (right - left)), most[1] / (whole[1] * (bottom - top)))
    width, height = whole[0] * scale, whole[1] * scale
    place = f"left:{-left * width:.1f}px;top:{-top * height:.1f}px;width:{width:.1f}px;height:{height:.1f}px"
    size = f"width:{width * (right - left):.1f}px;height:{height * (bottom - top):.1f}px"
    covers = "".join(
        f'<div class="cover fragment fade-out" data-fragment-index="0" style="left:{(x0 - left) * width:.1f}px;'
        f'top:{(y0 - top) * height:.1f}px;width:{(x1 - x0) * width:.1f}px;height:{(y1 - y0) * height:.1f}px">?</div>'
        for x0, y0, x1, y1 in options.get("cover", [])
    )
    beside = " beside" if most[0] < _BESIDE else ""
    return (
        f'<figure class="picture{beside}" style="{size}" data-scale="{scale:.2f}">'
        f'<img src="{file}" alt="{escape(alt)}" style="{place}">{covers}</figure>'
    )


class Live(_OfChapter):
    required_arguments = 1
    option_spec = {"question": directives.positive_int, "scene": _scene}

    def run(self) -> list[nodes.Node]:
        name, question = self.arguments[0], self.options.get("question", 1)
        try:
            still, alt = self.stored.live(name)
            picture = live_html(name, still, alt, find_root())
        except BookError as error:
            raise self.error(f"live {name}: {error}") from None
        file = f"{LIVE}/{name}{question if question > 1 else ''}.html"
        self.write(file, _live_page(name, picture, question).encode("utf-8"))
        scene = f"#{name}:{self.options['scene']}" if "scene" in self.options else ""
        frame = f'<iframe class="live" data-src="{file}{escape(scene)}" title="{escape(alt)}"></iframe>'
        html = f'{frame}<img class="live still" alt="{escape(alt)}" src="data:image/png;base64,{still}">'  # for print
        return [nodes.raw("", html, format="html")]


def _live_page(name: str, picture: str, question: int) -> str:
    script = _KEYS + (_QUESTION.format(number=question) if question > 1 else "")
    style = '<link rel="stylesheet" href="../_static/live.css">'
    return (
        '<!doctype html>\n<html lang="en" data-theme="light">'  # the room is dark, the slides are not
        f'<head><meta charset="utf-8"><title>{name}</title>{style}</head>'
        f'<body class="slide">{picture}<script>{script}</script></body></html>\n'
    )


class Card(_OfChapter):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        if not (found := _findings(find_root(), _chapter(self.env)).get(self.arguments[0])):
            raise self.error(f"card {self.arguments[0]}: no stored run has it")
        claim, parsed = found.claim, nodes.Element()
        rows = {"measured": claim.statistic, "setting": claim.regime, "rule": claim.rule, "control": claim.control}
        text = StringList([f"- *{label}:* {words}" for label, words in rows.items() if words])
        self.state.nested_parse(text, self.content_offset, parsed)
        opened = f'<div class="card">{gauge(claim.rule, found.reading)}'
        return [nodes.raw("", opened, format="html"), *parsed.children, nodes.raw("", "</div>", format="html")]


class _Block(SphinxDirective):
    has_content = True
    opened, closed = "", "</div>"

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        return [nodes.raw("", self.opened, format="html"), *parsed.children, nodes.raw("", self.closed, format="html")]


class Vote(_Block):
    opened = '<div class="vote">'


class Answer(_Block):
    opened = '<div class="answer fragment">'


class Notes(_Block):
    opened, closed = '<aside class="notes">', "</aside>"


class Number(SphinxRole):
    """{number}`NAME:FORMAT`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name, _, form = self.text.partition(":")
        try:
            text = format(stored_figures(find_root(), _chapter(self.env)).number(name), form)
        except (BookError, ValueError) as error:
            return [], [self.inliner.reporter.error(f"number {self.text}: {error}", line=self.lineno)]
        return [nodes.Text(text.replace("-", "−"))], []


class _OfClaim(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not (found := _findings(find_root(), _chapter(self.env)).get(self.text)):
            return [], [self.inliner.reporter.error(f"{self.name} {self.text}: no stored run has it", line=self.lineno)]
        return [self.shown(found)], []


class Verdict(_OfClaim):
    """{verdict}`CLAIM`: by the record `paper` where it is up to date, else by the committed notebook."""

    def shown(self, found: Found) -> nodes.Node:
        return nodes.inline("", found.verdict, classes=["verdict", found.verdict.replace(" ", "-")])


class Finding(_OfClaim):
    """{found}`CLAIM`: the sentence with the numbers of that run."""

    def shown(self, found: Found) -> nodes.Node:
        return nodes.raw("", as_html(sentences(found, "the run")[1]), format="html")


@cache
def _findings(root: Path, chapter: str) -> dict[str, Found]:
    files = ChapterFiles.find(chapter, root)
    found = verdicts_of(notebooks_stamp(files), Claims.load(files.claims))
    return found | {claim: headline.found for claim, headline in headlines(files).items()}


def setup(app: Sphinx) -> dict:
    blocks = {"vote": Vote, "answer": Answer, "notes": Notes}
    for name, directive in {"picture": Picture, "live": Live, "card": Card, **blocks}.items():
        app.add_directive(name, directive)
    for name, role in {"number": Number(), "verdict": Verdict(), "found": Finding()}.items():
        app.add_role(name, role)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
