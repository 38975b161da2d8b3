"""A list of students: which files are whose, by the file `--students`."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..common.errors import BookError
from ..common.formats import text_of
from .submissions import Submission


@dataclass(frozen=True)
class Entry:
    """What a student's file or folder is called, and the student's id and name."""

    file: str
    id: str
    name: str


@dataclass(frozen=True)
class Roster:
    """The students of a class."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Roster":
        """A table with the columns `file`, `id` and, if you like, `name`, by comma, semicolon or tab.

        Raises BookError for one without these columns, and for a file or id that is not there or stands twice.
        """
        text = text_of(path)
        head = text.partition("\n")[0]
        rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
        rows.fieldnames = [(name or "").strip().lower() for name in rows.fieldnames or []]
        if not {"file", "id"} <= set(rows.fieldnames):
            raise BookError(f"{path}: must have the columns file and id, and may have name, got: {head.strip()!r}")
        entries, seen = [], {}
        for row in rows:
            file, number, name = ((row.get(column) or "").strip() for column in ("file", "id", "name"))
            if not file or not number or seen.setdefault(file.lower(), number) != number:
                raise BookError(
                    f"{path}: line {rows.line_num}: needs a file of its own and an id, got {file!r}, {number!r}"
                )
            entries.append(Entry(file, number, name or number))
        return cls(tuple(entries))

    def entry(self, submission: Submission) -> Entry | None:
        """Whose a submission is: by its file, by a folder it lies in, or by a word of either between `_`."""
        parts = [*submission.place.split("/"), *submission.student.split("/")]
        names = [submission.place, submission.student, *parts, *(word for part in parts for word in part.split("_"))]
        known = {entry.file.lower(): entry for entry in reversed(self.entries)}
        return next((known[name.lower()] for name in names if name.lower() in known), None)

    def without(self, owners: Iterable[str]) -> list[Entry]:
        """The students of whom there is no submission, each once."""
        there = set(owners)
        return list({entry.id: entry for entry in self.entries if entry.id not in there}.values())
