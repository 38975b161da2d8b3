"""The notebooks that are run under nbval: by `make test` those that are not current, by `make drawn` one of the others,
which the commit selects (`--drawn`), by `make deep` all.

A current notebook's readings are recomputed by `clbook verify`, to the last bit.
"""

import os
import sys
from pathlib import Path

from clbook.common.samples import commit_or_digest, sample
from clbook.common.sources import ChapterFiles, chapter_names, find_root
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import CURRENT, notebook_stamp, states


def is_current(one: ChapterFiles) -> bool:
    """Whether the present sources would make every reading that a notebook stores."""
    stamp = notebook_stamp(one.notebook)
    return bool(stamp) and all(state.state == CURRENT for state in states(ChapterCode(one), stamp, None).values())


def notebooks_to_run(root: Path, is_drawn: bool) -> list[Path]:
    """Paths relative to the book, in the book's order."""
    notebooks = [one for name in chapter_names(root) for one in ChapterFiles(root, name).notebooks]
    current = {one.stem: is_current(one) for one in notebooks}
    if is_drawn:
        equal = {name: 1.0 for name, whether in current.items() if whether}
        chosen = sample(equal, 1.0, f"{commit_or_digest(root)} notebooks")
    else:
        chosen = [name for name, whether in current.items() if not whether]
    return [one.notebook.relative_to(root) for one in notebooks if one.stem in chosen]


if __name__ == "__main__":
    root = find_root()
    os.environ["CLBOOK_ROOT"] = str(root)
    print(*notebooks_to_run(root, "--drawn" in sys.argv), sep="\n")
