"""Commands print on any terminal, and say in one line that their output has no room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

CLI = [sys.executable, "-m", "clbook"]


def call(*arguments: str, **options) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib"), "PYTHONIOENCODING": "ascii", "CLBOOK_ROOT": str(ROOT)}
    return subprocess.run([*CLI, *arguments], env=environment, stderr=subprocess.PIPE, text=True, **options)


def test_symbols_that_a_terminal_lacks_are_replaced():
    done = call("claims", stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "") and "? reproduced" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no output that is always full")
@pytest.mark.parametrize("arguments", [["claims"], ["--help"]])
def test_an_output_without_room_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        done = call(*arguments, stdout=full)
    said = "clbook: the output cannot be read or written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, said)
