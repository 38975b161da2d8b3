"""The folder of a sweep: its layout, and its definition of the sweep."""

import difflib
from pathlib import Path

from ..common.errors import BookError
from ..common.formats import POINTS as POINTS_FORMAT
from ..common.formats import SWEEP, intact
from ..common.sources import ChapterFiles
from .grid import Grid

VERSION = 1  # of the folder's layout and of its table
REASON = "reason.txt"  # why a run failed for good
DEFINITION, POINTS = "sweep.json", "points.json"  # written in the order of POINTS, DEFINITION


def run_folder(sweep: Path, run: str) -> Path:
    return sweep / "runs" / run


def is_done(sweep: Path, run: str) -> bool:
    """Whether a run is done; its folder appears by an atomic move."""
    return (run_folder(sweep, run) / "run.json").is_file()


def default_folder(grid: Grid) -> Path:
    return grid.files.root / "sweeps" / f"{grid.files.name}-{grid.profile}"


def failed_folder(sweep: Path, run: str) -> Path:
    """Where a failed run leaves its partial notebook, and the reason in `reason.txt`."""
    return sweep / "runs" / f"{run}.failed"


def read_definition(folder: Path) -> dict:
    """The definition of the sweep that a folder contains; raises BookError."""
    if not (folder / DEFINITION).is_file():
        raise BookError(f"{folder}: not a sweep, it has no readable {DEFINITION}")
    definition = intact(folder / DEFINITION, SWEEP)
    if definition["version"] != VERSION:
        layout = definition["version"]
        raise BookError(f"{folder}: a sweep of layout {layout}, this version reads {VERSION}; run it again")
    return definition


def read_points(folder: Path) -> dict[str, dict]:
    """Point → its parameters, its run and its block of seeds; raises BookError."""
    return intact(folder / POINTS, POINTS_FORMAT)


def point_run(folder: Path, point: str) -> tuple[ChapterFiles, Path]:
    """The chapter of a sweep, and the folder of the finished run that a point belongs to; raises BookError."""
    files, points = ChapterFiles.find(read_definition(folder)["chapter"]), read_points(folder)
    if point not in points:
        near = difflib.get_close_matches(point, points, n=1) or list(points)[:1]
        raise BookError(f"--page {point}: no such point; the sweep's table lists {len(points)}, such as {near[0]}")
    run = points[point]["run"]
    if not is_done(folder, run):
        raise BookError(f"--page {point}: its run is not done; the same sweep command resumes it")
    return files, run_folder(folder, run)
