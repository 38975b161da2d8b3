"""Whatever ends a command ends it as Ctrl-C does, from its first import on."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from checkout import ROOT

from clbook.commands import jupyter_kernel
from clbook.commands.jupyter_kernel import kernel, terminated_as_interrupted

INTERRUPTED_IMPORT = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from clbook.__main__ import main
main()
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_command_interrupts_it_once(sent):
    before = signal.signal(sent, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
            os.kill(os.getpid(), sent)
        assert signal.getsignal(sent) == signal.SIG_DFL
    finally:
        signal.signal(sent, before)


def test_under_nohup_a_lost_terminal_ends_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_as_interrupted():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupt_while_packages_load_is_one_line():
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "clbook: interrupted\n")


def test_a_client_that_papermill_is_just_opening_holds_up_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(jupyter_kernel, "_PATIENCE", 0.2)
    closed = threading.Event()
    with pytest.raises(KeyboardInterrupt), kernel(tmp_path, {}) as manager:
        manager.client().stop_channels = closed.wait  # as zmq waits for sockets that are never closed
        raise KeyboardInterrupt
    assert not manager.has_kernel
    closed.set()
