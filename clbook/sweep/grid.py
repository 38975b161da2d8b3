"""The grid of a sweep: its axes as typed on the command line, and the points that they span, all of them checked."""

import hashlib
import json
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from itertools import product

from ..claims.claim_table import Claims
from ..commands.request import check_data, known_parameter, named_claims, read_assignments, seed_blocks, with_device
from ..common.errors import BookError, cut
from ..common.parameters import Parameter, profile_parameters, read_parameters
from ..common.sources import ChapterFiles
from ..provenance.digests import code_digest
from ..provenance.slices import ChapterCode

MOST_POINTS = 100_000


@dataclass(frozen=True)
class Axis:
    """A parameter and the values that it takes."""

    name: str
    values: tuple


@dataclass(frozen=True)
class Point:
    """One point of a sweep: its parameters in effect, and an id for these together with the code that they run.

    `run` is the id of the run that contains the point: its own, or one with the blocks of seeds of several points, of
    which this one is number `block`.
    """

    id: str
    parameters: dict[str, object]
    run: str
    block: int = 0


@dataclass(frozen=True)
class Grid:
    """A checked sweep: its points, and the parameters of each run that they need.

    `code` is the hash of chapter, rules and library, without parameters; `only` are the claims that a run computes,
    none for all of them.
    """

    files: ChapterFiles
    profile: str
    axes: tuple[Axis, ...]
    blocks: int
    points: tuple[Point, ...]
    runs: dict[str, dict]
    code: str
    only: tuple[str, ...] = ()

    def to_json(self) -> dict:
        """The identity of a sweep: two with equal content are the same sweep."""
        axes = [[axis.name, list(axis.values)] for axis in self.axes]
        ids = hashlib.sha256("".join(point.id + point.run for point in self.points).encode()).hexdigest()
        return {"chapter": self.files.name, "profile": self.profile, "axes": axes, "blocks": self.blocks, "points": ids}


def _range(parameter: Parameter, text: str, where: str) -> list:
    """`1..10` or `1..10:3`: from the first number up to at most the last, in steps of 1 or of the third number."""
    first, _, rest = text.partition("..")
    last, _, step = rest.partition(":")
    try:
        low, high, by = (Decimal(part.strip()) for part in (first, last, step or "1"))
        count = ((high - low) / by + 1).to_integral_value(ROUND_FLOOR)
        empty = by <= 0 or high < low
    except ArithmeticError:
        raise BookError(f"{where}: not a range low..high:step with step > 0") from None
    if empty:
        raise BookError(f"{where}: an empty range; it must be low..high:step with low ≤ high and step > 0")
    if count > MOST_POINTS:  # compared before it becomes an int, which may have a million digits
        raise BookError(f"{where}: must have at most {MOST_POINTS} values, got {count:.9g}")
    return [parameter.from_text(str(low + k * by)) for k in range(int(count))]


def _axis(text: str, known: dict[str, Parameter], chapter: str) -> Axis:
    where = f"--grid {cut(text, 200)}"
    name, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise BookError(f"{where}: must be name=value,value,… or name=low..high:step, got no values")
    parameter = known_parameter(name, known, chapter)
    lists = parameter.type.startswith("list[")
    if ".." in values and not lists and parameter.item_type in (int, float):
        items = _range(parameter, values, where)
    else:
        items = [parameter.from_text(item.strip()) for item in values.split(";" if lists else ",")]
    seen = set()
    for value in items:
        key = tuple(value) if lists else value
        if key in seen:
            raise BookError(f"{where}: the value {value!r} occurs twice")
        seen.add(key)
    return Axis(name, tuple(items))


def _check_axes(axes: list[Axis], fixed: dict, blocks: int) -> None:
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise BookError(f"--grid {name}: given twice; each parameter may have only one axis")
        if name in fixed:
            raise BookError(f"{name}: both an axis of the grid and set by -p; use only one of them")
    if blocks < 1:
        raise BookError(f"--seeds: must be ≥ 1, got {blocks}")
    if blocks > 1 and ("first_seed" in names or "first_seed" in fixed):
        raise BookError("first_seed: both set and chosen by --seeds; use only one of them")
    count = blocks
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_POINTS:
        raise BookError(f"--grid: must have at most {MOST_POINTS} points, got {count}")
    if count == 1:
        raise BookError("a sweep of one point: give --grid name=value,value,… or --seeds 2 or more, or use clbook run")


def _folded(place: dict, known: dict[str, Parameter], blocks: int) -> dict:
    """The parameters of the single run that computes all blocks of seeds of a grid place; raises BookError.

    No other parameter may have the number of seeds as its value or length: samples are recognised by their length.
    """
    seeds = known["seeds"].check(blocks * place["seeds"], "--fold: ")
    for name, value in place.items():
        count = len(value) if isinstance(value, list) else value
        if name not in ("first_seed", "seeds") and type(count) is int and count == seeds:
            raise BookError(f"--fold: {seeds} seeds in all, as many as {name} has or is; choose another --seeds")
    return place | {"seeds": seeds}


def _id(code: str, parameters: dict, only: tuple[str, ...]) -> str:
    content = [code, sorted(parameters.items()), *only]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def plan_grid(
    name: str,
    grid: list[str] = (),
    *,
    seeds: int = 1,
    fold: bool = False,
    assignments: list[str] = (),
    profile: str = "default",
    device: str | None = None,
    elsewhere: bool = False,
    only: str | None = None,
) -> Grid:
    """Check a sweep before anything starts; raises BookError.

    `seeds` is the number of consecutive blocks of seeds at each grid place. With `fold` these form one run, since a
    chapter computes all its seeds in one program anyway, and points read their own seeds from it. A sweep that runs
    `elsewhere`, on a scheduler's workers, may ask for a device that this machine lacks. With `only`, claims separated
    by commas, each run computes what these need and no more. Conditions on several parameters are left to the chapter's
    own checks, which refuse a point in its first seconds.
    """
    files = ChapterFiles.find(name)
    known = read_parameters(files.cells(), files.source.name)
    claims = named_claims(files, only.split(","), "--only") if only is not None else ()
    fixed = read_assignments(list(assignments), known, name)
    axes = [_axis(text, known, name) for text in grid]
    _check_axes(axes, fixed, seeds)
    if fold and seeds < 2:
        raise BookError("--fold: needs --seeds 2 or more, got one block of seeds")
    base = with_device(profile_parameters(files, profile) | fixed, known, device, name, elsewhere)
    code, points, runs = code_digest(ChapterCode(files), Claims.load(files.claims)), {}, {}
    for values in product(*(axis.values for axis in axes)):
        place = base | dict(zip((axis.name for axis in axes), values, strict=True))
        blocks = seed_blocks(files, known, place, seeds - 1, "--seeds", place.get("seeds", 0))
        folded = _folded(place, known, seeds) if fold else None
        for k, block in enumerate(blocks):
            parameters = place | block
            run_with = folded or parameters
            point, run = _id(code, parameters, claims), _id(code, run_with, claims)
            runs[run] = run_with
            points[point] = Point(point, parameters, run, k)
    for data in {p.get("data") for p in runs.values()}:
        check_data({"data": data}, name)
    return Grid(files, profile, tuple(axes), seeds, tuple(points.values()), runs, code, claims)
