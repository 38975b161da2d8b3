"""A piece of `make gpu` on the CPU, on a machine that has only what it needs: a small book, measured in pieces."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from bare_machine import write_hook
from claim_row import ROW
from stand_in import SOURCE, build_stand_in

from clbook.commands.record import OUT_OF_TIME
from clbook.gpu import piece
from clbook.gpu.store import Store

KERNEL_TEST = """import torch

def test_a_sum():
    assert torch.ones(2).sum() == 2

def test_something_false():
    assert torch.zeros(1) == 1

def test_something_absent():
    import yaml
"""
BENCHMARK = """import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("--device")
parser.add_argument("--out")
given = parser.parse_args()
open(given.out, "w").write(json.dumps({"device": given.device}))
"""
CPU = ["--device", "cpu", "--minutes", "60"]
CELLS = {  # claim → what its cell does before it is judged
    "broken": "1 / 0",
    "large": 'raise torch.OutOfMemoryError("CUDA out of memory")',
    "absent": "import kornia",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "slow": 'import pathlib, time\ntime.sleep(0 if pathlib.Path("../go").exists() else 600)',
}
LAST = '# %% tags=["remove-cell"]\nchapter.close()\n'


def cell(claim: str) -> str:
    tags = '# %% tags=["nbval-check-output"]'
    judged = f'chapter.judge("{claim}", observed=0.0, advocate=1.0, control=1.0)'
    return f"# %%\n{CELLS[claim]}\nmeasured = 1\n\n{tags}\nmeasured\n{judged}\n\n"


def with_cells(*claims: str) -> str:
    """The stand-in's source with further claims."""
    return SOURCE.replace(LAST, "".join(map(cell, claims)) + LAST)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A book of one chapter, one kernel test and one benchmark."""
    root = tmp_path / "book"
    monkeypatch.setenv("CLBOOK_ROOT", str(root))
    build_stand_in(root)
    for name, text in (("tests/losses/test_small.py", KERNEL_TEST), ("benchmarks/sparse_codes.py", BENCHMARK)):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return root


def rewrite(root: Path, *claims: str) -> None:
    """The chapter with further claims; only readings are measured, to be quick."""
    (root / "chapters" / "stand-in.py").write_text(with_cells(*claims), encoding="utf-8")
    rows = [ROW | {"id": claim, "advocate": "another reading"} for claim in claims]
    with (root / "chapters" / "claims" / "stand-in.yaml").open("a", encoding="utf-8") as file:
        file.write(yaml.safe_dump(rows))
    (root / "chapters" / "profiles" / "stand-in.smoke.yaml").unlink()
    (root / "tests" / "losses" / "test_small.py").unlink()
    (root / "benchmarks" / "sparse_codes.py").unlink()


def begun(root: Path, *options: str) -> subprocess.Popen:
    """`make gpu` on a machine with its packages alone, in a process."""
    bare = write_hook(root.parent / "bare")
    command = [sys.executable, "-m", "clbook.gpu.piece", *CPU, *options]
    variables = os.environ | {"PYTHONPATH": str(bare), "CLBOOK_ROOT": str(root)}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    how["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
    return subprocess.Popen(command, env=variables, **how)


def stored(out: Path) -> dict[str, dict]:
    """Claim → what is stored of it at the default size."""
    return {claim: entry for (_, profile, claim), entry in Store(out).readings().items() if profile == "default"}


def test_a_machine_without_jupyter_and_yaml_measures_everything_and_goes_on_from_the_archive(root):
    out = root / "out"
    process = begun(root, "--out", str(out))
    said = process.communicate()[0]
    assert process.returncode == 0, said
    assert set(stored(out)) == {"thm-1", "thm-1-a", "fig-1"} and "failed" not in str(stored(out))
    assert len(Store(out).readings()) == 6  # with those of the smoke profile
    assert json.loads((Store(out).folder / "benchmarks/sparse_codes.json").read_text()) == {"device": "cpu"}
    rows = {line[:20].strip(): line[20:].split() for line in said.splitlines()}
    assert rows["kernel tests"][:3] == ["1", "1", "0"] and rows["readings, smoke"][:3] == ["3", "0", "0"]
    assert "1 tests need a package that is not installed: yaml" in said and "test_something_false: failed" in said
    assert "The readings are judged where PyYAML is installed" in said
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    Store(out).archive.rename(Store(elsewhere).archive)
    again = begun(root, "--out", str(elsewhere))
    said = again.communicate()[0]
    assert again.returncode == 0 and "Nothing is left" in said and ": stand-in" not in said
    assert stored(elsewhere) == stored(out)


def test_a_reading_that_fails_is_stored_as_such_and_stops_no_other(root, capsys):
    rewrite(root, "broken", "large", "absent", "killed")
    out = root / "out"
    assert piece.main([*CPU, "--out", str(out)]) == 0
    found, said = stored(out), capsys.readouterr().out
    kinds = {claim: entry.get("kind") for claim, entry in found.items()}
    expected = {"broken": "error", "large": "out of memory", "absent": "absent package", "killed": "died"}
    if "kornia" not in found["absent"].get("package", ""):  # it is installed here
        del expected["absent"], kinds["absent"]
    assert kinds == expected | dict.fromkeys(("thm-1", "thm-1-a", "fig-1"))
    assert "ZeroDivisionError: division by zero" in found["broken"]["failed"]
    assert "stand-in/killed (default): died: the process ended with status -9" in said
    assert piece.main([*CPU, "--out", str(out)]) == 0  # what failed for good is not tried again
    assert stored(out) == found


def test_ctrl_c_keeps_what_is_finished_and_ends_every_process(root):
    rewrite(root, "slow")
    out = root / "out"
    process = begun(root, "--out", str(out))
    until(lambda: len(Store(out).readings()) == 3)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[0]
    assert process.returncode == 130 and "interrupted: what is finished is kept" in said, said
    assert Store(out).archive.is_file() and "Left:" in said and set(stored(out)) == {"thm-1", "thm-1-a", "fig-1"}
    assert not at_work(out)
    (root / "go").touch()
    before = stored(out)
    assert piece.main([*CPU, "--out", str(out)]) == 0
    assert set(stored(out)) == {*before, "slow"} and before.items() <= stored(out).items()


def test_what_needs_more_than_a_piece_waits_for_a_longer_one(root, capsys, monkeypatch):
    rewrite(root, "slow")
    out = root / "out"
    options = [*CPU, "--out", str(out)]
    status, said = piece.main([*options, "--minutes", "0.2"]), capsys.readouterr().out
    noted = stored(out).get("slow", {}).get("kind") == "late"  # where it had nearly all of the time
    assert noted or (status == OUT_OF_TIME and "run the same command again" in said)
    assert not at_work(out)
    if noted:  # a fast machine; what was noted would not be tried again
        Store(out).reading("stand-in", "default", "slow").unlink()
    monkeypatch.setitem(piece.LIMITS, "default", 1.0)
    assert piece.main(options) == 0
    assert stored(out)["slow"]["failed"] == "took longer than 1 s" and len(stored(out)) == 4
    monkeypatch.setitem(piece.LIMITS, "default", 60.0)
    (root / "go").touch()
    assert piece.main(options) == 0 and "arms" in stored(out)["slow"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--device", "cuda"], "torch finds no CUDA device on this machine; to rehearse on the CPU"),
        (["--minutes", "0"], "MINUTES must be > 0 and ≤ 600, got 0"),
        (["--workers", "0"], "WORKERS must be ≥ 1, got 0"),
        (["--out", "FILE"], "OUT must be a folder, got the file "),
        (["--out", "DAMAGED"], "thm-1.json: damaged"),
        (["--out", "OTHER"], "holds results of device cuda, here it is cpu; name another folder"),
        (["--out", "TORN"], "cannot be unpacked"),
    ],
)
def test_what_cannot_begin_says_so_in_one_line_before_any_work(root, capsys, monkeypatch, options, said):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    (root / "FILE").touch()
    (root / "TORN").mkdir()
    Store(root / "TORN").archive.write_bytes(b"\x1f\x8b nothing")
    Store(root / "DAMAGED").reading("stand-in", "default", "thm-1").write_text("{")
    Store(root / "OTHER").write(Store(root / "OTHER").place("machine.json"), {"device": "cuda"})
    options = [str(root / one) if one.isupper() else one for one in options]
    assert piece.main([*CPU, "--out", str(root / "out"), *options]) == 2
    heard = capsys.readouterr()
    assert said in heard.err and heard.err.count("\n") == 1 and not heard.out


def until(done) -> None:
    """Wait until something is so, ten minutes at most."""
    end = time.monotonic() + 600
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def at_work(out: Path) -> list[str]:
    """Processes that compute readings for a folder of results."""
    lines = [p.read_bytes().split(b"\0") for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists()]
    return [line for line in lines if str(out).encode() in line]
