"""The grid of a sweep: its axes as typed on the command line, and the points that they span, checked whole."""

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product

from ..claims.claim_table import Claims
from ..ground.errors import BookError
from ..ground.parameters import Parameter, profile_parameters, read_parameters
from ..ground.sources import ChapterFiles
from ..provenance.digests import code_digest
from ..provenance.slices import Story
from ..running.request import check_data, known_parameter, read_assignments, seed_blocks, with_device

MOST_POINTS = 100_000


@dataclass(frozen=True)
class Axis:
    """A parameter and the values that it takes."""

    name: str
    values: tuple


@dataclass(frozen=True)
class Point:
    """One place of a sweep: its parameters in effect, and an id that names them together with the code they run.

    `run` is the id of the run that has it: its own, or one that has the blocks of seeds of several points, of which it
    is number `block`.
    """

    id: str
    parameters: dict[str, object]
    run: str
    block: int = 0


@dataclass(frozen=True)
class Grid:
    """A sweep that was checked: its points, and the parameters of each run that they need.

    `code` is the hash of chapter, rules and library, without any parameters.
    """

    files: ChapterFiles
    profile: str
    axes: tuple[Axis, ...]
    blocks: int
    points: tuple[Point, ...]
    runs: dict[str, dict]
    code: str

    def to_json(self) -> dict:
        """What makes two sweeps the same one."""
        axes = [[axis.name, list(axis.values)] for axis in self.axes]
        ids = hashlib.sha256("".join(point.id + point.run for point in self.points).encode()).hexdigest()
        return {"chapter": self.files.name, "profile": self.profile, "axes": axes, "blocks": self.blocks, "points": ids}


def _range(parameter: Parameter, text: str, where: str) -> list:
    """`1..10` or `1..10:3`: from the first number to the last at most, in steps of 1 or of the third."""
    first, _, rest = text.partition("..")
    last, _, step = rest.partition(":")
    try:
        low, high, by = (Decimal(part.strip()) for part in (first, last, step or "1"))
        count = int((high - low) / by) + 1
    except (InvalidOperation, ArithmeticError, ValueError):
        raise BookError(f"{where}: not a range low..high:step with a step above 0") from None
    if by <= 0 or high < low:
        raise BookError(f"{where}: a range without a value, allowed is low..high:step with low ≤ high, step above 0")
    if count > MOST_POINTS:
        raise BookError(f"{where}: {count} values, allowed are at most {MOST_POINTS}")
    return [parameter.from_text(str(low + k * by)) for k in range(count)]


def _axis(text: str, known: dict[str, Parameter], chapter: str) -> Axis:
    where = f"--grid {text}"
    name, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise BookError(f"{where}: got no values, allowed is name=value,value,… or name=low..high:step")
    parameter = known_parameter(name, known, chapter)
    lists = parameter.type.startswith("list[")
    if ".." in values and not lists and parameter.item_type in (int, float):
        found = _range(parameter, values, where)
    else:
        found = [parameter.from_text(one.strip()) for one in values.split(";" if lists else ",")]
    seen = set()
    for value in found:
        key = tuple(value) if lists else value
        if key in seen:
            raise BookError(f"{where}: the value {value!r} stands twice")
        seen.add(key)
    return Axis(name, tuple(found))


def _check_axes(axes: list[Axis], fixed: dict, blocks: int) -> None:
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise BookError(f"--grid {name}: given twice, allowed is one axis a parameter")
        if name in fixed:
            raise BookError(f"{name}: both an axis of the grid and set by -p, allowed is one of them")
    if blocks < 1:
        raise BookError(f"--seeds: got {blocks}, allowed is 1 or more")
    if blocks > 1 and ("first_seed" in names or "first_seed" in fixed):
        raise BookError("first_seed: both set and chosen by --seeds, allowed is one of them")
    count = blocks
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_POINTS:
        raise BookError(f"--grid: {count} points, allowed are at most {MOST_POINTS}")
    if count == 1:
        raise BookError("a sweep of one point: give --grid name=value,value,… or --seeds 2 or more, or use clbook run")


def _check_fold(parameters: dict, seeds: int) -> None:
    """What is not by seed must not have as many values as there are seeds: only by that are readings told apart."""
    for name, value in parameters.items():
        count = len(value) if isinstance(value, list) else value
        if name not in ("first_seed", "seeds") and type(count) is int and count == seeds:
            raise BookError(f"--fold: {seeds} seeds in all, as many as {name} has or is; choose another --seeds")


def _id(code: str, parameters: dict) -> str:
    return hashlib.sha256(json.dumps([code, sorted(parameters.items())]).encode()).hexdigest()[:12]


def plan_grid(
    name: str,
    grid: list[str] = (),
    *,
    seeds: int = 1,
    fold: bool = False,
    given: list[str] = (),
    profile: str = "default",
    device: str | None = None,
    elsewhere: bool = False,
) -> Grid:
    """Check a sweep before anything starts; raises BookError.

    `seeds` is the number of blocks of seeds at each place of the grid, one after the other; with `fold` they are one
    run, in whose program chapters have all seeds anyway, and points read their seeds of it. What runs `elsewhere`, at
    a scheduler's workers, may ask for a device that is not here.
    What only a chapter's own cells can check, of parameters together, fails a point in its first seconds.
    """
    files = ChapterFiles.find(name)
    known = read_parameters(files.cells(), files.source.name)
    fixed = read_assignments(list(given), known, name)
    axes = [_axis(text, known, name) for text in grid]
    _check_axes(axes, fixed, seeds)
    if fold and seeds < 2:
        raise BookError("--fold: got one block of seeds, allowed is --seeds 2 or more")
    base = with_device(profile_parameters(files, profile) | fixed, known, device, name, elsewhere)
    code, points, runs = code_digest(Story(files), Claims.load(files.claims)), {}, {}
    for values in product(*(axis.values for axis in axes)):
        place = base | dict(zip((axis.name for axis in axes), values, strict=True))
        blocks = seed_blocks(files, known, place, seeds - 1, "--seeds", place.get("seeds", 0))
        together = place | {"seeds": known["seeds"].check(seeds * place["seeds"], "--fold: ")} if fold else None
        if fold:
            _check_fold(place, together["seeds"])
        for k, block in enumerate(blocks):
            parameters = place | block
            point, run = _id(code, parameters), _id(code, together or parameters)
            runs[run] = together or parameters
            points[point] = Point(point, parameters, run, k)
    for data in {p.get("data") for p in runs.values()}:
        check_data({"data": data}, name)
    return Grid(files, profile, tuple(axes), seeds, tuple(points.values()), runs, code)
