"""Entries of `tests/outcomes/CHAPTER.json`: the keys that make them valid, and how they are read and written."""

import copy
import hashlib
import json
import os
import warnings
from pathlib import Path

from clbook.common import environment
from clbook.common.errors import BookError
from clbook.common.parameters import profile_parameters
from clbook.common.sources import ChapterFiles
from clbook.provenance.digests import ChapterDigests, Provenance
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode

from .mutants import PACKAGE, Mutation


def digest(content: object) -> str:
    """SHA-256 of any content that JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Keys:
    """Keys of what the results of a chapter depend on at smoke size."""

    def __init__(self, files: ChapterFiles, library: Library | None = None):
        self.story = ChapterCode(files, (library or Library()).read())  # read once and shared by the broken libraries
        self.smoke = profile_parameters(files, "smoke")
        self.versions = {k: v.partition("+")[0] for k, v in environment.versions().items() if k != "python"}
        self._digests: dict[str, ChapterDigests] = {}
        self._broken: dict[str, Provenance] = {}

    def digests(self, changes: dict) -> ChapterDigests:
        """Digests of the present library, with parameters that differ from the profile."""
        name = json.dumps(changes, sort_keys=True)
        if name not in self._digests:
            self._digests[name] = ChapterDigests(self.story, self.smoke | changes)
        return self._digests[name]

    def made(self, mutation: Mutation) -> Provenance:
        """What the reading of the mutation's claim is made of."""
        return self.digests(mutation.parameters).claim(mutation.claim)

    def made_broken(self, mutation: Mutation) -> Provenance:
        """The same with the mutation, without reading the chapter or the rest of the library again."""
        if (name := repr(mutation)) not in self._broken:
            self._broken[name] = self._digests_broken(mutation).claim(mutation.claim)
        return self._broken[name]

    def _digests_broken(self, mutation: Mutation) -> ChapterDigests:
        story = copy.copy(self.story)
        story.library = self.story.library.instead(f"{PACKAGE}.{mutation.module}", mutation.broken)
        story.__dict__.pop("state", None)  # it depends on what library functions do
        return ChapterDigests(story, self.smoke | mutation.parameters)

    def of_mutation(self, mutation: Mutation) -> str:
        """The key of a mutation's entry; none for a row that cannot be run, as its run then reports.

        The two digests say what is broken and with which parameters, wherever the module is.
        """
        try:
            digests = [self.made(mutation).digest, self.made_broken(mutation).digest]
        except (BookError, SyntaxError):
            return ""
        return digest([mutation.id, digests, self.versions])

    def of_unit(self, unit: int, claim: str | None) -> str:
        """The key of an entry from another device, for a claim's verdict or for all that a unit shows."""
        return digest([self.digests({}).digest(unit, claim), self.versions])


def sealed(entry: dict) -> dict:
    """The entry with a hash over it, which reveals values that were edited or merged."""
    return entry | {"seal": digest(entry)}


def holds(entry: dict | None, wanted: str) -> bool:
    """Whether an entry is what a run of the present code would leave."""
    return (
        bool(entry) and entry.get("key") == wanted and sealed({k: v for k, v in entry.items() if k != "seal"}) == entry
    )


def path_of(files: ChapterFiles) -> Path:
    return files.root / "tests" / "outcomes" / f"{files.name}.json"


def load(files: ChapterFiles) -> dict[str, dict[str, dict]]:
    """What is kept for a chapter: mutations by name, and runs on the other device by name."""
    path = path_of(files)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {"mutations": {}, "elsewhere": {}} | kept


def save(files: ChapterFiles, part: str, entries: dict[str, dict]) -> None:
    """Rewrite one part of the file, with one line per entry."""
    parts = []
    for name, rows in (load(files) | {part: entries}).items():
        lines = ",\n".join(f"{json.dumps(of)}: {json.dumps(entry)}" for of, entry in rows.items())
        parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
    path = path_of(files)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".aside")
    aside.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    os.replace(aside, path)


def agree(what: str, kept: object, found: object) -> None:
    """Raise AssertionError for an entry that a run does not confirm."""
    assert kept == found, f"{what}: kept is {kept}, but a run gives {found}; find out why, then delete what is kept"


def say_what_is_missing(files: ChapterFiles, what: str) -> None:
    said = f"{files.name}: no outcome of the present code is kept for {what}, so each was run;"
    warnings.warn(f"{said} `make outcomes CHAPTER={files.name}` keeps their results", stacklevel=2)
