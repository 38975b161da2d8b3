"""Atomic writes: a file or a folder is complete or absent, since it is written beside its place and moved there."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write a file through a temporary file NAME.new beside it, which is removed on failure; text as UTF-8."""
    temporary = path.with_name(f"{path.name}.new")
    try:
        temporary.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its place at the end.

    On failure it is removed, together with any parent folders that were made for it.

    Its name begins with a dot and is unique among all machines that share the disk.
    """
    missing = [p for p in out.parents if not p.exists()]
    temporary = out.with_name(f".{out.name}.{uuid4().hex[:12]}")
    done = False
    try:
        temporary.mkdir(parents=True)
        yield temporary
        os.replace(temporary, out)
        done = True
    finally:
        if not done:
            shutil.rmtree(temporary, ignore_errors=True)
            for folder in missing:
                with contextlib.suppress(OSError):
                    folder.rmdir()
