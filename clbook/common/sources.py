"""Where the book's files are, and the cells of a chapter's `.py` (percent format)."""

import difflib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import BookError, cut
from .formats import text_of

APPENDIX = "-appendix"  # ends the name of a chapter's second notebook
_CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?:.*?tags=(?P<tags>\[.*?\]))?.*$")


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter's percent source."""

    source: str
    markdown: bool
    tags: tuple[str, ...]


def parse_cells(text: str, where: str = "") -> list[Cell]:
    """Split percent-format text into cells; the text before the first marker is the jupytext header."""
    cells: list[list] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _CELL.match(line):
            cells.append([[], bool(match["markdown"]), _tags(match["tags"] or "[]", f"{where}, line {number}")])
        elif cells:
            cells[-1][0].append(line)
    return [Cell("\n".join(lines).strip("\n"), markdown, tags) for lines, markdown, tags in cells]


def _tags(text: str, where: str) -> tuple[str, ...]:
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):
        tags = [None]
    if not all(isinstance(tag, str) for tag in tags):
        raise BookError(f"{where}: tags must be a list of texts in double quotes, got {cut(text, 100)}")
    return tuple(tags)


def find_root(start: Path | None = None) -> Path:
    """The folder of the book: `CLBOOK_ROOT`, otherwise a parent of the working folder or of this file."""
    if root := os.environ.get("CLBOOK_ROOT"):
        if not (Path(root) / "chapters").is_dir():
            raise BookError(f"CLBOOK_ROOT: {root} has no folder 'chapters'")
        return Path(root).resolve()
    for place in (start or Path.cwd(), Path(__file__)):
        for folder in (place.resolve(), *place.resolve().parents):
            if any((folder / "chapters").glob("*/claims.yaml")):
                return folder
    raise BookError("the book is not here: run inside its folder, or set CLBOOK_ROOT to it")


@dataclass(frozen=True)
class ChapterFiles:
    """The files of one chapter, or of one of its notebooks.

    A chapter is written in `chapters/NAME.py`, with steps of proofs and checks in `chapters/NAME-appendix.py` if there
    is one. Both notebooks share claims, profiles and records; what else belongs to the chapter is in `chapters/NAME/`.
    """

    root: Path
    name: str
    part: int | None = None  # 0: the chapter's own notebook, 1: its appendix, None: both

    @classmethod
    def find(cls, name: str, root: Path | None = None) -> "ChapterFiles":
        """The files of a chapter; for an unknown one raises a BookError that suggests the nearest name."""
        root = root or find_root()
        known = chapter_names(root)
        if name not in known:
            chapter = name.removesuffix(APPENDIX)
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            if chapter in known and cls(root, chapter, 1).source.is_file():
                hint = f"; {name} is part of {chapter}, whose notebooks go together here"
            raise BookError(f"no chapter {cut(name, 100)!r}, there are: {', '.join(known)}{hint}")
        return cls(root, name)

    @classmethod
    def find_notebooks(cls, name: str, root: Path | None = None) -> "ChapterFiles":
        """As `find`, but the name of an appendix gives the files of that notebook alone."""
        root = root or find_root()
        appendix = cls(root, name.removesuffix(APPENDIX), 1)
        return appendix if name == appendix.stem and appendix.source.is_file() else cls.find(name, root)

    @property
    def notebooks(self) -> "list[ChapterFiles]":
        """The files of each notebook: the chapter's own, then its appendix, if there is one."""
        if self.part is not None:
            return [self]
        both = [ChapterFiles(self.root, self.name, part) for part in (0, 1)]
        return both[: 1 + both[1].source.is_file()]

    @property
    def stem(self) -> str:
        """The file name without its suffix; for a whole chapter that of its own notebook."""
        return f"{self.name}{APPENDIX}" if self.part == 1 else self.name

    @property
    def source(self) -> Path:
        return self.root / "chapters" / f"{self.stem}.py"

    @property
    def notebook(self) -> Path:
        return self.root / "chapters" / f"{self.stem}.ipynb"

    @property
    def animations(self) -> Path:
        """The folder of the animations that the committed notebook plays."""
        return self.root / "chapters" / "animations" / self.stem

    @property
    def folder(self) -> Path:
        """What belongs to the chapter beside its notebooks."""
        return self.root / "chapters" / self.name

    @property
    def claims(self) -> Path:
        return self.folder / "claims.yaml"

    def profile(self, profile: str) -> Path:
        return self.folder / "profiles" / f"{profile}.yaml"

    def profiles(self) -> list[str]:
        """The names of its profiles, without `default`, which is the parameters cell itself."""
        return sorted(path.stem for path in self.profile("").parent.glob("*.yaml"))

    def captions(self, profile: str) -> Path:
        """The captions of a record's pictures that the chapter's prose does not show."""
        return self.folder / "captions" / f"{profile}.yaml"

    @property
    def exercises(self) -> Path:
        """The source of the sheet that grades itself."""
        return self.folder / "exercises.py"

    @property
    def solutions(self) -> Path:
        """Solutions of the exercises on the chapter's page."""
        return self.folder / "solutions.py"

    @property
    def handout(self) -> Path:
        return self.folder / "handout.md"

    def record(self, profile: str) -> Path:
        return self.root / "records" / self.name / f"{profile}.json"

    def benchmark(self, name: str) -> Path:
        return self.root / "records" / "benchmarks" / f"{name}.json"

    def records(self) -> list[Path]:
        """All existing records."""
        return sorted((self.root / "records" / self.name).glob("*.json"))

    def cells(self) -> list[Cell]:
        """The cells of the notebook; for a whole chapter followed by those of its appendix."""
        return [cell for files in self.notebooks for cell in parse_cells(text_of(files.source), files.source.name)]


def named_chapters(
    names: Sequence[str] | None, root: Path, find: Callable[[str, Path], ChapterFiles] = ChapterFiles.find
) -> list[ChapterFiles]:
    """The files of the chapters that are named, or of all if none is; raises BookError for one that occurs twice."""
    if twice := [name for name in names or () if names.count(name) > 1]:
        raise BookError(f"the chapter {cut(twice[0], 100)!r} is named {names.count(twice[0])} times")
    return [find(name, root) for name in names or chapter_names(root)]


def chapter_names(root: Path) -> list[str]:
    """The chapters that have a source, sorted by name; an appendix is not a chapter of its own.

    A source without claims, profiles and records is somebody's scratch, and no chapter.
    """
    stems = {path.stem for path in (root / "chapters").glob("*.py")}
    known = {path.parent.name for path in (root / "chapters").glob("*/claims.yaml")}
    known |= {path.parents[1].name for path in (root / "chapters").glob("*/profiles/*.yaml")}
    known |= {path.parent.name for path in (root / "records").glob("*/*.json")}
    return sorted(name for name in stems & known if name.removesuffix(APPENDIX) not in stems - {name})
