"""The output folder of a run: checked and locked before anything starts, filled at the end."""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..common.errors import BookError, cut

UNFINISHED = ".unfinished"  # where a run writes inside its folder until it is complete
_LOCK = ".lock"
_LAST = "run.json"  # written and moved last: what has this file is complete


def _shown(path: Path) -> str:
    return cut(str(path), 200)


@contextlib.contextmanager
def place_errors(out: Path) -> Iterator[None]:
    """Report in one line that a place cannot be used; raises BookError."""
    try:
        yield
    except OSError as error:
        raise BookError(f"--out {_shown(out)}: cannot be made or written ({error.strerror})") from None


def check_output(out: Path) -> Path:
    """Resolve symbolic links and check that the folder is absent or empty, and can be made and written.

    Files that a killed run has left there do not count. Raises BookError.
    """
    where = f"--out {_shown(out)}"
    with place_errors(out):
        if out.is_symlink() and not out.exists():
            raise BookError(f"{where}: a symbolic link that leads nowhere")
        place = Path(os.path.realpath(out))
        for path in (place, place.with_name(f"{place.name}.failed")):
            if path.exists() and not path.is_dir():
                raise BookError(f"{where}: {_shown(path)} is a file")
        above = next(p for p in place.parents if p.exists())
        if not above.is_dir():
            raise BookError(f"{where}: cannot be made, {_shown(above)} is a file")
        if place.is_dir() and any(path.name != UNFINISHED for path in place.iterdir()):
            raise BookError(f"{where}: not empty; give a folder that is empty or does not exist yet")
    with _reserved(place):
        return place


def check_writable(folder: Path) -> None:
    """Write and remove a file in a folder, or in the nearest one above that exists; raises BookError."""
    place = next(p for p in (folder, *folder.parents) if p.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".clbook-"):
            pass
    except OSError as error:
        raise BookError(f"{place}: cannot be written ({error.strerror}); nothing was run") from None


@contextlib.contextmanager
def output_folder(out: Path) -> Iterator[Path]:
    """A temporary folder inside `out`, which is made and locked; the files are moved into `out` when the block ends.

    It is not beside `out`, since an empty folder may be a mount point or somebody's working folder, which cannot be
    replaced. If the block fails, both are removed. Files that cannot be moved at the end stay where they are.

    Raises BookError if the folder cannot be made, if another run holds the lock, or if files cannot be moved.
    """
    with _reserved(out) as inside:
        yield inside
        _move(inside, out)


class _Stays(BookError):
    """A complete result cannot be moved into place."""


@contextlib.contextmanager
def _reserved(out: Path) -> Iterator[Path]:
    """Make a folder and, inside, a locked one; at the end remove the inner one, and the outer one if it is empty."""
    created, inside = [p for p in (out, *out.parents) if not p.exists()], out / UNFINISHED
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_empty, created)
        with place_errors(out):
            inside.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(inside / _LOCK, "w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system releases it when a process is killed
            except BlockingIOError:
                raise BookError(f"--out {_shown(out)}: another run is writing there; give another folder") from None
            _clear(inside, out)
        try:
            yield inside
        except _Stays:
            raise
        except BaseException:
            shutil.rmtree(inside, ignore_errors=True)
            raise
        shutil.rmtree(inside, ignore_errors=True)


def _clear(inside: Path, out: Path) -> None:
    """Remove what a killed run has left; raises BookError if that is complete."""
    if (inside / _LAST).exists():
        where = f"--out {_shown(out)}"
        raise BookError(f"{where}: {inside} is the complete result of a run; move it, or give another folder")
    for path in inside.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _move(inside: Path, out: Path) -> None:
    """Move a complete result into place; raises _Stays."""
    try:
        if any(path.name != UNFINISHED for path in out.iterdir()):
            raise FileExistsError(errno.EEXIST, "something else was written there meanwhile")
        for path in sorted(inside.iterdir(), key=lambda path: path.name == _LAST):
            if path.name != _LOCK:
                os.replace(path, out / path.name)
    except OSError as error:
        message = f"--out {_shown(out)}: the run is complete but cannot be moved into place ({error.strerror})"
        raise _Stays(f"{message}; it is in {inside}") from None


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
