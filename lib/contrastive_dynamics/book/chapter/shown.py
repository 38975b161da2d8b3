"""What a notebook shows of a stored run: verdicts, values and its last line, written from the stamp and held to it."""

import base64
import hashlib
from collections.abc import Iterator

import nbformat

from ..claims.claim_table import Claims
from ..claims.judging import Reading, judge, judge_all
from ..claims.statistics import FAMILY_LEVEL
from ..ground.pictures import plain_png
from ..ground.sources import ChapterFiles
from ..provenance.slices import Story, Unit
from ..provenance.staleness import loaded, notebook_stamp, read_record
from ..provenance.stamps import MIME
from .display import Headline, Line, card, card_not_judged, summary_table

Headlines = dict[str, Headline]


def line_of(unit: Unit, stamp: dict, claims: Claims, headlines: Headlines) -> Line:
    """The card or the last line that a unit shows of a stored run."""
    shows, claim = unit.line
    if shows == "close":
        readings = {claim: Reading.of(**arms) for claim, arms in stamp["readings"].items()}
        return summary_table(judge_all(claims, readings, stamp["data"]), stamp)
    if claim not in stamp["readings"]:
        return card_not_judged(claims.rows[claim], headlines.get(claim))
    row, reading = claims.rows[claim], Reading.of(**stamp["readings"][claim])
    level = FAMILY_LEVEL / claims.by_chance if row.by_chance else FAMILY_LEVEL
    return card(judge(row, reading, level, stamp["data"]), headlines.get(claim))


def code_cells(notebook) -> list:
    """The cells of a notebook that run, in the order in which a story counts them."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _lines(
    notebook, story: Story, stamp: dict, claims: Claims, headlines: Headlines
) -> Iterator[tuple[int, object, Line]]:
    """(number, cell, its line) of each cell that ends with a line about a claim or the run."""
    cells = code_cells(notebook)
    for unit in story.units:
        if unit.line:
            yield unit.cell, cells[unit.cell], line_of(unit, stamp, claims, headlines)


def _results(cell) -> list:
    return [output for output in cell.outputs if output.output_type == "execute_result"]


def write_lines(notebook, story: Story, stamp: dict, claims: Claims, headlines: Headlines) -> None:
    """Write, in place, every line of a notebook anew from a stamp."""
    from nbformat import v4

    for number, cell, line in _lines(notebook, story, stamp, claims, headlines):
        others = [output for output in cell.outputs if output.output_type != "execute_result"]
        shown = v4.new_output("execute_result", line._repr_mimebundle_(), execution_count=number + 1)
        cell.outputs = [*others, shown]


def differences(notebook, story: Story, stamp: dict, claims: Claims, headlines: Headlines) -> Iterator[str]:
    """What a notebook shows otherwise than its stamp says: lines about claims, pictures; one line each."""
    if len(code_cells(notebook)) != len(story.cells):
        yield f"{len(code_cells(notebook))} code cells, the source has {len(story.cells)}"
        return
    for number, cell, line in _lines(notebook, story, stamp, claims, headlines):
        if [dict(output["data"]) for output in _results(cell)] != [line._repr_mimebundle_()]:
            yield f"code cell {number + 1} shows another line than the stored run gives: {line.plain[:60]}"
    for name in _others(picture_sums(notebook), stamp):
        yield f"the picture {name} is not the one that the stored run made"


def pictures_off(files: ChapterFiles) -> Iterator[tuple[str, str]]:
    """Where and name of each stored picture, of the notebook and the records, that its stamp does not know so."""
    if stamp := notebook_stamp(files.notebook):
        sums = picture_sums(nbformat.read(files.notebook, as_version=4))
        yield from ((f"chapters/{files.notebook.name}", name) for name in _others(sums, stamp))
    for path in files.records():
        pictures = path.with_suffix("").glob("*.png")
        sums = {p.stem: hashlib.sha256(plain_png(p.read_bytes())).hexdigest() for p in pictures}
        where = f"records/{files.name}/{path.name}"
        yield from ((where, name) for name in _others(sums, read_record(path)["run"]))


def _others(sums: dict[str, str], stamp: dict) -> list[str]:
    """Names of pictures whose sum is not the one in the stamp; of those that are missing, or too many."""
    names = sorted(sums.keys() | stamp["pictures"].keys())
    return [name for name in names if sums.get(name) != stamp["pictures"].get(name, {}).get("sum")]


def picture_sums(notebook) -> dict[str, str]:
    """Figure's name → sum of the picture that a notebook shows."""
    found = {}
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        if "image/png" in output.get("data", {}) and "scrapbook" in output.get("metadata", {}):
            content = plain_png(base64.b64decode(output["data"]["image/png"]))
            found[output["metadata"]["scrapbook"]["name"]] = hashlib.sha256(content).hexdigest()
    return found


def stamp_of(notebook) -> dict | None:
    """The stamp among a notebook's outputs, unchecked."""
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    return next((loaded(o["data"][MIME]) for o in reversed(outputs) if MIME in o.get("data", {})), None)
