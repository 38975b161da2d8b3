"""A sweep as one table: a row a point with its parameters, and statistic and verdict of every claim."""

import csv
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

from .claims import Claims, Reading
from .errors import BookError
from .results import notebook_stamp, verdicts_of
from .rules import Rule
from .sources import ChapterFiles
from .statistics import Sample
from .sweep import failed_folder, is_done, point_folder, read_definition

TABLE = "table.csv"


@dataclass(frozen=True)
class Row:
    """One point: `claims` has the statistic and the verdict of each claim that was judged."""

    point: str
    status: str  # done, failed or waiting
    parameters: dict[str, object]
    claims: dict[str, tuple[float, str]]
    seconds: float | None = None
    device: str = ""
    notebook: str = ""  # relative to the sweep's folder


@dataclass(frozen=True)
class Table:
    """All points of a sweep in the order of its grid; `axes` are what varies, `first_seed` among them for blocks."""

    chapter: str
    profile: str
    axes: dict[str, list]
    rows: list[Row]

    @property
    def claims(self) -> list[str]:
        """The claims that any point has judged, in the order of the first that has them."""
        return list(dict.fromkeys(claim for row in self.rows for claim in row.claims))


def margin(rule: Rule, sample: Sample) -> float:
    """How far the estimate lies inside of what the rule allows; negative outside."""
    at, first, last = sample.estimate, rule.numbers[0], rule.numbers[-1]
    if rule.name in ("rate", "equals"):
        return -abs(at - first)
    low, high = {"at_most": (-math.inf, first), "at_least": (first, math.inf)}.get(rule.name, (first, last))
    return min(at - low, high - at)


def statistic(rule: Rule, reading: Reading) -> float:
    """The estimate of the case that decides a claim: the one least inside of what the rule allows."""
    return min(reading.observed.values(), key=lambda sample: margin(rule, sample)).estimate


def read_table(folder: Path) -> Table:
    """Read a sweep's points as they stand, judged by the present rules; raises BookError."""
    definition = read_definition(folder)
    files = ChapterFiles.find(definition["chapter"])
    claims = Claims.load(files.claims)
    points = json.loads((folder / "points.json").read_text(encoding="utf-8"))
    rows = [_row(folder, files, claims, point, parameters) for point, parameters in points.items()]
    axes = dict(definition["axes"])
    if definition["blocks"] > 1:
        axes["first_seed"] = list(dict.fromkeys(row.parameters["first_seed"] for row in rows))
    return Table(files.name, definition["profile"], axes, rows)


def _row(folder: Path, files: ChapterFiles, claims: Claims, point: str, parameters: dict) -> Row:
    place = point_folder(folder, point)
    if not is_done(folder, point):
        failed = failed_folder(folder, point)
        partial = failed / f"{files.name}.ipynb"
        where = str(partial.relative_to(folder)) if partial.is_file() else ""
        return Row(point, "failed" if failed.is_dir() else "waiting", parameters, {}, notebook=where)
    notebook = place / f"{files.name}.ipynb"
    stamp = notebook_stamp(notebook)
    if stamp is None:
        raise BookError(f"{place}: its notebook holds no result; delete the folder and run the sweep again")
    found = verdicts_of(stamp, claims)
    judged = {i: (statistic(c.rule, found[i].reading), found[i].verdict) for i, c in claims.rows.items() if i in found}
    where = str(notebook.relative_to(folder))
    return Row(point, "done", parameters, judged, stamp["seconds"], stamp["device"], where)


def write_table(table: Table, path: Path) -> None:
    """Write it as CSV and move it into place: `CLAIM` is a verdict, `CLAIM statistic` its number, lists are JSON."""
    parameters = list(table.rows[0].parameters) if table.rows else []
    heads = [head for claim in table.claims for head in (f"{claim} statistic", claim)]
    aside = path.with_name(f"{path.name}.new")
    with aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["point", "status", *parameters, "seconds", "device", "notebook", *heads])
        for row in table.rows:
            values = (v if isinstance(v, str) else json.dumps(v) for v in row.parameters.values())
            judged = (cell for claim in table.claims for cell in row.claims.get(claim, ("", "")))
            writer.writerow([row.point, row.status, *values, row.seconds, row.device, row.notebook, *judged])
    os.replace(aside, path)
