"""Random samples of what is run again, seeded by the commit, so that over time everything is drawn."""

import hashlib
import math
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def commit_or_digest(root: Path) -> str:
    """The commit that is checked out; without git, a SHA-256 digest of the sources.

    A repository that a hook names in `GIT_DIR`, or that lies around the book's folder, is not the book's.
    """
    try:
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        own["GIT_CEILING_DIRECTORIES"] = str(root.resolve().parent)
        command = ["git", "-C", str(root), "rev-parse", "HEAD"]
        return subprocess.run(command, env=own, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        digest = hashlib.sha256()
        for path in sorted(path for folder in ("lib", "clbook", "chapters") for path in (root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()


def sample(seconds: Mapping[str, float], budget: float, by: str) -> list[str]:
    """Names in a random order that the text `by` seeds, until their seconds reach the budget.

    The last one may exceed the budget, so that something longer than the budget can be drawn, too. A name whose seconds
    are infinite is left out. The seconds of a name are looked up when its turn comes, for they may be dear to know.
    """
    taken, spent = [], 0.0
    for name in sorted(seconds, key=lambda name: hashlib.sha256(f"{by} {name}".encode()).digest()):
        if spent >= budget:
            break
        if math.isfinite(took := seconds[name]):
            taken.append(name)
            spent += took
    return taken
