"""Signals that end a command: Ctrl-C, SIGTERM, and SIGHUP of a lost terminal, from its first import to its end."""

import contextlib
import os
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker

INTERRUPTED = 130  # exit status


def _ending() -> list[signal.Signals]:
    """The signals that end a command; one that is ignored, as SIGHUP is under nohup, stays ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


def end_at_once(command: str) -> None:
    """From here on, signals end the process in one line: nothing is begun yet, or all is done.

    No exception is raised, since a package that is just being imported may catch it or raise another in its place.
    """

    def end(number: int, frame) -> None:
        os.write(2, f"{command}: interrupted\n".encode())
        os._exit(INTERRUPTED)

    for number in _ending():
        signal.signal(number, end)


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Inside, signals raise KeyboardInterrupt as Ctrl-C does, so that no kernel or worker is orphaned.

    An exception that a package raises in its place becomes KeyboardInterrupt again.
    """
    received = []

    def interrupt(number: int, frame) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ending()}
    try:
        yield
    except Exception:
        if received:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def sigint_blocked() -> Iterator[None]:
    """Threads that start inside, and all their child processes, have SIGINT blocked.

    A terminal sends Ctrl-C to them, too, and each would print a traceback; who starts them ends them instead.
    """
    resource_tracker.ensure_running()  # later it would unblock the signal in the thread that starts a process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
