"""A call in a fresh process that says nothing and can be given up."""

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection


class TookTooLong(Exception):
    """A call was not finished in its time."""


def apart(function: Callable, *given, seconds: float | None = None):
    """What a call gives, or raises, in a fresh process.

    Raises TookTooLong after `seconds`, and EOFError if the process dies.
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
    """In the process: what chapters print stands in their notebooks, so it is silent."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        pipe.send((True, function(*given)))
    except Exception as error:
        pipe.send((False, error))
