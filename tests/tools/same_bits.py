"""Rows of `same_bits.json`: definitions that make the same bits as an earlier text of theirs.

`python tests/tools/same_bits.py COMMIT PROGRAM DEFINITION…` runs a program of `tests/deep/bits` on the library of a
commit and on the present one. If both print the same, the definitions, by dotted name, count as they did there;
NOW=THEN gives one that had another name. A program can speak for a definition only if it executes it, and prints
something else when it is broken: otherwise there is no row.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from broken_definitions import broken_copies, executed, is_executable
from checkout import ROOT, import_path, unpack

from clbook.provenance.library import FOLDER, FOLDERS, SAME_BITS, Definition, Digests, Library

PATH = FOLDER / SAME_BITS
# They share work among threads or processes, which by design changes no bit: of these only the result can be broken.
SHARING = {
    "contrastive_dynamics.feature_decoupling.decoupled_training.shared_by_threads",
    "contrastive_dynamics.nonlinearity.networks.given_starts.side_by_side",
    "experiments.nonlinearity.matching_curves.matching_curves",
    "experiments.one_testbed.table_plan.train_column",
}


def rows() -> list[dict[str, str]]:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else []


def digest(dotted: str, earlier: Path | None = None) -> str:
    """The digest of a definition without its own row; in an earlier checkout, what it counts as there."""
    library = Library({name: earlier / at.relative_to(ROOT) for name, at in FOLDERS.items()} if earlier else FOLDERS)
    if earlier is None:
        library.same_bits = {row["now"]: row["as"] for row in rows() if row["definition"] != dotted}
    return Digests(library, "generated").closure_digest(Definition(*dotted.rsplit(".", 1)))


def path_of(program: str) -> Path:
    """The file of a program of `tests/deep/bits`."""
    return ROOT / "tests" / "deep" / "bits" / f"{program}.py"


def printed(program: str, root: Path, compiled: Path) -> str:
    """What a program of `tests/deep/bits` prints on a checkout, whose compiled functions are kept in a folder."""
    env = os.environ | {"PYTHONPATH": import_path(root), "NUMBA_CACHE_DIR": str(compiled)}
    command = [sys.executable, str(path_of(program))]
    return subprocess.run(command, env=env, check=True, text=True, capture_output=True).stdout


def says_nothing(program: str, dotted: str, prints: str) -> str:
    """Why a program, which prints this, says nothing about a definition; empty if it does.

    It does if it prints something else when the definition is broken; for one that is SHARING work it is enough that
    the program cannot go on without its result.
    """
    if is_executable(dotted) and dotted not in executed(path_of(program)):
        return f"{program} does not execute {dotted}"
    ended = False
    with tempfile.TemporaryDirectory() as scratch:
        for broken, of_result in broken_copies(dotted, Path(scratch) / "broken"):
            try:
                if printed(program, broken, Path(scratch) / "compiled") != prints:
                    return ""
                ended = True
            except subprocess.CalledProcessError:  # it shows no more than that the definition is executed
                if of_result and dotted in SHARING:
                    return ""
    return f"{program} prints the same when {dotted} is broken" if ended else ""


def main(commit: str, program: str, *definitions: str) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        earlier = unpack(commit, Path(scratch))
        before, now = (printed(program, root, Path(scratch) / "compiled") for root in (earlier, ROOT))
        if before != now:
            print(f"same_bits: {program} prints something else on the library of {commit}")
            return 1
        for dotted in definitions:
            name, _, then = dotted.partition("=")
            if why := says_nothing(program, name, now):
                print(f"same_bits: {why}")
                return 1
            row = {"definition": name, "now": digest(name), "as": digest(then or name, earlier)}
            others = [other for other in rows() if other["definition"] != name]
            made = [*others, row | {"commit": commit, "program": program}]
            PATH.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
