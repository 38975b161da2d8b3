"""Files and folders that are either complete or absent: written elsewhere and moved into place."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file through a temporary file NAME.new beside it, which is removed on failure; text as UTF-8."""
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_aside(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its place at the end.

    On failure it is removed, together with any parent folders that were made for it.

    Its name begins with a dot and is unique among all machines that share the disk.
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
