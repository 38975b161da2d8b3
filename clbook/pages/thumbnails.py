"""A small picture beside a claim: the one of its chapter that bears its name, or else stands nearest to its card."""

import io
import re
from typing import NamedTuple

from ..common.errors import BookError
from ..common.formats import read_notebook
from ..common.sources import ChapterFiles
from ..notebook.results import StoredRun
from ..notebook.shown import notebook_pictures
from ..provenance.slices import ChapterCode
from .record_gallery import Placed, figures

FOLDER = "thumbnails"
_SIZE, _COLOURS = (320, 240), 48
_SECTION = re.compile(r"(?:# )?## \S")


class Thumbnail(NamedTuple):
    """A picture's file below the static files, its size, its alternative text and the address of the full one."""

    file: str
    width: int
    height: int
    alt: str
    address: str


def shrink(png: bytes) -> tuple[bytes, int, int]:
    """A picture with few pixels and colours, as PNG, and its size; raises BookError without Pillow."""
    try:
        from PIL import Image
    except ImportError:
        raise BookError("pillow is not installed: install the extra 'book'") from None
    picture = Image.open(io.BytesIO(png))
    if picture.mode != "RGB":
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    picture.thumbnail(_SIZE, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.quantize(_COLOURS).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue(), *picture.size


def nearest(claims: dict[str, int], pictures: dict[str, int], sections: list[int]) -> dict[str, str]:
    """Claim → picture, from the cell in which each stands; `sections` are the cells with which sections begin.

    A picture that bears the name of a claim belongs to it and to its parts; otherwise the nearest in the section does.
    """
    chosen = {}
    for claim, at in claims.items():
        stems = (claim, claim.rpartition("-")[0])
        named = [name for stem in stems for name in pictures if "-" in stem and name.endswith(f"-{stem}")]
        first = max((s for s in sections if s <= at), default=0)
        after = min((s for s in sections if s > at), default=float("inf"))
        close = [name for name, place in pictures.items() if first <= place < after]
        if candidates := named or sorted(close, key=lambda name: abs(pictures[name] - at)):
            chosen[claim] = candidates[0]
    return chosen


def claim_pictures(files: ChapterFiles) -> dict[str, str]:
    """Claim → name of the chapter's picture that stands for it."""
    story, placed = ChapterCode(files), figures(files)
    cells = story.all_cells
    code = [at for at, cell in enumerate(cells) if not cell.markdown and cell.source.strip()]
    claims = {unit.line[1]: code[unit.cell] for unit in story.units if unit.line and unit.line[1]}
    prose = {at: cell.source.splitlines() for at, cell in enumerate(cells) if cell.markdown}
    pictures = {n: at for n in placed for at, lines in prose.items() if any(f"{{glue:figure}} {n}" in s for s in lines)}
    return nearest(claims, pictures, [at for at, lines in prose.items() if any(map(_SECTION.match, lines))])


def notebook_pictures_of(files: ChapterFiles) -> dict[str, bytes]:
    """Name → PNG of every picture that the committed notebooks show; raises BookError for a damaged notebook."""
    paths = [part.notebook for part in files.notebooks if part.notebook.is_file()]
    return {name: png for path in paths for name, png in notebook_pictures(read_notebook(path))}


def _address(placed: Placed) -> str:
    return f"../chapters/{placed.page}.html" + (f"#{placed.label}" if placed.label else "")


def thumbnails(files: ChapterFiles, runs: dict[str, StoredRun]) -> tuple[dict[str, Thumbnail], dict[str, bytes]]:
    """(claim → thumbnail, file → content) of one chapter; a picture of the record comes before the default run's."""
    placed, folder = figures(files), files.record("paper").with_suffix("")
    own = notebook_pictures_of(files) if "default" in runs else {}
    small: dict[str, tuple[bytes, int, int]] = {}
    by_claim = {}
    for claim, name in claim_pictures(files).items():
        recorded = folder / f"{name}.png"
        full = recorded.read_bytes() if recorded.is_file() else own.get(name)
        if full is None:
            continue
        if name not in small:
            try:
                small[name] = shrink(full)
            except OSError as error:
                raise BookError(f"{files.name}: the stored picture {name} is damaged: {error}") from None
        file = f"{FOLDER}/{files.name}-{name}.png"
        by_claim[claim] = Thumbnail(file, *small[name][1:], placed[name].alt, _address(placed[name]))
    return by_claim, {f"{FOLDER}/{files.name}-{name}.png": content for name, (content, *_) in small.items()}
