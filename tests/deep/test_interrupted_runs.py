"""A run that is interrupted ends in one line, leaves nothing behind and no process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkout import import_path
from marked import heed_ctrl_c
from stand_in import SOURCE, write_stand_in
from stand_in_pair import APPENDIX, CHAPTER, split

from clbook.commands import runs
from clbook.common.errors import BookError

DEVICE = 'device: str = "cpu"  # where, auto|cpu|cuda'
WITH_DEVICE = SOURCE.replace("seeds: int", f"{DEVICE}\nseeds: int", 1)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, WITH_DEVICE)


def _endless(begun: Path, before: str) -> str:
    """Cells that never come to an end, and say in a file of their process's number that they have begun."""
    return f"import os\nopen(f'{begun}/{{os.getpid()}}', 'w').close()\nwhile True: pass\n{before}"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("notebooks", [1, 2])
def test_an_interrupted_run_is_one_line_and_leaves_nothing(files, tmp_path, sent, notebooks):
    begun = tmp_path / "begun"
    begun.mkdir()
    if notebooks == 1:
        files.source.write_text(WITH_DEVICE.replace("double =", _endless(begun, "double =")))
    else:
        split(
            files,
            CHAPTER.replace("double =", _endless(begun, "double =")),
            APPENDIX.replace("falling =", _endless(begun, "falling =")),
        )
    command = [sys.executable, "-m", "clbook", "run", "stand-in", "--out", str(tmp_path / "a/b")]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | _library() | {"LOKY_MAX_CPU_COUNT": "2"},
        preexec_fn=heed_ctrl_c,
    )
    try:
        deadline = time.monotonic() + 200
        while len(list(begun.iterdir())) < notebooks and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(sent)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()  # a failure leaves no endless kernel behind
    assert (process.returncode, stderr) == (130, "clbook: interrupted\n")
    assert {p.name for p in tmp_path.iterdir()} == {"chapters", "begun"}
    kernels = [int(p.name) for p in begun.iterdir()]
    assert len(kernels) == notebooks and not any(_runs(kernel) for kernel in kernels)


WORKER = "worker = __import__('subprocess').Popen(['sleep', '600'])\nimport os, signal\n"


def _end(processes: list[int]) -> bool:
    """Whether all processes end within ten seconds; one that has ended and waits for its parent counts as ended."""
    return any(not any(map(_runs, processes)) or time.sleep(0.1) for _ in range(100))


def test_a_run_that_is_killed_leaves_neither_its_kernel_nor_what_that_has_started(files, tmp_path):
    begun = tmp_path / "begun"
    begun.mkdir()
    noted = f"{WORKER}open(f'{begun}/{{os.getpid()}} {{worker.pid}}', 'w').close()\nwhile True: pass\ndouble ="
    files.source.write_text(WITH_DEVICE.replace("double =", noted))
    command = [sys.executable, "-m", "clbook", "run", "stand-in", "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, env=os.environ | _library()) as process:
        assert any(list(begun.iterdir()) or time.sleep(0.1) for _ in range(1000))
        process.kill()
    (path,) = begun.iterdir()
    assert _end([int(pid) for pid in path.name.split()])


BUSY = """from busy import busy
from joblib import Parallel, delayed
Parallel(2)(delayed(busy)() for _ in range(2))
double ="""


def _command(files, body: str, *arguments: str) -> dict:
    """How a command is started on a chapter, two workers of which do what `body` says."""
    root = files.root
    (root / "busy.py").write_text(f"import os\ndef busy():\n    {body}\n")
    files.source.write_text(WITH_DEVICE.replace("double =", BUSY))
    paths = {"PYTHONPATH": os.pathsep.join([*_library().values(), str(root)]), "LOKY_MAX_CPU_COUNT": "2"}
    return {"args": [sys.executable, "-m", "clbook", *arguments], "env": os.environ | paths}


@pytest.mark.parametrize("command", [["record", "stand-in", "--profile", "smoke"], ["execute", "stand-in"]])
def test_a_command_that_is_killed_leaves_no_busy_worker(files, tmp_path, command):
    begun = tmp_path / "begun"
    begun.mkdir()
    body = f"open(f'{begun}/{{os.getpid()}}', 'w').close()\n    while True: pass"
    with subprocess.Popen(**_command(files, body, *command)) as process:
        assert any(len(list(begun.iterdir())) == 2 or time.sleep(0.1) for _ in range(1000))
        process.kill()
    assert _end([int(path.name) for path in begun.iterdir()])


def test_a_worker_that_is_killed_ends_a_record_in_one_line(files):
    command = _command(files, "os.kill(os.getpid(), 9)", "record", "stand-in", "--profile", "smoke")
    done = subprocess.run(**command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("clbook: stand-in.py, cell 3, line") and "SIGKILL" in done.stderr


def test_a_kernel_that_is_killed_leaves_nothing_that_it_has_started(files, tmp_path):
    noted = (
        f"{WORKER}open(f'{tmp_path}/pid', 'w').write(str(worker.pid))\nos.kill(os.getpid(), signal.SIGKILL)\ndouble ="
    )
    files.source.write_text(WITH_DEVICE.replace("double =", noted))
    with pytest.raises(BookError, match="the kernel died"):
        runs.run(runs.plan("stand-in", out=tmp_path / "out"))
    assert _end([int((tmp_path / "pid").read_text())])


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _library() -> dict[str, str]:
    return {"PYTHONPATH": import_path()}
