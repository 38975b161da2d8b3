"""Files and folders that are whole or not there: written aside and moved into place."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4


def write_aside(path: Path, text: str) -> None:
    """Write a text file by way of NAME.new beside it, which does not outlive a failure."""
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_text(text, encoding="utf-8", newline="")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_aside(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place at the end, or goes with all that was made for it.

    Its name begins with a dot and is nobody else's, on any machine that shares the disk.
    """
    missing = [p for p in out.parents if not p.exists()]
    aside = out.with_name(f".{out.name}.{uuid4().hex[:12]}")
    done = False
    try:
        aside.mkdir(parents=True)
        yield aside
        os.replace(aside, out)
        done = True
    finally:
        if not done:
            shutil.rmtree(aside, ignore_errors=True)
            for folder in missing:
                with contextlib.suppress(OSError):
                    folder.rmdir()
