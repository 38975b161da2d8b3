"""Live (interactive) pictures of a chapter: a still picture and the script that replaces it, in one output.

The scripts are plain files in `book/_static/explorables/`: `NAME.math.js` (arithmetic, without DOM), `explorable.js`,
`address.js`, `lesson.js` and `explorable.css` (what all share: parts; scenes and links; the question and the tour;
style), `NAME.js` (the picture, its questions and tour), parts of it (`NAME.PART.js`) and, where it needs more style,
`NAME.css`. They are copied into the output, so a notebook, a page and a single HTML file all work without a network.
After a script has changed, `python -m clbook.notebook.explorables` puts it into the executed notebooks without running
them, and rewrites the HTML of animations. With a name it prints that picture as an ES module.
"""

import html
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.sources import ChapterFiles, chapter_names, find_root
from . import animations

_SHARED = ("explorable", "address", "lesson")
_PLAIN = "live picture {name}: {alt}"


def _read(folder: Path, name: str) -> str:
    path = folder / name
    if not path.is_file():
        known = sorted(p.name.removesuffix(".math.js") for p in folder.glob("*.math.js"))
        raise BookError(f"explorable: {name} does not exist in {folder.name}/, there are: {', '.join(known)}")
    text = path.read_text(encoding="utf-8")
    if "</" in text:
        raise BookError(f"{name} must not contain '</', which ends a script on a page")
    return text


def live_html(name: str, picture: str, alt: str, root: Path | None = None) -> str:
    """The HTML of a live picture, with its still picture first.

    Args:
        name: of the scripts.
        picture: the still picture, a PNG in base64.
        alt: what it shows, in a sentence.
        root: folder of the book; by default the one of the working folder.
    Returns: HTML.
    Raises: BookError for an empty `alt`, a missing script, or one that contains `</`.
    """
    if not alt.strip():
        raise BookError(f"explorable {name}: alt must say what the still picture shows, got {alt!r}")
    style, script = _parts(name, root)
    still = f'<img class="still" alt="{html.escape(alt)}" src="data:image/png;base64,{picture}">'
    element = f'<figure class="explorable" data-explorable="{name}">\n{still}\n</figure>'
    return f"<style>\n{style}</style>\n{element}\n<script>\n{script}</script>"


def _parts(name: str, root: Path | None) -> tuple[str, str]:
    """Style and script of a picture."""
    folder = (root or find_root()) / "book" / "_static" / "explorables"
    styles = [f"{_SHARED[0]}.css", *(path.name for path in folder.glob(f"{name}.css"))]
    parts = sorted(path.stem for path in folder.glob(f"{name}.*.js") if path.stem != f"{name}.math")
    scripts = [f"{part}.js" for part in (f"{name}.math", *_SHARED, *parts, name)]
    return "".join(_read(folder, sheet) for sheet in styles), "".join(_read(folder, script) for script in scripts)


def live_module(name: str, root: Path | None = None) -> str:
    """The picture as one ES module, `export default {render({model, el})}`, which needs no other file and no network.

    It is the protocol of anywidget: the keys of a scene that the model has set the picture and follow it.

    Args:
        name: of the scripts.
        root: folder of the book; by default the one of the working folder.
    Returns: JavaScript; rendering adds the style.
    Raises: BookError for a missing script.
    """
    style, script = _parts(name, root)
    return f"{script}\nexport default explorables.module({json.dumps(name)}, {json.dumps(style)});\n"


def live_bundle(name: str, picture: str, alt: str, root: Path | None = None) -> dict[str, str]:
    """The output as HTML, as PNG for front ends without it, and as alternative text, by MIME type."""
    shown = live_html(name, picture, alt, root)
    return {"text/html": shown, "image/png": picture, "text/plain": _PLAIN.format(name=name, alt=alt)}


def refresh(notebook, root: Path | None = None) -> list[str]:
    """Rewrite, in place, the HTML of each live picture in an executed notebook; returns the names that changed."""
    changed = []
    for data, name, alt in live(notebook):
        now = live_bundle(name, data["image/png"].strip(), alt, root)
        changed += [name] if now["text/html"] != data["text/html"] else []
        data |= now
    return changed


def live(notebook) -> Iterator[tuple[dict, str, str]]:
    """(data, name, alternative text) of each live picture of an executed notebook."""
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        data, name = output.get("data", {}), output.get("metadata", {}).get("scrapbook", {}).get("name", "")
        start = _PLAIN.format(name=name, alt="")
        if "image/png" in data and "text/html" in data and data.get("text/plain", "").startswith(start):
            yield data, name, data["text/plain"].removeprefix(start)


def _refresh_book(root: Path) -> None:
    import nbformat

    for files in (part for name in chapter_names(root) for part in ChapterFiles(root, name).notebooks):
        notebook = nbformat.read(files.notebook, as_version=4) if files.notebook.is_file() else None
        if notebook and (changed := refresh(notebook, root) + animations.refresh(notebook)):
            atomic_write(files.notebook, nbformat.writes(notebook, indent=1) + "\n")
            print(f"chapters/{files.notebook.name}: {', '.join(changed)}")


def main(name: str = "") -> int:
    """Refresh the live pictures and animations of all executed notebooks, or print one live picture as a module."""
    try:
        if name:
            print(live_module(name), end="")
        else:
            _refresh_book(find_root())
    except BookError as error:
        print(f"explorables: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
