"""The page on sweeps: its commands can be planned, its picture is that of its table, its job script runs."""

import ast
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from checkout import ROOT
from kept_sweep import PICTURE, TABLE, kept, picture, planned
from page_code import code_blocks, shell_lines
from typer.testing import CliRunner

from clbook import cli
from clbook.common.pictures import blocks, look_alike
from clbook.sweep.sweep_page import default_claim

BLOCKS = code_blocks("sweep")
COMMANDS = [line for line in shell_lines("sweep") if line.startswith("clbook ")]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("clbook sweep")])
def test_a_grid_of_the_page_is_one_that_the_chapter_takes(command, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    done = CliRunner().invoke(cli.app, [*shlex.split(command)[1:], "--plan"])
    said = rf"{shlex.split(command)[2]}: \d+ points in \d+ runs into sweeps"
    assert done.exit_code == 0 and re.search(said, done.output), done.output


def test_other_commands_of_the_page_run(monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    monkeypatch.chdir(ROOT)
    (command,) = (c for c in COMMANDS if c.startswith("clbook compare"))
    done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    assert done.exit_code == 0 and "by more than seed noise" in done.output


def test_python_of_the_page_parses():
    code = [code for kind, code in BLOCKS if kind == "python"]
    assert len(code) == 2 and all(ast.parse(each) for each in code)


def test_the_picture_is_that_of_the_kept_table_which_has_the_points_of_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    grid = planned()
    table = kept(grid)
    assert [row.parameters for row in table.rows] == [point.parameters for point in grid.points]
    claim = default_claim(table)  # as the page's second command draws it
    drawn = picture(table, claim, tmp_path / "drawn.png").read_bytes()
    assert look_alike(blocks(drawn), blocks(PICTURE.read_bytes()))


def test_a_point_that_is_changed_in_the_kept_table_shows(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    table = kept(planned())
    claim, changed = default_claim(table), next(row for row in table.rows if row.parameters["law_batch"] == 128)
    changed.claims[claim] = (changed.claims[claim][0] / 4, "reproduced")
    drawn = picture(table, claim, tmp_path / "drawn.png").read_bytes()
    assert not look_alike(blocks(drawn), blocks(PICTURE.read_bytes()))


def test_the_reader_of_the_page_prints_a_line_per_point(tmp_path, monkeypatch):
    """The page's own program, as it stands, on the table that the page's first command leaves."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweeps" / "mine").mkdir(parents=True)
    shutil.copy(TABLE, tmp_path / "sweeps" / "mine" / "table.csv")
    reader = next(code for kind, code in BLOCKS if "csv.DictReader" in code)
    printed = subprocess.run([sys.executable, "-c", reader], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    assert [tuple(map(int, row[:2])) for row in rows] == [(b, s) for b in (32, 64, 128, 256) for s in (75, 150, 300)]
    assert all(0 < float(row[2]) < 1 and row[3] for row in rows)
