"""The pytest plugin of `make gpu`: processes that measure for some minutes, and the file of results.

The file has a line of JSON for the machine and for each case; the last of a case counts, and is not measured again. A
process that dies, or whose case takes too long, costs that case alone, and another goes on with the rest. Status 0:
every case has a line, be it a failure; 75: time is used up, call it again.
"""

import contextlib
import faulthandler
import importlib.util
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from clbook.commands.record import OUT_OF_TIME
from clbook.common import environment
from clbook.common.atomic import atomic_write
from clbook.common.errors import BookError, line_of
from clbook.common.sources import find_root
from clbook.common.subprocess_call import TookTooLong, run_in_process

BEGAN, RESULTS, MACHINE = time.monotonic(), "results.jsonl", "machine"  # MACHINE: the case of the line about it
SAYS_NOTHING = ("cpu only", "absent", "skipped")  # outcomes of a test that say nothing against a kernel
# of the processes: one thread each, full precision in products and convolutions, as on a CPU
VARIABLES = {"OMP_NUM_THREADS": "1", "NVIDIA_TF32_OVERRIDE": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def read(out: Path) -> dict[str, dict]:
    """Case → its line; one that was cut short is left out."""
    lines, path = {}, out / RESULTS
    for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        with contextlib.suppress(json.JSONDecodeError):
            line = json.loads(text)
            lines[line["case"]] = line
    return lines


def failure(error: BaseException) -> dict:
    """What a line says of an error."""
    cause, name = error.__cause__ or error, "" if isinstance(error, BookError) else f"{type(error).__name__}: "
    line = {"outcome": "failed", "text": f"{name}{line_of(error)}"[:300]}
    if isinstance(cause, ModuleNotFoundError):
        return line | {"outcome": "absent", "package": cause.name}
    memory = isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError"
    return line | {"outcome": "out of memory"} if memory else line


@dataclass(frozen=True)
class Task:
    """What a process measures: the cases that are left, each with the digest of its code, without what it `held`."""

    cases: dict[str, str]
    held: set[str]
    out: Path
    device: str
    workers: int
    seconds: float  # until the end
    limit: float  # seconds that one test, one cell or one program may take

    @property
    def begun(self) -> Path:
        return self.out / f"{next(iter(self.cases)).replace('/', '-')}.begun"

    def begin(self, *cases: str) -> None:
        """Note what is to blame if the process ends; end it if these cases take too long."""
        self.begun.write_text(json.dumps({"cases": cases, "since": time.time()}), encoding="utf-8")
        faulthandler.dump_traceback_later(min(self.limit, self.seconds + 60), exit=True)

    def add(self, case: str, **line) -> None:
        """Append a line to the file of results, in one piece, since several processes write."""
        digest = self.cases.get(case) or next(iter(self.cases.values()))  # a test's is that of its folder
        line = {"case": case, "digest": digest, "workers": self.workers, "time": round(time.time()), **line}
        with (self.out / RESULTS).open("ab", buffering=0) as file:
            file.write((json.dumps(line, ensure_ascii=False) + "\n").encode())


@dataclass(frozen=True, eq=False)
class Group:
    """Cases, each with the digest of its code, that one process measures by `target(task, *given)`."""

    cases: dict[str, str]
    target: Callable
    given: tuple
    limit: float
    cost: float = 0.0
    obstacles: dict[str, str] = field(default_factory=dict)  # case → why it cannot be measured here

    @property
    def stage(self) -> str:
        return next(iter(self.cases)).partition("/")[0]


class Work:
    """One piece of the work; `groups` has the selected cases."""

    def __init__(self, out: Path, minutes: float, device: str, workers: int):
        self.out, self.seconds, self.device, self.workers = out, 60 * minutes, device, workers
        for stale in out.glob("*.begun"):
            stale.unlink()
        self.groups, self.begun, self.pool, self.is_cut, self.is_stopped = {}, {}, ThreadPool(workers), False, False

    def lines(self, group: Group) -> dict[str, dict]:
        """The lines of a group, and of the tests in its folder, that need not be measured again."""
        digest = next(iter(group.cases.values()))
        mine = {c: line for c, line in read(self.out).items() if c.startswith(tuple(group.cases))}
        return {c: line for c, line in mine.items() if self._is_final(line, group.cases.get(c, digest), group.limit)}

    def _is_final(self, line: dict, digest: str, limit: float) -> bool:
        if line["digest"] != digest:
            return False
        if line["outcome"] == "absent":
            return importlib.util.find_spec(line["package"].partition(".")[0]) is None
        if line["outcome"] == "late":
            return min(limit, self.seconds) <= 1.5 * line["limit"]
        return line["outcome"] not in ("out of memory", "died") or self.workers > 1 or line["workers"] == 1

    def result(self, group: Group) -> dict[str, dict]:
        """The lines of a group; the groups of its stage are begun together, but benchmarks one at a time."""
        if group not in self.begun:
            alone = group.stage == "benchmarks"
            for other in [one for one in self.groups if one is group or not alone and one.stage == group.stage]:
                self.begun[other] = self.pool.apply_async(self._measure, (other,))
        return self.begun[group].get()

    def _measure(self, group: Group) -> dict[str, dict]:
        while left := {c: group.cases[c] for c in self.groups[group] if c not in (lines := self.lines(group))}:
            seconds = self.seconds - (time.monotonic() - BEGAN)
            if seconds < min(15.0, 0.2 * self.seconds):
                break
            task = Task(left, {*lines}, self.out, self.device, self.workers, seconds, group.limit)
            try:
                if run_in_process(group.target, task, *group.given, seconds=seconds) == OUT_OF_TIME:
                    break
            except (TookTooLong, EOFError):
                if self.is_stopped:
                    break
                self._blame(task, left)
            except Exception as error:
                for case in left:
                    task.add(case, **failure(error))
            finally:
                task.begun.unlink(missing_ok=True)
        return self.lines(group)

    def _blame(self, task: Task, left: dict[str, str]) -> None:
        """A line for each case that a process was at when it died or was ended."""
        at = {"cases": [*left], "since": time.time()}
        with contextlib.suppress(OSError, ValueError):
            at = json.loads(task.begun.read_text(encoding="utf-8"))
        seconds = time.time() - at["since"]
        late = seconds >= task.limit or time.monotonic() - BEGAN >= self.seconds
        line = {"outcome": "late", "text": f"was ended after {seconds:.0f} s", "limit": seconds}
        for case in at["cases"]:
            task.add(case, **(line if late else {"outcome": "died", "text": "the process died"}))


def pytest_addoption(parser) -> None:
    parser.addoption("--out", type=Path, default=Path("runs/gpu"), help="folder of the results")
    parser.addoption("--minutes", type=float, default=9.0, help="how long this piece may take")
    parser.addoption("--device", default="cuda", help="cuda, or cpu for a rehearsal")
    parser.addoption("--workers", type=int, help="processes side by side; by default 4 on a GPU, 1 on the CPU")


def pytest_configure(config) -> None:
    """Check what was asked for and this machine, before any work."""
    out, minutes, device, workers = map(config.getoption, ("out", "minutes", "device", "workers"))
    workers = workers if workers is not None else min(4, os.cpu_count() or 1) if device == "cuda" else 1
    if not 0 < minutes <= 600:
        raise pytest.UsageError(f"MINUTES must be > 0 and ≤ 600, got {minutes:g}")
    if workers < 1:
        raise pytest.UsageError(f"WORKERS must be ≥ 1, got {workers}")
    try:
        environment.device_of(device)
        out.mkdir(parents=True, exist_ok=True)
        lines = read(out)
    except BookError:
        text = "torch finds no CUDA device on this machine"
        raise pytest.UsageError(f"{text}; to rehearse on the CPU: make gpu DEVICE=cpu SIZE=smoke") from None
    except OSError as error:
        raise pytest.UsageError(f"OUT: {out} cannot be used ({error.strerror})") from None
    now = {"device": device, "device_name": environment.device_name(device), "versions": environment.versions()}
    known = lines.setdefault(MACHINE, {"case": MACHINE} | now)
    for key in [key for key in now if known.get(key) != now[key]]:
        text = f"{key} {known.get(key)}, here it is {now[key]}; name another folder"
        raise pytest.UsageError(f"OUT: {out} holds results of {text}")
    whole = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines.values()]
    atomic_write(out / RESULTS, "".join(whole))
    os.environ.update(VARIABLES | {"CLBOOK_ROOT": str(find_root())})
    config.work = Work(out.resolve(), minutes, device, workers)


def pytest_collection_finish(session) -> None:
    for item in session.items:
        group, case = item.callspec.params["group"], item.callspec.params["case"]
        if case not in group.obstacles:
            session.config.work.groups.setdefault(group, []).append(case)


def pytest_sessionfinish(session) -> None:
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        session.exitstatus = OUT_OF_TIME if session.config.work.is_cut else 0


def pytest_unconfigure(config) -> None:
    """After Ctrl-C nothing goes on, and what was at work has no line."""
    if work := getattr(config, "work", None):
        work.is_stopped = True
        for process in multiprocessing.active_children():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def pytest_terminal_summary(terminalreporter, config) -> None:
    command = f"python {Path(__file__).with_name('compare.py')} {config.work.out}"
    terminalreporter.line(f"To judge the readings, where PyYAML is installed: {command}")
