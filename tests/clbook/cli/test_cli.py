"""The command line: what it lists, one line per mistake, no torch for commands that only read."""

import errno
import json
import os
import subprocess
import sys
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from checkout import import_path
from stand_in import build_stand_in
from typer.testing import CliRunner

from clbook import cli
from clbook.cli import application
from clbook.commands import runs
from clbook.pages import run_page


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    return build_stand_in(tmp_path)


def call(*arguments: str):
    return CliRunner().invoke(cli.app, list(arguments))


def test_params_lists_name_type_default_range_and_meaning(files):
    lines = call("params", "stand-in").stdout.splitlines()
    rows = [line.split() for line in lines if line.strip()]
    assert rows[0] == ["name", "type", "default", "range", "meaning"]
    assert "seeds int 4 2..100 independent runs".split() in rows
    assert "mode str plain plain|fancy how".split() in rows


def test_claims_shows_symbol_word_and_statement(files):
    shown = call("claims").stdout
    assert "nobody-2020/thm-1" in shown and "● reproduced" in shown and "– not run" in shown
    assert "This takes long." in shown


def test_claims_as_json_has_one_object_a_claim(files):
    rows = json.loads(call("claims", "--json").stdout)
    assert [row["id"].split("/")[1] for row in rows] == ["thm-1", "thm-1-a", "fig-1", "lem-1"]
    wanted = "id paper locator statement kind verdict profile data observed expected interval tolerance"
    wanted += " tolerance_reason seeds control run verdicts"
    assert all(set(wanted.split()) <= row.keys() for row in rows)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["params", "stand-inn"], "clbook: no chapter 'stand-inn', there are: stand-in; did you mean stand-in?"),
        (["execute", "elsewhere"], "clbook: no chapter 'elsewhere', there are: stand-in"),
        (["run", "stand-in", "-p", "seeds=1000"], "clbook: seeds: must be int 2..100, got 1000"),
        (["run", "stand-in", "--device", "cuda"], "clbook: stand-in: the chapter has no parameter 'device'; it runs"),
        (["run", "stand-in", "--profile", "9" * 250], "clbook: stand-in has no profile '999"),
        (["run", "9" * 5000], "clbook: no chapter '999"),
        (["run", "stand-in", "--only", "9" * 5000], "clbook: --only: stand-in has no claim '999"),
        (["run", "stand-in", "-p", "9" * 5000], "clbook: -p 999"),
        (["run", "stand-in", "-p", "9" * 5000 + "=1"], "clbook: stand-in: no parameter '999"),
        (["record", "stand-in"], "clbook: stand-in has no profile 'paper', there are: default, smoke"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(files, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(message) and result.stderr.count("\n") == 1
    assert len(result.stderr) < 1100


def test_a_root_without_chapters_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path / "nowhere"))
    result = call("claims")
    assert result.exit_code == 2 and result.stderr.startswith("clbook: CLBOOK_ROOT: ")


def test_run_ends_with_the_verdicts_and_the_folder(files, tmp_path, monkeypatch):
    row = {"anchor": "thm-1", "verdict": "not reproduced", "reason": "the rule in [0, 1] is missed"}
    monkeypatch.setattr(runs, "run", lambda plan: [row])
    monkeypatch.setattr(run_page, "write_page", lambda files, folder: (folder / "page.html", "no extra"))
    result = call("run", "stand-in", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0 and "○ not reproduced" in result.stdout and "[0, 1]" in result.stdout
    assert result.stdout.splitlines()[-2:] == [str(tmp_path / "out"), str(tmp_path / "out" / "page.html")]
    assert result.stderr == "clbook: no extra\n"


def test_a_run_of_some_claims_ends_with_the_addresses_of_their_cards(files, tmp_path, monkeypatch):
    """The path stands above, bare; an address opens the page at the card, wherever the folder is."""

    def page_of(files, folder):
        folder.mkdir()
        (folder / f"{files.name}.html").write_text('<div class="claim" id="thm-1">', encoding="utf-8")
        return folder / f"{files.name}.html", ""

    monkeypatch.setattr(runs, "run", lambda plan: [])
    monkeypatch.setattr(run_page, "write_page", page_of)
    out = tmp_path / "ein Ordner, ü"
    done = call("run", "stand-in", "--only", "thm-1,thm-1-a", "--out", str(out))
    page, address = done.stdout.splitlines()[-2:]
    assert page == str(out / "stand-in.html") and address == f"{(out / 'stand-in.html').as_uri()}#thm-1"
    assert subprocess.run(f"echo {address}", shell=True, capture_output=True, text=True).stdout == f"{address}\n"
    assert url2pathname(urlsplit(address).path) == page


def test_a_page_that_cannot_be_written_leaves_the_run_and_is_one_line(files, tmp_path, monkeypatch):
    def full(files, folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(runs, "run", lambda plan: [])
    monkeypatch.setattr(run_page, "write_page", full)
    result = call("run", "stand-in", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2 and str(tmp_path / "out") in result.stdout
    assert "the run is complete, but its page cannot be written (No space left" in result.stderr


def test_reading_needs_no_torch_and_no_notebook_packages(files):
    script = (
        "import sys; from clbook.cli import app\n"
        "for a in (['params', 'stand-in'], ['claims'], ['--help'], ['run', '--help']): app(a, standalone_mode=False)\n"
        "unwanted = {'torch', 'papermill', 'jupytext', 'jupyter_client', 'matplotlib'} & sys.modules.keys()\n"
        "sys.exit(str(unwanted) if unwanted else 0)"
    )
    environment = os.environ | {"PYTHONPATH": import_path()}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reproduced" in done.stdout and "NAME=VALUE" in done.stdout


def test_every_command_reports_a_mistake_in_one_line():
    """`@one_line` stands under `@app.command()`; without it a mistake would be a traceback."""
    guard = application.one_line(lambda: None).__code__
    assert {command.callback.__code__ for command in cli.app.registered_commands} == {guard}


def test_it_runs_as_a_module_and_takes_only_what_it_knows(files):
    environment = os.environ | {"PYTHONPATH": import_path()}
    command = [sys.executable, "-m", "clbook", "params", "none"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("clbook: no chapter 'none'")


def test_a_package_that_is_not_installed_is_one_line(files, monkeypatch, capsys):
    """If only the pages were built, jupytext is not installed."""
    monkeypatch.setitem(sys.modules, "jupytext", None)
    done = call("run", "stand-in", "--profile", "smoke")
    assert done.exit_code == 2
    advice = "make run installs what a run needs, make test everything"
    assert done.stderr == f"clbook: jupytext is not installed; {advice}\n"
