"""A sweep as one table: one row per point, with its parameters and the statistic and verdict of every claim."""

import csv
import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..claims.claim_table import Claims
from ..claims.judging import Reading
from ..claims.rules import Rule
from ..claims.statistics import Sample
from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.formats import POINTS as POINTS_FORMAT
from ..common.parameters import value_text
from ..common.sources import ChapterFiles
from ..notebook.results import verdicts_of
from ..provenance.staleness import notebooks_stamp
from .sweep_folder import POINTS, REASON, failed_folder, is_done, read_definition, read_points, run_folder

TABLE = "table.csv"


@dataclass(frozen=True)
class Row:
    """One point: `claims` has the statistic and the verdict of each claim that was judged.

    Points of one run share its notebook, and each accounts for its part of the seconds. Two points have the same digest
    of a claim if its reading depends on nothing that differs between them.
    """

    point: str
    status: str  # done, failed or waiting
    parameters: dict[str, object]
    claims: dict[str, tuple[float, str]]
    seconds: float | None = None
    machine: str = ""
    notebook: str = ""  # relative to the sweep's folder
    digests: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """All points of a sweep in grid order; `axes` are the parameters that vary, including `first_seed` for blocks."""

    chapter: str
    profile: str
    axes: dict[str, list]
    rows: list[Row]

    @property
    def claims(self) -> list[str]:
        """The claims that any point has judged, in order of first appearance."""
        return list(dict.fromkeys(claim for row in self.rows for claim in row.claims))


def margin(rule: Rule, sample: Sample) -> float:
    """The distance of the estimate from the nearer end of the rule's range; negative if it lies outside."""
    low, high = rule.range
    return min(sample.estimate - low, high - sample.estimate)


def statistic(rule: Rule, reading: Reading) -> float:
    """The estimate of the case that decides a claim: the one of least margin."""
    return min(reading.observed.values(), key=lambda sample: margin(rule, sample)).estimate


def read_table(folder: Path) -> Table:
    """Read a sweep's points in their present state, judged by the present rules; raises BookError."""
    definition = read_definition(folder)
    files = ChapterFiles.find(definition["chapter"])
    claims = Claims.load(files.claims)
    points = read_points(folder)
    _check_axes(definition, points, folder)
    points_of = Counter(point["run"] for point in points.values())
    stamps = _Stamps(folder, files)
    rows = [_row(stamps, claims, i, point, points_of[point["run"]]) for i, point in points.items()]
    axes = dict(definition["axes"])
    if definition["blocks"] > 1:
        axes["first_seed"] = list(dict.fromkeys(row.parameters["first_seed"] for row in rows))
    return Table(files.name, definition["profile"], axes, rows)


def _check_axes(definition: dict, points: dict[str, dict], folder: Path) -> None:
    """Check that every point has a value on every axis, so that the two files belong to one sweep; raises BookError."""
    names = [name for name, _ in definition["axes"]] + ["first_seed", "seeds"] * (definition["blocks"] > 1)
    for point, row in points.items():
        if missing := [name for name in names if name not in row["parameters"]]:
            raise BookError(f"{folder / POINTS}: damaged: {point} has no {', '.join(missing)}; {POINTS_FORMAT.remedy}")


class _Stamps:
    """The stamps of the runs, with a cache of one: the points of a run follow each other."""

    def __init__(self, folder: Path, files: ChapterFiles):
        self.folder, self.files, self.last = folder, files, ("", {})

    def notebook(self, run: str) -> Path:
        """The first notebook of a run that is done or failed, relative to the sweep's folder.

        A run of some claims has only the notebooks that they need.
        """
        place = (run_folder if is_done(self.folder, run) else failed_folder)(self.folder, run)
        paths = [place / part.notebook.name for part in self.files.notebooks]
        return next(filter(Path.is_file, paths), paths[0]).relative_to(self.folder)

    def of(self, run: str) -> dict:
        if run != self.last[0]:
            stamp = notebooks_stamp(self.files, (self.folder / self.notebook(run)).parent)
            if stamp is None:
                place = run_folder(self.folder, run)
                raise BookError(f"{place}: its notebook holds no result; delete the folder and run the sweep again")
            self.last = run, stamp
        return self.last[1]


def _row(stamps: _Stamps, claims: Claims, point: str, definition: dict, shared: int) -> Row:
    run, parameters, folder = definition["run"], definition["parameters"], stamps.folder
    where = stamps.notebook(run)
    if not is_done(folder, run):
        status = "failed" if (failed_folder(folder, run) / REASON).is_file() else "waiting"
        return Row(point, status, parameters, {}, notebook=str(where) if (folder / where).is_file() else "")
    stamp = stamps.of(run)
    readings = stamp["readings"]
    if shared > 1:
        readings = block_readings(readings, definition["block"], shared, parameters["seeds"])
    verdicts = verdicts_of(stamp | {"readings": readings}, claims)
    judged = {
        claim: (statistic(row.rule, verdicts[claim].reading), verdicts[claim].verdict)
        for claim, row in claims.rows.items()
        if claim in readings and claim in verdicts
    }
    digests = {claim: stamp["claims"][claim]["reading"] for claim in judged if claim in stamp["claims"]}
    return Row(point, "done", parameters, judged, stamp["seconds"] / shared, stamp["device"], str(where), digests)


def block_readings(readings: dict[str, dict], block: int, blocks: int, seeds: int) -> dict[str, dict]:
    """The part of a run's readings that belongs to one block of seeds, for claims with one value per seed in all arms.

    A claim with a number for the whole run, or with values from other draws, cannot be split into blocks and is left
    out.
    """
    part = slice(block * seeds, (block + 1) * seeds)

    def by_seed(value: object) -> bool:
        return isinstance(value, list) and len(value) == blocks * seeds

    return {
        claim: {arm: {case: value[part] for case, value in cases.items()} for arm, cases in arms.items()}
        for claim, arms in readings.items()
        if all(by_seed(value) for cases in arms.values() for value in cases.values())
    }


def write_table(table: Table, path: Path) -> None:
    """Write the table as CSV: `CLAIM` is a verdict, `CLAIM statistic` its number; lists are in JSON."""
    parameters = list(table.rows[0].parameters) if table.rows else []
    claims = table.claims  # for all rows at once
    heads = [head for claim in claims for head in (f"{claim} statistic", claim)]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["point", "status", *parameters, "seconds", "machine", "notebook", *heads])
    for row in table.rows:
        values = map(value_text, row.parameters.values())
        judged = (cell for claim in claims for cell in row.claims.get(claim, ("", "")))
        writer.writerow([row.point, row.status, *values, row.seconds, row.machine, row.notebook, *judged])
    atomic_write(path, text.getvalue())
