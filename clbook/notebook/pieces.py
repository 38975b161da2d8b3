"""A cache of finished pieces of a long run on disk, so that the run can stop and resume."""

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
    """The time is used up. A BaseException, so that no cell catches it."""


class Keeper:
    """Caches pieces on disk, and raises OutOfTime before a piece that would end after the deadline.

    A piece is assumed to take as long as the longest so far. At least one new piece is computed.

    Args:
        folder: where the pieces of this run lie; no other run may write there.
        deadline: by the monotonic clock.
        data: name of the data set that is read.
        shared: where pieces of library functions lie, which other runs may use; by default `library` in `folder`.
    """

    def __init__(self, folder: Path, deadline: float, data: str = "generated", shared: Path | None = None):
        self.folder, self.deadline, self.data = folder, deadline, data
        self.shared = folder / "library" if shared is None else shared
        self.count = self.computed = 0
        self.longest = self.earlier_seconds = self.peak_mb = 0.0
        self.device = "cpu"
        self.numbers: dict[str, str] = {}  # that were glued in this run, in full
        self.texts: dict[int, str] = {}  # code cell of the chapter → what it has printed

    def __call__(self, label: str, compute: Callable, *args, **options):
        """A piece of this chapter, cached by its number; the caller gives another folder if the chapter has changed."""
        self.count += 1
        return self._piece(self.folder / f"{self.count:03d}-{_slug(label)}.pt", label, "", compute, args, options)

    def library(self, label: str, compute: Callable, *args, **options):
        """A piece computed by a library function, which remains valid if the chapter changes.

        Its key is a digest of the function with all that it reaches, of the positional `args` (which must have a
        full repr), of versions, device and arithmetic. Keyword arguments must not affect the result.
        """
        reached = Digests(Library(), self.data).closure_digest(Definition(compute.__module__, compute.__name__))
        made_of = sha(reached, repr(args), environment.arithmetic_key(self.device))
        self.shared.mkdir(parents=True, exist_ok=True)
        path = self.shared / f"{_slug(label)}-{made_of[:16]}.pt"
        return self._piece(path, label, made_of, compute, args, options)

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
    """A cached piece; None if there is none, or if its bytes do not match their checksum."""
    import torch

    if not path.is_file():
        return None
    content = memoryview(path.read_bytes())
    if hashlib.sha256(content[_SUM:]).digest() != content[:_SUM]:
        print(f"{path}: damaged; this piece is computed again", file=sys.stderr)
        return None
    return torch.load(io.BytesIO(content[_SUM:]), weights_only=True)
