"""Commands whose processes carry a mark in their environment, by which whatever lives on is found and ended."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from checkout import import_path

MARK = "CLBOOK_TEST_MARK"
SET_CHILD_SUBREAPER = 36  # of prctl: orphans come to this process, as under systemd or docker's init, not to number 1
KERNEL, WORKER, GUARD = "ipykernel.kernelapp", "LokyProcess", "killpg"  # parts of their command lines


def heed_ctrl_c() -> None:
    """For `preexec_fn`: a process of a shell's background job ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Marked:
    """A command of `clbook` in a session of its own, with all that it has started."""

    def __init__(self, *arguments: str, root: Path, before: tuple[str, ...] = (), **environment: str):
        self.mark = uuid.uuid4().hex
        own = {MARK: self.mark, "PYTHONPATH": f"{import_path()}{os.pathsep}{root}", "CLBOOK_ROOT": str(root)}
        self.errors = root / "stderr"
        with self.errors.open("w") as stderr:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "clbook", *arguments],
                env=os.environ | own | {"LOKY_MAX_CPU_COUNT": "2"} | environment,
                cwd=root,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=heed_ctrl_c,
            )

    def alive(self) -> dict[int, str]:
        """Number → command line of every living process that carries the mark."""
        return {pid: _read(pid, "cmdline") for pid in _numbers() if f"{MARK}={self.mark}" in _read(pid, "environ")}

    def victims(self, name: str) -> list[int]:
        """The processes that a name stands for: clbook, kernel, worker, guard; minus the group's number for group."""
        if name in ("clbook", "group"):
            return [self.process.pid if name == "clbook" else -self.process.pid]
        part = {"kernel": KERNEL, "worker": WORKER, "guard": GUARD}[name]
        return [pid for pid, line in self.alive().items() if part in line]

    def send(self, name: str, number: int) -> None:
        """Send a signal to a victim; raises AssertionError where there is none."""
        assert (victims := self.victims(name)), f"no {name} among {sorted(self.alive().values())}"
        for pid in victims if name == "kernel" else victims[:1]:
            with suppress(ProcessLookupError):
                os.killpg(-pid, number) if pid < 0 else os.kill(pid, number)

    def ends(self, seconds: float = 90.0) -> tuple[int, str]:
        """The exit status and what stands on stderr."""
        status = self.process.wait(seconds)
        return status, self.errors.read_text(errors="replace")

    def listens(self) -> bool:
        """Whether it has come so far that a signal ends it in a line: Python itself catches no SIGTERM."""
        caught = [line.split()[1] for line in _read(self.process.pid, "status").splitlines() if "SigCgt" in line]
        return bool(caught) and bool(int(caught[0], 16) >> (signal.SIGTERM - 1) & 1)

    def leftovers(self, seconds: float = 30.0) -> dict[int, str]:
        """What still lives after some seconds."""
        end = time.monotonic() + seconds
        while (alive := self.alive()) and time.monotonic() < end:
            time.sleep(0.2)
        return alive


@contextmanager
def marked(*arguments: str, root: Path, **environment) -> Iterator[Marked]:
    """A marked command, of which nothing lives on after the block; meanwhile its orphans come to this process."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = Marked(*arguments, root=root, **environment)
    try:
        yield command
    finally:
        for pid in (command.process.pid, *command.alive()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        command.process.wait()
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        for pid in _numbers():  # orphans that ended and that nobody has waited for
            if f"PPid:\t{os.getpid()}\n" in (status := _read(pid, "status")) and "State:\tZ" in status:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _numbers() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _read(pid: int, name: str) -> str:
    """A file of /proc with blanks for its zeros; of a process that has ended, or of another user, empty."""
    try:
        return (Path("/proc") / str(pid) / name).read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
