"""The page on sweeps: its commands are planned, its table is read, its job script runs."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stand_in import build_stand_in
from typer.testing import CliRunner

from contrastive_dynamics.book import cli

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "sweep.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SCRIPT = next(code for kind, code in BLOCKS if "#SBATCH" in code)
LINES = [line for kind, code in BLOCKS for line in code.replace("\\\n", " ").splitlines()]
COMMANDS = [line for line in LINES if line.startswith("clbook ")]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("clbook sweep")])
def test_a_grid_of_the_page_is_one_that_the_chapter_takes(command, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    done = CliRunner().invoke(cli.app, [*shlex.split(command)[1:], "--plan"])
    said = r"feature-decoupling: \d+ points in \d+ runs into sweeps"
    assert done.exit_code == 0 and re.search(said, done.output), done.output


def test_other_commands_of_the_page_run(monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    monkeypatch.chdir(ROOT)
    (command,) = (c for c in COMMANDS if c.startswith("clbook compare"))
    done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    assert done.exit_code == 0 and "statistics by more than seed noise" in done.output


def test_python_of_the_page_parses():
    code = [code for kind, code in BLOCKS if kind == "python"]
    assert len(code) == 2 and all(ast.parse(each) for each in code)


def test_the_job_script_sweeps_with_workers_that_srun_starts_and_the_table_is_read(tmp_path, monkeypatch):
    """`srun` stands for one that starts its command on this machine; chapter and grid are those of the tests."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    here = Path(sys.executable).parent
    (programs / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (programs / "clbook").write_text(f'#!/bin/sh\nexec {sys.executable} -m contrastive_dynamics.book.cli "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    assert shutil.which("dask", path=str(here))
    changes = {
        ". .venv/bin/activate\n": "",
        "--nworkers 4": "--nworkers 2",
        "sweep feature-decoupling": "sweep stand-in --profile smoke",
        "temperature=10,20,40 --seeds 8": "scale=1,2",
        "sweeps/slurm": "sweeps/mine",
    }
    script = SCRIPT
    for old, new in changes.items():
        assert script.count(old) == 1
        script = script.replace(old, new)
    path = os.pathsep.join([str(programs), str(here), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run(
        ["bash", "-m", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert "2 of 2 runs done, 0 failed: sweeps/mine/table.csv" in done.stdout, done.stderr
    reader = next(code for kind, code in BLOCKS if "csv.DictReader" in code)
    for old, new in (('"temperature"', '"scale"'), ('"batch"', '"mode"'), ("thm-d5", "fig-1")):
        reader = reader.replace(old, new)
    monkeypatch.chdir(tmp_path)
    shown = subprocess.run([sys.executable, "-c", reader], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["1.0 plain 1.01 reproduced", "2.0 plain 1.01 reproduced"]
