"""Processes that end with the one that started them: a call in a subprocess with a timeout, and joblib's workers."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Thread

from .interrupts import sigint_blocked

FAREWELL = 10.0  # seconds for a process that has given its result to end its own workers


class TookTooLong(Exception):
    """A call did not finish in time."""


def run_in_process(function: Callable, *args, seconds: float | None = None):
    """Call a function in a new process and return its result.

    Raises: what the call raises; TookTooLong after `seconds`; EOFError, which says how, if the process dies.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, function, args))
    with sigint_blocked():
        process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise TookTooLong
        try:
            done, result = ours.recv()
        except EOFError:
            process.join(FAREWELL)
            raise EOFError(death(process.exitcode)) from None
        process.join(FAREWELL)
    finally:
        _end(process)
        ours.close()
    if not done:
        raise result
    return result


def death(status: int | None) -> str:
    """How a process died, by its exit status, which is minus the signal's number.

    A lack of memory shows as SIGKILL, by the system, or as SIGABRT, by a library.
    """
    if status is None or status >= 0:
        return f"died (status {status})"
    memory = "; is there memory enough?" if -status in (signal.SIGKILL, signal.SIGABRT) else ""
    return f"died (signal {-status}){memory}"


def _end(process: BaseProcess) -> None:
    """Kill a process and its process group, which contains the workers that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not have its group yet
    process.join()


def _send(pipe: Connection, function: Callable, args: tuple) -> None:
    """Call the function in the new process and send its result; what it prints is discarded."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # to die at once: at a KeyboardInterrupt it would wait for its workers
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_end_with_parent, daemon=True).start()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        pipe.send((True, function(*args)))
    except Exception as error:
        pipe.send((False, error))
    if "joblib" in sys.modules:  # its idle workers would keep this process for minutes
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)


def _end_with_parent() -> None:
    """End this process group with its parent, whose signals do not reach it."""
    parent_process().join()
    os.killpg(0, signal.SIGKILL)


def bind_workers() -> None:
    """Let the worker processes of joblib end with this one, even if it is killed; without joblib do nothing."""
    try:
        from joblib import register_parallel_backend
        from joblib.parallel import BACKENDS
    except ImportError:
        return
    loky = BACKENDS.get("loky")
    if loky is None or hasattr(loky, "ends_with_parent"):
        return

    class EndsWithParent(loky):
        ends_with_parent = True

        def configure(self, *args, **options):
            return super().configure(*args, initializer=end_with, initargs=(os.getpid(),), **options)

    register_parallel_backend("loky", EndsWithParent)


def end_with(parent: int, *, group: bool = False) -> None:
    """Let this process, or its process group, end within a second of its parent, which may be gone already.

    No signal of the system says so everywhere.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os.kill(0 if group else os.getpid(), signal.SIGKILL)

    Thread(target=watch, daemon=True).start()
