"""A chapter's notebook: built from its `.py`, executed, and brought into the form that is committed."""

import base64
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..chapter.results import headlines
from ..chapter.shown import Headlines, code_cells, differences, stamp_of, write_lines
from ..claims.claim_table import Claims
from ..ground.aside import write_aside
from ..ground.errors import BookError
from ..ground.parameters import profile_parameters
from ..ground.pictures import plain_png
from ..ground.sources import Cell, ChapterFiles
from ..provenance.digests import SHORT, ChapterDigests
from ..provenance.slices import Story
from ..provenance.staleness import CURRENT, STALE, State, notebook_stamp, states
from ..provenance.stamps import cell_name, check, merge, refreshed, seal, seconds_of
from .jupyter_kernel import disk_errors, run_notebook

_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_RUN_METADATA = ("papermill", "execution", "collapsed", "scrolled", "ExecuteTime")
_WIDGET = "application/vnd.jupyter.widget-view+json"


def build(files: ChapterFiles):
    """The chapter's `.py` as a notebook without outputs, tags kept."""
    import jupytext

    return normalise(jupytext.read(files.source, fmt="py:percent"))


def normalise(notebook):
    """Drop from a notebook, in place, what differs from run to run or machine to machine but is no result."""
    kept = {"formats": "ipynb,py:percent"} | notebook.metadata.get("jupytext", {})
    kept.pop("text_representation", None)
    notebook.metadata = type(notebook.metadata)(
        {"jupytext": kept, "kernelspec": dict(_KERNEL), "language_info": {"name": "python"}}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index:03d}"
        for name in _RUN_METADATA:
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.cell_type == "code":
            ran = cell.get("execution_count") is not None
            count += ran
            cell["execution_count"] = count if ran else None
            cell["outputs"] = _outputs(cell.outputs, cell["execution_count"])
    return notebook


def _outputs(outputs: list, count: int | None) -> list:
    """Without stderr and widgets; streams in one piece; pictures without their notes."""
    kept: list = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr":
                continue
            if kept and kept[-1].output_type == "stream":
                kept[-1]["text"] += output.text
                continue
        elif _WIDGET in output.get("data", {}):
            continue
        if output.output_type == "execute_result":
            output["execution_count"] = count
        if "image/png" in output.get("data", {}):
            content = plain_png(base64.b64decode(output["data"]["image/png"]))
            output["data"]["image/png"] = base64.b64encode(content).decode("ascii")
        kept.append(output)
    return kept


def same_cells(one, other) -> bool:
    """Whether two notebooks have the same cells: kind, source, tags and other metadata; outputs do not count."""

    def cells(notebook) -> list:
        return [(c.cell_type, c.source, sorted(c.metadata.items())) for c in notebook.cells]

    return cells(one) == cells(other)


def part(notebook, story: Story, units: list[int]):
    """A notebook with the set-up, the cells that some units stand in, and the prose beside these."""
    chosen = {story.units[n].cell for n in units} | {unit.cell for unit in story.units if unit.setup}
    chosen |= {n for n, cell in enumerate(story.cells) if "parameters" in cell.tags}
    number, kept = -1, []
    for cell in notebook.cells:
        runs = cell.cell_type == "code" and bool(cell.source.strip())
        number += runs
        kept.append(number in chosen if runs else None)
    beside = [k if k is not None else True in kept[max(n - 1, 0) : n + 2] for n, k in enumerate(kept)]
    notebook.cells = [cell for cell, keep in zip(notebook.cells, beside, strict=True) if keep]
    return notebook


def write(notebook, path: Path) -> None:
    """Write a notebook aside and move it into place."""
    import nbformat

    nbformat.validate(notebook)
    write_aside(path, nbformat.writes(notebook, indent=1) + "\n")


def _cells(notebook) -> list[Cell]:
    """A notebook's cells as its `.py` has them: what is for notebooks alone is a comment there."""
    found = []
    for cell in notebook.cells:
        tags = tuple(cell.metadata.get("tags", ()))
        lines = [f"# {line}" if "active-ipynb" in tags else line for line in cell.source.splitlines()]
        found.append(Cell("\n".join(lines), cell.cell_type != "code", tags))
    return found


@dataclass
class Committed:
    """A chapter's committed notebook beside its present source: what of it can stay, what must be run again."""

    files: ChapterFiles
    story: Story
    notebook: object | None
    stamp: dict | None

    @classmethod
    def read(cls, files: ChapterFiles) -> "Committed":
        """A notebook that is absent, damaged or of another format holds nothing that can stay."""
        import nbformat

        story = Story(files)
        try:
            notebook = nbformat.read(files.notebook, as_version=4)
            stamp = notebook_stamp(files.notebook)
        except (OSError, BookError, ValueError):  # nbformat raises a ValueError for what is no notebook
            return cls(files, story, None, None)
        if stamp and stamp["profile"] == "default":  # a claim that reads a changed default is stale by its digest
            stamp = seal(stamp | {"parameters": profile_parameters(files, "default")})
        return cls(files, story, notebook if stamp else None, stamp)

    @cached_property
    def claims(self) -> Claims:
        return Claims.load(self.files.claims)

    @cached_property
    def headlines(self) -> Headlines:
        return headlines(self.files, self.story.library)

    @cached_property
    def digests(self) -> ChapterDigests:
        return ChapterDigests(self.story, profile_parameters(self.files, "default"))

    @cached_property
    def outputs(self) -> dict[str, list]:
        """Digest of a cell → the outputs that the committed notebook has of it."""
        before, shown, found = (
            Story(self.files, self.story.library, _cells(self.notebook)),
            code_cells(self.notebook),
            {},
        )
        for at, unit in enumerate(before.units):
            if unit.whole and (known := self.stamp["cells"].get(cell_name(before, at))):
                found.setdefault(known.split()[0], shown[unit.cell].outputs)
        return found

    def stale_units(self) -> list[int]:
        """The units whose results the committed notebook lacks; what only shows a stored run is none of them."""
        found = {claim: self.story.claims[claim] for claim, s in self._states().items() if s.state == STALE}
        stale = set(found.values())
        for at, unit in enumerate(self.story.units):
            if unit.whole and not unit.only_line:
                if self.digests.digest(at)[:SHORT] not in self.outputs:
                    stale.add(at)
        return sorted(stale)

    def _states(self) -> dict[str, State]:
        found = states(self.story, self.stamp, self.claims)
        return {claim: state for claim, state in found.items() if claim in self.story.claims}

    def is_current(self) -> bool:
        """Whether nothing is to be done: same cells, every result there, every line as the present rules say it."""
        if self.notebook is None or not same_cells(self.notebook, build(self.files)) or self.stale_units():
            return False
        if any(state.state != CURRENT for state in states(self.story, self.stamp, self.claims).values()):
            return False
        return not list(differences(self.notebook, self.story, self.stamp, self.claims, self.headlines))

    def joined(self, fresh, run: list[int]) -> object:
        """The present cells with the outputs of a partial run, the others with those that they had."""
        notebook, stamp = build(self.files), self.stamp
        new: dict[int, list] = {}
        if fresh is not None:
            by_source = {cell.source: cell.outputs for cell in code_cells(fresh)}
            new = {n: by_source[cell.source] for n, cell in enumerate(self.story.cells) if cell.source in by_source}
            stamp = merge(stamp, check(stamp_of(fresh), "the run"))
        stamp = refreshed(stamp, self.digests, self.claims)
        for number, cell in enumerate(code_cells(notebook)):
            cell.outputs = new.get(number, self._kept(number))
            cell.execution_count = number + 1
        write_lines(notebook, self.story, stamp, self.claims, self.headlines)
        return normalise(notebook)

    def _kept(self, number: int) -> list:
        """The outputs that a cell had, by its digest; its line about the stored run is written anew."""
        at = next((n for n, u in enumerate(self.story.units) if u.cell == number and u.whole), None)
        if at is None:
            return []
        return self.outputs.get(self.digests.digest(at)[:SHORT], [])


def is_current(files: ChapterFiles) -> bool:
    """Whether the committed notebook is what the present sources would make."""
    return Committed.read(files).is_current()


def weights(files: ChapterFiles, cells: list) -> list[float]:
    """The seconds that cells took in the committed notebook, from the one that opens the chapter; or nothing."""
    try:
        stamp, story = notebook_stamp(files.notebook), Story(files)
    except BookError:
        return []
    if not stamp:
        return []
    seconds = seconds_of(stamp, ChapterDigests(story, stamp["parameters"]))
    by_source = {cell.source.strip(): seconds.get(n, 0.0) for n, cell in enumerate(story.cells)}
    opening = next((n for n, cell in enumerate(cells) if "open_chapter(" in cell.source), 0)
    return [by_source.get(cell.source.strip(), 0.0) for cell in cells[opening:]]


def execute(files: ChapterFiles, force: bool = False) -> str:
    """Run what is stale of a chapter with its defaults and replace its committed notebook; says what was done.

    Cells whose digest is unchanged keep their outputs; verdicts and values are written anew from the stored run.
    Raises BookError for a cell that fails, a kernel that dies, a full disk; the committed notebook then stays.
    """
    committed = Committed.read(files)
    if not force and committed.is_current():
        return ""
    whole = force or committed.notebook is None
    units = [] if whole else committed.stale_units()
    with disk_errors(files.notebook):
        fresh = _run(committed, None if whole else units) if whole or units else None
        write(fresh if whole else committed.joined(fresh, units), files.notebook)
    judged = [c for n in units for c in committed.story.units[n].judges]
    cells = len({committed.story.units[m].cell for n in units for m in committed.story.needed(n)})
    others = f"{len(units) - len(judged)} other cells"
    return "executed" if whole else f"{cells} cells executed for {len(judged)} claims and {others}"


def _run(committed: Committed, units: list[int] | None):
    """The executed notebook of a whole chapter, or of some units with all that they need and the last line."""
    import nbformat

    files, story, notebook = committed.files, committed.story, build(committed.files)
    if units is not None:
        closing = [n for n, unit in enumerate(story.units) if unit.line == ("close", "")]
        notebook = part(notebook, story, sorted({m for n in [*units, *closing] for m in story.needed(n)}))
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        output = Path(scratch) / files.notebook.name
        run_notebook(
            notebook,
            output,
            label=files.name,
            folder=files.source.parent,
            variables={"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": "default"},
            weights=weights(files, code_cells(notebook)),
        )
        return normalise(nbformat.read(output, as_version=4))
