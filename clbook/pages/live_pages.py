"""Live pictures as pages of their own, `_static/live/NAME.html`, which others can embed, and the list of them.

A page is one file without a network. A scene behind its `#` opens as it does in the chapter.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..common.formats import read_notebook
from ..common.sources import ChapterFiles
from ..notebook import explorables
from .claim_marks import Html, in_html
from .template import fill

FOLDER = "static/live"  # below `book/_generated`


class LivePage(NamedTuple):
    """A live picture as HTML, its chapter's title and its alternative text."""

    html: str
    title: str
    alt: str


def live_pages(files: ChapterFiles, title: str) -> dict[str, LivePage]:
    """Name → page of each live picture of a chapter's executed notebooks."""
    found = {}
    for part in files.notebooks:
        for data, name, alt in explorables.live(read_notebook(part.notebook)):
            page = fill(
                "live-page.html", title=title, picture_name=name, stem=part.stem, picture=Html(data["text/html"])
            )
            found[name] = LivePage(page + "\n", title, alt)
    return found


def generated(pages: Mapping[str, LivePage]) -> dict[str, str]:
    """The pages and the list of them in Markdown, by their place below `book/_generated`."""
    rows = [
        f'- <a href="../_static/live/{name}.html">{in_html(page.title)}: {name}</a>. {in_html(page.alt)}'
        for name, page in pages.items()
    ]
    files = {f"{FOLDER}/{name}.html": page.html for name, page in pages.items()}
    return files | {"live.md": "\n".join(rows) + "\n"}
