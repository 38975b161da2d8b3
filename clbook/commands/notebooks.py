"""A chapter's notebook: built from its `.py`, whole or in part, and brought into the form that is committed."""

import base64
from pathlib import Path

from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.formats import text_of
from ..common.pictures import plain_png
from ..common.sources import ChapterFiles
from ..provenance.slices import ChapterCode

_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_RUN_METADATA = ("papermill", "execution", "collapsed", "scrolled", "ExecuteTime")
_FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}  # tags of cells whose code the page folds or omits
_WIDGET = "application/vnd.jupyter.widget-view+json"


def build(files: ChapterFiles):
    """The chapter's `.py` as a notebook without outputs, tags kept; raises BookError."""
    import jupytext

    text = text_of(files.source)
    try:
        return normalise(jupytext.reads(text, fmt="py:percent"))
    except Exception as error:  # of whatever kind its parsers raise
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise BookError(f"{files.source}: not in the percent format: {message}") from None


def as_percent(notebook, files: ChapterFiles) -> str:
    """A notebook as the text of a chapter's `.py`, by the settings of jupytext in the project's pyproject.toml."""
    import jupytext
    from jupytext.config import load_jupytext_config

    return jupytext.writes(notebook, "py:percent", config=load_jupytext_config(str(files.source)))


def normalise(notebook):
    """Drop from a notebook, in place, whatever differs between runs or machines but is not a result."""
    settings = {"formats": "ipynb,py:percent"} | notebook.metadata.get("jupytext", {})
    settings.pop("text_representation", None)
    notebook.metadata = type(notebook.metadata)(
        {"jupytext": settings, "kernelspec": dict(_KERNEL), "language_info": {"name": "python"}}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index:03d}"
        for name in (*_RUN_METADATA, "jupyter"):
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.cell_type == "code":
            ran = cell.get("execution_count") is not None
            count += ran
            cell["execution_count"] = count if ran else None
            cell["outputs"] = _outputs(cell.outputs, cell["execution_count"])
            if _FOLDED & set(cell.metadata.get("tags", [])):  # JupyterLab folds it too; a click unfolds it
                cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


def _outputs(outputs: list, count: int | None) -> list:
    """The outputs without stderr and widgets, with streams in one piece and pictures without metadata."""
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
            content = plain_png(base64.b64decode(output["data"]["image/png"]))
            output["data"]["image/png"] = base64.b64encode(content).decode("ascii")
        kept.append(output)
    return kept


def same_cells(first, second) -> bool:
    """Whether two notebooks have the same cells: kind, source, tags and other metadata; outputs do not count."""

    def cells(notebook) -> list:
        return [(c.cell_type, c.source, sorted(c.metadata.items())) for c in notebook.cells]

    return cells(first) == cells(second)


def part(notebook, code: ChapterCode, units: list[int]):
    """A notebook with the set-up, the cells that contain some units, and the prose beside these cells."""
    chosen = {code.units[n].cell for n in units} | {unit.cell for unit in code.units if unit.setup}
    chosen |= {n for n, cell in enumerate(code.cells) if "parameters" in cell.tags}
    number, kept = -1, []
    for cell in notebook.cells:
        runs = cell.cell_type == "code" and bool(cell.source.strip())
        number += runs
        kept.append(number in chosen if runs else None)
    beside = [k if k is not None else True in kept[max(n - 1, 0) : n + 2] for n, k in enumerate(kept)]
    notebook.cells = [cell for cell, keep in zip(notebook.cells, beside, strict=True) if keep]
    return notebook


def write_notebook(notebook, path: Path) -> None:
    """Validate a notebook and write it, by an atomic write."""
    import nbformat

    nbformat.validate(notebook)
    atomic_write(path, nbformat.writes(notebook, indent=1) + "\n")
