"""A handout for each chapter: one printable page of HTML, its formulas drawn, its numbers those of stored readings.

A source, chapters/NAME/handout.md, is Markdown with `$…$` in the subset of TeX that matplotlib draws. On lines of their
own `{claim ID}` stands for what was found and its verdict, `{figure CLAIM: NAME}` for a picture of the notebook, or of
the record if the claim's verdict is that of the record. The page needs neither network nor script.
"""

import base64
import html
import re
from functools import cache
from pathlib import Path

from ..claims.plain import as_html
from ..commands.jupyter_kernel import disk_errors
from ..commands.output_place import check_output, output_folder
from ..common.errors import BookError
from ..common.fonts import missing_fonts
from ..common.formats import place_of, read_notebook, text_of
from ..common.sources import ChapterFiles, chapter_names
from ..notebook.claim_result import ClaimResult
from ..notebook.results import load_results

_PLACE = re.compile(r"^\{(claim|figure) ([^}:]+)(?:: ([^}]+))?\}$", re.MULTILINE)
_FORMULA = re.compile(r"\$([^$]+)\$")
_SIZE = 14.67  # of formulas, in CSS pixels for an em: 11 points
_STYLE = """@page { size: A4; margin: 12mm }
body { font: 14.67px/1.32 Georgia, serif; max-width: 184mm; margin: auto; color: #111 }
h1 { font-size: 22px; margin: 0 0 4px } h2 { font-size: 16px; margin: 8px 0 2px; break-after: avoid }
p { margin: 3px 0 } ul, ol { margin: 2px 0; padding-left: 17px } li { margin: 1px 0 } svg { overflow: visible }
img { display: block; margin: 5px auto; max-width: 100%; max-height: 84mm } footer { margin-top: 9px; color: #444 }"""


def write_handouts(root: Path, out: Path) -> list[Path]:
    """Write NAME.html for each chapter that has a source into a new folder; returns the pages.

    Raises BookError for a folder that is not empty, a claim or picture that does not exist, a formula that is not read.
    """
    out = check_output(out.absolute())
    results = {(result.chapter, result.claim.id): result for result in load_results(root)}
    names = [name for name in chapter_names(root) if ChapterFiles(root, name).handout.is_file()]
    with disk_errors(out), output_folder(out) as folder:
        for name in names:
            page = handout(root, name, {claim: r for (chapter, claim), r in results.items() if chapter == name})
            (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return [out / f"{name}.html" for name in names]


def handout(root: Path, name: str, results: dict[str, ClaimResult]) -> str:
    """The page of one chapter as HTML, from its source and the results of its claims."""
    files = ChapterFiles(root, name)
    source = files.handout
    kept: list[str] = []  # HTML that Markdown must not touch

    def place(match: re.Match) -> str:
        if match[2] not in results:
            raise BookError(f"{place_of(source)}: no claim {match[2]!r}")
        if match[1] == "claim":
            return f"- {_mark(kept, _finding(results[match[2]]))}"
        return _mark(kept, _picture(files, match[3], results[match[2]], source))

    text = _PLACE.sub(place, text_of(source))
    return printed_page(text, place_of(source), "Numbers are those of the book's stored runs.", kept)


def printed_page(text: str, where: str, foot: str, kept: list[str] | None = None) -> str:
    """A page of HTML to print, from Markdown whose first line is its title and whose formulas matplotlib can draw.

    `kept` is HTML that stands in the text as marks. Raises BookError for a formula that is not read.
    """
    from markdown_it import MarkdownIt

    kept = kept or []
    title = text.partition("\n")[0].removeprefix("# ")
    text = _FORMULA.sub(lambda match: _mark(kept, drawn_formula(match[1], where)), text)
    body = MarkdownIt("commonmark").render(text)
    body = re.sub("\x01(\\d+)\x02", lambda match: kept[int(match[1])], body)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}<footer>{foot} Text under CC BY 4.0.</footer>\n</body></html>\n"
    )


def _mark(kept: list[str], made: str) -> str:
    kept.append(made)
    return f"\x01{len(kept) - 1}\x02"


def _finding(result: ClaimResult) -> str:
    """What was found, the first two sentences, and the verdict with the run that gave it."""
    if not result.sentences:
        raise BookError(f"{result.chapter}: {result.claim.id} has no stored result in plain sentences")
    said = " ".join(as_html(parts) for parts in result.sentences[:2])
    run = "the long run" if result.profile == "paper" else "the page's own run"
    return f"{said} <i>{html.escape(result.verdict)}, by {run}</i>"


def _picture(files: ChapterFiles, name: str, result: ClaimResult, source: Path) -> str:
    """The picture as an element, of the record where the result is that of the record and it has the picture."""
    recorded = files.record(result.profile).with_suffix("") / f"{name}.png"
    data = base64.b64encode(recorded.read_bytes()).decode("ascii") if recorded.is_file() else _shown(files, name)
    if data is None:
        raise BookError(f"{place_of(source)}: no picture {name!r} in the chapter")
    alt = re.search(rf":alt: (.+)\n(?:# )?:name: {re.escape(name)}\n", text_of(files.source))
    words = html.escape(
        alt[1].replace("$", "") if alt else "; ".join(as_html(parts) for parts in result.sentences[:1]), quote=True
    )
    return f'<img alt="{words}" src="data:image/png;base64,{data}">'


def _shown(files: ChapterFiles, name: str) -> str | None:
    """A picture of the committed notebook, in base64."""
    for cell in read_notebook(files.notebook).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if data.get("text/plain") == f"<figure {name}>":
                return "".join(data["image/png"].split())
    return None


@cache
def drawn_formula(tex: str, where: str = "") -> str:
    """A formula as SVG on the baseline of its line, with its TeX as the text for screen readers.

    Raises BookError for TeX that matplotlib does not read, and where it does not find its own letters.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if missing := missing_fonts():
        raise BookError(f"matplotlib lacks its fonts {', '.join(missing)}: install it anew")
    try:
        path = TextPath((0, 0), f"${tex}$", size=_SIZE, prop=FontProperties(math_fontfamily="cm"))
    except ValueError as error:
        raise BookError(
            f"{where}: a formula cannot be drawn: {tex!r} ({str(error).splitlines()[-1].strip()})"
        ) from None
    box, commands = path.get_extents(), []
    for points, code in path.iter_segments(simplify=False, curves=True):
        pairs = [f"{x:.2f} {-y:.2f}" for x, y in points.reshape(-1, 2)]
        commands.append(
            "Z" if code == path.CLOSEPOLY else {1: "M", 2: "L", 3: "Q", 4: "C"}[int(code)] + " ".join(pairs)
        )
    left, low, width, height = box.x0 - 0.3, box.y0, box.width + 0.6, box.height
    return (
        f'<svg role="img" aria-label="{html.escape(tex, quote=True)}" width="{width:.2f}" height="{height:.2f}" '
        f'viewBox="{left:.2f} {-low - height:.2f} {width:.2f} {height:.2f}" style="vertical-align:{low:.2f}px">'
        f'<path d="{"".join(commands)}"/></svg>'
    )
