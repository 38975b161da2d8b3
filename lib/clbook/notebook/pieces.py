"""Finished pieces of a long run, kept on disk so that it can stop and resume."""

import hashlib
import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ..common import environment
from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..provenance.library import Digests, Library, sha
from ..provenance.syntax import Definition

_SUM = hashlib.sha256().digest_size  # bytes before the piece itself


def _slug(label: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", label)


class OutOfTime(BaseException):
    """The time is used up; finished pieces are on disk. No cell catches this exception."""


class Keeper:
    """Keeps finished pieces on disk and resumes from them; stops between pieces when the time is used up.

    At least one new piece is computed before it stops. A piece is not begun if it would end too late, assuming that it
    takes as long as the longest so far.
    """

    def __init__(self, folder: Path, deadline: float, data: str = "generated"):
        self.folder, self.deadline, self.data = folder, deadline, data
        self.count = self.computed = 0
        self.longest = self.earlier_seconds = self.peak_mb = 0.0
        self.device = "cpu"

    def __call__(self, label: str, compute: Callable, *args, **options):
        """A piece of this chapter, which counts as finished until anything in the chapter changes."""
        self.count += 1
        return self._piece(self.folder / f"{self.count:03d}-{_slug(label)}.pt", label, "", compute, args, options)

    def library(self, label: str, compute: Callable, *given, **bystanders):
        """A piece made by a library function, which stays finished even if the chapter around it changes.

        Its name contains a digest of that function and of what it reaches, of the positional arguments `given` (which
        must have a full repr), of versions and of the device. Keywords, such as a progress bar, must not change the
        result.
        """
        reached = Digests(Library(), self.data).closure_digest(Definition(compute.__module__, compute.__name__))
        made_of = sha(reached, repr(given), repr(sorted(environment.versions().items())), self.device)
        folder = self.folder.parent / "library"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_slug(label)}-{made_of[:16]}.pt"
        return self._piece(path, label, made_of, compute, given, bystanders)

    def _piece(self, path: Path, label: str, made_of: str, compute: Callable, args: tuple, options: dict):
        if kept := _read(path):
            if kept["made_of"] != made_of:
                raise BookError(f"{path}: holds a piece of other code or parameters than {label!r}; delete it")
            self.earlier_seconds += kept["seconds"]
            self.peak_mb = max(self.peak_mb, kept["peak_mb"])
            return kept["value"]
        begun = time.monotonic()
        if self.computed and begun + self.longest > self.deadline:
            raise OutOfTime
        value = compute(*args, **options)
        seconds = time.monotonic() - begun
        self._keep(path, label, made_of, value, seconds)
        self.computed, self.longest = self.computed + 1, max(self.longest, seconds)
        return value

    def _keep(self, path: Path, label: str, made_of: str, value: object, seconds: float) -> None:
        import torch

        memory = environment.peak_megabytes(self.device)
        kept = {"value": value, "made_of": made_of, "seconds": seconds, "peak_mb": memory}
        content = io.BytesIO()
        try:
            torch.save(kept, content)
            content.seek(0)
            torch.load(content, weights_only=True)
        except Exception:
            allowed = "tensors, numbers, texts, and lists, tuples and dictionaries of them"
            raise BookError(f"piece {label!r} returns what cannot be kept; it must consist of {allowed}") from None
        atomic_write(path, hashlib.sha256(content.getbuffer()).digest() + content.getbuffer())


def _read(path: Path) -> dict | None:
    """A kept piece; None, so that it is computed again, if there is none or its bytes are not those that were kept."""
    import torch

    if not path.is_file():
        return None
    content = memoryview(path.read_bytes())
    if hashlib.sha256(content[_SUM:]).digest() != content[:_SUM]:
        print(f"{path}: damaged; this piece is computed again", file=sys.stderr)
        return None
    return torch.load(io.BytesIO(content[_SUM:]), weights_only=True)
