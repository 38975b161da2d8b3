"""A chapter's committed notebooks: whether they are current, and the execution of what is stale in them."""

import tempfile
import threading
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
from ..notebook.shown import Headlines, animations_off, code_cells, differences, stamp_of, write_lines
from ..provenance.digests import SHORT, ChapterDigests
from ..provenance.slices import ChapterCode
from ..provenance.staleness import CURRENT, STALE, State, notebook_stamp, states
from ..provenance.stamps import cell_name, check, merge, of_notebooks, refreshed, seal, seconds_of
from .jupyter_kernel import disk_errors, run_notebook
from .notebooks import build, normalise, part, same_cells, write_notebook
from .output_place import check_writable
from .side_by_side import side_by_side


def _cells(notebook) -> list[Cell]:
    """A notebook's cells in the form of its `.py`, in which code for notebooks alone is a comment."""
    found = []
    for cell in notebook.cells:
        tags = tuple(cell.metadata.get("tags", ()))
        lines = [f"# {line}" if "active-ipynb" in tags else line for line in cell.source.splitlines()]
        found.append(Cell("\n".join(lines), cell.cell_type != "code", tags))
    return found


@dataclass
class Committed:
    """A committed notebook beside its present source: what can stay and what must be run again.

    What the chapter's other notebook holds counts, too: a cell that has moved between the two is not run again.
    """

    files: ChapterFiles
    story: ChapterCode
    notebook: object | None
    held: list[tuple[ChapterFiles, object, dict]]  # each readable notebook of the chapter with its stamp
    stamp: dict | None

    @classmethod
    def read(cls, files: ChapterFiles) -> "Committed":
        """Read the notebook; one that is missing, damaged or of another format contains nothing that can stay."""
        held = [(one, *found) for one in ChapterFiles(files.root, files.name).notebooks if (found := _read(one))]
        story, own = (
            ChapterCode(files),
            next((found for one, *found in held if one.source == files.source), (None, None)),
        )
        others = [stamp for one, _, stamp in held if one.source != files.source]
        return cls(files, story, own[0], held, _with_moved(story, own[1], others))

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
        """Digest of a cell → its outputs in a committed notebook."""
        found: dict[str, list] = {}
        for files, notebook, stamp in self.held:
            before, shown = ChapterCode(files, self.story.library, _cells(notebook)), code_cells(notebook)
            for at, unit in enumerate(before.units):
                if unit.whole and (known := stamp["cells"].get(cell_name(before, at))):
                    found.setdefault(known.split()[0], shown[unit.cell].outputs)
        return found

    def stale_units(self) -> list[int]:
        """The units whose results the committed notebook lacks, except those that only show a stored run."""
        found = {claim: self.story.claims[claim] for claim, s in self._states().items() if s.state == STALE}
        stale = set(found.values())
        for at, unit in enumerate(self.story.units):
            if unit.whole and not unit.only_line:
                if self.digests.digest(at)[:SHORT] not in self.outputs:
                    stale.add(at)
        lost = (self.story.drawing(Path(name).stem) for name in animations_off(self.files, self.stamp))
        return sorted(stale.union(at for at in lost if at is not None))

    def _states(self) -> dict[str, State]:
        found = states(self.story, self.stamp, self.claims)
        return {claim: state for claim, state in found.items() if claim in self.story.claims}

    def is_current(self) -> bool:
        """Whether nothing has to be done: same cells, every result present, every line by the present rules."""
        if self.notebook is None or not same_cells(self.notebook, build(self.files)) or self.stale_units():
            return False
        if any(state.state != CURRENT for state in states(self.story, self.stamp, self.claims).values()):
            return False
        return not list(differences(self.notebook, self.story, self.stamp, self.claims, self.headlines))

    def with_lines(self, fresh) -> object:
        """A notebook that has run whole, with the verdicts of the record beside its own."""
        write_lines(fresh, self.story, check(stamp_of(fresh), self.files.stem), self.claims, self.headlines)
        return normalise(fresh)

    def joined(self, fresh, run: list[int]) -> object:
        """The present cells with the outputs of a partial run; the other cells keep their outputs."""
        notebook, stamp = build(self.files), self.stamp
        new: dict[int, list] = {}
        if fresh is not None:
            by_source = {cell.source: cell.outputs for cell in code_cells(fresh)}
            new = {n: by_source[cell.source] for n, cell in enumerate(self.story.cells) if cell.source in by_source}
            made = check(stamp_of(fresh), "the run")
            drawn = {name: p for name, p in stamp["pictures"].items() if self.story.drawing(name) not in run}
            stamp = merge(stamp | {"pictures": drawn}, made)  # a cell that ran may not draw what it drew before
        stamp = refreshed(stamp, self.digests, self.claims)
        for number, cell in enumerate(code_cells(notebook)):
            cell.outputs = new.get(number, self._kept(number))
            cell.execution_count = number + 1
        write_lines(notebook, self.story, stamp, self.claims, self.headlines)
        return normalise(notebook)

    def _kept(self, number: int) -> list:
        """The earlier outputs of a cell, found by its digest; its line about the stored run is rewritten."""
        at = next((n for n, u in enumerate(self.story.units) if u.cell == number and u.whole), None)
        if at is None:
            return []
        return self.outputs.get(self.digests.digest(at)[:SHORT], [])


def _read(files: ChapterFiles) -> tuple[object, dict] | None:
    """A committed notebook and its stamp, or None."""
    try:
        stamp = notebook_stamp(files.notebook)
        notebook = read_notebook(files.notebook) if stamp else None
    except BookError:
        return None
    if stamp and stamp["profile"] == "default":  # a claim that reads a changed default is stale by its digest
        stamp = seal(stamp | {"parameters": profile_parameters(files, "default")})
    return (notebook, stamp) if stamp else None


def _with_moved(story: ChapterCode, own: dict | None, others: list[dict]) -> dict | None:
    """A notebook's stamp, with the readings of claims that have moved into it; None if neither has any."""
    here = own["claims"] if own else {}
    moved = [stamp for stamp in others if any(c in stamp["claims"] and c not in here for c in story.claims)]
    if not moved:
        return own
    found = of_notebooks([*([own] if own else []), *moved])
    took = seconds_of(found, ChapterDigests(story, found["parameters"]))
    return seal(found | {"seconds": round(sum(took.values()), 1)})


def is_current(files: ChapterFiles) -> bool:
    """Whether the committed notebooks are what the present sources would make."""
    return all(Committed.read(one).is_current() for one in files.notebooks)


def weights(files: ChapterFiles, cells: list) -> list[float]:
    """The seconds of cells in the committed notebook, from the one that opens the chapter on; empty if unknown."""
    try:
        stamp, story = notebook_stamp(files.notebook), ChapterCode(files)
    except BookError:
        return []
    if not stamp:
        return []
    seconds = seconds_of(stamp, ChapterDigests(story, stamp["parameters"]))
    by_source = {cell.source.strip(): seconds.get(n, 0.0) for n, cell in enumerate(story.cells)}
    opening = next((n for n, cell in enumerate(cells) if "open_chapter(" in cell.source), 0)
    return [by_source.get(cell.source.strip(), 0.0) for cell in cells[opening:]]


def surroundings(files: ChapterFiles, notebook, profile: str, films: Path) -> dict:
    """The options with which `run_notebook` runs a chapter's notebook; its animations go into the folder `films`."""
    variables = {"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": profile, animations.VARIABLE: str(films)}
    bar = weights(files, code_cells(notebook))
    return {"label": files.stem, "folder": files.source.parent, "variables": variables, "weights": bar}


def execute(files: ChapterFiles, force: bool = False) -> str:
    """Run what is stale in a chapter's notebooks with its defaults and replace these; returns what was done.

    Cells whose digest is unchanged keep their outputs; verdicts and values are rewritten from the stored run. Raises
    BookError for a failed cell, a dead kernel or a full disk; the committed notebook then stays as it was.
    """
    before = [Committed.read(one) for one in files.notebooks]  # all, since one may hold what has moved to the other
    said = side_by_side([partial(_execute, one, force) for one in before])
    if len(said) == 1:
        return said[0]
    return "; ".join(f"{one.files.stem}: {done}" for one, done in zip(before, said, strict=True) if done)


def _execute(committed: Committed, force: bool, stop: threading.Event) -> str:
    """Execute one notebook and replace it; returns what was done."""
    files = committed.files
    if not force and committed.is_current():
        return ""
    if not any(unit.closes for unit in committed.story.units):
        raise BookError(f"{files.source}: no cell calls chapter.close(), which stores the run; nothing was run")
    whole = force or committed.stamp is None
    _ = committed.headlines  # the notebook shows the record's verdicts; a damaged record stops it before any work
    units = [] if whole else committed.stale_units()
    for folder in (files.notebook.parent, files.animations):
        check_writable(folder)
    with disk_errors(files.notebook), tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        made = Path(scratch) / files.stem
        fresh = _run(committed, None if whole else units, made, stop) if whole or units else None
        notebook = committed.with_lines(fresh) if whole else committed.joined(fresh, units)
        _store(files, notebook, made)
    judged = [c for n in units for c in committed.story.units[n].judges]
    cells = len({committed.story.units[m].cell for n in units for m in committed.story.needed(n)})
    others = f"{len(units) - len(judged)} other cells"
    return "executed" if whole else f"{cells} cells executed for {len(judged)} claims and {others}"


def _store(files: ChapterFiles, notebook, made: Path) -> None:
    """Replace the committed notebook and its animations; if that fails, keep what was executed elsewhere and say so."""
    try:
        animations.store(made, files.animations)
        write_notebook(notebook, files.notebook)
        animations.remove_others(files.animations, stamp_of(notebook)["pictures"])
    except OSError as error:
        kept = Path(tempfile.mkdtemp(prefix="clbook-"))
        animations.store(made, kept)
        write_notebook(notebook, kept / files.notebook.name)
        said = f"{files.notebook}: cannot be written ({error.strerror}); what was executed is in {kept}"
        raise BookError(said) from None


def _run(committed: Committed, units: list[int] | None, made: Path, stop: threading.Event):
    """The executed notebook, whole, or of some units with everything that they need and the last line.

    Its animations are left in the folder `made`. Raises Stopped when `stop` is set.
    """
    import nbformat

    files, story, notebook = committed.files, committed.story, build(committed.files)
    if units is not None:
        closing = [n for n, unit in enumerate(story.units) if unit.closes]
        notebook = part(notebook, story, sorted({m for n in [*units, *closing] for m in story.needed(n)}))
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        output = Path(scratch) / files.notebook.name
        run_notebook(notebook, output, stop=stop, **surroundings(files, notebook, "default", made))
        return normalise(nbformat.read(output, as_version=4))
