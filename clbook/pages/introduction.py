"""Generated parts of the introduction: a training step with its chapters, and the state of the book."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from ..common.sources import ChapterFiles
from ..notebook.claim_result import ClaimResult
from .claim_marks import count_line
from .record_gallery import Placed, figures
from .template import fill
from .thumbnails import notebook_pictures_of

HEROES = "heroes"  # the folder, among the static files of the pages, of the pictures that stand for a chapter
HOLDS = ("reproduced", "with conditions", "seen")


def copy_hero(files: ChapterFiles, front: dict, folder: Path, profile: str = "paper") -> Placed | None:
    """Copy the picture that stands for a chapter into the static files; its place, if there is a picture.

    `hero` in `book/chapters.yaml` names one of the chapter's figures: that of the record, or else of the default run.
    """
    name = front.get("hero")
    recorded, placed = files.record(profile).with_suffix("") / f"{name}.png", figures(files).get(name)
    picture = recorded.read_bytes() if recorded.is_file() else notebook_pictures_of(files).get(name) if placed else None
    if not placed or not picture:
        return None
    (folder / HEROES).mkdir(parents=True, exist_ok=True)
    (folder / HEROES / f"{files.name}.png").write_bytes(picture)
    return placed


def chapter_map(
    chapters: dict[str, dict],
    written: set[str],
    results: list[ClaimResult],
    heroes: Mapping[str, Placed] | None = None,
) -> str:
    """The chapters, each beside the part of a training step that it studies.

    `heroes` is chapter → where its picture stands, to which the picture leads, for the chapters that have one.
    """
    entries = []
    for name, front in chapters.items():
        own = [result for result in results if result.chapter == name] if name in written else []
        status = f"{escape(front.get('part', ''))} Verdicts: {count_line(own)}".strip()
        entries.append(
            {
                "name": name,
                "front": front,
                "written": name in written,
                "surprise": surprise(front, own),
                "hero": (heroes or {}).get(name) if name in written else None,
                "status": status if name in written else "planned, not written yet",
            }
        )
    return fill("chapter-map.html", chapters=entries) + "\n"


def surprise(front: dict, own: list[ClaimResult]) -> str:
    """A chapter's most surprising result, as long as the claim behind it holds; else nothing is said."""
    entry = front.get("surprise") or {}
    holds = any(result.claim.id == entry.get("claim") and result.verdict in HOLDS for result in own)
    return f'<p class="surprise">{escape(entry["text"])}</p>' if holds else ""


def intro_counts(results: list[ClaimResult]) -> str:
    """The introduction's sentence on the state of the book."""
    return f"The book tests {len(results)} claims: {count_line(results)}\n"
