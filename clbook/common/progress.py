"""Progress bars, in a notebook or a terminal, or reported through a file if another process draws the bar."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from .atomic import atomic_write

T = TypeVar("T")
FILE_VARIABLE = "CLBOOK_PROGRESS_FILE"  # set by the command that runs a notebook and draws its only bar
TEST_VARIABLE = "PYTEST_CURRENT_TEST"  # set by pytest, in whose environment nbval starts kernels


def write_progress(cell: int, fraction: float, label: str = "") -> None:
    """Report the progress in a cell to the process that draws the bar, if there is one, through a file."""
    if path := os.environ.get(FILE_VARIABLE):
        atomic_write(Path(path), json.dumps({"cell": cell, "fraction": fraction, "label": label}))


def progress(items: Iterable[T], label: str, cell: int = 0, total: int | None = None) -> Iterator[T]:
    """Iterate with a bar that shows the remaining time and leaves nothing behind in stored outputs."""
    total = total if total is not None else len(items)
    if not os.environ.get(FILE_VARIABLE):
        yield from _drawn_progress(items, label, total)
        return
    last = 0.0
    for done, item in enumerate(items):
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            write_progress(cell, done / max(total, 1), label)
        yield item


def _drawn_progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """tqdm's bar; in a notebook as text, cleared at the end, since a stored widget would not work.

    Under nbval there is none: it compares all that a cell prints, and clears nothing.
    """
    if _in_kernel() and TEST_VARIABLE in os.environ:
        yield from items
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield from _plain_progress(items, label, total)
        return
    if not _in_kernel():
        yield from tqdm(items, desc=label, total=total, leave=False)
        return
    from IPython.display import clear_output

    bar = "{desc}: {percentage:3.0f}%|{bar:30}| {elapsed}, {remaining} left"
    try:
        yield from tqdm(items, desc=label, total=total, leave=False, file=sys.stdout, mininterval=0.3, bar_format=bar)
    finally:
        clear_output()


def _in_kernel() -> bool:
    """Whether a notebook's kernel runs this, rather than a script or a terminal."""
    ipython = sys.modules.get("IPython")  # None, too, where its import is blocked
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def _plain_progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """Print a line every ten seconds if tqdm is not installed."""
    begun = last = time.monotonic()
    for done, item in enumerate(items):
        if done and time.monotonic() - last > 10:
            last = time.monotonic()
            left = (last - begun) / done * (total - done)
            print(f"{label}: {done} of {total}, {left:.0f} s left", file=sys.stderr, flush=True)
        yield item
