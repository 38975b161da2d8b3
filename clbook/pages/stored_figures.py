"""Figures and numbers of a chapter's stored runs, by the names that the chapter glues them under."""

import ast
import base64
import re
from functools import cache
from pathlib import Path

from ..common.errors import BookError
from ..common.formats import read_notebook
from ..common.sources import ChapterFiles
from ..notebook.glue import HIDDEN
from ..notebook.shown import notebook_pictures

_PLACED = re.compile(r"\{(?:glue:figure|record-figure)\} (?P<name>\S+)\n:alt: (?P<alt>.+)")


class StoredFigures:
    """What a chapter's committed notebook and its records hold: pictures (PNG), what they show in words, numbers."""

    def __init__(self, files: ChapterFiles):
        self.files, notebook = files, read_notebook(ChapterFiles(files.root, files.name, 0).notebook)
        self._pictures = dict(notebook_pictures(notebook))
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        self._live = {k: o["data"]["text/plain"] for o in outputs if (k := _name(o)) and "text/html" in o["data"]}
        self._numbers = {k: ast.literal_eval(o["data"][HIDDEN + "text/plain"]) for o in outputs
                         if (k := _name(o)) and HIDDEN + "text/plain" in o["data"]}  # fmt: skip
        self._alts: dict[str, list[str]] = {}
        for cell in notebook.cells:
            for match in _PLACED.finditer(cell.source if cell.cell_type == "markdown" else ""):
                self._alts.setdefault(match["name"], []).append(match["alt"])

    def picture(self, name: str, profile: str = "default") -> bytes:
        """The PNG of a figure in the committed notebook, or in the record of a profile; raises BookError."""
        if profile != "default":
            path = self.files.root / "records" / self.files.name / profile / f"{name}.png"
            if not path.is_file():
                raise BookError(f"{self.files.name}: the record '{profile}' has no picture {name}")
            return path.read_bytes()
        return _known(self._pictures, name, f"chapters/{self.files.name}.ipynb has no figure")

    def alt(self, name: str, profile: str = "default") -> str:
        """What a figure shows, as the chapter says it; the first text is a record's where the chapter shows one."""
        texts = _known(self._alts, name, f"chapters/{self.files.name}.py places no figure")
        return texts[0] if profile != "default" else texts[-1]

    def live(self, name: str) -> tuple[str, str]:
        """The still picture of a live picture in base64, and what it shows; raises BookError."""
        plain = _known(self._live, name, f"chapters/{self.files.name}.ipynb has no live picture")
        return base64.b64encode(self._pictures[name]).decode("ascii"), plain.partition(": ")[2]

    def number(self, name: str) -> float:
        """A number that the committed notebook stores; raises BookError."""
        return _known(self._numbers, name, f"chapters/{self.files.name}.ipynb stores no number")


def _name(output: dict) -> str | None:
    return output.get("metadata", {}).get("scrapbook", {}).get("name")


def _known(found: dict, name: str, otherwise: str):
    if name not in found:
        raise BookError(f"{otherwise} {name}")
    return found[name]


@cache
def stored_figures(root: Path, chapter: str) -> StoredFigures:
    """The figures of a chapter, read once."""
    return StoredFigures(ChapterFiles.find(chapter, root))
