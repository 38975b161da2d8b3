"""The pictures of a recorded run, which a chapter includes at its end, beside its own."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..common.durations import duration
from ..common.formats import TEXT, list_of, map_of, record_of
from ..common.sources import ChapterFiles
from ..common.yaml_files import read_yaml
from ..notebook.results import StoredRun
from ..provenance.stamps import whole_cost
from .claim_marks import in_markdown, one_line

_FIGURE = re.compile(r"\{glue:figure\} (?P<name>\S+)\n(?P<options>(?:(?:# )?:[\w-]+:.*\n)+)")
_OPTION = re.compile(r"^(?:# )?:(?P<name>[\w-]+): *(?P<value>.*?) *$", re.MULTILINE)


_CAPTION = record_of("look", look=TEXT | {"minLength": 1}, claims=list_of(TEXT), alt=TEXT)
_CAPTIONS = map_of(_CAPTION | {"additionalProperties": False}) | {"propertyNames": TEXT}


class Placed(NamedTuple):
    """A figure in a chapter's prose: its alternative text, the label by which any page refers to it, and its page.

    Chapters may glue figures under the same name; their labels differ.
    """

    alt: str
    label: str | None
    page: str


def _prose(files: ChapterFiles) -> str:
    return "\n".join(cell.source for cell in files.cells() if cell.markdown)


def figures(files: ChapterFiles) -> dict[str, Placed]:
    """Name → text and label of every figure that the chapter's prose places with an alternative text."""
    placed = {}
    for part in files.notebooks:
        for match in _FIGURE.finditer(_prose(part)):
            options = {option["name"]: option["value"] for option in _OPTION.finditer(match["options"])}
            if "alt" in options:
                placed[match["name"]] = Placed(options["alt"], options.get("name"), part.stem)
    return placed


class Caption(NamedTuple):
    """What to look at in a record's picture, the claims on which it bears, and its own alternative text.

    Without a text of its own it has that of the chapter's picture.
    """

    look: str
    claims: tuple[str, ...] = ()
    alt: str | None = None


def captions(files: ChapterFiles, profile: str) -> dict[str, Caption]:
    """Name of a picture → its caption; raises BookError for an entry of another form."""
    path = files.captions(profile)
    rows = read_yaml(path, _CAPTIONS) if path.is_file() else {}
    return {name: Caption(**row | {"claims": tuple(row.get("claims", ()))}) for name, row in rows.items()}


def _verdicts(run: StoredRun, claims: Iterable[str]) -> str:
    """The record's verdicts on some claims, as a sentence with one part per word; empty without claims."""
    words: dict[str, list[str]] = {}
    for claim in claims:
        verdict = run.verdicts.get(claim)
        words.setdefault(verdict.verdict if verdict else "not measured", []).append(f"`{claim}`")
    parts = [f"{', '.join(ids)} {word}" for word, ids in words.items()]
    return f" In this record: {'; '.join(parts)}." if parts else ""


def _figure(folder: str, name: str, placed: Placed, run: StoredRun, profile: str, caption: Caption | None) -> str:
    """The directive of a recorded picture, which refers to the chapter's own picture by that one's label."""
    label = f":name: {placed.label}-{profile}\n" if placed.label else ""
    own = f"{{numref}}`{placed.label}`" if placed.label else f"`{name}`"
    look, alt = (caption.look, caption.alt or placed.alt) if caption else (placed.alt, placed.alt)
    text = in_markdown(f"{own} from the profile `{profile}`. {look}{_verdicts(run, caption.claims if caption else ())}")
    return f"```{{figure}} {folder}/{name}.png\n:alt: {one_line(alt)}\n{label}\n{text}\n```\n"


def in_gallery(files: ChapterFiles, profile: str) -> dict[str, Placed]:
    """The pictures of a record that the chapter's prose does not show itself: name → the chapter's own figure."""
    folder, prose = files.record(profile).with_suffix(""), _prose(files)
    return {
        name: placed
        for name, placed in figures(files).items()
        if (folder / f"{name}.png").is_file()
        and f"{profile}/{name}.png" not in prose
        and f"{{record-figure}} {name}\n" not in prose
    }


def origin(run: StoredRun) -> str:
    """A sentence on what made a stored run: profile, days, machine, time, and whether the code has changed since."""
    stamp, took = run.stamp, duration(whole_cost(run.stamp))
    first, *others = sorted({part["time"][:10] for part in (stamp, *stamp.get("later", []))})
    days = f"from {first} to {others[-1]}" if others else f"on {first}"
    since = " The code or the rules have changed since." if run.stale else ""
    return f"Made with the profile {stamp['profile']} {days}: {stamp['device']}, {took}.{since}"


def _recorded(run: StoredRun) -> str:
    stamp = run.stamp
    values = ", ".join(f"`{name} = {value}`" for name, value in stamp["parameters"].items())
    stale = " **Stale**: the code or the rules have changed since." if run.stale else ""
    made = f"Recorded {stamp['time'][:10]} on {stamp['device']}, {duration(whole_cost(stamp))}, with {values}."
    return f"{in_markdown(made)}{stale}"


def gallery(files: ChapterFiles, run: StoredRun | None, profile: str = "paper") -> str:
    """A line on what made the record, and its pictures, folded; a note if there is no record.

    Pictures that the chapter's prose shows itself are left out, and so are those of another profile than `paper` that
    have no caption: they would repeat the default run's. Verdicts are on the claims page, which takes them from the
    same record.
    """
    if run is None:
        return f"No run of the profile `{profile}` is stored yet.\n"
    folder, texts = f"../records/{files.name}/{profile}", captions(files, profile)
    pictures = [(n, placed) for n, placed in in_gallery(files, profile).items() if profile == "paper" or n in texts]
    parts = [_figure(folder, name, placed, run, profile, texts.get(name)) for name, placed in pictures]
    shown = f":::{{admonition}} Its figures\n:class: dropdown\n\n{chr(10).join(parts)}:::\n" if parts else ""
    return f"{_recorded(run)} The [claims page](../book/claims.md) has its verdicts.\n\n{shown}"


def galleries_of(files: ChapterFiles, runs: Mapping[str, StoredRun]) -> dict[str, str]:
    """File name → gallery of the profile `paper` and of every other profile whose pictures have captions."""
    others = [p for p in files.profiles() if p != "paper" and files.captions(p).is_file()]
    named = {f"{files.name}-record.md": "paper"} | {f"{files.name}-{p}.md": p for p in others}
    return {file: gallery(files, runs.get(profile), profile) for file, profile in named.items()}
