"""git in a repository that a test makes for itself, and in no other."""

import os
import subprocess
from pathlib import Path

_AUTHOR = ("-c", "user.name=a reader", "-c", "user.email=reader@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    """What a git command prints that works on the repository in a folder.

    The repository is named, so that neither a variable of a hook nor a folder above leads to another one, and the
    reader's own settings, which may name hooks and templates, are not read.
    """
    place = ("--git-dir", str(folder / ".git"), "--work-tree", str(folder))
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *place, *_AUTHOR, *words], cwd=folder, env=own, capture_output=True, check=True, text=True
    )
    return done.stdout
