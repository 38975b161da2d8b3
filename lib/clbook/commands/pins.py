"""`make pins`: constraints.txt with the newest versions that the bounds of pyproject.toml allow.

pip resolves them as for an empty environment, without installing anything.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ..common.errors import BookError
from ..common.sources import find_root

EXTRAS = "test,encoders"  # together they are all that the project asks for
OURS = "contrastive-dynamics"
# Not pinned, so that any build of torch fits: what its CUDA builds bring.
CUDA = ("cuda-", "nvidia-", "triton")
BUILDS = ("setuptools", "wheel")


def resolved(root: Path) -> list[dict]:
    """What pip would install into an empty environment, with its `metadata`; raises BookError if pip cannot say."""
    ask = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-", "-e", f"{root}[{EXTRAS}]"]
    done = subprocess.run([sys.executable, "-m", "pip", *ask], capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BookError(f"pip found no versions that fit together: {reason}")
    return json.loads(done.stdout)["install"]


def pins(found: Iterable[dict]) -> list[str]:
    """The lines of constraints.txt, in its order and without local parts."""
    named = {one["metadata"]["name"]: one["metadata"]["version"].partition("+")[0] for one in found}
    left_out = (*CUDA, *BUILDS, OURS)
    lines = [f"{name}=={version}" for name, version in named.items() if not name.lower().startswith(left_out)]
    return sorted(lines, key=str.lower)


def rewritten(before: str, lines: list[str]) -> tuple[str, list[str]]:
    """The new file below the old one's head, and what differs, one line each."""
    old = before.splitlines()
    head = [line for line in old if line.startswith("#")]
    gone, come = sorted(set(old) - {*head, *lines}, key=str.lower), sorted({*lines} - {*old}, key=str.lower)
    return "\n".join([*head, *lines, ""]), [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


def main() -> int:
    """Write constraints.txt anew and print what has changed."""
    try:
        path = find_root() / "constraints.txt"
        text, changes = rewritten(path.read_text(encoding="utf-8"), pins(resolved(path.parent)))
    except BookError as error:
        print(f"make pins: {error}", file=sys.stderr)
        return 1
    path.write_text(text, encoding="utf-8")
    print(*changes or ["every pin is the newest that fits"], sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
