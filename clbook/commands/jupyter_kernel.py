"""Run a notebook in a kernel of the running interpreter, with one progress bar for the whole notebook."""

import contextlib
import errno
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from ..common.environment import allow_open_files, require_home
from ..common.errors import BookError, Refused
from ..common.progress import FILE_VARIABLE
from ..common.subprocess_call import death
from .side_by_side import Stopped

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PATIENCE = 5.0  # seconds for papermill to see that its kernel has ended, and for its clients to close
# A kernel whose parent is gone before it looks for it believes that it has none, and lives for ever.
_KERNEL = """\
import sys
sys.path = [place for place in sys.path if place]
from clbook.common.subprocess_call import end_with
end_with(int(sys.argv.pop(1)), group=True)
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""
# waits for the end of its input, which the system closes with the process that holds the other end
_GUARD = """\
import os, signal, sys
sys.stdin.buffer.read()
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
"""
_NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not be so large (ulimit -f)",
}
_LAST_LINES = 3  # lines shown of a failed cell's error
_BARS = threading.RLock()  # tqdm's own lock is a semaphore of the system, which a killed worker would leave


def _specs():
    """Kernel specs that contain only this interpreter, so that no kernel `python3` of the user can shadow it."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    class ThisInterpreter(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            # at its end it is interrupted, which it would report as an error
            own = [sys.executable, "-c", _KERNEL, str(os.getpid())]
            argv = [*own, "--log-level=CRITICAL", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="Python 3", language="python", name="python3")

    return ThisInterpreter()


@contextlib.contextmanager
def kernel(folder: Path, variables: dict[str, str]) -> Iterator:
    """A running kernel of this interpreter with working folder `folder`; it is always shut down when the block ends.

    So are its clients, which papermill leaves open, each with a thread that listens for ever. Whatever the kernel has
    started ends with it, and with this process, even if that is killed.

    A socket of zmq belongs to the thread that uses it: closed by another one, it aborts the process. If papermill's
    thread has not ended, its sockets are left to the end of this process.
    """
    from jupyter_client.manager import KernelManager

    class Manager(KernelManager):
        user: threading.Thread | None = None  # papermill's

        def client(self, **options):
            clients.append(super().client(**options))
            return clients[-1]

        def end(self) -> bool:
            """Kill the kernel and what it started; returns whether the thread that uses its sockets has ended."""
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.provisioner.pgid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.provisioner.process.wait(_PATIENCE)  # or it would stay as one that nobody waited for
            if self.user:
                self.user.join(_PATIENCE)  # it looks every second whether the kernel lives
            return not (self.user and self.user.is_alive())

    allow_open_files()
    require_home()
    clients: list = []
    with tempfile.TemporaryDirectory(prefix="clbook-", ignore_cleanup_errors=True) as settings:
        environment = {**os.environ, "IPYTHONDIR": settings, "PYDEVD_DISABLE_FILE_VALIDATION": "1", **variables}
        environment.pop("MPLBACKEND", None)  # the kernel chooses the inline backend
        manager = Manager(kernel_name="python3", kernel_spec_manager=_specs())
        manager.start_kernel(cwd=str(folder), env=environment)
        with _guarded(manager.provisioner.pgid):
            try:
                yield manager
            except BaseException:
                if manager.end():
                    manager.shutdown_kernel(now=True)
                    _close(clients)
                else:
                    manager.cleanup_connection_file()
                raise
            manager.shutdown_kernel()  # a kernel that has finished cleans up its own processes
            _close(clients)


@contextlib.contextmanager
def _guarded(group: int) -> Iterator[None]:
    """Kill a process group at the end of the block, or when this process ends, whatever ends it.

    The workers of a kernel are in its group. If the kernel is killed, or the process that started it, they would
    compute on. A process in a session of its own does it, since a process that is killed can do nothing more.
    """
    command = [sys.executable, "-I", "-S", "-c", _GUARD, str(group)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):  # its end closes the pipe, too
        yield


def _close(clients: list) -> None:
    """Close the clients of a kernel that has ended, as has the thread that used them; in a thread with a timeout.

    If Ctrl-C comes while papermill opens a client's sockets, these are never closed, and zmq would wait for them for
    ever.
    """
    thread = threading.Thread(target=lambda: [client.stop_channels() for client in clients], daemon=True)
    thread.start()
    thread.join(_PATIENCE)


class CellFailed(BookError):
    """A cell raised; the notebook up to it is written."""


class DiskFull(BookError):
    """There is no room left, for the reason `reason`."""

    def __init__(self, where: Path, reason: str):
        super().__init__(f"{where}: {reason}; nothing was left there")
        self.reason = reason


class Bar:
    """One bar for a notebook, drawn from what the kernel writes to the progress file.

    `weights` are the seconds that the cells took before, counted from the cell that opens the chapter; the kernel
    counts in the same way. Without them the bar follows `cells` and treats all as equally long.
    """

    def __init__(self, label: str, cells: int, weights: list[float], file: Path):
        from tqdm import tqdm

        tqdm.set_lock(_BARS)
        self.weights = weights if sum(weights) > 0 else [1.0] * max(cells, 1)
        self.file, self.whole = file, sum(self.weights)
        text = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left{postfix}"
        self.bar = tqdm(total=1.0, desc=label, bar_format=text, leave=False, disable=None)

    def fraction(self, cell: int, within: float) -> float:
        """The share of the whole that is done when the share `within` of cell number `cell` is done."""
        done = sum(self.weights[:cell]) + sum(self.weights[cell : cell + 1]) * within
        return min(done / self.whole, 1.0)

    def look(self) -> None:
        """Read the progress file and draw."""
        try:
            state = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            state = {"cell": 0, "fraction": 0.0}
        self.bar.n = max(self.bar.n, self.fraction(state["cell"], state["fraction"]))
        self.bar.set_postfix_str(state.get("label", ""), refresh=False)
        self.bar.refresh()


def _in_thread(manager, job: Callable[[], object], look: Callable[[], None]) -> None:
    """Run a job in a thread, the manager's `user`, and poll `look`. Its exception is raised here, where Ctrl-C arrives.

    If `look` raises, the thread is still running.
    """
    raised: list[BaseException] = []

    def work() -> None:
        try:
            job()
        except BaseException as error:
            raised.append(error)

    name = f"{threading.current_thread().name}, notebook"  # jupyter_core keeps a loop for every name that it sees
    thread = manager.user = threading.Thread(target=work, daemon=True, name=name)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
        look()
    if raised:
        raise raised[0]


def run_notebook(notebook, output: Path, *, label: str, folder: Path, variables: dict[str, str],
                 parameters: dict | None = None, weights: list[float] = (),
                 stop: threading.Event | None = None) -> None:  # fmt: skip
    """Run a notebook with papermill and write it to `output` when it ends or a cell fails.

    Raises CellFailed with the cell's number, Refused for parameters that contradict each other, BookError for a kernel
    that dies, KeyboardInterrupt on Ctrl-C, and Stopped when `stop` is set.
    """
    from papermill import execute_notebook

    for name in ("papermill", "asyncio"):  # what they log is raised, too, or is about a kernel that died
        logging.getLogger(name).setLevel(logging.CRITICAL)
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        progress_file = Path(scratch) / "progress.json"
        bar = Bar(label, cells, list(weights), progress_file)
        with contextlib.closing(bar.bar), kernel(folder, {**variables, FILE_VARIABLE: str(progress_file)}) as manager:

            def job() -> None:
                # saving before and after every cell takes a tenth of the time of a chapter with many figures
                options = {"progress_bar": False, "request_save_on_cell_execute": False, "km": manager}
                execute_notebook(notebook, output, parameters or {}, kernel_name="python3", **options)

            def look() -> None:
                if stop and stop.is_set():
                    raise Stopped
                if (status := manager.provisioner.process.poll()) is not None:  # papermill would wait for ever
                    raise BookError(f"{label}: the kernel {death(status)}")
                bar.look()

            with _kernel_errors(label):
                _in_thread(manager, job, look)


@contextlib.contextmanager
def _kernel_errors(label: str) -> Iterator[None]:
    """Report a failed cell, refused parameters or a dead kernel in one line; a full disk and Ctrl-C pass through."""
    from papermill.exceptions import PapermillExecutionError

    try:
        yield
    except PapermillExecutionError as error:
        if error.ename == Refused.__name__:
            raise Refused(error.evalue) from None
        raise CellFailed(failed_cell(label, error)) from None
    except (OSError, BookError):
        raise
    except Exception as error:  # of whatever kind its clients raise
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise BookError(f"{label}: the kernel cannot be reached ({reason})") from None


def failed_cell(label: str, error) -> str:
    """One line with the number of the cell that failed and the last lines of its error."""
    text = _ANSI.sub("", "\n".join(error.traceback)).strip().splitlines()
    last = [line.strip() for line in text if line.strip()][-_LAST_LINES:]
    error_line = f"{error.ename}: {error.evalue}".splitlines()[0]
    shown = " | ".join(last if error_line in last[-1:] else [*last[-_LAST_LINES + 1 :], error_line])
    return f"{label}: cell [{error.exec_count}] failed: {shown}"


@contextlib.contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Report a full disk or an unwritable folder in one line, as DiskFull (a BookError) or as BookError."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise DiskFull(where, _NO_ROOM[error.errno]) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
            raise BookError(f"{where}: cannot be written ({error.strerror}); choose another folder") from None
        raise
