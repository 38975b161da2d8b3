"""One piece of `make gpu`: measure on this machine what is not measured yet, for some minutes, and pack the results.

    python -m clbook.gpu.piece --out runs/gpu --minutes 9

It needs torch, numpy, scipy, scikit-learn, matplotlib, joblib, torchdiffeq and pytest. Called again, it goes on with
what is left. Status 0: nothing is left that time would do; 75: call it again; 2: it could not begin; 130: interrupted.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..commands.jupyter_kernel import terminated_as_interrupted
from ..commands.record import OUT_OF_TIME
from ..common import environment
from ..common.errors import BookError
from ..common.sources import find_root
from ..notebook.chapter import device_of
from .plan import (
    BENCHMARKS,
    LIMITS,
    NOT_SMALL,
    TESTS,
    Job,
    Left,
    Run,
    benchmark_jobs,
    in_order,
    kernel_test_jobs,
    reading_jobs,
    runs,
)
from .processes import Machine, Running, ended
from .readings import DEVICE_LOST
from .report import report
from .store import DIED, LATE, Store, finished

SOON = 15.0  # seconds before the end: no job begins that late
# the statuses with which a stage's process ends when nothing is wrong with the process itself (tests: of pytest)
WELL = {TESTS: (0, 1, 5), **dict.fromkeys(("smoke", "default", "paper"), (0, DEVICE_LOST)), BENCHMARKS: (0,)}


@dataclass
class Piece:
    """What one call of `make gpu` does, from `began` to `deadline` at the latest; `tried` has what it has begun."""

    machine: Machine
    runs: list[Run]
    began: float
    deadline: float
    small: bool
    tried: set = field(default_factory=set)
    at_work: list[Running] = field(default_factory=list)

    @property
    def store(self) -> Store:
        return self.machine.store

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def plan(self) -> tuple[list[Job], list[Left]]:
        """What is still to be measured here, in order, and what is not measured here."""
        jobs, left, stored = [], [], self.store.readings()
        for every in (kernel_test_jobs(self.machine.root), benchmark_jobs(self.machine.root)):
            wanted = sorted(every, key=lambda job: job.seconds)[:1] if self.small else every
            todo = [job for job in every if not self.machine.is_done(job)]
            jobs += [job for job in todo if job in wanted]
            left += [Left(job.stage, job.name, NOT_SMALL) for job in todo if job not in wanted]
        for run in self.runs:
            more, without = reading_jobs(run, stored, self.deadline - self.began, self.small)
            jobs, left = jobs + more, left + without
        return in_order(jobs), left

    def _progress(self, job: Job) -> tuple:
        """What must have changed before a job is begun once more in one piece."""
        tests = len(finished(self.machine.outcomes(job))) if job.stage == TESTS else 0
        return job.id, job.what, job.alone, tests

    def work(self) -> None:
        """Do jobs until none is left or the time is up."""
        with ended(self.at_work):
            while todo := [job for job in self.plan()[0] if self._progress(job) not in self.tried]:
                for job in todo:
                    self._wait(job)
                    if self.seconds_left < min(SOON, 0.2 * (self.deadline - self.began)):
                        break
                    self.tried.add(self._progress(job))
                    print(f"{self._clock()} {job.stage}: {job.name}{self._of(job)}", flush=True)
                    self.at_work.append(self.machine.start(job, self.seconds_left))
                while self.at_work and self.seconds_left > 0:
                    self._look()
                if self.seconds_left < SOON:
                    break
            self._give_up()

    def _of(self, job: Job) -> str:
        count = len(job.what)
        return f", {count} reading{'s' * (count > 1)}" if job.chapter else ""

    def _clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        return f"{minutes:2d}:{seconds:02d}"

    def _wait(self, job: Job) -> None:
        """Until there is room for a job, or the time is up."""
        while self.seconds_left > 0 and self.at_work:
            alone = job.alone or any(one.job.alone for one in self.at_work)
            if not alone and len(self.at_work) < self.machine.workers:
                return
            self._look()

    def _look(self) -> None:
        """Wait a moment; note who has ended, end who is late."""
        time.sleep(0.1)
        for one in [one for one in self.at_work if one.is_over or one.is_late]:
            late = not one.is_over
            one.end()
            self.at_work.remove(one)
            status = one.process.returncode
            if late:
                self._blame(one, LATE, f"took longer than {LIMITS[one.job.stage]:.0f} s", LIMITS[one.job.stage])
            elif status not in WELL[one.job.stage]:
                self._blame(one, DIED, f"the process ended with status {status}: {one.last_line}", 0.0)
            elif status != DEVICE_LOST and one.job.stage in (TESTS, BENCHMARKS):
                self.machine.finish(one.job)

    def _blame(self, one: Running, kind: str, said: str, limit: float) -> None:
        """Note a failure of what a process was at."""
        job, what = one.job, self.store.running(one.job.id)["what"] or list(one.job.what)
        failed = {"failed": said, "kind": kind, "limit": limit, "workers": 1 if job.alone else self.machine.workers}
        if job.stage == TESTS and job.what == tuple(what):
            self.store.write(self.machine.outcomes(job).with_suffix(".failed"), failed)
        elif job.stage == TESTS:
            with self.machine.outcomes(job).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"test": test, "outcome": kind, "said": said}) + "\n" for test in what)
        elif job.stage == BENCHMARKS:
            self.store.write(self.machine.record(job).with_suffix(".failed"), failed)
        else:
            run = next(run for run in self.runs if run.place == (job.chapter, job.stage))
            for claim in (claim for claim in what if claim in job.what):
                known = {"digest": run.digests.claim(claim).digest, "parameters": run.parameters}
                self.store.write(self.store.reading(job.chapter, job.stage, claim), failed | known)

    def _give_up(self) -> None:
        """End what is at work when the time is up; what had nearly all of it would not be done in another piece."""
        for one in list(self.at_work):
            took = time.monotonic() - one.began
            one.end()
            self.at_work.remove(one)
            current = one.seconds_at_it
            if took > 0.8 * (self.deadline - self.began) and current > 0.8 * took:
                self._blame(one, LATE, f"took longer than {current:.0f} s, all that a piece has", current)


def open_piece(began: float, out: Path, minutes: float, device: str, size: str, workers: int | None) -> Piece:
    """Check what was asked for and this machine, before any work; raises BookError. The minutes count from `began`."""
    if not 0 < minutes <= 600:
        raise BookError(f"MINUTES must be > 0 and ≤ 600, got {minutes:g}")
    if workers is not None and workers < 1:
        raise BookError(f"WORKERS must be ≥ 1, got {workers}")
    try:
        device_of(device)
    except BookError:
        said = "torch finds no CUDA device on this machine"
        raise BookError(f"{said}; to rehearse on the CPU: make gpu DEVICE=cpu SIZE=small") from None
    root, store, deadline = find_root(), Store(out.resolve()), began + 60 * minutes
    versions = environment.versions()
    store.open({"device": device, "device_name": environment.device_name(device), "versions": versions})
    workers = workers or (min(4, os.cpu_count() or 1) if device == "cuda" else 1)
    return Piece(Machine(root, store, device, workers), runs(root, device), began, deadline, size == "small")


def _compare(piece: Piece) -> None:
    """Judge and compare the readings where the claims can be read."""
    if importlib.util.find_spec("yaml") is None:
        where = f"python -m {__package__}.compare {piece.store.out}"
        print(f"The readings are judged where PyYAML is installed: {where}")
        return
    from .compare import compare

    compare(piece.machine.root, piece.store)


def _options(given: list[str]) -> dict:
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"), help="folder of the results")
    parser.add_argument("--minutes", type=float, default=9.0, help="how long this piece may take")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: a rehearsal")
    parser.add_argument("--size", choices=["full", "small"], default="full", help="small: some of each kind")
    parser.add_argument("--workers", type=int, help="processes side by side; by default 4 on a GPU, 1 on the CPU")
    return vars(parser.parse_args(given))


def main(given: list[str]) -> int:
    """Do a piece, pack, say what came of it; the status as the module says."""
    began, options, status = time.monotonic(), _options(given), 0
    try:
        with terminated_as_interrupted():
            piece = open_piece(began, **options)
            try:
                piece.work()
            except KeyboardInterrupt:
                print("interrupted: what is finished is kept", file=sys.stderr)
                status = 130
            jobs, left = piece.plan()
            piece.store.drop_pieces(keep={job.chapter for job in jobs})
            size, pieces = piece.store.pack()
            print(report(piece.machine, piece.runs, jobs, left, (size, pieces)))
            _compare(piece)
    except BookError as error:
        print("make gpu:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("make gpu: interrupted", file=sys.stderr)
        return 130
    return status or (OUT_OF_TIME if jobs else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
