"""The commands of the page *Run it again*, on a small chapter."""

import shlex

from page_code import shell_lines
from stand_in import build_stand_in
from typer.testing import CliRunner

from clbook import cli

COMMANDS = [line[line.index("clbook ") :] for line in shell_lines("rerun") if "clbook " in line]


def test_the_commands_of_the_page_run_on_a_small_chapter(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    for command in COMMANDS:
        if "--device" in command:
            continue  # the small chapter has no such parameter; the real one was planned above
        given = command.replace("nonlinearity", "stand-in").replace("/runs/mine", str(tmp_path / "mine"))
        done = CliRunner().invoke(cli.app, shlex.split(given)[1:])
        assert done.exit_code == 0, done.output
    assert {p.name for p in (tmp_path / "mine").iterdir()} == {
        "stand-in.ipynb",
        "stand-in.html",
        "claims.json",
        "run.json",
    }
