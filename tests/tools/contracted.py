"""Copies of the library in which compiled code rounds once where it multiplies and adds, or twice."""

import shutil
from pathlib import Path

from checkout import ROOT

SETTINGS = (False, True)


def library_with(contracted: bool, folder: Path) -> Path:
    """A copy of the library in a folder, below `lib`, with `multiply_add.CONTRACTED` set."""
    shutil.copytree(ROOT / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "lib" / "contrastive_dynamics" / "compiled" / "multiply_add.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("CONTRACTED = ")]
    lines[at] = f"CONTRACTED = {contracted}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "lib"
