"""Progress bars: a widget in a notebook, a line in a terminal, a file where another process draws the bar."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
FILE_VARIABLE = "CLBOOK_PROGRESS_FILE"  # set by the command that runs a notebook and draws the one bar


def write_progress(cell: int, fraction: float, label: str = "") -> None:
    """Tell the process that draws the bar how far cell number `cell` is."""
    if path := os.environ.get(FILE_VARIABLE):
        aside = Path(f"{path}.new")
        aside.write_text(json.dumps({"cell": cell, "fraction": fraction, "label": label}))
        aside.replace(path)


def progress(items: Iterable[T], label: str, cell: int = 0, total: int | None = None) -> Iterator[T]:
    """Iterate with a bar that shows the remaining time and leaves nothing behind in stored outputs."""
    total = total if total is not None else len(items)
    if not os.environ.get(FILE_VARIABLE):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield from _plain_progress(items, label, total)
        else:
            yield from tqdm(items, desc=label, total=total, leave=False)
        return
    last = 0.0
    for done, item in enumerate(items):
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            write_progress(cell, done / max(total, 1), label)
        yield item


def _plain_progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """A line every ten seconds, where there is no tqdm."""
    begun = last = time.monotonic()
    for done, item in enumerate(items):
        if done and time.monotonic() - last > 10:
            last = time.monotonic()
            left = (last - begun) / done * (total - done)
            print(f"{label}: {done} of {total}, {left:.0f} s left", file=sys.stderr, flush=True)
        yield item
