"""Digests kept from process to process, in a file named by the sum of all sources that they depend on.

Whatever differs in a source, in this machinery, in the language or in the book's settings gives another file, so a kept
digest is that which would be computed now. A folder that cannot be read or written costs time alone.
"""

import atexit
import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

from .library import Library, sha, sources_sum

FILES = 500  # at most so many are kept, the newest


def folder() -> Path | None:
    """Where the files lie: `clbook` in the user's cache; None for a user without a home."""
    with contextlib.suppress(RuntimeError):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clbook"
    return None


class KeptDigests:
    """The digests of one chapter's code: a table for each run's parameters, written when the process ends."""

    def __init__(self, library: Library, cells: list[str]):
        self.library, self.changed = library, False
        place = None if library.replaced else folder()  # nothing is kept of a library that no file holds
        self.path = place and place / f"{sha(library.sources, *cells)}.json"
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
        if sources_sum(self.library) != self.library.sources:
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, suffix=".part", delete=False) as part:
                json.dump(self.tables, part)
            os.replace(part.name, self.path)
            newest = sorted(self.path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in newest[FILES:]:
                old.unlink(missing_ok=True)
