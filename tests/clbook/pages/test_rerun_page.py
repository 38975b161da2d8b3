"""The page on running a chapter again: its commands fit the real chapters, and run on a small one."""

import re
import shlex

import pytest
from checkout import ROOT
from page_code import shell_lines
from typer.testing import CliRunner

from clbook import cli
from clbook.commands import runs
from clbook.pages import run_page

PAGE = (ROOT / "book" / "rerun.md").read_text(encoding="utf-8")
COMMANDS = [line[line.index("clbook ") :] for line in shell_lines("rerun") if "clbook " in line]


def test_the_page_has_the_commands_that_these_tests_run():
    verbs = [command.split()[1] for command in COMMANDS]
    assert verbs.count("run") >= 4 and "params" in verbs and {"run", "params"} == set(verbs)
    inline = {command.split()[1] for command in re.findall(r"`(clbook \w[^`]*)`", PAGE)}
    there = {command.name or command.callback.__name__ for command in cli.app.registered_commands}
    assert {"doctor", "record"} <= inline <= there


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("clbook run")])
def test_a_run_of_the_page_is_one_that_the_chapter_takes(command, monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    planned = []
    monkeypatch.setattr(runs, "run", lambda plan: planned.append(plan) or [])
    monkeypatch.setattr(run_page, "write_page", lambda files, folder: (folder / "page.html", ""))
    given = command.replace("/runs/mine", str(tmp_path / "mine"))
    done = CliRunner().invoke(cli.app, shlex.split(given)[1:])
    assert done.exit_code == 0 and len(planned) == 1, done.output
