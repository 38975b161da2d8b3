"""A chapter's notebook: built from its `.py`, executed, and brought into the form that is committed."""

import base64
import tempfile
from pathlib import Path

from .aside import write_aside
from .chapter import expected_hash, profile_parameters
from .kernel import disk_errors, run_notebook
from .results import notebook_stamp
from .sources import ChapterFiles

_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_RUN_METADATA = ("papermill", "execution", "collapsed", "scrolled", "ExecuteTime")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_NOTES = (b"tEXt", b"iTXt", b"zTXt", b"tIME")


def build(files: ChapterFiles):
    """The chapter's `.py` as a notebook without outputs, tags kept."""
    import jupytext

    return normalise(jupytext.read(files.source, fmt="py:percent"))


def normalise(notebook):
    """Drop from a notebook, in place, what differs from run to run or machine to machine but is no result."""
    kept = {"formats": "ipynb,py:percent"} | notebook.metadata.get("jupytext", {})
    kept.pop("text_representation", None)
    notebook.metadata = type(notebook.metadata)(
        {"jupytext": kept, "kernelspec": dict(_KERNEL), "language_info": {"name": "python"}}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index:03d}"
        for name in _RUN_METADATA:
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.cell_type == "code":
            ran = cell.get("execution_count") is not None
            count += ran
            cell["execution_count"] = count if ran else None
            cell["outputs"] = _outputs(cell.outputs, cell["execution_count"])
    return notebook


def _outputs(outputs: list, count: int | None) -> list:
    """Without stderr and widgets; streams in one piece; pictures without their notes."""
    kept: list = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr":
                continue
            if kept and kept[-1].output_type == "stream":
                kept[-1]["text"] += output.text
                continue
        elif _WIDGET in output.get("data", {}):
            continue
        if output.output_type == "execute_result":
            output["execution_count"] = count
        if "image/png" in output.get("data", {}):
            output["data"]["image/png"] = _plain_png(output["data"]["image/png"])
        kept.append(output)
    return kept


def _plain_png(text: str) -> str:
    """A PNG in base64 without its notes (software, time)."""
    content = base64.b64decode(text)
    if not content.startswith(_PNG_SIGNATURE):
        return text
    parts, at = [_PNG_SIGNATURE], len(_PNG_SIGNATURE)
    while at < len(content):
        end = at + 12 + int.from_bytes(content[at : at + 4], "big")  # length, name, data, check sum
        if content[at + 4 : at + 8] not in _PNG_NOTES:
            parts.append(content[at:end])
        at = end
    return base64.b64encode(b"".join(parts)).decode("ascii")


def same_cells(one, other) -> bool:
    """Whether two notebooks have the same cells: kind, source, tags and other metadata; outputs do not count."""

    def cells(notebook) -> list:
        return [(c.cell_type, c.source, sorted(c.metadata.items())) for c in notebook.cells]

    return cells(one) == cells(other)


def is_current(files: ChapterFiles) -> bool:
    """Whether the committed notebook has the source's cells and was made by the present code, rules and library."""
    import nbformat

    stamp = notebook_stamp(files.notebook)
    if stamp is None or not same_cells(nbformat.read(files.notebook, as_version=4), build(files)):
        return False
    return stamp["hash"] == expected_hash(files, profile_parameters(files, "default"))


def cell_seconds(files: ChapterFiles) -> list[float]:
    """The seconds that the cells took in the committed notebook, or nothing."""
    stamp = notebook_stamp(files.notebook)
    return stamp["cell_seconds"] if stamp else []


def write(notebook, path: Path) -> None:
    """Write a notebook aside and move it into place."""
    import nbformat

    nbformat.validate(notebook)
    write_aside(path, nbformat.writes(notebook, indent=1) + "\n")


def execute(files: ChapterFiles, force: bool = False) -> bool:
    """Run a chapter with its defaults and replace its committed notebook; False if that one is current.

    Raises BookError for a cell that fails, a kernel that dies, a full disk; the committed notebook then stays.
    """
    import nbformat

    if not force and is_current(files):
        return False
    with disk_errors(files.notebook), tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        output = Path(scratch) / files.notebook.name
        run_notebook(
            build(files),
            output,
            label=files.name,
            folder=files.source.parent,
            variables={"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": "default"},
            weights=cell_seconds(files),
        )
        write(normalise(nbformat.read(output, as_version=4)), files.notebook)
    return True
