"""`make portability` computes the committed readings on lesser arithmetic, and lists what differs too much."""

import contextlib
import io
import json
from types import SimpleNamespace

import portability
import pytest
from portability import OLDEST, PLAIN, levels
from stand_in import build_stand_in

from clbook.commands.verify_plan import jobs
from clbook.provenance.stamps import MIME, seal

pytest.importorskip("torch")


def quietly(function, *arguments):
    """A call in this process that prints nothing, as the one in a process of its own."""
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The stand-in with its notebook. Its runs stay in this process, whose variables do not change."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    monkeypatch.setattr(portability, "run_in_process", quietly)
    monkeypatch.setattr(portability, "os", SimpleNamespace(environ={}))
    return build_stand_in(tmp_path)


def forge(files, claim: str, value) -> None:
    """Change what the notebook stores as observed, under a seal that fits."""
    notebook = json.loads(files.notebook.read_text())
    (output,) = [o for c in notebook["cells"] for o in c.get("outputs", []) if MIME in o.get("data", {})]
    stamp = json.loads(output["data"][MIME])
    stamp["readings"][claim]["observed"][""] = value
    output["data"][MIME] = json.dumps(seal(stamp))
    files.notebook.write_text(json.dumps(notebook))


def test_each_level_is_run_and_compared(files, monkeypatch, capsys):
    monkeypatch.setattr(portability.platform, "machine", lambda: "x86_64")
    assert portability.command(files.root, None, []) == 0
    plain, nothing, same, oldest, *_ = capsys.readouterr().out.splitlines()
    assert plain == "OMP_NUM_THREADS=1 ATEN_CPU_CAPABILITY=default" and oldest.startswith(plain + " MKL_")
    assert nothing == "    changes the bits of nothing that was looked at"
    assert same == "chapters/stand-in.ipynb: 3 readings the same to the last bit, 0 within tolerance, 0 not"
    assert portability.os.environ == PLAIN | OLDEST


def test_verdicts_and_values_that_differ_are_listed(files, capsys):
    forge(files, "thm-1", 0.5)
    assert portability.command(files.root, "stand-in", ["thm-1", "thm-1-a"]) == 1
    printed = capsys.readouterr().out
    assert "chapters/stand-in.ipynb: 1 readings the same to the last bit, 0 within tolerance, 1 not\n" in printed
    assert "chapters/stand-in.ipynb, thm-1: verdict: not reproduced → reproduced\n" in printed
    assert "chapters/stand-in.ipynb, thm-1: observed: 1e+06 times its tolerance, 0.5 → 0\n" in printed


def test_rounding_is_allowed(files, capsys):
    forge(files, "thm-1", 1e-16)
    assert portability.command(files.root, "stand-in", ["thm-1"]) == 0
    assert "0 readings the same to the last bit, 1 within tolerance, 0 not\n" in capsys.readouterr().out


def test_a_verdict_that_seeds_decide_may_be_left_open(files):
    forge(files, "thm-1", 2e-10)
    (job,) = jobs(files.root, "stand-in", ["thm-1"], "default")
    row = job.claims.rows["thm-1"]
    object.__setattr__(row, "by_chance", True)
    again = {"readings": {"thm-1": job.stored.stamp["readings"]["thm-1"] | {"observed": {"": [0.0, 3e-10]}}}}
    verdict, value = portability.differences(job, again)
    assert verdict.allowed and verdict.message.endswith("(allowed, seeds decide it)") and not value.allowed


def test_a_processor_without_these_instructions_has_one_level():
    assert levels("arm64") == [PLAIN] and len(levels("AMD64")) == 2


def test_a_slip_is_one_line(files, monkeypatch, capsys):
    monkeypatch.setattr(portability.sys, "argv", ["portability", "stand-on"])
    assert portability.main() == 2
    captured = capsys.readouterr()
    assert (
        captured.out == ""
        and captured.err == "make portability: no chapter 'stand-on', there are: stand-in; did you mean stand-in?\n"
    )
