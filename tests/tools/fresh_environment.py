"""An environment of its own that has what this one has, except the book: what a wheel is tried in."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def machine_with_torch(folder: Path) -> Path:
    """The folder of programs of an environment with everything that this one has except the book and torchdiffeq."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    preinstalled = folder / "preinstalled"
    preinstalled.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("torchdiffeq", "contrastive_dynamics", "__editable__", "pip")):
            (preinstalled / entry.name).symlink_to(entry)
    (own,) = folder.glob("lib/python*/site-packages")
    for old in own.glob("setuptools*"):  # what venv brings before Python 3.12 is too old for torch
        shutil.rmtree(old)
    (own / "preinstalled.pth").write_text(f"{preinstalled}\n")
    return folder / "bin"
