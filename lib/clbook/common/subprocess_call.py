"""A function call in a subprocess with a timeout; its output is discarded, and its children end with it."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Thread

FAREWELL = 10.0  # seconds for a process that has given its result to end its own workers


class TookTooLong(Exception):
    """A call did not finish in time."""


def run_in_process(function: Callable, *args, seconds: float | None = None):
    """Call a function in a new process and return its result.

    Raises: what the call raises; TookTooLong after `seconds`; EOFError if the process dies.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, function, args))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise TookTooLong
        done, result = ours.recv()
        process.join(FAREWELL)
    finally:
        _end(process)
        ours.close()
    if not done:
        raise result
    return result


def _end(process: BaseProcess) -> None:
    """Kill a process and its process group, which contains the workers that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not have its group yet
    process.join()


def _send(pipe: Connection, function: Callable, args: tuple) -> None:
    """Call the function in the new process and send its result; what it prints is discarded."""
    os.setsid()
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
