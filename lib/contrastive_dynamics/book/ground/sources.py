"""Where the book's files lie, and a chapter's cells as its `.py` (percent format) has them."""

import difflib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import BookError

_CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?:.*?tags=(?P<tags>\[.*?\]))?.*$")


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter's percent source."""

    source: str
    markdown: bool
    tags: tuple[str, ...]


def parse_cells(text: str) -> list[Cell]:
    """Split percent-format text into cells (what stands before the first marker is the jupytext header)."""
    cells: list[list] = []
    for line in text.splitlines():
        if match := _CELL.match(line):
            cells.append([[], bool(match["markdown"]), tuple(json.loads(match["tags"] or "[]"))])
        elif cells:
            cells[-1][0].append(line)
    return [Cell("\n".join(lines).strip("\n"), markdown, tags) for lines, markdown, tags in cells]


def find_root(start: Path | None = None) -> Path:
    """The folder of the book: `CLBOOK_ROOT`, else a parent of the working folder or of this file."""
    if given := os.environ.get("CLBOOK_ROOT"):
        if not (Path(given) / "chapters").is_dir():
            raise BookError(f"CLBOOK_ROOT: {given} has no folder 'chapters'")
        return Path(given).resolve()
    for place in (start or Path.cwd(), Path(__file__)):
        for folder in (place.resolve(), *place.resolve().parents):
            if (folder / "chapters" / "claims").is_dir():
                return folder
    raise BookError("the book is not here: run inside its folder, or set CLBOOK_ROOT to it")


@dataclass(frozen=True)
class ChapterFiles:
    """The files of one chapter."""

    root: Path
    name: str

    @classmethod
    def find(cls, name: str, root: Path | None = None) -> "ChapterFiles":
        """Raises BookError for an unknown chapter, with the nearest name."""
        root = root or find_root()
        known = chapter_names(root)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BookError(f"no chapter {name!r}, there are: {', '.join(known)}{hint}")
        return cls(root, name)

    @property
    def source(self) -> Path:
        return self.root / "chapters" / f"{self.name}.py"

    @property
    def notebook(self) -> Path:
        return self.root / "chapters" / f"{self.name}.ipynb"

    @property
    def claims(self) -> Path:
        return self.root / "chapters" / "claims" / f"{self.name}.yaml"

    def profile(self, profile: str) -> Path:
        return self.root / "chapters" / "profiles" / f"{self.name}.{profile}.yaml"

    def record(self, profile: str) -> Path:
        return self.root / "records" / self.name / f"{profile}.json"

    def records(self) -> list[Path]:
        """Every record that there is."""
        return sorted((self.root / "records" / self.name).glob("*.json"))

    def cells(self) -> list[Cell]:
        return parse_cells(self.source.read_text(encoding="utf-8"))


def chapter_names(root: Path) -> list[str]:
    """The chapters that have a source, in alphabetical order."""
    return sorted(path.stem for path in (root / "chapters").glob("*.py"))
