"""nbval compares the verdict of a card alone, and where seeds decide it may be left open by other rounding."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from checkout import ROOT
from stand_in import build_stand_in

BESIDE = [ROOT / "chapters" / name for name in ("nbval-sanitize.cfg", "conftest.py")]


def variant(files, root: Path, claim: str, old: str, new: str) -> str:
    """The stand-in in a book of its own, with another card of a claim."""
    shutil.copytree(files.root / "chapters", root / "chapters")
    path = root / "chapters" / files.notebook.name
    notebook = nbformat.read(path, as_version=4)
    (output,) = [o for cell in notebook.cells for o in cell.get("outputs", []) if f"{claim}: " in json.dumps(o)][:1]
    assert old in json.dumps(output, ensure_ascii=False)
    output["data"] = json.loads(json.dumps(output["data"], ensure_ascii=False).replace(old, new))
    nbformat.write(notebook, path)
    return str(path)


def test_a_flipped_verdict_makes_nbval_fail_but_no_other_value_and_none_that_rounding_opens(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    for path in BESIDE:
        shutil.copy(path, files.notebook.parent)
    notebooks = [
        variant(files, tmp_path / "value", "thm-1", "control 1", "control 7"),
        variant(files, tmp_path / "verdict", "thm-1", "reproduced", "undecided"),  # no seed decides an identity
        variant(files, tmp_path / "opened", "fig-1", "reproduced", "undecided"),
        variant(files, tmp_path / "missed", "fig-1", "reproduced", "not reproduced"),
    ]
    options = ["--nbval-lax", "--nbval-current-env", "-p", "no:cacheprovider"]
    options += ["--nbval-sanitize-with", str(BESIDE[0])]
    here = os.environ | {"CLBOOK_ROOT": str(tmp_path), "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--rootdir", str(tmp_path), *options, *notebooks]
    done = subprocess.run(command, capture_output=True, text=True, env=here, cwd=tmp_path, timeout=300)
    failed = [line.split("/")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == ["FAILED verdict", "FAILED missed"], done.stdout[-2000:]
    assert "fig-1: stored is undecided, here reproduced (allowed, seeds decide it)" in done.stdout
