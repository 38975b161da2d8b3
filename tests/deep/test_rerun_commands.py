"""The commands of the page *Run it again*: on a small chapter, and a reader's own run on the chapter that has one."""

import shlex

from checkout import ROOT
from page_code import shell_lines
from stand_in import build_stand_in
from typer.testing import CliRunner

from clbook import cli

COMMANDS = [line[line.index("clbook ") :] for line in shell_lines("rerun") if "clbook " in line]
OF_ANY = [command for command in COMMANDS if "one-testbed" not in command]
OWN = [command for command in COMMANDS if "--own" in command]


def run(command):
    done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output


def test_the_commands_of_the_page_run_on_a_small_chapter(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    for command in OF_ANY:
        if "--device" in command:
            continue  # the small chapter has no such parameter; the real one was planned above
        run(command.replace("nonlinearity", "stand-in").replace("/runs/mine", str(tmp_path / "mine")))
    assert {p.name for p in (tmp_path / "mine").iterdir()} == {
        "stand-in.ipynb",
        "stand-in.html",
        "claims.json",
        "run.json",
    }


def test_the_readers_own_run_of_the_page_makes_its_page(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    assert len(OWN) == 1
    run(f"{OWN[0]} --out {tmp_path / 'own'}")
    page = (tmp_path / "own" / "one-testbed.html").read_text(encoding="utf-8")
    assert "sparse-codes" in page and "spectral" in page
