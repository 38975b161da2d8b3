"""Rows of `same_bits.json`: definitions that make the same bits as an earlier text of theirs.

`python tests/tools/same_bits.py COMMIT PROGRAM DEFINITION…` runs a program of `tests/deep/bits` on the library of a
commit and on the present one. If both print the same, the definitions, by dotted name, count as they did there;
NOW=THEN gives one that had another name.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checkout import ROOT, import_path, unpack

from clbook.provenance.library import FOLDER, FOLDERS, SAME_BITS, Definition, Digests, Library

PATH = FOLDER / SAME_BITS


def rows() -> list[dict[str, str]]:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else []


def digest(dotted: str, earlier: Path | None = None) -> str:
    """The digest of a definition without its own row; in an earlier checkout, what it counts as there."""
    library = Library({name: earlier / at.relative_to(ROOT) for name, at in FOLDERS.items()} if earlier else FOLDERS)
    if earlier is None:
        library.same_bits = {row["now"]: row["as"] for row in rows() if row["definition"] != dotted}
    return Digests(library, "generated").closure_digest(Definition(*dotted.rsplit(".", 1)))


def printed(program: str, root: Path, compiled: Path) -> str:
    """What a program of `tests/deep/bits` prints on a checkout, whose compiled functions are kept in a folder."""
    command = [sys.executable, str(ROOT / "tests" / "deep" / "bits" / f"{program}.py")]
    env = os.environ | {"PYTHONPATH": import_path(root), "NUMBA_CACHE_DIR": str(compiled)}
    return subprocess.run(command, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout


def main(commit: str, program: str, *definitions: str) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        earlier = unpack(commit, Path(scratch))
        before, now = (printed(program, root, Path(scratch) / "compiled") for root in (earlier, ROOT))
        if before != now:
            print(f"same_bits: {program} prints something else on the library of {commit}")
            return 1
        for dotted in definitions:
            name, _, then = dotted.partition("=")
            row = {"definition": name, "now": digest(name), "as": digest(then or name, earlier)}
            others = [other for other in rows() if other["definition"] != name]
            made = [*others, row | {"commit": commit, "program": program}]
            PATH.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
