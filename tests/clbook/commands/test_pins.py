"""`make pins` rewrites constraints.txt from what uv resolves, and prints what has changed."""

import os
import shutil
import subprocess

import pytest
from checkout import ROOT

RESOLVED = "jinja2==3.1.6\nnvidia-cublas==13.1\nsetuptools==84.2.1\ntorch==2.14.1+cpu\ntriton==3.9.0\nwheel==0.48.0\n"
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make here")


@pytest.fixture
def pins(tmp_path):
    """Call `make pins` beside stand-ins for pip and uv, which prints RESOLVED, or fails if a file `fail` exists."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "constraints.txt").write_text("# head\njinja2==3.1.6\ntorch==2.13.0\n")
    uv = f'echo "$@" > asked\ntest ! -e fail || {{ echo "no versions fit" >&2; exit 1; }}\nprintf "{RESOLVED}"'
    for path, script in {".venv/bin/python": "true", ".venv/uv/bin/uv": uv}.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / path).chmod(0o755)
    (tmp_path / ".venv" / ".made").touch()
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}

    def call() -> subprocess.CompletedProcess:
        return subprocess.run(["make", "pins"], cwd=tmp_path, env=clean, capture_output=True, text=True)

    return call


def test_pins_have_neither_local_parts_nor_what_cuda_brings(pins, tmp_path):
    done = pins()
    assert done.returncode == 0 and "< torch==2.13.0" in done.stdout and "> torch==2.14.1" in done.stdout
    assert (tmp_path / "constraints.txt").read_text() == "# head\njinja2==3.1.6\ntorch==2.14.1\n"
    assert "--python-version 3.11 " in (tmp_path / "asked").read_text()  # the oldest that pyproject.toml allows
    assert pins().stdout == "every pin is the newest that fits\n"


def test_where_no_versions_fit_the_pins_stay(pins, tmp_path):
    (tmp_path / "fail").touch()
    done, kept = pins(), (tmp_path / "constraints.txt").read_text()
    assert done.returncode and "no versions fit" in done.stderr and "torch==2.13.0" in kept
