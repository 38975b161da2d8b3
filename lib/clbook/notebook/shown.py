"""The outputs that show a stored run (cards, last line, pictures): rewritten from its stamp, compared with it."""

import base64
import hashlib
from collections.abc import Iterator

from ..claims.claim_table import Claims
from ..claims.judging import Reading, judge, judge_all
from ..claims.statistics import FAMILY_LEVEL
from ..common.errors import BookError
from ..common.formats import read_notebook
from ..common.pictures import plain_png
from ..common.sources import ChapterFiles
from ..provenance.slices import ChapterCode
from ..provenance.staleness import loaded, notebook_stamp, read_record
from ..provenance.stamps import MIME
from ..provenance.units import Unit
from .card import Headline, card, card_not_judged
from .display import Line, summary_table

Headlines = dict[str, Headline]


def line_of(unit: Unit, stamp: dict, claims: Claims, headlines: Headlines) -> Line:
    """The card or last line that a unit shows of a stored run."""
    shows, claim = unit.line
    if shows == "close":
        readings = {claim: Reading.of(**arms) for claim, arms in stamp["readings"].items()}
        return summary_table(judge_all(claims, readings, stamp["data"]), stamp)
    if claim not in stamp["readings"]:
        return card_not_judged(claims.rows[claim], headlines.get(claim), claims)
    row, reading = claims.rows[claim], Reading.of(**stamp["readings"][claim])
    level = FAMILY_LEVEL / claims.by_chance if row.by_chance else FAMILY_LEVEL
    return card(judge(row, reading, level, stamp["data"]), headlines.get(claim), claims)


def code_cells(notebook) -> list:
    """The code cells of a notebook, numbered as `ChapterCode.cells` are."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _lines(
    notebook, code: ChapterCode, stamp: dict, claims: Claims, headlines: Headlines
) -> Iterator[tuple[int, object, Line]]:
    """(number, cell, line) of each cell that ends with a line about a claim or the run; raises BookError."""
    cells = code_cells(notebook)
    if unknown := [claim for claim in code.claims if claim not in claims.rows]:
        raise BookError(f"{code.files.claims.name}: no row for {', '.join(unknown)}, which a cell judges")
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
    """The differences of a notebook from its stamp in cards, last line or pictures, one text for each."""
    if len(code_cells(notebook)) != len(code.cells):
        yield f"{len(code_cells(notebook))} code cells, the source has {len(code.cells)}"
        return
    for number, cell, line in _lines(notebook, code, stamp, claims, headlines):
        if [dict(output["data"]) for output in _results(cell)] != [line._repr_mimebundle_()]:
            yield f"code cell {number + 1} shows another line than the stored run gives: {line.plain[:60]}"
    for name in [*_others(picture_sums(notebook), stamp), *animations_off(code.files, stamp)]:
        yield f"the picture {name} is not the one that the stored run made"


def pictures_off(files: ChapterFiles) -> Iterator[tuple[str, str]]:
    """(place, name) of each stored picture, in the notebook or the records, that does not match its stamp."""
    for part in files.notebooks:
        if stamp := notebook_stamp(part.notebook, part):
            sums = picture_sums(read_notebook(part.notebook))
            names = [*_others(sums, stamp), *animations_off(part, stamp)]
            yield from ((f"chapters/{part.notebook.name}", name) for name in names)
    for path in files.records():
        pictures = [picture for picture in path.with_suffix("").glob("*.png") if picture.is_file()]
        sums = {p.stem: _sum(p.read_bytes()) for p in pictures}
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
            try:
                content = base64.b64decode(output["data"]["image/png"])
            except (ValueError, TypeError):
                content = b""
            yield output["metadata"]["scrapbook"]["name"], content


def picture_sums(notebook) -> dict[str, str]:
    """Figure name → checksum of the picture that a notebook shows."""
    return {name: _sum(content) for name, content in notebook_pictures(notebook)}


def _sum(content: bytes) -> str:
    return hashlib.sha256(plain_png(content)).hexdigest()


def stamp_of(notebook) -> dict | None:
    """The stamp among a notebook's outputs, unchecked."""
    stamps = [output["data"][MIME] for output in _outputs(notebook) if MIME in output.get("data", {})]
    return loaded(stamps[-1]) if stamps else None
