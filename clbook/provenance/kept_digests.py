"""Digests kept from process to process, in a file named by the sum of all sources that they depend on.

Whatever differs in a source, in this machinery, in the language or in the book's settings gives another file, so a kept
digest is that which would be computed now. A folder that cannot be read or written costs time alone.
"""

import atexit
import contextlib
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..common import project

if TYPE_CHECKING:
    from .library import Library

FILES = 500  # at most so many are kept, the newest


def folder() -> Path | None:
    """Where the files lie: `clbook` in the user's cache; None for a user without a home."""
    with contextlib.suppress(RuntimeError):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clbook"
    return None


def sources_sum(library: "Library") -> str:
    """The sum of all files of a library, of this machinery and its style, of the book's settings and of Python."""
    found = hashlib.sha256(f"{sys.version_info[:2]} {project.settings()}".encode())
    for place in (*library.folders.values(), library.own):
        for path in sorted(path for kind in ("*.py", "*.json", "*.mplstyle") for path in place.rglob(kind)):
            with contextlib.suppress(OSError):  # one that goes away meanwhile
                found.update(f"\n{path.relative_to(place)}\n".encode() + path.read_bytes())
    return found.hexdigest()


class KeptDigests:
    """The digests of one chapter's code: a table for each run's parameters, written when the process ends."""

    def __init__(self, library: "Library", cells: list[str]):
        self.library, self.sources, self.changed = library, library.sources, False
        own = hashlib.sha256("\x1f".join([self.sources, *cells]).encode()).hexdigest()
        place = None if library.replaced else folder()
        self.path = place and place / f"{own}.json"
        self.tables: dict[str, dict] = self._read()

    def _read(self) -> dict[str, dict]:
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self.path.read_bytes()) if self.path else {}
            if isinstance(found, dict) and all(isinstance(table, dict) for table in found.values()):
                return found
        return {}

    def of(self, parameters: dict[str, object]) -> dict:
        """The table of a run with these parameters; what is added to it is kept."""
        name = hashlib.sha256(repr(sorted(parameters.items())).encode()).hexdigest()
        return self.tables.setdefault(name, {})

    def put(self, table: dict, key: str, value: object) -> None:
        """Add an entry to a table, and see to it that the file is written."""
        table[key] = value
        if not self.changed and self.path:
            self.changed = True
            atexit.register(self.write)

    def write(self) -> None:
        """Write the file, unless a source has changed since it was read; older files go."""
        if sources_sum(self.library) != self.sources:
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, suffix=".part", delete=False) as part:
                json.dump(self.tables, part)
            os.replace(part.name, self.path)
            newest = sorted(self.path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in newest[FILES:]:
                old.unlink(missing_ok=True)
