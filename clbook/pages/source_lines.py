"""Statements of the kernels, or of a page's own code cells, as their sources spell them; nothing is imported."""

import ast
import json
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ..common.errors import BookError
from ..common.formats import text_of
from ..provenance.library import Library

CELL = "cell"  # the place of a statement that stands in a code cell of the page
_DEFINITIONS = ast.FunctionDef | ast.ClassDef
_CHECKS = ("require_", "_require", "_check", "_positive")


def lines_of(place: str, fragment: str, cells: Iterable[str] = (), library: Library | None = None) -> str:
    """The statement of a function that contains a fragment; without one, the body of the function.

    Args:
        place: `module.function`, with as many folders before it as make it unique, or `cell`.
        fragment: text of the statement, whatever its breaks; "" for the body without docstring and checks.
        cells: sources of the code cells, for the place `cell`.
        library: the kernels; default: those that lie beside this package.
    Returns: whole lines, dedented.
    Raises: BookError unless there is one such place and one such statement.
    """
    if place == CELL:
        texts = [text for source in cells for text in _of_cell(source)]
    else:
        source, function = _function(place, library or _library())
        texts = [text for node in function.body for text in _statements(node, source)]
        if not fragment:
            return _dedented([_lines(node, source) for node in function.body if not _is_check(node)])
    found = [text for text in texts if _flat(fragment) in _flat(text)]
    if len(found) != 1 or not fragment:
        raise BookError(f"{place}: must have one statement with {fragment!r}, has {len(found)}")
    return _dedented(found)


@cache
def _library() -> Library:
    return Library()


def _function(place: str, library: Library) -> tuple[str, ast.FunctionDef]:
    """The source of a module and the function in it that a place names."""
    found = []
    for name in library.names():
        module = f".{name}."
        for cut in range(1, place.count(".") + 1):
            parts = place.split(".")
            if module.endswith(f".{'.'.join(parts[:cut])}.") and (node := _inside(library.module(name), parts[cut:])):
                found.append((library.module(name).source, node))
    if len(found) != 1:
        raise BookError(f"{place}: must name one function of the kernels as module.function, names {len(found)}")
    return found[0]


def _inside(module, names: list[str]) -> ast.FunctionDef | None:
    """The function of a module, or the method of a class in it."""
    node = module.tree
    for name in names:
        node = next((n for n in getattr(node, "body", ()) if isinstance(n, _DEFINITIONS) and n.name == name), None)
    return node if isinstance(node, ast.FunctionDef) else None


def _statements(node: ast.stmt, source: str) -> Iterator[str]:
    """The lines of each statement in a statement; of a compound one its head, then what it contains."""
    if _is_docstring(node):
        return
    inner = [part for field in ("body", "orelse", "finalbody") for part in getattr(node, field, ())]
    yield _lines(node, source, inner[0].lineno - 1 if inner else None)
    for part in inner:
        yield from _statements(part, source)


def _lines(node: ast.stmt, source: str, last: int | None = None) -> str:
    return "\n".join(source.splitlines()[node.lineno - 1 : last or node.end_lineno])


def _of_cell(source: str) -> list[str]:
    try:
        return [text for node in ast.parse(source).body for text in _statements(node, source)]
    except SyntaxError:  # a command of the notebook, as `!pip`
        return []


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_check(node: ast.stmt) -> bool:
    """Whether a statement is a docstring or does nothing but raise an error for wrong arguments."""
    match node:
        case ast.If(body=[ast.Raise()], orelse=[]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name.startswith(_CHECKS)
    return _is_docstring(node)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _dedented(parts: list[str]) -> str:
    return textwrap.dedent("\n".join(parts)).strip("\n")


def cells_of(notebook: Path) -> list[str]:
    """The sources of a notebook's code cells; none if it is not there."""
    return list(_cells(notebook, notebook.stat().st_mtime_ns)) if notebook.is_file() else []


@cache
def _cells(notebook: Path, changed: int) -> tuple[str, ...]:
    """As `cells_of`, of the notebook as it was when it was `changed`."""
    cells = json.loads(text_of(notebook))["cells"]
    return tuple("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
