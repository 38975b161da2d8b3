"""Commands that are killed, interrupted or lose a part: nothing lives on, nothing stored changes, no traceback.

Each case is a command, a victim among its processes, a signal and a moment; `test_bad_inputs` has what is typed.
"""

import signal
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from joblib import parallel_config
from marked import marked
from stand_in import SOURCE, build_stand_in

from clbook.common.sources import ChapterFiles

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found by /proc")
COMMANDS = {
    "run": ["run", "stand-in", "--out", "mine"],
    "execute": ["execute", "stand-in", "--force"],
    "record": ["record", "stand-in", "--profile", "smoke", "--force"],
    "sweep": ["sweep", "stand-in", "--grid", "scale=0.5,1", "--out", "mine", "--jobs", "1"],
    "verify": ["verify", "stand-in"],
}
KILL, TERM, INT, SEGV = signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV
WITH_KERNEL = "run", "execute"
CASES = [
    *product(COMMANDS, ("clbook", "group"), (KILL, TERM, INT), ("import", "cell")),
    *product(WITH_KERNEL, ("kernel",), (KILL, SEGV, TERM), ("cell",)),
    *product(WITH_KERNEL, ("clbook", "group"), (KILL, TERM), ("start",)),
    *product(WITH_KERNEL, ("guard",), (KILL,), ("cell",)),
    *product(("run", "execute", "record"), ("worker",), (KILL, SEGV), ("cell",)),
]
BUSY = """from busy import busy
from joblib import Parallel, delayed
Parallel(2)(delayed(busy)() for _ in range(2))
double ="""


def book(root: Path) -> ChapterFiles:
    """The stand-in with its notebook and a record; from now on a cell of it keeps two workers busy for ever."""
    files = build_stand_in(root)
    (root / "begun").mkdir()
    (root / "busy.py").write_text(
        f"import os, time\n\n\ndef busy():\n    open(f'{root}/begun/{{os.getpid()}}', 'w').close()\n"
        "    while True:\n        time.sleep(0.01)\n"
    )
    return files


def stored(root: Path) -> dict[str, bytes]:
    """The files that a reader keeps: everything of the book but what is marked as unfinished, or kept for going on."""
    kept = [path for part in ("chapters", "records") for path in (root / part).rglob("*") if path.is_file()]
    names = {path.relative_to(root).as_posix(): path.read_bytes() for path in kept}
    return {name: content for name, content in names.items() if ".pieces/" not in name and "__pycache__" not in name}


@pytest.mark.parametrize(("name", "victim", "number", "moment"), CASES)
def test_nothing_lives_on_and_nothing_stored_changes(tmp_path, monkeypatch, name, victim, number, moment):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = book(tmp_path)
    if name != "verify":  # which computes what is stored, of the code as it is
        files.source.write_text(SOURCE.replace("double =", BUSY))
    else:
        monkeypatch.syspath_prepend(tmp_path)
        _busy_and_current(files)
        monkeypatch.delitem(sys.modules, "busy")
    before = stored(tmp_path)
    with marked(*COMMANDS[name], root=tmp_path) as command:
        _wait(command, tmp_path, moment)
        command.send(victim, number)
        if victim == "guard":  # without it the command goes on, and ends like any other
            command.send("clbook", TERM)
        status, said = command.ends()
        assert command.leftovers() == {}
    assert status != 0 and "Traceback" not in said and "Assertion" not in said, said
    if number != KILL or victim not in ("clbook", "group"):
        lines = [line for line in said.splitlines() if line.startswith("clbook: ")]
        assert len(lines) == 1 and status in (2, 130), (status, said)
    assert stored(tmp_path) == before


def _busy_and_current(files: ChapterFiles) -> None:
    """A chapter whose stored readings are current while its cells are busy: busy only outside a notebook's test run.

    It is built by threads: a worker process outlives the test, and in the next one would import the endless `busy`.
    """
    path = files.root / "busy.py"
    endless = path.read_text()
    path.write_text("def busy():\n    pass\n")
    with parallel_config("threading"):
        build_stand_in(files.root, source=SOURCE.replace("double =", BUSY))
    path.write_text(endless)


def _wait(command, root: Path, moment: str) -> None:
    """Until the command imports, its kernel is being started, or a cell keeps its workers busy."""
    end = time.monotonic() + 240
    came = {
        "import": command.listens,
        "start": lambda: command.victims("kernel"),
        "cell": lambda: len(list((root / "begun").iterdir())) > 1,
    }[moment]
    while not came():
        assert command.process.poll() is None and time.monotonic() < end, command.errors.read_text()
        time.sleep(0.01 if moment == "start" else 0.1)
