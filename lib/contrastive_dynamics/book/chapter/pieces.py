"""Finished pieces of a long run, kept on disk, so that it can stop and go on."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from ..ground import environment
from ..ground.errors import BookError
from ..provenance.library import Digests, Library, sha
from ..provenance.syntax import Definition


def _slug(label: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", label)


class OutOfTime(BaseException):
    """The time is used up; what is finished lies on disk. No cell catches it."""


class Keeper:
    """Keeps finished pieces on disk and goes on from them; stops between pieces when the time is used up.

    At least one new piece is computed before it stops, and none is begun that would end late if it took as long
    as the longest so far.
    """

    def __init__(self, folder: Path, deadline: float, data: str = "generated"):
        self.folder, self.deadline, self.data = folder, deadline, data
        self.count = self.computed = 0
        self.longest = self.earlier_seconds = self.peak_mb = 0.0
        self.device = "cpu"

    def __call__(self, label: str, compute: Callable, *args, **options):
        """A piece of this chapter: it counts as finished as long as nothing of the chapter changes."""
        self.count += 1
        return self._piece(self.folder / f"{self.count:03d}-{_slug(label)}.pt", label, "", compute, args, options)

    def library(self, label: str, compute: Callable, *given, **bystanders):
        """A piece that a function of the library makes: it stays finished while the chapter around it changes.

        Its name holds a digest of that function and of what it reaches, what is `given` as positional arguments,
        which must have a full repr, versions and device. Keywords must not change the result, as a progress bar.
        """
        reached = Digests(Library(), self.data).deep(Definition(compute.__module__, compute.__name__))
        made_of = sha(reached, repr(given), repr(sorted(environment.versions().items())), self.device)
        folder = self.folder.parent / "library"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_slug(label)}-{made_of[:16]}.pt"
        return self._piece(path, label, made_of, compute, given, bystanders)

    def _piece(self, path: Path, label: str, made_of: str, compute: Callable, args: tuple, options: dict):
        import torch

        if path.is_file():
            kept = torch.load(path, weights_only=True)
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
        aside = path.with_suffix(".new")
        try:
            torch.save(kept, aside)
            torch.load(aside, weights_only=True)
            os.replace(aside, path)
        except OSError:
            raise
        except Exception:
            allowed = "tensors, numbers, texts, and lists, tuples and dictionaries of them"
            raise BookError(f"piece {label!r} returns what cannot be kept; allowed are {allowed}") from None
        finally:
            aside.unlink(missing_ok=True)
