"""The commands of the page *Run it again*: on a small chapter, and a reader's own run on the chapter that has one.

And a point of the sweep whose table and picture stand on the page *Sweep a chapter*.
"""

import base64
import io
import json
import shlex

import numpy as np
import pytest
from checkout import ROOT
from kept_sweep import kept, planned
from page_code import BOOK, shell_lines
from PIL import Image
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
    cells = json.loads((tmp_path / "own" / "one-testbed.ipynb").read_text())["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    (picture,) = (base64.b64decode(data["image/png"]) for data in outputs if "image/png" in data)
    files = io.BytesIO(picture), BOOK / "_static" / "own-run.png"
    drawn, shown = (np.asarray(Image.open(file).convert("L"), dtype=float) for file in files)
    assert drawn.shape == shown.shape and abs(drawn - shown).mean() < 3  # another processor moves a point a little


def test_a_point_of_the_sweep_that_the_page_shows_gives_its_number_again(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    grid = planned()
    row, *_ = kept(grid).rows
    (claim,) = grid.only
    changed = " ".join(f"-p {name}={row.parameters[name]}" for name in kept(grid).axes)
    options = f"--profile {grid.profile} --only {claim} {changed} --no-page"
    run(f"clbook run {grid.files.name} {options} --out {tmp_path / 'a'}")
    found = next(each for each in json.loads((tmp_path / "a" / "claims.json").read_text()) if each["anchor"] == claim)
    worst = max(sum(values) / len(values) for values in found["observed"].values())  # the rule is an upper bound
    assert worst == pytest.approx(row.claims[claim][0], rel=0.02) and found["verdict"] == row.claims[claim][1]
