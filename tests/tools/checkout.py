"""The files of this repository that git has or would add, and those of an earlier commit."""

import io
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def import_path(root: Path = ROOT) -> str:
    """The PYTHONPATH of a checkout: where its three packages lie."""
    return os.pathsep.join(map(str, (root, root / "lib", root / "chapters")))


def files() -> list[Path]:
    """The files that git has or would add; skips the test if there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    own = os.environ | {"GIT_CEILING_DIRECTORIES": str(ROOT.parent)}  # a repository around this folder is another one
    try:
        done = subprocess.run(command, env=own, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def unpack(commit: str, folder: Path) -> Path:
    """The code of this repository as of a commit, in a folder; raises CalledProcessError if git lacks the commit."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", str(ROOT), *words], env=own, capture_output=True, check=True).stdout

    there = git("ls-tree", "-d", "--name-only", commit, "lib", "clbook", "chapters/experiments").decode().split()
    zipfile.ZipFile(io.BytesIO(git("archive", "--format=zip", commit, *there))).extractall(folder)
    return folder
