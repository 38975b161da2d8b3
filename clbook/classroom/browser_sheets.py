"""The sheets as JupyterLite takes them, for `make lite`: `python -m clbook.classroom.browser_sheets FOLDER [SEED]`."""

import importlib.metadata
import sys
import tempfile
from pathlib import Path

from ..common.errors import BookError
from ..common.sources import find_root
from .exercises import assign, exercise_sources

KERNEL = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
# Pyodide fetches numpy, scipy and matplotlib where a cell imports them; what the checks import it cannot see.
_INSTALL = """\
# In a browser this fetches what checks the answers; elsewhere it does nothing.
import sys

if sys.platform == "emscripten":
    import piplite

    await piplite.install("otter-grader=={version}")"""


def write_browser_sheets(root: Path, out: Path, seed: int = 0) -> list[Path]:
    """Write NAME-exercises.ipynb, the student's sheet with a first cell for a browser, of each chapter into a folder.

    `seed` turns the numbers of the sheets. Returns the files. Sheets that lie there are replaced. Raises BookError as
    `assign`.
    """
    import nbformat

    out.mkdir(parents=True, exist_ok=True)
    written = []
    for source in exercise_sources(root):
        with tempfile.TemporaryDirectory(prefix="clbook-") as work:
            sheet = assign(source, Path(work), seed)
        install = _INSTALL.format(version=importlib.metadata.version("otter-grader"))
        sheet.student.cells.insert(0, nbformat.v4.new_code_cell(install, id="in-a-browser"))
        sheet.student.metadata["kernelspec"] = KERNEL
        nbformat.write(sheet.student, out / f"{sheet.name}-exercises.ipynb")
        written.append(out / f"{sheet.name}-exercises.ipynb")
    return written


def main(arguments: list[str]) -> int:
    """Write the sheets of the book around the working folder; returns an exit status."""
    folder, seed = (*arguments, "0")[:2]
    try:
        if not seed.isdecimal():
            raise BookError(f"a seed is a whole number ≥ 0, got {seed!r}")
        write_browser_sheets(find_root(), Path(folder), int(seed))
    except BookError as error:
        print(f"lite: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
