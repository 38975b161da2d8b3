"""The sweep whose picture stands on the page on sweeps: its command, its table, its picture."""

import csv
import shlex
from pathlib import Path

from page_code import BOOK, shell_lines

from clbook.common.parameters import read_parameters
from clbook.sweep.grid import Grid, plan_grid
from clbook.sweep.sweep_page import draw
from clbook.sweep.sweep_table import Row, Table

PICTURE, TABLE = BOOK / "_static" / "sweep.png", BOOK / "_static" / "sweep.csv"


def planned() -> Grid:
    """The grid of the page's first command."""
    _, _, chapter, *words = shlex.split(next(line for line in shell_lines("sweep") if line.startswith("clbook sweep")))
    options = list(zip(words[::2], words[1::2], strict=True))
    given = dict(options)
    axes = [value for name, value in options if name == "--grid"]
    return plan_grid(chapter, axes, only=given["--only"], profile=given["--profile"])


def kept(grid: Grid) -> Table:
    """The stored table of a grid's sweep."""
    known = read_parameters(grid.files.cells(), grid.files.source.name)
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [_row(line, known, grid.only) for line in csv.DictReader(file)]
    return Table(grid.files.name, grid.profile, {axis.name: list(axis.values) for axis in grid.axes}, rows)


def _row(line: dict[str, str], known: dict, only: tuple[str, ...]) -> Row:
    parameters = {name: parameter.from_text(line[name]) for name, parameter in known.items()}
    claims = {claim: (float(line[f"{claim} statistic"]), line[claim]) for claim in only}
    return Row(line["point"], line["status"], parameters, claims, float(line["seconds"]), line["machine"])


def picture(table: Table, claim: str, path: Path) -> Path:
    """Draw a claim as the page of `clbook show` does, as PNG."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever style another test has set
        matplotlib.use("agg")
        draw(table, claim).savefig(path, dpi=150)
    return path
