"""The pictures of a recorded run, beside the chapter's own: what a chapter includes at its end."""

import re

from .results import StoredRun
from .sources import ChapterFiles

_FIGURE = re.compile(r"\{glue:figure\} (?P<name>\S+)\n(?:# )?:alt: (?P<alt>.+)")


def _prose(files: ChapterFiles) -> str:
    return "\n".join(cell.source for cell in files.cells() if cell.markdown)


def figures(files: ChapterFiles) -> dict[str, str]:
    """Name → alternative text of every figure that the chapter's prose places."""
    return {match["name"]: match["alt"].strip() for match in _FIGURE.finditer(_prose(files))}


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
        f"```{{figure}} ../records/{files.name}/{profile}/{name}.png\n:alt: {alt}\n:name: {name}-{profile}\n\n"
        f"{{numref}}`{name}` from the profile `{profile}`.\n```\n"
        for name, alt in figures(files).items()
        if (folder / f"{name}.png").is_file() and f"{profile}/{name}.png" not in prose
    ]
    shown = f":::{{admonition}} Its figures\n:class: dropdown\n\n{chr(10).join(parts)}:::\n" if parts else ""
    return f"{_made(run)} The [claims page](../book/claims.md) has its verdicts.\n\n{shown}"
