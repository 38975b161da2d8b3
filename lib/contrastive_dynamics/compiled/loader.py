"""The one way to compiled functions: where they cannot be had, that is said once, and torch computes.

An import compiles nothing: numba may be there and its compiler switched off, or refuse one function of a family. So
each family is tried before it is used.
"""

import warnings
from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import TypeVar

T = TypeVar("T")
_ONE_AT_A_TIME = RLock()  # so that two threads do not say the same; a trial loads what it tries


def loaded(load: Callable[[], T], otherwise: str) -> T | None:
    """What `load` imports from this room; None, said once in a process, where numba or a place for its work is missing.

    Args:
        load: a function of a module; it imports by statements, which digests follow.
        otherwise: the beginning of the warning, whose end is the reason.
    Cost: the first time half a second for the import of numba, and as much where nothing is kept yet; then 1 µs.
    """
    with _ONE_AT_A_TIME:
        return _loaded(load, otherwise)


def works(trial: Callable[[], object], otherwise: str) -> bool:
    """Whether a family of compiled functions can be compiled and run; if not, that is said once in a process.

    Args:
        trial: a function of a module; it computes something small by the family, and raises where it cannot.
        otherwise: as in `loaded`.
    Cost: the first time that of compiling the family, if nothing is kept of it, and of the trial; then 1 µs. If another
        process compiles it at that time, this one waits and compiles nothing.
    """
    with _ONE_AT_A_TIME:
        return _works(trial, otherwise)


@cache
def _loaded(load: Callable[[], T], otherwise: str) -> T | None:
    try:
        return load()
    except (ImportError, OSError) as refused:
        warnings.warn(f"{otherwise}: {refused}", stacklevel=4)
        return None


@cache
def _works(trial: Callable[[], object], otherwise: str) -> bool:
    try:
        from .kept_functions import one_process_at_a_time

        with one_process_at_a_time():
            trial()
    except Exception as refused:  # of whatever kind the compiler, or the code without it, raises
        warnings.warn(f"{otherwise}: numba compiles nothing here: {refused!r}", stacklevel=4)
        return False
    return True
