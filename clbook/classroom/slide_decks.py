"""Write the slides of all lectures: `python -m clbook.classroom.slide_decks [FOLDER]`, `dist/slides` by default.

The folder needs no network: reveal.js comes with sphinx-revealjs, MathJax with the book. In `figures` lie the figures
that the slides show, at the resolution at which they are stored (192 dpi), with the licence of text and figures;
`clbook run CHAPTER --figures` writes those of a run as SVG and PDF.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from ..common.errors import BookError
from ..common.sources import find_root
from .slides import FIGURES

LICENCE = "LICENSE-text"


def decks(root: Path) -> list[Path]:
    """The sources of the decks, one for a lecture, sorted by name."""
    return sorted((path for path in (root / "slides").glob("*.md") if path.stem != "index"), key=lambda path: path.stem)


def build(root: Path, out: Path, builder: str = "revealjs", **settings: object) -> None:
    """Build all decks into a folder, which is replaced; raises BookError for a deck with a mistake.

    Args:
        root: the folder of the book.
        out: the folder to write.
        builder: of Sphinx.
        settings: of Sphinx, in place of those in slides/conf.py.
    """
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace

    if out.exists() and any(out.iterdir()) and not (out / FIGURES).is_dir():
        raise BookError(f"{out}: holds something other than slides; give another folder")
    shutil.rmtree(out, ignore_errors=True)
    source = root / "slides"
    with tempfile.TemporaryDirectory(prefix="clbook-") as cache:
        try:
            with docutils_namespace():
                app = Sphinx(source, source, out, cache, builder, settings, None, io.StringIO(), warningiserror=True)
                app.build(force_all=True)
        except SphinxError as error:  # the first mistake, with its place
            raise BookError(str(error).replace(f"{root}/", "")) from None
    shutil.copy(root / LICENCE, out / FIGURES / LICENCE)


def main(arguments: list[str]) -> int:
    """Build the decks of the book around the working folder; returns an exit status."""
    root = find_root()
    out = Path(arguments[0]) if arguments else root / "dist" / "slides"  # a build of the pages empties _build
    try:
        build(root, out)
    except BookError as error:
        print(f"slides: {error}", file=sys.stderr)
        return 1
    for path in decks(root):
        print(out / f"{path.stem}.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
