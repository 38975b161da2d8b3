"""Generated parts of the introduction: a training step with its four chapters, and the state of the book."""

import shutil
from html import escape
from pathlib import Path

from ..common.sources import ChapterFiles
from .claim_marks import count_line
from .record_gallery import figures

HEROES = "heroes"  # the folder, among the static files of the pages, of the pictures that stand for a chapter
HOLDS = ("reproduced", "with conditions")
_FIGURE_TEXT = (
    "The parts of a training step, from its end to its beginning: the outputs, the pairs in the loss, the network, the "
    "two views of the data. Beside each stands the chapter that studies it, with its most surprising result and the "
    "picture of a run that shows it."
)


def copy_hero(files: ChapterFiles, front: dict, folder: Path, profile: str = "paper") -> str | None:
    """Copy the recorded picture that stands for a chapter into the static files; its alternative text, if there is one.

    `hero` in `book/chapters.yaml` names one of the chapter's figures.
    """
    name = front.get("hero")
    picture, placed = files.record(profile).with_suffix("") / f"{name}.png", figures(files).get(name)
    if not placed or not picture.is_file():
        return None
    (folder / HEROES).mkdir(parents=True, exist_ok=True)
    shutil.copy(picture, folder / HEROES / f"{files.name}.png")
    return placed.alt


def chapter_map(
    chapters: dict[str, dict], written: set[str], results: list[dict], heroes: dict[str, str] | None = None
) -> str:
    """The four chapters, each beside the part of a training step that it studies.

    `heroes` is chapter → alternative text of its picture, for the chapters that have one.
    """
    rows = []
    for name, front in chapters.items():
        own = [r for r in results if r["chapter"] == name] if name in written else []
        rows.append(_row(name, front, name in written, own, (heroes or {}).get(name)))
    label = escape(_FIGURE_TEXT)
    return f'<figure class="chapter-map" aria-label="{label}"><ol>{"".join(rows)}</ol></figure>\n'


def _row(name: str, front: dict, written: bool, own: list[dict], hero: str | None) -> str:
    title, address = escape(front["title"]), f"../chapters/{name}.html"
    status = f"stands: {count_line(own)}" if written else "planned, not written yet"
    if written and front.get("part"):
        status = f"{escape(front['part'])} {status}"
    picture = ""
    if written and hero:
        source = f"../_static/{HEROES}/{name}.png"
        picture = f'<a class="hero" href="{address}"><img src="{source}" alt="{escape(hero)}" loading="lazy"></a>'
    heading = f'<a href="{address}">{title}</a>' if written else title
    return (
        f'<li><div class="stage"><b>{escape(front["stage"])}</b><span>{escape(front["symbol"])}</span></div>'
        f'<div class="chapter {"written" if written else "planned"}"><b>{heading}</b> '
        f"<span>({escape(front['paper'])})</span><br>{escape(front['question'])}{surprise(front, own)}{picture}"
        f'<div class="status">{status}</div></div></li>'
    )


def surprise(front: dict, own: list[dict]) -> str:
    """A chapter's most surprising result, as long as the claim behind it holds; else nothing is said."""
    told = front.get("surprise") or {}
    holds = [r for r in own if r["anchor"] == told.get("claim") and r["verdict"] in HOLDS]
    return f'<p class="surprise">{escape(told["text"])}</p>' if holds else ""


def intro_counts(results: list[dict]) -> str:
    """The introduction's sentence on the state of the book."""
    run = sum(r["verdict"] != "not run" for r in results)
    return f"{run} of {len(results)} claims listed so far have been run: {count_line(results)}\n"
