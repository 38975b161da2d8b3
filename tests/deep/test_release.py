"""What `make dist` leaves for an archive: a wheel that works where the repository is not, and a manifest that holds."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT, files
from fresh_environment import machine_with_torch

PACKAGES = {"clbook": "clbook", "lib/contrastive_dynamics": "contrastive_dynamics"}
PACKAGES["chapters/experiments"] = "experiments"
READ = (".py", ".json", ".mplstyle", ".j2")  # what is run or read; READMEs and settings of ruff stay behind
TRIED = """
from pathlib import Path
import clbook, contrastive_dynamics, torch
from clbook.provenance.library import Library, sources_sum
from contrastive_dynamics.numerics.ranks import stable_rank
print(Path(clbook.__file__).parents[1], Path(contrastive_dynamics.__file__).parents[1])
print(stable_rank(torch.eye(3)).item(), sources_sum(Library()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of a copy of what git has, so that nothing that lies about gets in."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for path in files():
        kept = path.relative_to(ROOT)
        if kept.parts[0] in ("lib", "clbook", "chapters") and path.suffix != ".ipynb" or len(kept.parts) == 1:
            (copy / kept).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy / kept)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), "."]
    subprocess.run(command, cwd=copy, check=True)
    return next(out.glob("*.whl"))


def test_the_wheel_has_every_file_that_a_package_reads(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    names = {path.relative_to(ROOT).as_posix() for path in files() if path.suffix in READ}
    expected = {new + n.removeprefix(old) for n in names for old, new in PACKAGES.items() if n.startswith(f"{old}/")}
    assert packed == expected


def test_in_an_empty_environment_it_imports_computes_and_reports(wheel, tmp_path):
    programs = machine_with_torch(tmp_path / "empty")
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True)
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CLBOOK_ROOT")}
    call = {"cwd": tmp_path, "capture_output": True, "text": True}
    own["CLBOOK_ROOT"] = str(ROOT)  # its chapters are a checkout's; the code is the wheel's
    tried = subprocess.run([programs / "python", "-c", TRIED], env=own, **call)
    places, computed = tried.stdout.splitlines() or [tried.stderr] * 2
    assert {Path(place).is_relative_to(tmp_path / "empty") for place in places.split()} == {True}, tried.stderr
    assert computed.startswith("3.0 ")
    doctor = subprocess.run([programs / "clbook", "doctor"], env=own, **call)
    assert doctor.returncode == 0 and "one-testbed" in doctor.stdout, doctor.stderr
    del own["CLBOOK_ROOT"]
    alone = subprocess.run([programs / "clbook", "doctor"], env=own, **call)
    assert alone.returncode and alone.stderr.count("\n") == 1, alone.stderr  # no book here, in one line


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_the_manifest_names_every_file_and_its_sum(tmp_path):
    for name in ("Makefile", "CITATION.cff", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    pip = f'test "$2" != pip || {{ echo a wheel > dist/a.whl; exit; }}\nexec "{sys.executable}" "$@"'
    for name, script in {"python": pip, "clbook": "echo the sum"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("a page")
    command = ["make", "--no-print-directory", "dist", "BUILT="]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = dict(reversed(line.split("  ")) for line in (tmp_path / "dist" / "SHA256SUMS").read_text().splitlines())
    kept = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / "dist").iterdir()}
    assert kept.pop("SHA256SUMS") and lines == kept
    assert {"CITATION.cff", "STAMP", "a.whl", "contrastive-dynamics-html.zip"} <= kept.keys()
