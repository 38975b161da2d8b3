"""The one way to compiled functions: where they cannot be had, that is said once, and torch computes."""

import warnings
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_ONE_AT_A_TIME = Lock()  # so that two threads do not say the same


def loaded(load: Callable[[], T], otherwise: str) -> T | None:
    """What `load` imports from this room; None, said once in a process, where numba or a place for its work is missing.

    Args:
        load: a function of a module; it imports by statements, which digests follow.
        otherwise: the beginning of the warning, whose end is the reason.
    Cost: the first time half a second for the import of numba, and as much where nothing is kept yet; then 1 µs.
    """
    with _ONE_AT_A_TIME:
        return _loaded(load, otherwise)


@cache
def _loaded(load: Callable[[], T], otherwise: str) -> T | None:
    try:
        found = load()
        _try_compiler()
    except (ImportError, OSError, RuntimeError) as refused:
        warnings.warn(f"{otherwise}: {refused}", stacklevel=4)
        return None
    return found


def _try_compiler() -> None:
    """Raise RuntimeError unless a small function can be compiled and run; an import compiles nothing."""
    from .register_tiles import LANES, row_dots

    x = np.ones((1, LANES), np.float32)
    try:
        row_dots(x, x, np.zeros(1, np.float32))
    except Exception as refused:
        raise RuntimeError(f"numba compiles nothing here: {refused!r}") from refused
