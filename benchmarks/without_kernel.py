"""Loaded by the workers of `sweep_kills.py`: they run the cells of a notebook themselves, without a Jupyter kernel."""

import os
import sys
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "tools"))
from stand_in import execute_cells

from clbook.commands import runs


def run_cells(notebook, output: Path, *, variables: dict[str, str], parameters: dict, **_) -> None:
    """What `run_notebook` does, for cells that need no IPython."""
    os.environ.update(variables)
    nbformat.write(execute_cells(notebook, parameters), output)


def dask_setup(worker) -> None:
    """Called by the worker when it starts."""
    runs.run_notebook = run_cells
