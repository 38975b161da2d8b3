"""A run that is interrupted ends in one line, leaves nothing behind and no process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stand_in import SOURCE, write_stand_in
from stand_in_pair import APPENDIX, CHAPTER, split

from clbook.commands import runs

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
    command = [sys.executable, "-m", "clbook.cli", "run", "stand-in", "--out", str(tmp_path / "a/b")]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | _library() | {"LOKY_MAX_CPU_COUNT": "2"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
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


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _library() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(runs.__file__).parents[2])}
