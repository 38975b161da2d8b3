"""Whatever a file is called, wrapped in or made of, it is a submission or has a reason, and none vanishes."""

import io
import json
import os
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from one_line_error import one_line_error

from clbook.classroom import submissions as module
from clbook.classroom.submissions import printable, student_of, submissions
from clbook.common.errors import BookError

NOTEBOOK = nbformat.writes(
    new_notebook(cells=[new_code_cell("x = 1")], metadata={"otter": {"assignment_name": "sums"}})
).encode()


def zipped(files):
    """A zip of these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def one(folder, name, content):
    """The submission in a folder with this file alone."""
    path = os.fsencode(folder) + b"/" + (name if isinstance(name, bytes) else name.encode())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    (found,) = submissions(folder, "sums")
    return found


NAMES = [
    "ada.ipynb",
    "ada (1).ipynb",
    "Copy of ada.ipynb",
    "ada.IPYNB",
    "ada.ipynb.txt",
    "ada.ipynb.json",
    "ada-Copy1.ipynb",
    "ada/sums-exercises.ipynb",
    "ada/sums-exercises (2).ipynb",
]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_browser_or_a_folder_makes_of_a_name_is_undone(tmp_path, name):
    found = one(tmp_path, name, NOTEBOOK)
    assert (found.place, found.student, found.sheet, found.reason) == (name, "ada", "sums", "")
    assert b"x = 1" in found.notebook


def test_a_file_without_a_suffix_is_known_by_its_content(tmp_path):
    assert one(tmp_path, "ada", NOTEBOOK).notebook


@pytest.mark.parametrize("name", [b"Zo\xeb.ipynb", b"new\nline.ipynb", b"esc\x1b[31m.ipynb", b"[red].ipynb"])
def test_a_name_in_any_bytes_can_be_printed_and_written(tmp_path, name):
    found = one(tmp_path, name, NOTEBOOK)
    assert found.notebook and found.place.isprintable() and found.place.encode()


def test_names_that_differ_in_bytes_differ_in_print():
    assert printable(os.fsdecode(b"Zo\xeb")) == r"Zo\xeb" != printable(os.fsdecode(b"Zo\xea"))


ARCHIVES = {
    "plain": zipped({"sums-exercises.ipynb": NOTEBOOK, ".OTTER_LOG": "x"}),
    "folder": zipped({"work/week 1/sums-exercises.ipynb": NOTEBOOK}),
    "from a Mac": zipped({"__MACOSX/._a.ipynb": b"\0", "a.ipynb": NOTEBOOK, "._a.ipynb": b"\0", ".DS_Store": b"\0"}),
    "in a zip": zipped({"inner.zip": zipped({"a.ipynb": NOTEBOOK})}),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_zip_with_one_notebook_is_its_notebook(tmp_path, kind):
    found = one(tmp_path, "ada.zip", ARCHIVES[kind])
    assert (found.place, found.student, found.reason) == ("ada.zip", "ada", "") and found.notebook


def test_each_notebook_of_a_zip_is_a_submission(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped({"ada/sums-exercises.ipynb": NOTEBOOK, "bob/x.ipynb": b"{"}))
    found = submissions(tmp_path, "sums")
    assert [each.place for each in found] == ["a.zip/ada/sums-exercises.ipynb", "a.zip/bob/x.ipynb"]
    assert [bool(each.notebook) for each in found] == [True, False] and found[0].student == "a/ada"


def locked(data):
    """A zip whose entries say that they are encrypted."""
    changed = bytearray(data)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = changed.find(mark)
        while place >= 0:
            changed[place + at] |= 1
            place = changed.find(mark, place + 4)
    return bytes(changed)


BROKEN = {
    "empty.ipynb": (b"", "an empty file"),
    "spaces.ipynb": (b" \n", "an empty file"),
    "empty.zip": (b"", "an empty file"),
    "cut.zip": (zipped({"a.ipynb": NOTEBOOK})[:-30], "its zip is damaged"),
    "wrong.zip": (b"no zip", "its zip is damaged"),
    "nothing.zip": (zipped({"a.txt": b"x"}), "there is no notebook in it"),
    "locked.zip": (locked(zipped({"a.ipynb": NOTEBOOK})), "its zip is locked by a password"),
    "rotten.zip": (zipped({"a.ipynb": NOTEBOOK}).replace(b"x = 1", b"x = 2"), "it cannot be read: BadZipFile"),
    "no.ipynb": (b"hello", "it is not JSON"),
    "list.ipynb": (b"[]", "it has no cells"),
    "three.ipynb": (b'{"cells": 3}', "it has no cells"),
    "number.ipynb": (b'{"cells": [{"cell_type": "code", "source": 3}]}', "the notebook cannot be read: TypeError"),
    "deep.ipynb": (b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    "pdf.ipynb": (b"%PDF-1.7 \xff\xfe\0", "it is not JSON"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_has_a_reason_in_one_line(tmp_path, name):
    content, reason = BROKEN[name]
    found = one(tmp_path, name, content)
    assert reason in found.reason and found.reason.isprintable() and not found.notebook


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 1000)
    assert "larger than" in one(tmp_path, "a.ipynb", b" " * 2000).reason
    assert "larger than" in one(tmp_path, "a.ipynb", zipped({"a.ipynb": b" " * 2000})).reason


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.ipynb")
    (tmp_path / "b.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / "c.ipynb").symlink_to("nowhere")
    assert [each.reason for each in submissions(tmp_path, "sums")] == ["it is no file", "", "No such file or directory"]


ENCODED = {
    "bad bytes": (NOTEBOOK.replace(b"x = 1", b"x = '\xff\xfe'"), ("2 bytes of it are not UTF-8",)),
    "a mark": (b"\xef\xbb\xbf" + NOTEBOOK, ()),
    "UTF-16": (NOTEBOOK.decode().encode("utf-16"), ()),
    "half a pair": (NOTEBOOK.replace(b"x = 1", rb"x = '\ud800'"), ()),
    "a replacement character of its own": (NOTEBOOK.replace(b"x = 1", "x = '\ufffd'".encode()), ()),
}


@pytest.mark.parametrize("kind", ENCODED)
def test_a_notebook_in_other_bytes_is_read(tmp_path, kind):
    content, notes = ENCODED[kind]
    found = one(tmp_path, "a.ipynb", content)
    assert b"x = " in found.notebook and found.notes == notes


def test_kernel_outputs_and_cells_of_no_kind_are_left_out(tmp_path):
    content = json.loads(NOTEBOOK)
    content["metadata"]["kernelspec"] = {"name": "conda-env-mine", "display_name": "mine"}
    content["cells"] += [3, {"cell_type": "widget"}, {"cell_type": "code", "source": ["y = ", "2"], "outputs": ["odd"]}]
    found = json.loads(one(tmp_path, "a.ipynb", json.dumps(content).encode()).notebook)
    assert found["metadata"]["kernelspec"]["name"] == "python3"
    assert [cell["source"] for cell in found["cells"]] == [["x = 1"], ["y = 2"]]
    assert [cell["outputs"] for cell in found["cells"]] == [[], []]


def test_a_notebook_of_an_old_format_is_read(tmp_path):
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}}
    old["worksheets"] = [{"cells": [{"cell_type": "code", "input": "x = 1", "outputs": [], "language": "python"}]}]
    assert b"x = 1" in one(tmp_path, "a.ipynb", json.dumps(old).encode()).notebook


def test_none_vanishes_and_what_is_of_the_system_is_none(tmp_path):
    """Ten students, ten rows: equal names in folders, by browser, in other cases, without a notebook."""
    names = ["ada/a.ipynb", "bob/a.ipynb", "x.ipynb", "x (1).ipynb", "cyd.ipynb.json", "dee.IPYNB", "eve.ipynb.txt"]
    names += ["fay.pdf", "gus/report.docx", "hal"]
    own = [".DS_Store", "ada/._a.ipynb", "__MACOSX/._a.ipynb", "ada/.ipynb_checkpoints/a-checkpoint.ipynb"]
    for name in [*names, *own, "ada/report.pdf", "grades.csv"]:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(b"%PDF" if name in ("fay.pdf", "ada/report.pdf") else NOTEBOOK)
    (tmp_path / "gus" / "report.docx").write_bytes(b"a report")
    found = submissions(tmp_path, "sums", leave=(tmp_path / "grades.csv",))
    assert sorted(each.place for each in found) == sorted(names)
    assert {each.place for each in found if each.reason} == {"fay.pdf", "gus/report.docx"}


def test_equal_names_in_a_zip_are_numbered(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, pytest.warns(UserWarning):
        archive.writestr("x.ipynb", NOTEBOOK)
        archive.writestr("x.ipynb", NOTEBOOK)
    assert [each.place for each in submissions(tmp_path, "sums")] == ["a.zip/x.ipynb #1", "a.zip/x.ipynb #2"]


def test_files_of_one_student():
    """In one place, by one name; the sheet's own name without a folder says nothing."""
    same = ["ada.ipynb", "ada (1).ipynb", "ada.zip", "ada/sums-exercises.ipynb", "ada_2026_11_27T02_12_31_123456.zip"]
    assert {student_of(place, "sums") for place in same} == {"ada"}
    others = ["sums-exercises.ipynb", "sums-exercises (1).ipynb", "bob/ada.ipynb", "bob/ada2.ipynb", "(1).ipynb"]
    assert len({student_of(place, "sums") for place in others}) == len(others)


@pytest.mark.parametrize("files", [{}, {"readme.md": b"x"}])
def test_a_folder_without_a_notebook_is_refused(tmp_path, files):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with one_line_error(BookError, "no submission in it"):
        submissions(tmp_path, "sums")
    with one_line_error(BookError, "no folder of submissions"):
        submissions(tmp_path / "nowhere", "sums")
