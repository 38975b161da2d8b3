"""Readings of some claims of a chapter, computed unit by unit in a process of their own, each stored once it is there.

    python -m clbook.gpu.readings OUT JOB CHAPTER PROFILE DEVICE SECONDS WORKERS CLAIM...

What fails takes with it the claims that need it and no others. After an error from which the device does not recover
the process ends with status 3, and the claims that are left are computed by another.
"""

import datetime
import gc
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..commands.script import as_script, timed_unit
from ..common import environment
from ..common.errors import BookError
from ..common.sources import ChapterFiles
from ..notebook.pieces import Keeper, OutOfTime
from ..provenance.digests import ALGORITHM
from ..provenance.library import sha
from ..provenance.slices import ChapterCode
from ..provenance.units import CHAPTER
from .plan import Run
from .store import ABSENT, ERROR, MEMORY, Store

DEVICE_LOST = 3  # exit status


class UnitKeeper(Keeper):
    """Keeps pieces under the digest of the unit that makes them: so it finds them whatever else is run."""

    made_of = ""

    def __call__(self, label: str, compute, *args, **options):
        self.count += 1
        path = self.folder / f"{self.made_of[:16]}-{self.count:03d}.pt"
        return self._piece(path, label, self.made_of, compute, args, options)

    def at(self, digest: str) -> None:
        """From now on a unit with this digest makes the pieces."""
        self.made_of, self.count = digest, 0


@dataclass
class Readings:
    """The claims of one job: what is left of them, what each unit took."""

    run: Run
    store: Store
    job: str
    claims: list[str]
    workers: int
    took: dict[int, float] = field(default_factory=dict)
    peaks: dict[int, float] = field(default_factory=dict)
    spent: float = field(default_factory=time.monotonic)  # until the last claim was stored

    @property
    def story(self) -> ChapterCode:
        return self.run.story

    def needing(self, unit: int) -> list[str]:
        """The claims that are left and need a unit."""
        return [claim for claim in self.claims if unit in self.story.needed(self.story.claims[claim])]

    def keep(self, claim: str, found: dict) -> None:
        """Store what came of a claim."""
        self.claims.remove(claim)
        units = self.story.needed(self.story.claims[claim])
        known = {"digest": self.run.digests.claim(claim).digest, "parameters": self.run.parameters}
        known |= {"seconds": round(sum(self.took.get(n, 0.0) for n in units), 2), "workers": self.workers}
        known |= {"spent": round(time.monotonic() - self.spent, 2)}  # since the claim before it
        self.spent = time.monotonic()
        known |= {"device_mb": round(max((self.peaks.get(n, 0.0) for n in units), default=0.0))}
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        made = {"algorithm": ALGORITHM, **environment.arithmetic(), "time": now}
        self.store.write(self.store.reading(self.run.chapter, self.run.profile, claim), found | known | made)

    def compute(self, keeper: UnitKeeper) -> None:
        """Run what the claims need; raises OutOfTime between pieces, SystemExit where the device is lost."""
        with as_script(self.story.files, self.run.profile, keeper):
            namespace = self.story.namespace(self.run.parameters)
            for n in self.story.union(self.claims):
                if blamed := self.needing(n):
                    self.store.begin(self.job, blamed)
                    keeper.at(self.run.digests.digest(n))
                    self._unit(n, namespace, keeper)

    def _unit(self, n: int, namespace: dict, keeper: UnitKeeper) -> None:
        _reset_peak(self.run.device)
        try:
            self.took[n] = timed_unit(self.story, n, namespace, keeper)
        except (BookError, MemoryError, OSError) as error:
            for claim in self.needing(n):
                self.keep(claim, _failure(error))
            _recover(self.run.device)
            return
        self.peaks[n] = _peak(self.run.device)
        for claim in [c for c in self.story.units[n].judges if c in self.claims]:
            measured = namespace[CHAPTER].readings.get(claim)
            self.keep(claim, {"arms": measured.to_json()} if measured else {"outside": True})


def _failure(error: Exception) -> dict:
    """What is stored of an error: its kind and a line about it."""
    cause, said = error.__cause__ or error, " ".join(str(error).split())[:600]
    if isinstance(cause, ModuleNotFoundError):
        return {"failed": said, "kind": ABSENT, "package": cause.name}
    memory = isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError"
    return {"failed": said, "kind": MEMORY if memory else ERROR}


def _recover(device: str) -> None:
    """Free what a failed unit held; ends the process where the device does not answer any more."""
    gc.collect()
    if device.startswith("cuda"):
        import torch

        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError:
            sys.exit(DEVICE_LOST)


def _begin(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.init()  # before that it has no statistics to reset


def _reset_peak(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.reset_peak_memory_stats()


def _peak(device: str) -> float:
    """MB (2^20 bytes) on the device since `_reset_peak`; of the whole process on a CPU."""
    if not device.startswith("cuda"):
        return environment.peak_megabytes(device)
    import torch

    return torch.cuda.max_memory_allocated() / 2**20


def main(given: list[str]) -> int:
    out, job, chapter, profile, device, seconds, workers, *claims = given
    deadline = time.monotonic() + float(seconds)
    files = ChapterFiles.find(chapter)
    os.environ["CLBOOK_ROOT"] = str(files.root)
    run, store = Run(ChapterCode(files), profile, device), Store(Path(out))
    versions = environment.versions()
    folder = store.place("pieces", chapter, sha(device, *map(str, sorted(versions.items())))[:8], "x").parent
    keeper = UnitKeeper(folder, deadline, str(run.parameters.get("data", "generated")))
    keeper.device = device
    _begin(device)
    try:
        Readings(run, store, job, claims, int(workers)).compute(keeper)
    except OutOfTime:
        print("time used up, finished pieces are kept")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
