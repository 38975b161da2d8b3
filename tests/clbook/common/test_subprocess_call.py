"""A call in a process of its own."""

import os
import signal
import subprocess
import sys
import threading
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
    with pytest.raises(EOFError, match=r"^died \(status 9\)$"):
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


def _interrupted_beside_a_thread():
    threading.Thread(target=time.sleep, args=(60,)).start()  # which an orderly end would wait for
    os.kill(os.getpid(), signal.SIGINT)


def test_a_call_that_is_interrupted_ends_at_once():
    began = time.monotonic()
    with pytest.raises(EOFError, match=r"^died \(signal 2\)$"):
        subprocess_call.run_in_process(_interrupted_beside_a_thread)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "status, said",
    [
        (0, "died (status 0)"),
        (1, "died (status 1)"),
        (-signal.SIGSEGV, "died (signal 11)"),
        (-signal.SIGKILL, "died (signal 9); is there memory enough?"),
        (None, "died (status None)"),
    ],
)
def test_memory_is_asked_for_only_where_its_lack_would_show_so(status, said):
    assert subprocess_call.death(status) == said


def _noted_and_busy(place):
    place.with_name(f"{os.getpid()}").touch()
    while True:
        pass


def _busy_workers(place):
    from joblib import Parallel, delayed

    subprocess_call.bind_workers()
    subprocess_call.bind_workers()  # as a second chapter in the process does
    Parallel(2)(delayed(_noted_and_busy)(place) for _ in range(2))


def test_busy_workers_of_joblib_end_with_a_process_that_is_killed(tmp_path):
    pytest.importorskip("joblib")
    with subprocess.Popen([sys.executable, __file__, "workers", str(tmp_path / "place")]) as caller:
        assert any(len(list(tmp_path.iterdir())) == 2 or time.sleep(0.1) for _ in range(200))
        caller.kill()
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert any(not any(map(_runs, workers)) or time.sleep(0.1) for _ in range(50))


def test_threads_that_a_computation_prefers_stay_threads():
    joblib = pytest.importorskip("joblib")
    subprocess_call.bind_workers()
    assert set(joblib.Parallel(2, prefer="threads")(joblib.delayed(os.getpid)() for _ in range(2))) == {os.getpid()}


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
    if sys.argv[1:2] == ["workers"]:
        _busy_workers(Path(sys.argv[2]))
    given = (_with_a_child, Path(sys.argv[1])) if sys.argv[1:] else (_with_workers,)
    print(subprocess_call.run_in_process(*given))
