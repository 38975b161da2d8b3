"""Finished pieces of a long run, kept on disk, so that it can stop and go on."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from . import provenance
from .errors import BookError


class OutOfTime(BaseException):
    """The time is used up; what is finished lies on disk. No cell catches it."""


class Keeper:
    """Keeps finished pieces on disk and goes on from them; stops between pieces when the time is used up.

    At least one new piece is computed before it stops, and none is begun that would end late if it took as long
    as the longest so far.
    """

    def __init__(self, folder: Path, deadline: float):
        self.folder, self.deadline = folder, deadline
        self.count = self.computed = 0
        self.longest = self.earlier_seconds = self.peak_mb = 0.0
        self.device = "cpu"

    def __call__(self, label: str, compute: Callable, *args, **options):
        import torch

        self.count += 1
        path = self.folder / f"{self.count:03d}-{re.sub('[^A-Za-z0-9]+', '-', label)}.pt"
        if path.is_file():
            kept = torch.load(path, weights_only=True)
            self.earlier_seconds += kept["seconds"]
            self.peak_mb = max(self.peak_mb, kept["peak_mb"])
            return kept["value"]
        begun = time.monotonic()
        if self.computed and begun + self.longest > self.deadline:
            raise OutOfTime
        value = compute(*args, **options)
        seconds = time.monotonic() - begun
        self._keep(path, label, value, seconds)
        self.computed, self.longest = self.computed + 1, max(self.longest, seconds)
        return value

    def _keep(self, path: Path, label: str, value: object, seconds: float) -> None:
        import torch

        kept = {"value": value, "seconds": seconds, "peak_mb": provenance.peak_megabytes(self.device)}
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
