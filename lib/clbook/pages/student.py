"""The student edition: chapters without their solutions, with a stub and the expected output in place of each."""

import ast
import copy
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ..commands.jupyter_kernel import disk_errors
from ..commands.notebooks import as_percent, normalise, write_notebook
from ..commands.output_place import check_output, output_folder
from ..common.errors import BookError
from ..common.formats import read_notebook, text_of
from ..common.sources import ChapterFiles, chapter_names

SOLUTION = "solution"
_TODO = "raise NotImplementedError  # your turn"


def is_solution(cell) -> bool:
    return SOLUTION in cell.metadata.get("tags", [])


def stub(source: str) -> str:
    """The part of a solution's code that a student gets: imports, constants, and functions and classes without bodies.

    A class keeps its fields; everything that computes is removed. A stub is thus made from its solution and cannot
    drift from it.
    """
    kept = [text for node in ast.parse(source).body if (text := _kept(node))]
    return "\n\n".join(kept)


def _kept(node: ast.stmt) -> str:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return ast.unparse(node)
    if isinstance(node, ast.Assign):
        return ast.unparse(node) if _is_given(node.value) else ""
    if isinstance(node, ast.FunctionDef):
        return ast.unparse(_emptied(node))
    if isinstance(node, ast.ClassDef):
        body = [_emptied(part) if isinstance(part, ast.FunctionDef) else part for part in node.body]
        return ast.unparse(
            ast.ClassDef(node.name, node.bases, node.keywords, body, node.decorator_list, type_params=[])
        )
    return ""


def _is_given(value: ast.expr) -> bool:
    """Whether a value is a constant; an empty list or dictionary, which is there to be filled, is not."""
    try:
        return ast.literal_eval(value) not in ([], {}, set(), "")
    except (ValueError, TypeError):
        return False


def _emptied(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with its docstring and nothing else; computed defaults are replaced by a mark that there is one."""
    says = function.body[:1] if ast.get_docstring(function) is not None else []
    todo = ast.parse("raise NotImplementedError").body
    args = copy.deepcopy(function.args)
    args.defaults = [d if isinstance(d, ast.Constant) else ast.Constant(...) for d in args.defaults]
    args.kw_defaults = [d if d is None or isinstance(d, ast.Constant) else ast.Constant(...) for d in args.kw_defaults]
    parts = {name: getattr(function, name) for name in ("name", "decorator_list", "returns")}
    return ast.fix_missing_locations(ast.FunctionDef(**parts, args=args, body=[*says, *todo], type_params=[]))


def student_notebook(notebook):
    """An executed notebook without outputs, with each solution replaced by a stub and what its code printed."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    cells = []
    for solved, group in groupby(notebook.cells, key=is_solution):
        group = list(group)
        if not solved:
            cells += group
            continue
        code = [cell for cell in group if cell.cell_type == "code"]
        if not code:
            continue
        printed = "".join(o.text for cell in code for o in cell.outputs if o.output_type == "stream")
        if printed:
            cells.append(new_markdown_cell(f"Expected output:\n\n```text\n{printed.rstrip()}\n```"))
        body = "\n\n\n".join(filter(None, (stub(cell.source) for cell in code)))
        cells.append(new_code_cell(body.replace("raise NotImplementedError", _TODO) or "# your turn"))
    for cell in cells:
        if cell.cell_type == "code":
            cell["outputs"], cell["execution_count"] = [], None
    notebook.cells = cells
    return normalise(notebook)


def write_edition(root: Path, out: Path) -> list[Path]:
    """Write the student edition of all chapters to a new folder, which runs in the book's environment.

    Returns its notebooks. Raises BookError for a folder that is not empty or a chapter without an executed notebook.
    """
    out = check_output(out.absolute())
    chapters = [part for name in chapter_names(root) for part in ChapterFiles(root, name).notebooks]
    for files in chapters:
        if not files.notebook.is_file():
            raise BookError(
                f"{files.stem}: no executed notebook, from which expected outputs are read; run `clbook execute`"
            )
    with disk_errors(out), output_folder(out) as folder:
        for files in chapters:
            _write_notebook(files, replace(files, root=folder))
        profiles = folder / "chapters" / "profiles"
        profiles.mkdir(parents=True)
        for path in (root / "chapters" / "profiles").glob("*.yaml"):
            (profiles / path.name).write_text(text_of(path), encoding="utf-8")
    return [replace(files, root=out).notebook for files in chapters]


def _write_notebook(files: ChapterFiles, theirs: ChapterFiles) -> None:
    theirs.claims.parent.mkdir(parents=True, exist_ok=True)
    notebook = student_notebook(read_notebook(files.notebook))
    write_notebook(notebook, theirs.notebook)
    theirs.source.write_text(as_percent(notebook, files), encoding="utf-8")
    theirs.claims.write_text(text_of(files.claims), encoding="utf-8")
