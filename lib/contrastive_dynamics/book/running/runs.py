"""A run of a chapter into a folder of its own: everything checked first, nothing half-written left."""

import datetime
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..chapter.results import run_rows
from ..chapter.shown import code_cells
from ..ground.aside import folder_aside
from ..ground.errors import BookError
from ..ground.parameters import profile_parameters, read_parameters
from ..ground.sources import ChapterFiles
from ..provenance.digests import ChapterDigests
from ..provenance.slices import Story
from ..provenance.staleness import notebook_stamp
from ..provenance.stamps import seconds_of
from ..running import launch
from .jupyter_kernel import CellFailed, disk_errors, run_notebook
from .notebooks import build, normalise, part, weights
from .notebooks import write as write_notebook
from .request import check_data, named_claims, named_profile, read_assignments, with_device


@dataclass(frozen=True)
class Plan:
    """A run that was checked: its chapter, its parameters in effect, the profile's name, the folder to make."""

    files: ChapterFiles
    parameters: dict[str, object]
    profile: str
    out: Path
    only: tuple[str, ...] = ()

    @cached_property
    def story(self) -> Story:
        return Story(self.files)

    @cached_property
    def units(self) -> list[int] | None:
        """The units that some claims need, with their figures and the last line; None: all."""
        if not self.only:
            return None
        units = self.story.units
        shown = [n for n, unit in enumerate(units) if unit.line == ("close", "")]
        last = [*self.story.figures_of(self.only).values(), *shown]
        return sorted({*self.story.union(self.only), *(m for n in last for m in self.story.needed(n))})

    def cost(self) -> str:
        """What a run of a part costs, by the seconds that its cells took in the committed notebook."""
        stamp = notebook_stamp(self.files.notebook)
        cells = {self.story.units[n].cell for n in self.units if self.story.units[n].whole}
        seconds = seconds_of(stamp, ChapterDigests(self.story, stamp["parameters"])) if stamp else {}
        said = f"{len(cells)} of {len(self.story.cells)} cells"
        if not stamp:
            return f"{said}; no stored run says how long they take"
        size = "" if self.profile == "default" else " at the default size"
        return f"{said}; in the committed notebook they took {sum(seconds.get(n, 0.0) for n in cells):.0f} s{size}"


def check_output(out: Path) -> None:
    """The folder must be absent or empty, and its place writable; raises BookError."""
    if out.is_dir() and any(out.iterdir()):
        raise BookError(f"--out {out}: not empty, allowed is a folder that is empty or not there yet")
    for path in (out, out.with_name(f"{out.name}.failed")):
        if path.exists() and not path.is_dir():
            raise BookError(f"--out {out}: {path} is a file")
    place = next(p for p in out.parents if p.exists())
    if not place.is_dir():
        raise BookError(f"--out {out}: cannot be made, {place} is a file")
    if not os.access(place, os.W_OK | os.X_OK):
        raise BookError(f"--out {out}: cannot be made, {place} is not writable")


def plan(
    name: str,
    given: list[str] = (),
    profile: str = "default",
    device: str | None = None,
    out: Path | None = None,
    only: str | None = None,
) -> Plan:
    """Check a run before anything starts; raises BookError."""
    files = ChapterFiles.find(name)
    claims = named_claims(files, only.split(","), "--only") if only is not None else ()
    known = read_parameters(files.cells(), files.source.name)
    base = profile_parameters(files, profile)
    changed = base | read_assignments(given, known, name)
    parameters = with_device(changed, known, device, name)
    profile = named_profile(profile, base, parameters)
    if out is None:
        out = files.root / "runs" / f"{name}-{profile}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    out = Path(os.path.abspath(out))
    check_output(out)
    check_data(parameters, name)
    return Plan(files, parameters, profile, out, claims)


def _keep_partial(notebook: Path, out: Path) -> Path:
    """Move the notebook of a failed run to where it outlives the run."""
    kept = out.with_name(f"{out.name}.failed") / notebook.name
    kept.parent.mkdir(exist_ok=True)
    os.replace(notebook, kept)
    return kept


def run(wanted: Plan) -> list[dict]:
    """Run a chapter; leaves NAME.ipynb, NAME.html, claims.json and run.json in the plan's folder; returns its claims.

    Raises BookError for a cell that fails (the partial notebook is kept in OUT.failed), a kernel that dies, a full
    disk; KeyboardInterrupt on Ctrl-C. Nothing is left in these cases, but for that notebook.
    """
    files, out = wanted.files, wanted.out
    with disk_errors(out), folder_aside(out) as folder:
        path = folder / f"{files.name}.ipynb"
        notebook = build(files)
        if wanted.units is not None:
            notebook = part(notebook, wanted.story, wanted.units)
        try:
            run_notebook(
                notebook,
                path,
                label=files.name,
                folder=files.source.parent,
                variables={"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": wanted.profile},
                parameters=wanted.parameters,
                weights=weights(files, code_cells(notebook)),
            )
        except CellFailed as error:
            raise BookError(f"{error}; partial notebook: {_keep_partial(path, out)}") from None
        return _finish(files, path)


def _finish(files: ChapterFiles, path: Path) -> list[dict]:
    """Write what stands beside an executed notebook; returns its claims."""
    import nbformat

    notebook = normalise(nbformat.read(path, as_version=4))
    write_notebook(notebook, path)
    stamp = notebook_stamp(path)
    if stamp is None:
        raise BookError(f"{files.name}: no cell ends with chapter.close(), so nothing was measured")
    path.with_suffix(".html").write_text(as_html(notebook, files.name), encoding="utf-8")
    claims = run_rows(files, stamp)
    made_by = {key: value for key, value in stamp.items() if key != "readings"}
    for name, content in {"claims": claims, "run": made_by}.items():
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (path.parent / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return claims


def as_html(notebook, title: str) -> str:
    """A notebook as one HTML page, pictures inside, without the cell that is for Colab."""
    import logging
    import warnings

    from nbconvert import HTMLExporter
    from traitlets.config import Config

    logger = logging.getLogger("clbook.html")
    logger.setLevel(logging.ERROR)
    leave_out = Config(TagRemovePreprocessor={"enabled": True, "remove_cell_tags": [launch.TAGS[0]]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of glued outputs, which have a plain form beside
        exporter = HTMLExporter(config=leave_out, log=logger)
        content, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": title}})
    return content
