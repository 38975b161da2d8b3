"""The page on sweeps: its commands can be planned, its table can be read, its job script runs."""

import ast
import re
import shlex

import pytest
from checkout import ROOT
from page_code import code_blocks, shell_lines
from typer.testing import CliRunner

from clbook import cli

BLOCKS = code_blocks("sweep")
COMMANDS = [line for line in shell_lines("sweep") if line.startswith("clbook ")]


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
    assert done.exit_code == 0 and "by more than seed noise" in done.output


def test_python_of_the_page_parses():
    code = [code for kind, code in BLOCKS if kind == "python"]
    assert len(code) == 2 and all(ast.parse(each) for each in code)
