"""The files of this repository that git has or would add, and those of an earlier commit."""

import io
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def files() -> list[Path]:
    """The files that git has or would add; skips the test if there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    own = os.environ | {"GIT_CEILING_DIRECTORIES": str(ROOT.parent)}  # a repository around this folder is another one
    try:
        done = subprocess.run(command, env=own, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def unpack(commit: str, name: str, folder: Path) -> Path:
    """A folder of this repository as of a commit, inside another one; raises CalledProcessError if git lacks it."""
    command = ["git", "-C", str(ROOT), "archive", "--format=zip", commit, name]
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    packed = subprocess.run(command, env=own, capture_output=True, check=True).stdout
    zipfile.ZipFile(io.BytesIO(packed)).extractall(folder)
    return folder / name
