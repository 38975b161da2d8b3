"""Commands print on any terminal, and say in one line that their output has no room."""

import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from checkout import import_path
from stand_in import build_stand_in

from clbook.common.printing import printed

CLI = [sys.executable, "-m", "clbook"]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        return build_stand_in(root).root


def call(book, *arguments: str, **options) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": import_path(), "PYTHONIOENCODING": "ascii", "CLBOOK_ROOT": str(book)}
    return subprocess.run([*CLI, *arguments], env=environment, stderr=subprocess.PIPE, text=True, **options)


def test_symbols_that_a_terminal_lacks_are_replaced(book):
    done = call(book, "claims", stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "") and "? reproduced" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no output that is always full")
@pytest.mark.parametrize("arguments", [["claims"], ["--help"]])
def test_an_output_without_room_is_one_line(book, arguments):
    with open("/dev/full", "w") as full:
        done = call(book, *arguments, stdout=full)
    said = "clbook: the output cannot be read or written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize(
    "error, said",
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "some/library.py"), "Too many open files: this machine or"),
        (OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "Resource temporarily unavailable: this machine or"),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "the output cannot be read or written (File too large)"),
        (OSError(errno.EIO, os.strerror(errno.EIO), "a/file"), "a/file cannot be read or written (Input/output error)"),
    ],
)
def test_what_an_error_of_the_system_is_about_is_said(capfd, monkeypatch, error, said):
    with open(os.dup(1), "w") as out:  # which becomes the null device
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit), printed("clbook"):
            raise error
    assert capfd.readouterr().err.startswith(f"clbook: {said}")


@pytest.mark.parametrize("value", ["error", "error::DeprecationWarning", "always"])
def test_warnings_are_handled_as_by_default_here_and_in_children(monkeypatch, value):
    monkeypatch.setenv("PYTHONWARNINGS", value)
    monkeypatch.setattr(sys, "warnoptions", [value])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        with printed("clbook"):
            warnings.warn("of a package", DeprecationWarning, stacklevel=1)
            warnings.warn("of a chapter", UserWarning, stacklevel=1)
            assert sys.warnoptions == [] and "PYTHONWARNINGS" not in os.environ
    assert [str(warning.message) for warning in caught] == ["of a chapter"]
