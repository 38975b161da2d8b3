"""What `make gpu` has measured so far: a folder of small files, each written aside and moved into place.

In `gpu-results/`: `machine.json`; `readings/CHAPTER/PROFILE/CLAIM.json`; `tests/ROOM-KEY.jsonl`, a line for each test;
`benchmarks/NAME.json`; `logs/`; `pieces/`, finished parts of long runs; `running/`, what is being computed just now.
`gpu-results.tar.gz` beside it has all of this but `running/`, and of the pieces as many as fit.
"""

import contextlib
import json
import os
import shutil
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..common.atomic import atomic_folder, atomic_write
from ..common.errors import BookError

NAME = "gpu-results"
ERROR, MEMORY, ABSENT, LATE, DIED = "error", "out of memory", "absent package", "late", "died"  # why something failed
LARGEST = 12 * 2**20  # bytes of the archive, so that it travels easily


@dataclass(frozen=True)
class Store:
    """The results below one folder."""

    out: Path

    @property
    def folder(self) -> Path:
        return self.out / NAME

    @property
    def archive(self) -> Path:
        return self.out / f"{NAME}.tar.gz"

    def place(self, *parts: str) -> Path:
        """A path in the folder, whose parent is there."""
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def reading(self, chapter: str, profile: str, claim: str) -> Path:
        return self.place("readings", chapter, profile, f"{claim}.json")

    def log(self, job: str) -> Path:
        """What a job's process printed."""
        return self.place("logs", f"{job}.log")

    def write(self, path: Path, content: dict) -> None:
        atomic_write(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def readings(self) -> dict[tuple[str, str, str], dict]:
        """(chapter, profile, claim) → what is stored of it; raises BookError for a file that is damaged."""
        paths = sorted((self.folder / "readings").glob("*/*/*.json"))
        return {(p.parts[-3], p.parts[-2], p.stem): read(p) for p in paths}

    def begin(self, job: str, what: list[str]) -> None:
        """Say what a job computes just now: it is what is to blame if the process dies."""
        self.write(self.place("running", f"{job}.json"), {"what": what, "began": time.time()})

    def running(self, job: str) -> dict:
        """What a job has said by `begin`; nothing before that."""
        with contextlib.suppress(OSError, BookError):
            return read(self.folder / "running" / f"{job}.json")
        return {"what": [], "began": time.time()}

    def open(self, machine: dict) -> None:
        """Make or continue the results of a machine, unpacking the archive where it lies alone.

        Raises BookError where `out` cannot be used or holds what another machine or version measured.
        """
        if self.out.exists() and not self.out.is_dir():
            raise BookError(f"OUT must be a folder, got the file {self.out}")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            self.unpack()
            shutil.rmtree(self.folder / "running", ignore_errors=True)
            path = self.place("machine.json")
            if not path.is_file():
                self.write(path, machine)
        except OSError as error:
            raise BookError(f"OUT: {self.out} cannot be written ({error.strerror})") from None
        found = read(path)
        other = [key for key in machine if found.get(key) != machine[key]]
        if other:
            said = f"{other[0]} {found.get(other[0])}, here it is {machine[other[0]]}"
            raise BookError(f"OUT: {self.folder} holds results of {said}; name another folder")
        self.readings()

    def unpack(self) -> None:
        """Unpack the archive where it lies alone; raises BookError for one that is damaged."""
        if self.folder.is_dir() or not self.archive.is_file():
            return
        try:
            with atomic_folder(self.folder) as aside, tarfile.open(self.archive) as archive:
                archive.extractall(aside, filter="data")
                for part in list((aside / NAME).iterdir()):
                    part.rename(aside / part.name)
                (aside / NAME).rmdir()
        except (tarfile.TarError, EOFError, FileNotFoundError) as error:
            raise BookError(f"{self.archive}: cannot be unpacked ({error}); delete it or get it again") from None

    def drop_pieces(self, keep: set[str]) -> None:
        """Delete the pieces of chapters of which everything is measured."""
        for folder in (self.folder / "pieces").glob("*"):
            if folder.name not in keep:
                shutil.rmtree(folder)

    def pack(self) -> tuple[int, int]:
        """Write the archive; returns its bytes and how many pieces were too large for it."""
        aside = self.archive.with_name(f"{self.archive.name}.new")
        pieces = sorted((self.folder / "pieces").rglob("*.pt"), key=lambda path: path.stat().st_size)
        rest = [p for p in sorted(self.folder.rglob("*")) if p.is_file() and p.suffix not in (".pt", ".new")]
        left_out = 0
        with tarfile.open(aside, "w:gz") as archive:
            for path in rest:
                if path.relative_to(self.folder).parts[0] != "running":
                    archive.add(path, f"{NAME}/{path.relative_to(self.folder).as_posix()}")
            for path in pieces:
                archive.fileobj.flush()
                if aside.stat().st_size + path.stat().st_size > LARGEST:
                    left_out += 1
                else:
                    archive.add(path, f"{NAME}/{path.relative_to(self.folder).as_posix()}")
        os.replace(aside, self.archive)
        return self.archive.stat().st_size, left_out


def read(path: Path) -> dict:
    """A JSON file that holds an object; raises BookError for one that is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BookError(f"{path}: damaged ({error}); delete it, and it is measured again") from None
    if not isinstance(found, dict):
        raise BookError(f"{path}: damaged (no object); delete it, and it is measured again")
    return found


def finished(path: Path) -> dict[str, dict]:
    """Test → its last line in a file of outcomes; a last line that was cut short is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        with contextlib.suppress(json.JSONDecodeError):
            one = json.loads(line)
            found[one["test"]] = one
    return found
