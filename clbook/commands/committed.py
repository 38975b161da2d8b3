"""A chapter's committed notebooks: whether they are current, and the execution of what is stale in them."""

import tempfile
import threading
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from ..claims.claim_table import Claims
from ..common.errors import BookError
from ..common.formats import read_notebook
from ..common.parameters import profile_parameters
from ..common.sources import Cell, ChapterFiles
from ..notebook import animations
from ..notebook.results import headlines
from ..notebook.shown import (
    Headlines,
    animations_off,
    code_cells,
    differences,
    edited_pictures,
    outputs_off,
    outputs_shown,
    refreshed_html,
    stamp_of,
    write_lines,
)
from ..provenance.digests import SHORT, ChapterDigests
from ..provenance.slices import ChapterCode
from ..provenance.staleness import CURRENT, STALE, State, notebook_stamp, states
from ..provenance.stamps import cell_name, check, merge, of_notebooks, refreshed, seal, seconds_of
from .jupyter_kernel import disk_errors, run_notebook
from .notebooks import build, normalise, part, same_cells, write_notebook
from .output_place import check_writable
from .rule_changes import check_changes, with_verdicts
from .side_by_side import side_by_side


def _cells(notebook) -> list[Cell]:
    """A notebook's cells in the form of its `.py`, in which code for notebooks alone is a comment."""
    cells = []
    for cell in notebook.cells:
        tags = tuple(cell.metadata.get("tags", ()))
        lines = [f"# {line}" if "active-ipynb" in tags else line for line in cell.source.splitlines()]
        cells.append(Cell("\n".join(lines), cell.cell_type != "code", tags))
    return cells


@dataclass
class Committed:
    """A committed notebook beside its present source: which outputs stay valid, and which cells must be run again.

    Outputs of the chapter's other notebook count, too: a cell that has moved between the two is not run again.
    """

    files: ChapterFiles
    code: ChapterCode
    notebook: object | None
    held: list[tuple[ChapterFiles, object, dict]]  # each readable notebook of the chapter with its stamp
    stamp: dict | None

    @classmethod
    def read(cls, files: ChapterFiles) -> "Committed":
        """Read the notebook; one that is missing, damaged or of another format has no valid outputs."""
        notebooks = ChapterFiles(files.root, files.name).notebooks
        held = [(notebook, *content) for notebook in notebooks if (content := _read(notebook))]
        code, by_source = ChapterCode(files), {other.source: content for other, *content in held}
        notebook, stamp = by_source.pop(files.source, (None, None))
        return cls(files, code, notebook, held, _with_moved(code, stamp, [stamp for _, stamp in by_source.values()]))

    @cached_property
    def claims(self) -> Claims:
        return Claims.load(self.files.claims)

    @cached_property
    def headlines(self) -> Headlines:
        return headlines(self.files, self.code.library)

    @cached_property
    def digests(self) -> ChapterDigests:
        return ChapterDigests(self.code, profile_parameters(self.files, "default"))

    @cached_property
    def outputs(self) -> dict[str, list]:
        """Digest of a cell → its outputs in a committed notebook, unless they are not those of its run."""
        outputs: dict[str, list] = {}
        for files, notebook, stamp in self.held:
            before, shown = ChapterCode(files, self.code.library, _cells(notebook)), code_cells(notebook)
            off = outputs_off(notebook, stamp)
            for at, unit in enumerate(before.units):
                known = unit.whole and unit.cell + 1 not in off and stamp["cells"].get(cell_name(before, at))
                if known:
                    outputs.setdefault(known.split()[0], shown[unit.cell].outputs)
        return outputs

    def stale_units(self) -> list[int]:
        """The units whose results the committed notebook lacks, except those that only show a stored run."""
        stale = {self.code.claims[claim] for claim, state in self._states().items() if state.state == STALE}
        for at, unit in enumerate(self.code.units):
            if unit.whole and not unit.only_line:
                if self.digests.digest(at)[:SHORT] not in self.outputs:
                    stale.add(at)
        lost = [Path(name).stem for name in animations_off(self.files, self.stamp)]
        lost += edited_pictures(self.notebook, self.stamp) if self.notebook is not None else []
        return sorted(stale.union(at for name in lost if (at := self.code.drawing(name)) is not None))

    def _states(self) -> dict[str, State]:
        present = states(self.code, self.stamp, self.claims)
        return {claim: state for claim, state in present.items() if claim in self.code.claims}

    def is_current(self) -> bool:
        """Whether nothing is stale: same cells, every result present, every line by the present rules."""
        if self.notebook is None or not same_cells(self.notebook, build(self.files)) or self.stale_units():
            return False
        if any(state.state != CURRENT for state in states(self.code, self.stamp, self.claims).values()):
            return False
        if refreshed_html(deepcopy(self.notebook), self.files.root):
            return False
        return not list(differences(self.notebook, self.code, self.stamp, self.claims, self.headlines))

    def with_lines(self, fresh) -> object:
        """A notebook that has run whole, with the verdicts of the record beside its own."""
        return self._finished(fresh, check(stamp_of(fresh), self.files.stem))

    def joined(self, fresh, run: list[int]) -> object:
        """The present cells with the outputs of a partial run; the other cells keep their outputs."""
        notebook, stamp = build(self.files), self.stamp
        new: dict[int, list] = {}
        if fresh is not None:
            by_source = {cell.source: cell.outputs for cell in code_cells(fresh)}
            new = {n: by_source[cell.source] for n, cell in enumerate(self.code.cells) if cell.source in by_source}
            kept = {name: p for name, p in stamp["pictures"].items() if self.code.drawing(name) not in run}
            stamp = merge(stamp | {"pictures": kept}, check(stamp_of(fresh), "the run"))  # a cell may draw less now
        stamp = refreshed(stamp, self.digests, self.claims)
        for number, cell in enumerate(code_cells(notebook)):
            cell.outputs = new.get(number, self._kept(number))
            cell.execution_count = number + 1
        return self._finished(notebook, stamp)

    def _finished(self, notebook, stamp: dict) -> object:
        """The notebook with its lines, and with a stamp that holds the verdicts and the digests of all outputs."""
        refreshed_html(notebook, self.files.root)
        stamp = with_verdicts(stamp, self.claims, self.code)
        write_lines(notebook, self.code, stamp, self.claims, self.headlines)
        stamp = seal(stamp | {"shown": outputs_shown(normalise(notebook))})
        write_lines(notebook, self.code, stamp, self.claims, self.headlines)
        return normalise(notebook)

    def _kept(self, number: int) -> list:
        """The earlier outputs of a cell, found by its digest; its line about the stored run is rewritten."""
        at = next((n for n, u in enumerate(self.code.units) if u.cell == number and u.whole), None)
        if at is None:
            return []
        return self.outputs.get(self.digests.digest(at)[:SHORT], [])


def _read(files: ChapterFiles) -> tuple[object, dict] | None:
    """A committed notebook and its stamp, or None."""
    try:
        stamp = notebook_stamp(files.notebook, files)
        notebook = read_notebook(files.notebook) if stamp else None
    except BookError:
        return None
    if stamp and stamp["profile"] == "default":  # a claim that reads a changed default is stale by its digest
        stamp = seal(stamp | {"parameters": profile_parameters(files, "default")})
    return (notebook, stamp) if stamp else None


def _with_moved(code: ChapterCode, own: dict | None, others: list[dict]) -> dict | None:
    """A notebook's stamp, with the readings of claims that have moved into it; None if neither has any."""
    here = own["claims"] if own else {}
    moved = [stamp for stamp in others if any(c in stamp["claims"] and c not in here for c in code.claims)]
    if not moved:
        return own
    joined = of_notebooks([*([own] if own else []), *moved])
    took = seconds_of(joined, ChapterDigests(code, joined["parameters"]))
    return seal(joined | {"seconds": round(sum(took.values()), 1)})


def is_current(files: ChapterFiles) -> bool:
    """Whether no committed notebook is stale."""
    return all(Committed.read(notebook).is_current() for notebook in files.notebooks)


def weights(files: ChapterFiles, cells: list) -> list[float]:
    """The seconds of cells in the committed notebook, from the one that opens the chapter on; empty if unknown."""
    try:
        stamp, code = notebook_stamp(files.notebook), ChapterCode(files)
    except BookError:
        return []
    if not stamp:
        return []
    seconds = seconds_of(stamp, ChapterDigests(code, stamp["parameters"]))
    by_source = {cell.source.strip(): seconds.get(n, 0.0) for n, cell in enumerate(code.cells)}
    opening = next((n for n, cell in enumerate(cells) if "open_chapter(" in cell.source), 0)
    return [by_source.get(cell.source.strip(), 0.0) for cell in cells[opening:]]


def surroundings(files: ChapterFiles, notebook, profile: str, films: Path) -> dict:
    """The options with which `run_notebook` runs a chapter's notebook; its animations go into the folder `films`."""
    variables = {"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": profile, animations.VARIABLE: str(films)}
    bar = weights(files, code_cells(notebook))
    return {"label": files.stem, "folder": files.source.parent, "variables": variables, "weights": bar}


def execute(files: ChapterFiles, force: bool = False) -> str:
    """Run the stale cells of a chapter's notebooks with its defaults and replace these; returns a summary. Idempotent.

    Cells whose digest is unchanged keep their outputs; verdicts and values are rewritten from the stored run. Raises
    BookError for a failed cell, a dead kernel, a full disk, or a rule that was changed without a word (`rule_changes`);
    the committed notebook then stays as it was.
    """
    before = [Committed.read(notebook) for notebook in files.notebooks]  # all, since cells may have moved between them
    for committed in before:
        if committed.stamp:
            check_changes(
                committed.stamp, committed.claims, f"chapters/{committed.files.notebook.name}", committed.code
            )
    results = side_by_side([partial(_execute, committed, force) for committed in before])
    if len(results) == 1:
        return results[0]
    named = zip((committed.files.stem for committed in before), results, strict=True)
    return "; ".join(f"{stem}: {result}" for stem, result in named if result)


def _execute(committed: Committed, force: bool, stop: threading.Event) -> str:
    """Execute one notebook and replace it; returns a summary."""
    files = committed.files
    if not force and committed.is_current():
        return ""
    if not any(unit.closes for unit in committed.code.units):
        raise BookError(f"{files.source}: no cell calls chapter.close(), which stores the run; nothing was run")
    whole = force or committed.stamp is None
    _ = committed.headlines  # the notebook shows the record's verdicts; a damaged record stops it before any work
    units = [] if whole else committed.stale_units()
    for folder in (files.notebook.parent, files.animations):
        check_writable(folder)
    with disk_errors(files.notebook), tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        films = Path(scratch) / files.stem
        fresh = _run(committed, None if whole else units, films, stop) if whole or units else None
        notebook = committed.with_lines(fresh) if whole else committed.joined(fresh, units)
        _store(files, notebook, films)
    judged = [c for n in units for c in committed.code.units[n].judges]
    cells = len({committed.code.units[m].cell for n in units for m in committed.code.needed(n)})
    others = f"{len(units) - len(judged)} other cells"
    return "executed" if whole else f"{cells} cells executed for {len(judged)} claims and {others}"


def _store(files: ChapterFiles, notebook, films: Path) -> None:
    """Replace the committed notebook and its animations; on failure keep both in a temporary folder.

    Raises BookError, which names that folder.
    """
    try:
        animations.store(films, files.animations)
        write_notebook(notebook, files.notebook)
        animations.remove_others(files.animations, stamp_of(notebook)["pictures"])
    except OSError as error:
        kept = Path(tempfile.mkdtemp(prefix="clbook-"))
        animations.store(films, kept)
        write_notebook(notebook, kept / files.notebook.name)
        message = f"{files.notebook}: cannot be written ({error.strerror}); what was executed is in {kept}"
        raise BookError(message) from None


def _run(committed: Committed, units: list[int] | None, films: Path, stop: threading.Event):
    """The executed notebook: whole, or some units with their dependencies and the closing line.

    Its animations are left in the folder `films`. Raises Stopped when `stop` is set.
    """
    import nbformat

    files, code, notebook = committed.files, committed.code, build(committed.files)
    if units is not None:
        closing = [n for n, unit in enumerate(code.units) if unit.closes]
        notebook = part(notebook, code, sorted({m for n in [*units, *closing] for m in code.needed(n)}))
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        output = Path(scratch) / files.notebook.name
        run_notebook(notebook, output, stop=stop, **surroundings(files, notebook, "default", films))
        return normalise(nbformat.read(output, as_version=4))
