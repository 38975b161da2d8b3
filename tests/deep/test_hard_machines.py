"""Commands on a full disk, without a home, where a worker dies while it starts, and a class's commands that are killed.

Each ends in one line and leaves nothing running, nothing half written; the marks of `test_kills` find what lives on.
"""

import shutil
import subprocess
import sys
import time
from itertools import product

import nbformat
import pytest
from marked import marked
from stand_in import build_stand_in
from stand_in_exercises import answered, source_file
from test_kills import COMMANDS, INT, KILL, TERM, stored

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found by /proc")
SMALL_DISK = "bash", "-c", 'ulimit -f 2; exec "$@"', "bash"  # no file above 2 KB
NO_USER = "unshare", "-U", "--map-user=12345", "--map-group=12345", "env", "-u", "HOME"
DIES_AT_START = """import os, sys
if "--multiprocessing-fork" in sys.orig_argv:
    os.kill(os.getpid(), 9)
"""
WRITING = {name: COMMANDS[name] for name in ("run", "execute", "record", "sweep")}
WITHOUT_HOME = {name: COMMANDS[name] for name in ("run", "execute", "record", "verify")}


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    return tmp_path


def ends_in_a_line(book, *arguments, **options):
    """The status and the words of a command of which nothing lives on and which wrote no stored file."""
    before = stored(book)
    with marked(*arguments, root=book, **options) as command:
        status, said = command.ends(600)
        assert command.leftovers() == {}
    assert "Traceback" not in said and "Assertion" not in said, said
    return status, said, stored(book) == before


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk(book, name):
    status, said, unchanged = ends_in_a_line(book, *WRITING[name], before=SMALL_DISK)
    lines = [line for line in said.splitlines() if line.startswith("clbook: ")]
    assert status != 0 and unchanged and len(lines) == 1, said


@pytest.mark.parametrize("name", WITHOUT_HOME)
def test_a_user_without_a_home_and_an_entry_in_the_list_of_users(book, name):
    if not shutil.which("unshare") or subprocess.run([*NO_USER, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no users of one's own can be made here")
    status, said, unchanged = ends_in_a_line(book, *WITHOUT_HOME[name], before=NO_USER)
    kernel = name in ("run", "execute")
    assert (status == 2) == kernel and (not kernel or (unchanged and "HOME" in said)), (status, said)


def test_a_worker_that_dies_while_the_pool_starts(book):
    pytest.importorskip("distributed")
    (book / "sitecustomize.py").write_text(DIES_AT_START)
    status, said, unchanged = ends_in_a_line(book, *COMMANDS["sweep"])
    assert status == 2 and unchanged and "a worker died while it started" in said, said


@pytest.mark.parametrize(
    ("name", "victim", "number"), list(product(("grade", "student"), ("clbook", "group"), (KILL, TERM, INT)))
)
def test_a_command_of_a_class(tmp_path, name, victim, number):
    """While a submission hangs, or while the sheets are made."""
    pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")
    from clbook.classroom.exercises import assign

    source = source_file(tmp_path)
    (tmp_path / "class").mkdir()
    (tmp_path / "work").mkdir()
    if name == "grade":
        busy = f"open({str(tmp_path / 'begun')!r}, 'w').close()\nimport time\nwhile True:\n    time.sleep(0.1)"
        nbformat.write(answered(assign(source, tmp_path / "work"), busy)[0], tmp_path / "class" / "ada.ipynb")
    arguments = ("grade", "sums", str(tmp_path / "class")) if name == "grade" else ("student", str(tmp_path / "out"))
    with marked(*arguments, root=tmp_path) as command:
        end = time.monotonic() + 240
        while not (tmp_path / "begun").exists() if name == "grade" else not command.listens():
            assert command.process.poll() is None and time.monotonic() < end, command.errors.read_text()
            time.sleep(0.1)
        command.send(victim, number)
        status, said = command.ends()
        assert command.leftovers() == {}
    assert status != 0 and "Traceback" not in said, said
    assert not (tmp_path / "out").exists()
