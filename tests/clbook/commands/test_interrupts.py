"""Whatever ends a command ends it as Ctrl-C does, from its first import on."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from checkout import import_path

from clbook.commands import jupyter_kernel
from clbook.commands.jupyter_kernel import kernel
from clbook.common.interrupts import terminated_as_interrupted

# a compiled module turns KeyboardInterrupt into ImportError
INTERRUPTED_IMPORT = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy":
            try:
                os.kill(os.getpid(), int(sys.argv.pop()))
            except BaseException:
                raise ImportError("initialization failed")
sys.meta_path.insert(0, Finder())
from clbook.__main__ import main
main()
"""
SIGNALS = pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


@pytest.fixture
def by_default(sent):
    """The tests themselves may run in the background or under nohup, which ignore signals."""
    before = signal.signal(sent, signal.SIG_DFL)
    yield
    signal.signal(sent, before)


@SIGNALS
def test_a_signal_that_ends_a_command_interrupts_it_once(sent, by_default):
    with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
        os.kill(os.getpid(), sent)
    assert signal.getsignal(sent) == signal.SIG_DFL


@SIGNALS
def test_an_interrupt_stays_one_whatever_a_package_makes_of_it(sent, by_default):
    with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
        try:
            os.kill(os.getpid(), sent)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None


def test_under_nohup_a_lost_terminal_ends_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_as_interrupted():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@SIGNALS
def test_a_signal_while_packages_load_is_one_line(sent, by_default):
    environment = os.environ | {"PYTHONPATH": import_path()}
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, str(int(sent))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "clbook: interrupted\n")


def test_a_kernel_ends_whose_command_was_gone_before_it_looked(tmp_path):
    """It took a lost parent for none at all, and lived on wherever orphans do not come to process 1."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    argv = jupyter_kernel._specs().get_kernel_spec("python3").argv
    argv = [str(gone.pid) if part == str(os.getpid()) else part for part in argv]
    argv = [part.replace("{connection_file}", str(tmp_path / "connection.json")) for part in argv]
    environment = os.environ | {"PYTHONPATH": import_path(), "JPY_PARENT_PID": str(gone.pid)}
    kernel = subprocess.Popen(argv, env=environment, cwd=tmp_path, start_new_session=True)
    assert kernel.wait(60) == -signal.SIGKILL


def test_a_client_that_papermill_is_just_opening_holds_up_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(jupyter_kernel, "_PATIENCE", 0.2)
    closed = threading.Event()
    with pytest.raises(KeyboardInterrupt), kernel(tmp_path, {}) as manager:
        manager.client().stop_channels = closed.wait  # as zmq waits for sockets that are never closed
        raise KeyboardInterrupt
    assert not manager.has_kernel
    closed.set()
