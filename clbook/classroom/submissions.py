"""From a file to a submission: whose it is, of which sheet, the notebook to run, or a reason why there is none.

Grading, notes, tables and feedback see a submission only through this module. What browsers, operating systems and
platforms do to a file (suffixes, folders, zips of folders, encodings, kernels) is undone here or said in one line.
"""

import io
import json
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ..common.errors import BookError, cut

LARGEST = 100 * 2**20  # bytes of a file, or of one in a zip
_NESTED = 2  # zips inside zips
_MOST = 1000  # notebooks in a zip
_SUFFIX = re.compile(r"(\.(ipynb|zip|json|txt|htm|html))+$", re.IGNORECASE)
# what a browser, a file manager, Jupyter or otter's export adds to a name
_ADDED = re.compile(r"( ?\(\d+\)|[ _-]+(copy|kopie)[ \d]*|-checkpoint|_\d{4}_\d\d_\d\dT[\d_]+)$", re.IGNORECASE)
_BEFORE = re.compile(r"^(copy of|kopie von|copie de) +", re.IGNORECASE)
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


@dataclass(frozen=True)
class Submission:
    """A notebook of a student, or the reason why there is none.

    `place` is its file, unique in the class; files of one student share `student`. `sheet` is the assignment's name.
    """

    place: str
    student: str
    sheet: str = ""
    notebook: bytes = b""
    reason: str = ""
    notes: tuple[str, ...] = ()


class _Unread(Exception):
    """Why there is no notebook."""


def submissions(folder: Path, sheet: str, *, leave: tuple[Path, ...] = ()) -> list[Submission]:
    """Every submission in a folder, sorted by name, each with a name of its own; files in `leave` are none.

    Files of the system are passed over, and so are other files beside a notebook (a report, data). Raises BookError
    for a folder without a notebook, and for one that cannot be read.
    """
    if not folder.is_dir():
        raise BookError(f"{printable(folder)}: no folder of submissions")
    left, found = {path.absolute() for path in leave}, []
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _of_the_system(name) and Path(at, name) not in left)
        paths = [Path(at, name) for name in sorted(names) if not _of_the_system(name)]
        read = [each for path in paths if path not in left for each in read_submission(path, folder, sheet)]
        notebooks = [each for each in read if each.reason != _OTHER]
        found += notebooks if notebooks and Path(at) != folder else read
    if all(each.reason == _OTHER for each in found):
        raise BookError(
            f"{printable(folder)}: no submission in it, a notebook (.ipynb) or an exported zip for each student"
        )
    return _told_apart(sorted(found, key=lambda each: each.place))


_OTHER = "neither a notebook nor a zip"


def _of_the_system(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "Thumbs.db", "desktop.ini")


def _told_apart(found: list[Submission]) -> list[Submission]:
    """The submissions, those of equal names numbered."""
    seen: Counter = Counter()
    for each in found:
        seen[each.place] += 1
    count: Counter = Counter()
    unique = []
    for each in found:
        count[each.place] += 1
        unique.append(replace(each, place=f"{each.place} #{count[each.place]}") if seen[each.place] > 1 else each)
    return unique


def read_submission(path: Path, folder: Path, sheet: str) -> list[Submission]:
    """The submission in a file, or those in a zip of several notebooks; whatever is in it, nothing is raised."""
    place = printable(path.relative_to(folder))
    student = student_of(place, sheet)
    try:
        found = list(_notebooks(_bytes_of(path), place, _NESTED))
        if not found:
            raise _Unread("there is no notebook in it")
    except (OSError, _Unread) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return [Submission(place, student, reason=reason)]
    except Exception as error:  # of whatever kind a damaged archive raises
        return [Submission(place, student, reason=f"it cannot be read: {cut(f'{type(error).__name__}: {error}', 80)}")]
    if len(found) == 1:  # a zip of one notebook is one student's
        return [_parsed(Submission(place, student), found[0][1])]
    return [_parsed(Submission(inner, student_of(inner, sheet)), data) for inner, data in found]


def _bytes_of(path: Path) -> bytes:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device may have no end
        raise _Unread("it is no file")
    if status.st_size > LARGEST:
        raise _Unread(f"it is larger than {LARGEST // 2**20} MB")
    return path.read_bytes()


def _notebooks(data: bytes, place: str, depth: int) -> Iterator[tuple[str, bytes]]:
    """Place and content of a file that is a notebook by its name or content, or of each one in a zip."""
    named = place.lower().removesuffix(".txt").removesuffix(".json").endswith(".ipynb")
    if zipfile.is_zipfile(io.BytesIO(data)):
        yield from _unzipped(data, place, depth)
    elif place.lower().endswith(".zip"):
        raise _Unread("an empty file" if not data else "its zip is damaged")
    elif named or (b'"cells"' in data and b'"nbformat"' in data):
        yield place, data
    else:
        raise _Unread(_OTHER)


def _unzipped(data: bytes, place: str, depth: int) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist()[:_MOST]:
            name = PurePosixPath(entry.filename.replace("\\", "/"))
            if entry.is_dir() or any(_of_the_system(part) for part in name.parts):
                continue
            inner = f"{place}/{printable(name)}"
            is_zip = name.suffix.lower() == ".zip" and depth > 0
            if not is_zip and ".ipynb" not in name.name.lower():
                continue
            if entry.flag_bits & 1:
                raise _Unread("its zip is locked by a password")
            with archive.open(entry) as file:
                content = file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise _Unread(f"it is larger than {LARGEST // 2**20} MB")
            yield from _notebooks(content, inner, depth - 1)


def _parsed(blank: Submission, data: bytes) -> Submission:
    """The submission with its notebook: code and text alone, for the kernel of this interpreter."""
    import nbformat

    try:
        content, notes = _content(data)
        notebook = nbformat.v4.new_notebook(cells=_cells(content))
        about = content.get("metadata")
        for key in ("otter", "clbook"):
            if isinstance(about, dict) and isinstance(about.get(key), dict):
                notebook.metadata[key] = about[key]
        notebook.metadata["kernelspec"] = _KERNEL
        sheet = notebook.metadata.get("otter", {}).get("assignment_name") or ""
        plain = nbformat.writes(notebook).encode("utf-8", errors="replace")
        return replace(blank, sheet=str(sheet), notebook=plain, notes=notes)
    except _Unread as error:
        return replace(blank, reason=str(error))
    except RecursionError:
        return replace(blank, reason="the notebook cannot be read: it is nested too deeply")
    except Exception as error:  # of whatever kind a damaged notebook raises
        return replace(blank, reason=f"the notebook cannot be read: {cut(f'{type(error).__name__}: {error}', 80)}")


def _content(data: bytes) -> tuple[dict, tuple[str, ...]]:
    """The notebook as nested dictionaries, and notes of what was mended in it."""
    import nbformat

    if not data.strip():
        raise _Unread("an empty file")
    encoding = json.detect_encoding(data)
    text = data.decode(encoding, errors="replace")
    bad = text.count("\ufffd") - data.decode(encoding, errors="ignore").count("\ufffd")
    try:
        content = json.loads(text)
    except ValueError:
        raise _Unread("the notebook cannot be read: it is not JSON") from None
    if isinstance(content, dict) and "worksheets" in content:
        content = nbformat.reads(text, as_version=4)
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise _Unread("the notebook cannot be read: it has no cells")
    return content, (f"{bad} bytes of it are not UTF-8",) * (bad > 0)


def _cells(content: dict) -> list:
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

    make = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}
    cells = []
    for cell in content["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") in make:
            metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
            cells.append(make[cell["cell_type"]]("".join(cell.get("source", "")), metadata=metadata))
    return cells


def printable(path: Path | PurePosixPath | str) -> str:
    """A path as text that any terminal and file takes: bytes that are not UTF-8, and control characters, escaped."""
    text = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def student_of(place: str, sheet: str) -> str:
    """Whose a file is: what it is called, without what browsers add; its folder if it has the sheet's own name.

    A sheet's own name without a folder says nothing: such a file is a student's of its own.
    """
    parts = [_plain(part) for part in place.split("/")]
    while parts and parts[-1].lower() in (sheet.lower(), f"{sheet}-exercises".lower(), "__init__"):
        parts.pop()
    return "/".join(parts) or place


def _plain(name: str) -> str:
    plain = _BEFORE.sub("", _SUFFIX.sub("", name))
    while (shorter := _ADDED.sub("", plain)) != plain and shorter:
        plain = shorter
    return plain
