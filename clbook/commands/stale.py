"""`clbook stale`: what is out of date, damaged, or shown otherwise than its run made it."""

from collections.abc import Iterable
from pathlib import Path

from ..common.errors import BookError, line_of
from ..common.sources import ChapterFiles, named_chapters
from ..notebook.shown import changed_outputs, other_cells
from ..provenance.excused import excused
from ..provenance.staleness import CURRENT, State, all_old_pictures, all_states, as_json


def command(root: Path, chapters: list[str] | None, json: bool) -> int:
    """Print what is not current; the status is 1 if `records/stale.yaml` does not excuse all of it."""
    named = named_chapters(chapters, root)
    names, (claims, pictures) = [files.name for files in named], excused(root)
    readings = all_states(root, names, "report")
    off = [reading for reading in readings if reading.state != CURRENT]
    unexcused = [reading for reading in off if (reading.where, reading.claim) not in claims]
    if json:
        print(as_json(readings))
        return 1 if unexcused else 0
    _print(off)
    shown = len(off) - len(unexcused)
    excuse = f", {shown} of them excused in records/stale.yaml" if shown else ""
    print(f"{len(off)} of {len(readings)} stored readings are not current{excuse}")
    # "skip": what is damaged has been counted already
    old = all_old_pictures(root, names, "skip")
    for record, drawn in old.items():
        if drawn:
            print(f"{record}, drawn by earlier cells (`clbook record --figures` redraws): {', '.join(drawn)}")
    changed = [line for files in named for line in changes(files)]
    print(*changed, sep="\n", end="\n" if changed else "")
    lost = {(record, name) for record, drawn in old.items() for name in drawn} - pictures
    return 1 if unexcused or changed or lost else 0


def changes(files: ChapterFiles) -> list[str]:
    """What notebooks and records show otherwise than their runs and sources, and what cannot be compared, and why."""
    others = [path for path in files.records() if path.stem not in ("default", *files.profiles())]
    lines = [f"records/{files.name}/{path.name}: the chapter has no such size" for path in others]
    for compared in (changed_outputs, other_cells):
        try:
            lines += compared(files)
        except BookError as error:
            lines.append(f"{files.name}: what it shows was not compared: {line_of(error)}")
    return list(dict.fromkeys(lines))


def _print(off: Iterable[State]) -> None:
    """A line for the readings of one place that have the same state, and one for the reason."""
    groups: dict[tuple, list[str]] = {}
    for reading in off:
        groups.setdefault((reading.where, reading.state, reading.changed), []).append(reading.claim)
    for (where, state, changed), claims in groups.items():
        print(f"{where}, {state}: {', '.join(claims)}")
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        print(f"    {line_of(', '.join(changed[:5]))}{more}")
