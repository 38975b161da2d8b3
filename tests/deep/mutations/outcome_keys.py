"""Entries of `tests/outcomes/CHAPTER.json`: the keys that make them valid, and how they are read and written."""

import copy
import hashlib
import json
import warnings
from collections.abc import Iterable
from pathlib import Path

from library_views import with_source

from clbook.common import environment, project
from clbook.common.atomic import atomic_write
from clbook.common.errors import BookError
from clbook.common.parameters import profile_parameters
from clbook.common.sources import ChapterFiles
from clbook.provenance.digests import ChapterDigests, Provenance
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode

from .mutants import Mutation


def digest(content: object) -> str:
    """SHA-256 of any content that JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Keys:
    """Keys of what the results of a chapter depend on at smoke size."""

    def __init__(self, files: ChapterFiles, library: Library | None = None):
        self.code = ChapterCode(files, (library or Library()).read())  # read once and shared by the broken libraries
        self.smoke = profile_parameters(files, "smoke")
        self.versions = {k: v.partition("+")[0] for k, v in environment.versions().items() if k != "python"}
        self._digests: dict[str, ChapterDigests] = {}
        self._broken: dict[str, Provenance] = {}

    def digests(self, changes: dict) -> ChapterDigests:
        """Digests of the present library, with parameters that differ from the profile."""
        name = json.dumps(changes, sort_keys=True)
        if name not in self._digests:
            self._digests[name] = ChapterDigests(self.code, self.smoke | changes)
        return self._digests[name]

    def provenance(self, mutation: Mutation) -> Provenance:
        """The provenance of the reading of the mutation's claim."""
        return self.digests(mutation.parameters).claim(mutation.claim)

    def broken_provenance(self, mutation: Mutation) -> Provenance:
        """The same with the mutation applied, without parsing the chapter or the rest of the library again."""
        if (name := repr(mutation)) not in self._broken:
            self._broken[name] = self._digests_broken(mutation).claim(mutation.claim)
        return self._broken[name]

    def _digests_broken(self, mutation: Mutation) -> ChapterDigests:
        code = copy.copy(self.code)
        code.library = with_source(self.code.library, project.full_name(mutation.module), mutation.broken)
        code.__dict__.pop("state", None)  # it depends on what library functions do
        code.spelled = {}  # so does what a unit is spelled as: it holds the digests of definitions
        return ChapterDigests(code, self.smoke | mutation.parameters)

    def unseen(self, mutations: Iterable[Mutation]) -> list[str]:
        """The mutations that leave the digest of their claim's reading unchanged."""
        return [m.id for m in mutations if self.provenance(m).digest == self.broken_provenance(m).digest]

    def of_mutation(self, mutation: Mutation) -> str:
        """The key of a mutation's entry; empty for a row that cannot be run, whose run then raises.

        The two digests cover the mutation and its parameters, independently of the module's path.
        """
        try:
            digests = [self.provenance(mutation).digest, self.broken_provenance(mutation).digest]
        except (BookError, SyntaxError):
            return ""
        return digest([mutation.id, digests, self.versions])

    def of_unit(self, unit: int, claim: str | None) -> str:
        """The key of an entry from another device, for a claim's verdict or for all that a unit shows."""
        return digest([self.digests({}).digest(unit, claim), self.versions])


def sealed(entry: dict) -> dict:
    """The entry with a hash of its content, which reveals edited or merged values."""
    return entry | {"seal": digest(entry)}


def is_valid(entry: dict | None, key: str) -> bool:
    """Whether an entry has this key and its seal is intact."""
    return bool(entry) and entry.get("key") == key and sealed({k: entry[k] for k in entry if k != "seal"}) == entry


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
    atomic_write(path, "{" + ",\n".join(parts) + "}\n")


def agree(what: str, kept: object, computed: object) -> None:
    """Raise AssertionError for an entry that a run does not confirm."""
    advice = "find out why, then delete what is kept"
    assert kept == computed, f"{what}: kept is {kept}, but a run gives {computed}; {advice}"


def warn_of_missing(files: ChapterFiles, what: str) -> None:
    message = f"{files.name}: no outcome of the present code is kept for {what}, so each was run;"
    warnings.warn(f"{message} `make outcomes CHAPTER={files.name}` keeps their results", stacklevel=2)
