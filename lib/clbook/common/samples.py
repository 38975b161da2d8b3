"""Samples of what is run again: the commit selects one, so that everything gets its turn."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path


@cache
def commit_or_digest(root: Path) -> str:
    """The commit that is checked out; without git, a digest of the sources."""
    try:
        command = ["git", "-C", str(root), "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found = hashlib.sha256()
        for path in sorted([*(root / "lib").rglob("*.py"), *(root / "chapters").glob("*.py")]):
            found.update(path.read_bytes())
        return found.hexdigest()


def sample(seconds: dict[str, float], budget: float, by: str) -> list[str]:
    """Names in an order determined by a text, one after the other until the budget is spent.

    The last one may exceed it, so that something that takes longer than the budget is drawn, too, if it comes first.
    """
    taken: list[str] = []
    for name in sorted(seconds, key=lambda name: hashlib.sha256(f"{by} {name}".encode()).digest()):
        if sum(seconds[n] for n in taken) >= budget:
            break
        taken.append(name)
    return taken
