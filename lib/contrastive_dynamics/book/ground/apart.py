"""A call in a fresh process, which prints nothing and can be abandoned."""

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection


class TookTooLong(Exception):
    """A call did not finish in time."""


def apart(function: Callable, *given, seconds: float | None = None):
    """The result of a call in a fresh process; raises what the call raises.

    Also raises TookTooLong after `seconds`, and EOFError if the process dies.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, function, given))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise TookTooLong
        done, result = ours.recv()
    finally:
        process.kill()
        process.join()
        ours.close()
    if not done:
        raise result
    return result


def _send(pipe: Connection, function: Callable, given: tuple) -> None:
    """Runs in the new process, silently, since what chapters print is already in their notebooks."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        pipe.send((True, function(*given)))
    except Exception as error:
        pipe.send((False, error))
