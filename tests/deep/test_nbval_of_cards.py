"""nbval compares the verdict of a card alone."""

import json
import os
import subprocess
import sys

import nbformat
from checkout import ROOT
from stand_in import build_stand_in

SANITIZE = ROOT / "chapters" / "nbval-sanitize.cfg"


def variant(files, name: str, old: str, new: str) -> None:
    notebook = nbformat.read(files.notebook, as_version=4)
    (output,) = [o for cell in notebook.cells for o in cell.get("outputs", []) if "thm-1: " in json.dumps(o)][:1]
    assert old in json.dumps(output, ensure_ascii=False)
    output["data"] = json.loads(json.dumps(output["data"], ensure_ascii=False).replace(old, new))
    nbformat.write(notebook, files.notebook.with_name(f"{name}.ipynb"))


def test_a_flipped_verdict_makes_nbval_fail_and_another_value_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    variant(files, "value", "control 1", "control 7")
    variant(files, "verdict", "reproduced", "undecided")
    notebooks = [str(files.notebook.with_name(f"{name}.ipynb")) for name in ("stand-in", "value", "verdict")]
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE), "-p", "no:cacheprovider"]
    here = os.environ | {"CLBOOK_ROOT": str(tmp_path), "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--rootdir", str(tmp_path), *options, *notebooks]
    done = subprocess.run(command, capture_output=True, text=True, env=here, cwd=tmp_path, timeout=300)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1 and "verdict.ipynb" in failed[0], done.stdout[-2000:]
