"""`make pins` rewrites constraints.txt from what pip would install, and says what has changed."""

import json
import subprocess

import pytest
from checkout import ROOT

from clbook.commands import pins
from clbook.commands.pins import main, resolved, rewritten
from clbook.common.errors import BookError

REPORT = {
    "torch": "2.14.1+cpu",
    "Jinja2": "3.1.6",
    "nvidia-cublas": "13.1",
    "contrastive-dynamics": "0.1.0",
    "wheel": "1",
}


def found(versions):
    return [{"metadata": {"name": name, "version": version}} for name, version in versions.items()]


def pip_says(monkeypatch, **done):
    answer = subprocess.CompletedProcess([], **({"returncode": 0, "stdout": "", "stderr": ""} | done))
    monkeypatch.setattr(pins.subprocess, "run", lambda *a, **k: answer)


def test_pins_have_neither_local_parts_nor_what_cuda_brings():
    assert pins.pins(found(REPORT)) == ["Jinja2==3.1.6", "torch==2.14.1"]


def test_what_changes_is_printed_and_the_head_stays(tmp_path, monkeypatch, capsys):
    (tmp_path / "chapters").mkdir()
    path = tmp_path / "constraints.txt"
    path.write_text("# head\nJinja2==3.1.6\ntorch==2.13.0\n")
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    pip_says(monkeypatch, stdout=json.dumps({"install": found(REPORT)}))
    assert main() == 0 and capsys.readouterr().out == "-torch==2.13.0\n+torch==2.14.1\n"
    assert path.read_text() == "# head\nJinja2==3.1.6\ntorch==2.14.1\n"
    assert main() == 0 and capsys.readouterr().out == "every pin is the newest that fits\n"


def test_a_pip_that_fails_is_one_line(monkeypatch):
    pip_says(monkeypatch, returncode=1, stderr="ERROR: a\nERROR: ResolutionImpossible\n")
    with pytest.raises(BookError, match="^pip found no versions that fit together: ERROR: ResolutionImpossible$"):
        resolved(ROOT)


def test_the_committed_pins_are_in_the_order_of_make_pins():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    given = dict(line.split("==") for line in lines)
    assert rewritten(text, pins.pins(found(given))) == (text, [])
