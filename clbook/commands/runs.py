"""A run of a chapter into a new folder: everything is checked first, and the output is atomic."""

import datetime
import json
import os
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from ..common.atomic import atomic_folder
from ..common.errors import BookError
from ..common.parameters import profile_parameters, read_parameters
from ..common.sources import ChapterFiles
from ..notebook import animations, glue
from ..notebook.results import run_results
from ..provenance.digests import ChapterDigests
from ..provenance.slices import ChapterCode
from ..provenance.staleness import notebook_stamp, notebooks_stamp
from ..provenance.stamps import of_notebooks, seconds_of
from .committed import surroundings
from .jupyter_kernel import CellFailed, disk_errors, run_notebook
from .notebooks import build, normalise, part, write_notebook
from .output_place import check_output, output_folder
from .request import check_data, named_claims, named_profile, read_assignments, with_device
from .side_by_side import side_by_side

OWN = "own_"  # how the parameters of the reader's own run begin
FIGURES, LICENCE = "figures", "LICENSE-text"  # the folder in a run's folder, and the licence that lies in it


@dataclass(frozen=True)
class Plan:
    """A checked run: its chapter, its parameters in effect, the profile's name, the folder to make.

    With `figures` the run's figures are also written as SVG and PDF, with the licence of text and figures; with `own`
    only what reads the parameters that begin with `own_` is run.
    """

    files: ChapterFiles
    parameters: dict[str, object]
    profile: str
    out: Path
    only: tuple[str, ...] = ()
    figures: bool = False
    own: bool = False

    @cached_property
    def code(self) -> ChapterCode:
        return ChapterCode(self.files)

    @cached_property
    def units(self) -> list[int] | None:
        """The units of some claims or of the reader's own run, with figures, dependencies, closing line; None: all."""
        if not self.only and not self.own:
            return None
        code = self.code
        if self.own:
            needed = set(own_units(code))
        else:
            needed = set(code.union(self.only)).union(*(code.needed(at) for at in code.figures_of(self.only).values()))
        parts = {code.units[n].part for n in needed}
        closing = [n for n, unit in enumerate(code.units) if unit.closes and unit.part in parts]
        return sorted(needed.union(*(code.needed(n) for n in closing)))

    def notebooks(self) -> list[tuple[ChapterFiles, list[int] | None]]:
        """The notebooks to run, each with the units that it runs (None: all), numbered within the notebook."""
        if self.units is None:
            return [(files, None) for files in self.files.notebooks]
        wanted = set(self.units)
        counted = [(files, enumerate(self.code.of_notebook(files.part))) for files in self.files.notebooks]
        chosen = [(files, [at for at, n in units if n in wanted]) for files, units in counted]
        return [(files, units) for files, units in chosen if units]

    def cost(self) -> str:
        """The cost of a partial run, from the seconds that its cells took in the committed notebook."""
        stamp = notebooks_stamp(self.files, on_damage="report")
        cells = {self.code.units[n].cell for n in self.units if self.code.units[n].whole}
        seconds = seconds_of(stamp, ChapterDigests(self.code, stamp["parameters"])) if stamp else {}
        counted = f"{len(cells)} of {len(self.code.cells)} cells"
        if not stamp:
            return f"{counted}; no stored run says how long they take"
        size = "" if self.profile == "default" else " at the default size"
        return f"{counted}; in the committed notebook they took {sum(seconds.get(n, 0.0) for n in cells):.0f} s{size}"


def own_parameters(known: Iterable[str]) -> list[str]:
    """Of some parameters, those of the reader's own run."""
    return [name for name in known if name.startswith(OWN)]


def own_units(code: ChapterCode) -> list[int]:
    """The units that read the parameters of the reader's own run, the figures drawn from them, what both need.

    A figure needs what it reads. Names that it only changes, such as axes of an earlier figure, it binds itself.
    """
    own = set(own_parameters(code.parameters))
    readers = {n for n, unit in enumerate(code.units) if unit.names.read & own}
    drawn = {at for at in code.figures.values() if readers.intersection(code.needed(at))}
    needed = set().union(*(code.needed(n) for n in readers - drawn))
    for at in drawn:
        before = [n for n in range(at) if code.units[n].part == code.units[at].part]
        bound = (
            next((n for n in reversed(before) if name in code.units[n].names.bound), None)
            for name in code.units[at].names.read
        )
        needed |= {at}.union(*(code.needed(n) for n in bound if n is not None))
    return sorted(needed)


def plan(
    name: str,
    assignments: list[str] = (),
    profile: str = "default",
    device: str | None = None,
    out: Path | None = None,
    only: str | None = None,
    figures: bool = False,
    own: bool = False,
) -> Plan:
    """Check a run before anything starts; raises BookError.

    The reader's own run has its parameters from the default run, whatever the profile, as a profile would cut them.

    Conditions on several parameters are left to the chapter's own checks, which refuse the run in its first seconds.
    """
    files = ChapterFiles.find_notebooks(name)
    claims = named_claims(files, only.split(","), "--only") if only is not None else ()
    known = read_parameters(files.cells(), files.source.name)
    base = profile_parameters(files, profile)
    if own:
        if only or not own_parameters(known):
            raise BookError(f"--own: {f'not with --only {only}' if only else f'{name} has no run of your own'}")
        base |= {parameter: known[parameter].default for parameter in own_parameters(known)}
    changed = base | read_assignments(assignments, known, name)
    parameters = with_device(changed, known, device, name)
    profile = named_profile(profile, base, parameters)
    if out is None:
        out = files.root / "runs" / f"{name}-{'own' if own else profile}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    out = check_output(Path(os.path.abspath(out)))
    check_data(parameters, name)
    return Plan(files, parameters, profile, out, claims, figures, own)


def _keep_partial(notebook: Path, out: Path) -> str:
    """Keep the notebook of a failed run beside its output folder, perhaps on another disk; returns a message."""
    copy = out.with_name(f"{out.name}.failed") / notebook.name
    try:
        copy.parent.mkdir(exist_ok=True)
        if (notebook.parent / animations.FOLDER).is_dir():  # which the notebook plays
            shutil.copytree(notebook.parent / animations.FOLDER, copy.parent / animations.FOLDER, dirs_exist_ok=True)
        shutil.copyfile(notebook, copy)
    except OSError as error:
        return f"the partial notebook cannot be kept in {copy.parent} ({error.strerror})"
    return f"partial notebook: {copy}"


def run(wanted: Plan) -> list[dict]:
    """Run a chapter; writes its notebooks, animations, claims.json and run.json to a folder; returns its claims.

    Raises BookError for a folder that cannot be written or is in use, a failed cell (the partial notebook is kept in
    OUT.failed with its animations), parameters that contradict each other, a dead kernel or a full disk, and
    KeyboardInterrupt on Ctrl-C. Nothing else is left in these cases.
    """
    with disk_errors(wanted.out), output_folder(wanted.out) as folder:
        return _run_into(folder, wanted)


def run_beside(wanted: Plan) -> list[dict]:
    """As `run`, for one of several workers, on one core; of two that make the same folder, the first to finish wins."""
    with disk_errors(wanted.out), atomic_folder(wanted.out) as folder:
        return _run_into(folder, wanted, at_once=1)


def _run_into(folder: Path, wanted: Plan, at_once: int | None = None) -> list[dict]:
    if wanted.figures:
        (folder / FIGURES).mkdir()
        shutil.copy(wanted.files.root / LICENCE, folder / FIGURES)
    jobs = [partial(_run_notebook, wanted, files, units, folder) for files, units in wanted.notebooks()]
    return _finish(wanted.files, side_by_side(jobs, at_once), folder)


def _run_notebook(
    wanted: Plan, files: ChapterFiles, units: list[int] | None, folder: Path, stop: threading.Event
) -> dict:
    """Run one notebook of a chapter into a folder; returns its stamp."""
    import nbformat

    path, notebook = folder / files.notebook.name, build(files)
    if units is not None:
        notebook = part(notebook, ChapterCode(files), units)
    options = surroundings(files, notebook, wanted.profile, folder / animations.FOLDER / files.stem)
    if wanted.figures:
        options["variables"] |= {glue.FIGURES: str((folder / FIGURES).resolve())}
    try:
        run_notebook(notebook, path, parameters=wanted.parameters, stop=stop, **options)
    except CellFailed as error:
        raise BookError(f"{error}; {_keep_partial(path, wanted.out)}") from None
    write_notebook(normalise(nbformat.read(path, as_version=4)), path)
    if not (stamp := notebook_stamp(path)):
        raise BookError(f"{files.stem}: no cell ends with chapter.close(), so nothing was measured")
    return stamp


def _finish(files: ChapterFiles, stamps: list[dict], folder: Path) -> list[dict]:
    """Write the files that accompany executed notebooks; returns the claims of the run."""
    stamp = of_notebooks(stamps, one_run=True, side_by_side=True)
    claims = [result.to_json() for result in run_results(files, stamp)]
    provenance = {key: value for key, value in stamp.items() if key != "readings"}
    for name, content in {"claims": claims, "run": provenance}.items():
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return claims
