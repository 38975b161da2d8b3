"""Opening chapters elsewhere: where the pages' buttons lead, and the first cell of every chapter, for Google Colab.

The repository's address is in `_config.yml`, from which the theme of the pages takes it. A notebook opened in Colab
does not know that file, so its first cell contains the address;
`python -m clbook.commands.launch` puts it there, in each chapter's `.py` and `.ipynb`. The tag
`active-ipynb` makes the cell a comment in the `.py`: it enters no digest, so no result becomes stale.
"""

import sys
from pathlib import Path

from ..common import project
from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.sources import ChapterFiles, chapter_names, find_root
from .notebooks import as_percent

BUTTONS = {
    "Binder": "https://mybinder.org/v2/gh/{repository}/{branch}?urlpath=lab/tree/{file}",
    "Colab": "https://colab.research.google.com/github/{repository}/blob/{branch}/{file}",
}
TAGS = ["active-ipynb", "remove-cell"]
_CELL = """\
# On Google Colab: the book, and what Colab lacks beside its own torch. Elsewhere this cell does nothing.
import sys
from importlib.metadata import version
from importlib.util import find_spec

if "google.colab" in sys.modules and not find_spec("{kernels}"):
    !git clone --quiet --depth 1 --branch {branch} {url} book
    !pip install --quiet "./book[{extra}]" "torch=={{version('torch')}}"
    %cd -q book/chapters"""


def _repository(root: Path) -> dict[str, str]:
    """Address and branch from `_config.yml`; raises BookError if it names none."""
    import yaml

    named = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8")).get("repository", {})
    if missing := {"url", "branch"} - named.keys():
        raise BookError(f"_config.yml: repository lacks {', '.join(sorted(missing))}")
    return {"url": named["url"].removesuffix("/"), "branch": named["branch"]}


def button_addresses(root: Path, file: str) -> dict[str, str]:
    """Where each button of a page must lead to open a file of the repository; raises BookError (see `_config.yml`)."""
    named = _repository(root)
    repository = "/".join(named["url"].split("/")[-2:])
    return {to: form.format(repository=repository, branch=named["branch"], file=file) for to, form in BUTTONS.items()}


def first_cell(root: Path) -> str:
    """The first cell's code; raises BookError (see `_config.yml`)."""
    return _CELL.format(kernels=project.kernels(), extra=project.colab_extra(), **_repository(root))


def _begins_with_cell(notebook) -> bool:
    return bool(notebook.cells) and notebook.cells[0].metadata.get("tags") == TAGS


def _with_first_cell(notebook, code: str):
    """Put this cell first in the notebook, in place of an older one; changes and returns the notebook."""
    from nbformat.v4 import new_code_cell

    if not _begins_with_cell(notebook):
        notebook.cells.insert(0, new_code_cell(metadata={"tags": TAGS}))
    notebook.cells[0].source = code
    return notebook


def write_first_cells(root: Path) -> list[str]:
    """Bring the first cell of every chapter up to date; returns the files that changed.

    An executed notebook with an older cell gets the new one and keeps its outputs; without such a cell it must be
    executed again.
    """
    import jupytext
    import nbformat

    code, contents = first_cell(root), {}
    for files in (files for name in chapter_names(root) for files in ChapterFiles(root, name).notebooks):
        contents[files.source] = as_percent(_with_first_cell(jupytext.read(files.source), code), files)
        notebook = nbformat.read(files.notebook, as_version=4) if files.notebook.is_file() else None
        if notebook and _begins_with_cell(notebook):
            contents[files.notebook] = nbformat.writes(_with_first_cell(notebook, code), indent=1) + "\n"
    changed = [path for path, content in contents.items() if path.read_text(encoding="utf-8") != content]
    for path in changed:
        atomic_write(path, contents[path])
    return [path.relative_to(root).as_posix() for path in changed]


def main() -> int:
    """Update the first cells of the book that contains the working folder."""
    try:
        changed = write_first_cells(find_root())
    except BookError as error:
        print(f"launch: {error}", file=sys.stderr)
        return 1
    print(f"chapters: {', '.join(changed) or 'nothing changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
