"""A call in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clbook.common import subprocess_call


def test_a_fresh_process_gives_what_the_call_gives_raises_what_it_raises_and_can_be_given_up():
    assert subprocess_call.run_in_process(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        subprocess_call.run_in_process(divmod, 7, 0)
    with pytest.raises(subprocess_call.TookTooLong):
        subprocess_call.run_in_process(time.sleep, 60, seconds=0.2)
    with pytest.raises(EOFError):
        subprocess_call.run_in_process(os._exit, 9)


def _with_a_child(place):
    place.write_text(str(subprocess.Popen(["sleep", "60"]).pid))
    time.sleep(60)


def test_what_an_abandoned_call_started_ends_with_it(tmp_path):
    place = tmp_path / "child"
    with pytest.raises(subprocess_call.TookTooLong):
        subprocess_call.run_in_process(_with_a_child, place, seconds=2)
    assert _ends(place)


def test_a_call_ends_with_its_caller(tmp_path):
    place = tmp_path / "child"
    with subprocess.Popen([sys.executable, __file__, str(place)]) as caller:
        assert any(place.is_file() and place.read_text() or time.sleep(0.1) for _ in range(200))
        caller.terminate()
    assert _ends(place)


def _ends(place):
    return any(not _runs(int(place.read_text())) or time.sleep(0.1) for _ in range(50))


def _runs(process):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


def _with_workers():
    from joblib import Parallel, delayed

    return Parallel(2)(delayed(abs)(n) for n in (-1, -2))


def test_a_call_with_workers_leaves_nothing_to_warn_of():
    pytest.importorskip("joblib")
    said = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert said.stdout == "[1, 2]\n" and said.stderr == ""


if __name__ == "__main__":
    given = (_with_a_child, Path(sys.argv[1])) if sys.argv[1:] else (_with_workers,)
    print(subprocess_call.run_in_process(*given))
