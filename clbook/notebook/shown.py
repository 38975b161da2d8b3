"""What shows a stored run (cards, last line, pictures, numbers, texts): written from its stamp, compared with it."""

import base64
import hashlib
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from ..claims.claim_table import Claims
from ..claims.judging import Reading, judge, judge_all
from ..common.errors import BookError
from ..common.formats import place_of, read_notebook, text_of
from ..common.pictures import plain_png, size_on_page
from ..common.sources import Cell, ChapterFiles, parse_cells
from ..provenance.digests import SHORT
from ..provenance.library import sha
from ..provenance.records import read_record
from ..provenance.slices import ChapterCode
from ..provenance.staleness import loaded, notebook_stamp
from ..provenance.stamps import MIME
from ..provenance.units import Unit
from . import animations, explorables, glue
from .card import Headline, card, card_not_judged
from .display import Line, summary_table

Headlines = dict[str, Headline]
OTHER = "shows something else than the stored run"
OTHER_PICTURE = "is not the one that the stored run made"
_OF_PICTURES = ("image/png", "text/html")
_OF_NOTEBOOK, _OF_CELL = {"jupytext", "kernelspec", "language_info"}, {"tags", "jupyter", "lines_to_next_cell"}


def line_of(unit: Unit, stamp: dict, claims: Claims, headlines: Headlines) -> Line:
    """The card or last line that a unit shows of a stored run."""
    shows, claim = unit.line
    claims = claims.of_run(stamp["parameters"])
    if shows == "close":
        readings = {claim: Reading.of(**arms) for claim, arms in stamp["readings"].items()}
        return summary_table(judge_all(claims, readings, stamp["data"]), stamp)
    if claim not in stamp["readings"]:
        return card_not_judged(claims.rows[claim], headlines.get(claim), claims)
    row, reading = claims.rows[claim], Reading.of(**stamp["readings"][claim])
    return card(judge(row, reading, stamp["data"]), headlines.get(claim), claims)


def code_cells(notebook) -> list:
    """The code cells of a notebook, numbered as `ChapterCode.cells` are."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _lines(
    notebook, code: ChapterCode, stamp: dict, claims: Claims, headlines: Headlines
) -> Iterator[tuple[int, object, Line]]:
    """(number, cell, line) of each cell that ends with a line about a claim or the run; raises BookError."""
    cells = code_cells(notebook)
    if unknown := [claim for claim in code.claims if claim not in claims.rows]:
        raise BookError(f"{place_of(code.files.claims)}: no row for {', '.join(unknown)}, which a cell judges")
    for unit in code.units:
        if unit.line:
            yield unit.cell, cells[unit.cell], line_of(unit, stamp, claims, headlines)


def _results(cell) -> list:
    return [output for output in cell.outputs if output.output_type == "execute_result"]


def write_lines(notebook, code: ChapterCode, stamp: dict, claims: Claims, headlines: Headlines) -> None:
    """Rewrite the cards and the last line of a notebook in place from a stamp."""
    from nbformat import v4

    for number, cell, line in _lines(notebook, code, stamp, claims, headlines):
        others = [output for output in cell.outputs if output.output_type != "execute_result"]
        shown = v4.new_output("execute_result", line._repr_mimebundle_(), execution_count=number + 1)
        cell.outputs = [*others, shown]


def differences(notebook, code: ChapterCode, stamp: dict, claims: Claims, headlines: Headlines) -> Iterator[str]:
    """The differences of a notebook from its stamp in what it shows, one text for each."""
    if len(code_cells(notebook)) != len(code.cells):
        yield f"{len(code_cells(notebook))} code cells, the source has {len(code.cells)}"
        return
    for number, cell, line in _lines(notebook, code, stamp, claims, headlines):
        if [dict(output["data"]) for output in _results(cell)] != [line._repr_mimebundle_()]:
            yield f"code cell {number + 1} shows another line than the stored run gives: {line.plain[:60]}"
    for name in [*_others(picture_sums(notebook), stamp), *animations_off(code.files, stamp)]:
        yield f"the picture {name} {OTHER_PICTURE}"
    yield from (f"code cell {number} {OTHER}" for number in outputs_off(notebook, stamp))


def outputs_shown(notebook) -> dict[str, str]:
    """Number of a code cell → digest of what it shows, except pictures and the stamp, which have sums of their own."""
    cells = {str(n): [*map(_content, cell.outputs)] for n, cell in enumerate(code_cells(notebook), 1)}
    contents = {n: [content for content in outputs if content] for n, outputs in cells.items()}
    return {n: sha(json.dumps(shown, sort_keys=True))[:SHORT] for n, shown in contents.items() if shown}


def _content(output: dict) -> dict:
    """What enters the digest of an output; the HTML of a live picture holds scripts, which change without a run."""
    data, metadata = output.get("data", {}), output.get("metadata", {})
    if MIME in data:
        return {}
    if "scrapbook" not in metadata:
        return {key: value for key, value in output.items() if key != "execution_count"}
    left_out = _OF_PICTURES[:1] if _is_figure(output) else _OF_PICTURES
    return {"name": metadata["scrapbook"]["name"]} | {m: v for m, v in data.items() if m not in left_out}


def _is_figure(output: dict) -> bool:
    """Whether an output is a still picture, whose HTML, if it has any, is made by its run."""
    name = output["metadata"]["scrapbook"]["name"]
    return output["data"].get("text/plain") == glue.PLAIN.format(name)


def outputs_off(notebook, stamp: dict) -> list[int]:
    """The numbers of the code cells that show something else than the run; of a run without digests all that show."""
    shown, stored = outputs_shown(notebook), stamp.get("shown", {})
    return sorted(int(n) for n in shown.keys() | stored.keys() if shown.get(n) != stored.get(n))


def changed_outputs(files: ChapterFiles) -> Iterator[str]:
    """What a chapter's notebooks and records show otherwise than their stored runs, one line each.

    The HTML of live pictures and animations is made of scripts, without a run, so it is made again here.
    """
    shown = [
        (part, read_notebook(part.notebook), stamp)
        for part in files.notebooks
        if (stamp := notebook_stamp(part.notebook, part))
    ]
    for part, notebook, stamp in shown:
        for name in [*_others(picture_sums(notebook), stamp), *animations_off(part, stamp)]:
            yield f"chapters/{part.notebook.name}: the picture {name} {OTHER_PICTURE}"
    yield from (f"{where}: the picture {name} {OTHER_PICTURE}" for where, name in _record_pictures_off(files))
    for part, notebook, stamp in shown:
        where = f"chapters/{part.notebook.name}"
        yield from (f"{where}: code cell {number} {OTHER}" for number in outputs_off(notebook, stamp))
        yield from (f"{where}: {place} has metadata that no run writes" for place in _other_metadata(notebook))
        if (stamps := sum(MIME in output.get("data", {}) for output in _outputs(notebook))) != 1:
            yield f"{where}: {stamps} outputs say that they hold the run, one does"
        for name in refreshed_html(notebook, files.root):
            yield f"{where}: the HTML of the picture {name} is not what the present scripts make"


def _other_metadata(notebook) -> Iterator[str]:
    """Places with metadata that no run writes, by which a page could hide a verdict or shrink a picture."""
    if notebook.metadata.keys() - _OF_NOTEBOOK:
        yield "the notebook"
    for number, cell in enumerate(notebook.cells, 1):
        others = cell.metadata.keys() - _OF_CELL or cell.metadata.get("jupyter", {}).keys() - {"source_hidden"}
        if others or "attachments" in cell or not all(map(_is_plain, cell.get("outputs", []))):
            yield f"cell {number}"


def _is_plain(output: dict) -> bool:
    """Whether an output's metadata are its name under `glue`, and the width that its picture has on a page."""
    metadata, data = dict(output.get("metadata", {})), output.get("data", {})
    named, shown = metadata.pop("scrapbook", {}), metadata.pop("image/png", {})
    if metadata or named.keys() - {"name", "mime_prefix"}:
        return False
    try:
        return not shown or shown == {"width": size_on_page(decoded(data.get("image/png")))[0]}
    except (ValueError, ZeroDivisionError):  # no picture
        return False


def other_cells(files: ChapterFiles) -> Iterator[str]:
    """Notebooks of a chapter whose prose or code is not that of their sources, one line each."""
    for part in (part for part in files.notebooks if part.notebook.is_file()):
        source = parse_cells(text_of(part.source), part.source.name)
        if number := _other_cell(read_notebook(part.notebook), source):
            where = f"chapters/{part.notebook.name}: cell {number}"
            yield f"{where} is not that of {part.source.name}; `clbook execute` writes it anew"


def _other_cell(notebook, source: list[Cell]) -> int | None:
    """The number, from 1, of the first cell whose kind, tags or text are not those of its source, or which has none."""
    there = [(cell.cell_type, {*cell.metadata.get("tags", [])}, _plain(cell.source)) for cell in notebook.cells]
    named = [("markdown" if c.markdown else "code", {*c.tags}, _plain(_as_shown(c))) for c in source]
    pairs = zip_longest(there, named)
    return next((number for number, (shown, written) in enumerate(pairs, 1) if shown != written), None)


def _as_shown(cell: Cell) -> str:
    """A cell of a source as notebooks hold it: prose, and code for notebooks alone, are comments in the source."""
    if not cell.markdown and "active-ipynb" not in cell.tags:
        return cell.source
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in cell.source.splitlines())


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def refreshed_html(notebook, root: Path) -> list[str]:
    """Rewrite, in place, the HTML of a notebook's live pictures and animations; returns the names that changed.

    HTML beside any other glued output than a figure is taken away, since nothing makes it.
    """
    changed = explorables.refresh(notebook, root) + animations.refresh(notebook)
    made = [data for data, *_ in (*explorables.live(notebook), *animations.moving(notebook))]
    for output in _outputs(notebook):
        data, metadata = output.get("data", {}), output.get("metadata", {})
        loose = "scrapbook" in metadata and "text/html" in data and not _is_figure(output)
        if loose and not any(data is other for other in made):
            del data["text/html"]
            changed.append(metadata["scrapbook"]["name"])
    return changed


def _record_pictures_off(files: ChapterFiles) -> Iterator[tuple[str, str]]:
    """(place, name) of each picture of a record that does not match its stamp."""
    for path in files.records():
        pictures = [picture for picture in path.with_suffix("").glob("*.png") if picture.is_file()]
        sums = {p.stem: sum_of(p.read_bytes()) for p in pictures}
        where = f"records/{files.name}/{path.name}"
        yield from ((where, name) for name in _others(sums, read_record(path, files)["run"]))


def _others(sums: dict[str, str], stamp: dict) -> list[str]:
    """Names of pictures whose checksum differs from the stamp's, or that only one of the two has."""
    names = sorted(sums.keys() | stamp["pictures"].keys())
    return [name for name in names if sums.get(name) != stamp["pictures"].get(name, {}).get("sum")]


def animations_off(files: ChapterFiles, stamp: dict) -> list[str]:
    """Names of the animations' files that are missing, changed or superfluous beside the committed notebook."""
    wanted = {name: picture["moving"] for name, picture in stamp["pictures"].items() if "moving" in picture}
    there = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files.animations.glob("*.webp")}
    return [f"{name}.webp" for name in sorted(wanted.keys() | there.keys()) if wanted.get(name) != there.get(name)]


def _outputs(notebook) -> Iterator[dict]:
    return (output for cell in notebook.cells for output in cell.get("outputs", []))


def notebook_pictures(notebook) -> Iterator[tuple[str, bytes]]:
    """(figure name, PNG) of every glued picture that a notebook shows; of one that is damaged the PNG is empty."""
    for output in _outputs(notebook):
        if "image/png" in output.get("data", {}) and "scrapbook" in output.get("metadata", {}):
            yield output["metadata"]["scrapbook"]["name"], decoded(output["data"]["image/png"])


def decoded(picture: object) -> bytes:
    """The PNG of a notebook's output; empty if it is damaged."""
    try:
        return base64.b64decode(picture)
    except (ValueError, TypeError):
        return b""


def picture_sum(picture: object) -> str:
    """The checksum of a picture in a notebook's output, as in a stamp."""
    return sum_of(decoded(picture))


def edited_pictures(notebook, stamp: dict) -> list[str]:
    """Names of the pictures that a notebook shows otherwise than the run; of those that only one has, none."""
    drawn = {name: picture["sum"] for name, picture in stamp["pictures"].items()}
    return [name for name, found in picture_sums(notebook).items() if drawn.get(name, found) != found]


def picture_sums(notebook) -> dict[str, str]:
    """Figure name → checksum of the picture that a notebook shows."""
    return {name: sum_of(content) for name, content in notebook_pictures(notebook)}


def sum_of(content: bytes) -> str:
    """The checksum of a PNG, as in a stamp."""
    return hashlib.sha256(plain_png(content)).hexdigest()


def stamp_of(notebook) -> dict | None:
    """The stamp among a notebook's outputs, unchecked."""
    stamps = [output["data"][MIME] for output in _outputs(notebook) if MIME in output.get("data", {})]
    return loaded(stamps[-1]) if stamps else None
