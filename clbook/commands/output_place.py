"""The place of a command's output: checked and locked before anything starts, filled at the end."""

import contextlib
import errno
import fcntl
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..common.errors import BookError, cut

UNFINISHED = ".unfinished"  # where a run writes inside its folder until it is complete
_LOCK = ".lock"
_LAST = "run.json"  # written and moved last: what has this file is complete
_OF_THE_SYSTEM = {"lost+found", ".snapshot", ".DS_Store", "System Volume Information"}  # in a volume without files


def _shown(path: Path) -> str:
    return cut(str(path), 200)


@contextlib.contextmanager
def place_errors(out: Path) -> Iterator[None]:
    """Report in one line that a place cannot be used; raises BookError."""
    try:
        yield
    except OSError as error:
        raise BookError(f"{_shown(out)}: cannot be made or written ({error.strerror}); give another folder") from None


def is_empty(folder: Path, *own: str) -> bool:
    """Whether a folder has no files except `own` ones and what a file system puts into an empty volume."""
    return all(path.name in _OF_THE_SYSTEM.union(own) for path in folder.iterdir())


def check_output(out: Path) -> Path:
    """Resolve symbolic links and check that the folder is absent or empty, and can be made and written.

    Files that a killed run has left there do not count. Raises BookError.
    """
    where = _shown(out)
    with place_errors(out):
        if out.is_symlink() and not out.exists():
            raise BookError(f"{where}: a symbolic link that leads nowhere")
        place = Path(os.path.realpath(out))
        if not place.name:
            raise BookError(f"{where}: is the root of all folders; give another folder")
        for path in (place, place.with_name(f"{place.name}.failed")):
            if path.exists() and not path.is_dir():
                raise BookError(f"{where}: {_shown(path)} is a file")
        above = next(p for p in place.parents if p.exists())
        if not above.is_dir():
            raise BookError(f"{where}: cannot be made, {_shown(above)} is a file")
        if place.is_dir() and not is_empty(place, UNFINISHED):
            raise BookError(f"{where}: not empty; give a folder that is empty or does not exist yet")
    with _reserved(place):
        return place


def check_writable(folder: Path) -> None:
    """Write and remove a file in a folder, or in the nearest one above that exists; raises BookError."""
    place = next(p for p in (folder, *folder.parents) if p.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".clbook-", buffering=0) as file:
            file.write(b"x")  # an empty file needs no room
    except OSError as error:
        raise BookError(f"{place}: cannot be written ({error.strerror}); nothing was run") from None


@contextlib.contextmanager
def held(file: Path, busy: str) -> Iterator[None]:
    """Hold a lock, a file in an existing folder; raises BookError, `busy` with the holder's process, if it is taken."""
    with open(file, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system releases it when a process is killed
        except BlockingIOError:
            lock.seek(0)
            raise BookError(f"{busy} ({lock.read().strip()})") from None
        except OSError as error:
            raise BookError(f"{file}: cannot be locked ({error.strerror}); choose a folder on another disk") from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        yield


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
            stack.enter_context(held(inside / _LOCK, f"{_shown(out)}: another run is writing there"))
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
        raise BookError(f"{_shown(out)}: {inside} is the complete result of a run; move it, or give another folder")
    for path in inside.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _move(inside: Path, out: Path) -> None:
    """Move a complete result into place; raises _Stays."""
    try:
        if not is_empty(out, UNFINISHED):
            raise FileExistsError(errno.EEXIST, "something else was written there meanwhile")
        for path in sorted(inside.iterdir(), key=lambda path: path.name == _LAST):
            if path.name != _LOCK:
                os.replace(path, out / path.name)
    except OSError as error:
        message = f"{_shown(out)}: the run is complete but cannot be moved into place ({error.strerror})"
        raise _Stays(f"{message}; it is in {inside}") from None


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
