"""The notebooks that `make test` runs under nbval: one that the commit selects, and every one that is not current.

A current notebook's readings are recomputed by `clbook verify`, to the last bit; `make deep` runs all notebooks.
"""

import os
from pathlib import Path

from clbook.common.samples import commit_or_digest, sample
from clbook.common.sources import ChapterFiles, chapter_names, find_root
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import CURRENT, notebook_stamp, states


def is_current(one: ChapterFiles) -> bool:
    """Whether the present sources would make every reading that a notebook stores."""
    stamp = notebook_stamp(one.notebook)
    return bool(stamp) and all(state.state == CURRENT for state in states(ChapterCode(one), stamp, None).values())


def notebooks_to_run(root: Path) -> list[Path]:
    """Paths relative to the book, in the book's order."""
    notebooks = [one for name in chapter_names(root) for one in ChapterFiles(root, name).notebooks]
    selected = sample({one.stem: 1.0 for one in notebooks}, 1.0, f"{commit_or_digest(root)} notebooks")
    return [one.notebook.relative_to(root) for one in notebooks if one.stem in selected or not is_current(one)]


if __name__ == "__main__":
    root = find_root()
    os.environ["CLBOOK_ROOT"] = str(root)
    print(*notebooks_to_run(root), sep="\n")
