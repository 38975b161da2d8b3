"""The pictures of a recorded run, beside the chapter's own: what a chapter includes at its end."""

import re
from typing import NamedTuple

from ..chapter.results import StoredRun
from ..ground.sources import ChapterFiles

_FIGURE = re.compile(r"\{glue:figure\} (?P<name>\S+)\n(?P<options>(?:(?:# )?:[\w-]+:.*\n)+)")
_OPTION = re.compile(r"^(?:# )?:(?P<name>[\w-]+): *(?P<value>.*?) *$", re.MULTILINE)


class Placed(NamedTuple):
    """A figure in a chapter's prose: its alternative text, and the label by which any page of the book refers to it.

    Chapters may glue figures under the same name; their labels differ.
    """

    alt: str
    label: str | None


def _prose(files: ChapterFiles) -> str:
    return "\n".join(cell.source for cell in files.cells() if cell.markdown)


def figures(files: ChapterFiles) -> dict[str, Placed]:
    """Name → text and label of every figure that the chapter's prose places with a text."""
    found = {}
    for match in _FIGURE.finditer(_prose(files)):
        options = {option["name"]: option["value"] for option in _OPTION.finditer(match["options"])}
        if "alt" in options:
            found[match["name"]] = Placed(options["alt"], options.get("name"))
    return found


def _figure(folder: str, name: str, placed: Placed, profile: str) -> str:
    """The directive of a recorded picture; it refers to the chapter's own by the label that has been given to that."""
    label = f":name: {placed.label}-{profile}\n" if placed.label else ""
    own = f"{{numref}}`{placed.label}`" if placed.label else f"`{name}`"
    caption = f"{own} from the profile `{profile}`. Its text for screen readers describes the default run."
    return f"```{{figure}} {folder}/{name}.png\n:alt: {placed.alt}\n{label}\n{caption}\n```\n"


def _made(run: StoredRun) -> str:
    stamp = run.stamp
    values = ", ".join(f"`{name} = {value}`" for name, value in stamp["parameters"].items())
    stale = " **Stale**: the code or the rules have changed since." if run.stale else ""
    return f"Recorded {stamp['time'][:10]} on {stamp['device']}, {stamp['seconds']:.0f} s, with {values}.{stale}"


def gallery(files: ChapterFiles, run: StoredRun | None, profile: str = "paper") -> str:
    """A line on what made the record and its pictures, folded; says so where there is none.

    Left out are pictures that the chapter's prose shows itself.
    Verdicts stand on the claims page, which takes them from the same record.
    """
    if run is None:
        return f"No run of the profile `{profile}` is stored yet.\n"
    folder, prose = files.record(profile).with_suffix(""), _prose(files)
    parts = [
        _figure(f"../records/{files.name}/{profile}", name, placed, profile)
        for name, placed in figures(files).items()
        if (folder / f"{name}.png").is_file() and f"{profile}/{name}.png" not in prose
    ]
    shown = f":::{{admonition}} Its figures\n:class: dropdown\n\n{chr(10).join(parts)}:::\n" if parts else ""
    return f"{_made(run)} The [claims page](../book/claims.md) has its verdicts.\n\n{shown}"
