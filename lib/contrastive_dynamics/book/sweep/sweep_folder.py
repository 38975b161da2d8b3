"""The folder of a sweep: what lies where in it, and what it says it is a sweep of."""

import json
from pathlib import Path

from ..ground.errors import BookError
from .grid import Grid

VERSION = 1  # of the folder's layout and of its table
REASON = "reason.txt"  # of a run that failed for good
DEFINITION, POINTS = "sweep.json", "points.json"  # written in the order of POINTS, DEFINITION


def run_folder(sweep: Path, run: str) -> Path:
    return sweep / "runs" / run


def is_done(sweep: Path, run: str) -> bool:
    """A run's folder is moved into place when it is whole."""
    return (run_folder(sweep, run) / "run.json").is_file()


def default_folder(grid: Grid) -> Path:
    return grid.files.root / "sweeps" / f"{grid.files.name}-{grid.profile}"


def failed_folder(sweep: Path, run: str) -> Path:
    """Where a run that failed leaves its partial notebook, and what was said in `reason.txt`."""
    return sweep / "runs" / f"{run}.failed"


def read_definition(folder: Path) -> dict:
    """What a folder says it is a sweep of; raises BookError."""
    try:
        found = json.loads((folder / DEFINITION).read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        raise BookError(f"{folder}: no sweep, it has no readable {DEFINITION}") from None
    if found.get("version") != VERSION:
        raise BookError(
            f"{folder}: a sweep of layout {found.get('version')}, this version reads {VERSION}; run it anew"
        )
    return found
