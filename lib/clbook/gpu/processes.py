"""The processes of a piece: each does one job, writes a log, and is ended with all that it started."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .plan import BENCHMARKS, LIMITS, TESTS, Job
from .store import Store

_ROOM = "clbook.gpu"


@dataclass
class Running:
    """A process at work."""

    job: Job
    store: Store
    process: subprocess.Popen
    began: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    @property
    def is_late(self) -> bool:
        """Whether what it computes just now has taken longer than it may."""
        return self.seconds_at_it > LIMITS[self.job.stage]

    @property
    def seconds_at_it(self) -> float:
        """How long it has computed what it computes just now; since its start, where it has not said what."""
        current = self.store.running(self.job.id)
        return time.time() - current["began"] if current["what"] else time.monotonic() - self.began

    @property
    def last_line(self) -> str:
        """The last line of its log."""
        lines = self.store.log(self.job.id).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "it said nothing")

    def end(self) -> None:
        """Kill it and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass(frozen=True)
class Machine:
    """Where and how processes run."""

    root: Path
    store: Store
    device: str
    workers: int

    def command(self, job: Job, seconds: float) -> list[str]:
        """The command line of a job that has some seconds."""
        python, out = [sys.executable, "-m"], str(self.store.out)
        if job.stage == TESTS:
            options = ["--device", self.device, "--outcomes", str(self.outcomes(job)), "--job", job.id, "--out", out]
            quiet = ["-q", "-p", "no:cacheprovider", "-p", f"{_ROOM}.on_device", "--tb=short"]
            return [*python, "pytest", *quiet, *options, str(self.root / "tests" / job.name)]
        if job.stage == BENCHMARKS:
            program = self.root / "benchmarks" / f"{job.name}.py"
            return [sys.executable, str(program), "--device", self.device, "--out", f"{self.record(job)}.new"]
        workers = "1" if job.alone else str(self.workers)
        given = [out, job.id, job.chapter, job.stage, self.device, str(seconds), workers]
        return [*python, f"{_ROOM}.readings", *given, *job.what]

    def outcomes(self, job: Job) -> Path:
        """The file of a test folder's outcomes."""
        return self.store.place("tests", f"{job.name}-{job.what[0]}.jsonl")

    def record(self, job: Job) -> Path:
        """The file of a benchmark's record."""
        return self.store.place("benchmarks", f"{job.name}.json")

    def is_done(self, job: Job) -> bool:
        """Whether a test folder or a benchmark is measured, or failed as a whole."""
        path = self.outcomes(job) if job.stage == TESTS else self.record(job)
        return path.with_suffix(".done").is_file() or path.with_suffix(".failed").is_file()

    def finish(self, job: Job) -> None:
        """Note that a test folder or a benchmark is measured."""
        path = self.outcomes(job) if job.stage == TESTS else self.record(job)
        if job.stage == BENCHMARKS:
            os.replace(f"{path}.new", path)
        path.with_suffix(".done").touch()

    def start(self, job: Job, seconds: float) -> Running:
        """Begin a job; its log says what it printed."""
        self.store.begin(job.id, [job.name] if job.stage == BENCHMARKS else [])
        with self.store.log(job.id).open("a", encoding="utf-8") as file:
            how = {"cwd": self.root, "env": self._variables(), "start_new_session": True, "stdin": subprocess.DEVNULL}
            command = self.command(job, seconds)
            return Running(job, self.store, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, **how))

    def _variables(self) -> dict[str, str]:
        cores = max(1, (os.cpu_count() or 1) // self.workers)
        path = os.pathsep.join(filter(None, [str(self.root / "lib"), os.environ.get("PYTHONPATH", "")]))
        found = {"PYTHONPATH": path, "CLBOOK_ROOT": str(self.root), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
        # full precision in products and convolutions, as on a CPU
        found |= {"LOKY_MAX_CPU_COUNT": str(cores), "NVIDIA_TF32_OVERRIDE": "0", "PYTHONUNBUFFERED": "1"}
        found |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and some may lack what they import
        return dict(os.environ) | found


@contextlib.contextmanager
def ended(processes: list[Running]) -> Iterator[None]:
    """However the block ends, no process outlives it."""
    try:
        yield
    finally:
        for process in processes:
            process.end()
