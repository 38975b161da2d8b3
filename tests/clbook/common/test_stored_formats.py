"""Stored files are read whole and of their shape, or named in one line with the remedy."""

import subprocess
import sys

import pytest
from checkout import import_path
from one_line_error import one_line_error

from clbook.common.errors import BookError
from clbook.common.formats import Format, attempt, fault, intact, list_of, record_of

SHAPE = record_of("name sizes", name={"type": "string"}, sizes=list_of({"type": "integer", "minimum": 1}, 1))
FORM = Format(SHAPE, "make it again")

DAMAGED = {
    "nothing": ("", r"not JSON \(Expecting value"),
    "half": ('{"name": "a', "not JSON"),
    "null": ("null", "it must be an object, got null"),
    "list": ("[1]", "it must be an object, got a list"),
    "number": ("3", "it must be an object, got 3"),
    "NaN": ("NaN", "NaN is not a value"),
    "NaN inside": ('{"name": "a", "sizes": [NaN]}', "NaN is not a value"),
    "deep": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "long number": ("1" * 5000, "it must be an object, got Infinity"),
    "not text": (b"\xff\xfe\x00", "not text in UTF-8"),
    "conflict": ('<<<<<<< ours\n{"name": 1}\n=======\n>>>>>>> theirs\n', "conflict markers of a merge"),
    "missing": ('{"name": "a"}', "missing sizes"),
    "other type": ('{"name": "a", "sizes": [2, "b"]}', r"sizes\[1\] must be a whole number, got 'b'"),
    "true": ('{"name": "a", "sizes": [true]}', r"sizes\[0\] must be a whole number, got true"),
    "too small": ('{"name": "a", "sizes": [0]}', r"sizes\[0\] must be ≥ 1, got 0"),
    "empty": ('{"name": "a", "sizes": []}', "sizes must have ≥ 1 entries, got a list without entries"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged_is_one_line_with_the_remedy(tmp_path, name, capsys):
    content, said = DAMAGED[name]
    path = tmp_path / "x.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with one_line_error(BookError, f"x.json: damaged: .*{said}.*; make it again$"):
        intact(path, FORM)
    assert attempt("report", intact, path, FORM) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"clbook: {path}: damaged") and line.endswith("; left out")
    assert attempt("skip", intact, path, FORM) is None and capsys.readouterr().err == ""
    with pytest.raises(BookError, match="damaged"):
        attempt("raise", intact, path, FORM)


def test_what_cannot_be_read_is_one_line(tmp_path):
    with one_line_error(BookError, r"gone: cannot be read \(No such file or directory\); make it again"):
        intact(tmp_path / "gone", FORM)
    with one_line_error(BookError, r"cannot be read \(Is a directory\)"):
        intact(tmp_path, FORM)


def test_what_is_whole_is_returned(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"name": "Infinity is measured", "sizes": [1], "more": Infinity}')
    assert intact(path, FORM) == attempt("report", intact, path, FORM) == {
        "name": "Infinity is measured", "sizes": [1], "more": float("inf")
    }  # fmt: skip


def test_a_long_value_is_cut():
    assert len(fault({"name": ["x"] * 999, "sizes": [1]}, SHAPE)) < 60
    assert len(fault({"name": "a", "sizes": ["x" * 999]}, SHAPE)) < 100


def test_a_machine_that_only_records_needs_no_schemas():
    code = (
        "import sys; sys.modules['fastjsonschema'] = None\n"
        "from clbook.common.formats import fault\n"
        "print(repr(fault(3, {'type': 'object'})))"
    )
    environment = {"PYTHONPATH": import_path()}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "''\n", done.stderr
