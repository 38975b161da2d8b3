"""What committed notebooks show beside their verdicts, computed again by `clbook verify`: numbers, texts, pictures.

No seal can hide that they were edited. With the processor and versions of the run they must be the same to the last
bit; elsewhere what differs by more than rounding is listed, and of pictures what differs visibly.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..common.formats import read_notebook
from ..common.pictures import blocks, look_alike
from ..notebook.glue import HIDDEN
from ..notebook.shown import code_cells, decoded, sum_of
from ..provenance.digests import SHORT
from ..provenance.stamps import RUN, cell_name
from .verify_distance import ROUNDING_RELATIVE, ZERO_RELATIVE, same_arithmetic
from .verify_plan import Job

UNKNOWN = "its output is none of a number, a text, a picture or a verdict, so it cannot be computed again"


@dataclass(frozen=True)
class Shown:
    """What a cell shows besides a line about a claim: numbers and pictures (PNG) by name, and printed text."""

    numbers: dict[str, str]
    pictures: dict[str, bytes]
    text: str
    others: int = 0  # outputs of other kinds, which no run makes again

    @classmethod
    def of(cls, cell, has_line: bool) -> "Shown":
        """What a cell of a notebook shows; with `has_line` its result is a line, which the stamp is compared with."""
        numbers, pictures, text, others = {}, {}, "", 0
        for output in cell.outputs:
            data, glued = output.get("data", {}), output.get("metadata", {}).get("scrapbook", {})
            if output.output_type == "stream":
                text += output.text
            elif "image/png" in data and glued:
                if "text/html" in data:  # an animation or a live picture, whose still picture a script does not draw
                    continue
                pictures[glued["name"]] = decoded(data["image/png"])
            elif f"{HIDDEN}text/plain" in data and glued:
                numbers[glued["name"]] = data[f"{HIDDEN}text/plain"]
            elif not (has_line and output.output_type == "execute_result"):
                others += 1
        return cls(numbers, pictures, text, others)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.pictures or self.text or self.others)


def shown_units(job: Job) -> dict[int, Shown]:
    """Unit → what its cell shows, perhaps nothing, for each cell of a notebook whose code is that of the stored run.

    Of a record these are its pictures.
    """
    code, stamp, part = job.code, job.stored.stamp, job.stored.part
    if job.part:  # few of its seeds
        return {}
    if part is None:
        return _recorded(job)
    files = next(files for files in code.sources if files.part == part)
    cells, result = code_cells(read_notebook(files.notebook)), {}
    for n in (n for n in code.of_notebook(part) if code.units[n].whole):
        unit, at = code.units[n], code.cell_in_notebook(n)
        same = stamp["cells"].get(cell_name(code, n), "").split()[:1] == [job.digests.digest(n)[:SHORT]]
        if same and at < len(cells):
            result[n] = Shown.of(cells[at], bool(unit.line))
    return result


def _recorded(job: Job) -> dict[int, Shown]:
    """Unit → the pictures that its cell drew for a record, if its code is that of the stored run."""
    result: dict[int, Shown] = {}
    folder = job.code.files.record(job.stored.stamp["profile"]).with_suffix("")
    for name, picture in job.stored.stamp["pictures"].items():
        unit = job.code.drawing(name)
        if unit is not None and picture["digest"] in job.digests.picture(unit):
            drawn = result[unit].pictures if unit in result else {}
            path = folder / f"{name}.png"
            result[unit] = Shown({}, drawn | {name: path.read_bytes() if path.is_file() else b""}, "")
    return result


def beside(job: Job, claims: list[str]) -> list[int]:
    """The units to compare after a run of some claims: all in a run of all, else those that need no more than these."""
    shown, code = shown_units(job), job.code
    if set(claims) >= job.stored.stamp["readings"].keys():
        return list(shown)
    run = set(code.union(claims))
    return [n for n, there in shown.items() if n in run or there and set(code.needed(n)) <= run | {n}]


@dataclass(frozen=True)
class Edited:
    """An output that is not the one that was computed again; `wrong` where it must be, by processor and versions."""

    output: str
    how: str
    wrong: bool


def edited(job: Job, units: list[int], again: dict) -> Iterator[Edited]:
    """The outputs of some units that are not those that were computed `again`."""
    stamp, shown = job.stored.stamp, shown_units(job)
    runs = [{key: stamp[key] for key in RUN if key in stamp}, *stamp["later"]]
    here = all(same_arithmetic(run, again) for run in runs)  # which of them ran a cell is not stored
    for n in units:
        where = f"code cell {job.code.cell_in_notebook(n) + 1}"
        texts = {} if job.stored.part is None else again["made"]["texts"]  # a record keeps none
        for output, how in _differences(shown[n], again, texts.get(job.code.units[n].cell, ""), where, here):
            yield Edited(output, how if here else f"{how}; another processor or version made it", here)
        if shown[n].others:
            yield Edited(where, UNKNOWN, True)


def _differences(was: Shown, again: dict, text: str, where: str, here: bool) -> Iterator[tuple[str, str]]:
    """(output, how it differs) for the outputs of a cell; elsewhere than `here`, but for rounding and pictures."""
    numbers = again["made"]["numbers"]
    for name, value in was.numbers.items():
        now = numbers.get(name, "none")
        if value != now and (here or not _close(value, now)):
            yield f"the number {name}", f"shown is {value}, computed {now}"
    if was.text != text:
        yield f"the text of {where}", _first_line(was.text, text)
    for name, picture in was.pictures.items():
        if here and sum_of(picture) != again["pictures"].get(name, {}).get("sum"):
            yield f"the picture {name}", "the one that was computed differs"
        if not here and not look_alike(blocks(picture), again["made"]["blocks"].get(name, [])):
            yield f"the picture {name}", "the one that was computed differs visibly"


def _close(shown: str, computed: str) -> bool:
    """Whether two numbers differ by no more than rounding."""
    try:
        return math.isclose(float(shown), float(computed), rel_tol=ROUNDING_RELATIVE, abs_tol=ZERO_RELATIVE)
    except ValueError:
        return False


def _first_line(shown: str, computed: str) -> str:
    """The first line that differs, in words."""
    first, second = shown.splitlines(), computed.splitlines()
    length = max(len(first), len(second))
    first, second = (lines + ["nothing"] * (length - len(lines)) for lines in (first, second))
    before, after = next(((a, b) for a, b in zip(first, second, strict=True) if a != b), ("another end", "none"))
    return f"shown is {before!r}, computed {after!r}"
