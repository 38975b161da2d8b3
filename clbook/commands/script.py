"""A chapter's code, or a part of it, as a plain script: no notebook, no kernel, none of their packages."""

import ast
import contextlib
import io
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TextIO

from ..common.errors import BookError
from ..common.sources import ChapterFiles
from ..notebook import chapter as chapter_module
from ..notebook import display, glue
from ..notebook.chapter import Chapter
from ..notebook.pieces import Keeper
from ..provenance.slices import ChapterCode
from ..provenance.stamps import of_notebooks, seal
from ..provenance.units import CHAPTER


@contextlib.contextmanager
def as_script(files: ChapterFiles, profile: str, keeper: Keeper) -> Iterator[None]:
    """Inside, a chapter runs as a script: working folder, environment variables, pieces, pictures as files (of an
    animation the last frame), glued numbers in the keeper."""

    def figure(fig, name: str, dpi: int = 192, html: str = "") -> None:
        (keeper.folder / f"{name}.png").write_bytes(glue.as_png(fig, name, dpi))

    def animation(fig, draw, frames, name: str, alt: str, *, dpi: int = 144, **pace) -> None:
        draw(list(frames)[-1])
        figure(fig, name, dpi)

    def number(name: str, value: float) -> None:
        keeper.numbers[name] = repr(float(value))

    variables = {"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": profile, "MPLBACKEND": "Agg"}
    before, shown = dict(os.environ), (glue.figure, glue.animation, glue.number)
    os.environ.update(variables)
    glue.figure, glue.animation, glue.number = figure, animation, number
    chapter_module._PIECES["keeper"] = keeper
    try:
        with contextlib.chdir(files.source.parent):
            yield
    finally:
        glue.figure, glue.animation, glue.number = shown
        del chapter_module._PIECES["keeper"]
        os.environ.clear()
        os.environ.update(before)


class Copied(io.StringIO):
    """A stream that keeps what is written, and passes it on to another."""

    def __init__(self, onto: TextIO):
        super().__init__()
        self.onto = onto

    def write(self, text: str) -> int:
        self.onto.write(text)
        return super().write(text)

    def flush(self) -> None:
        self.onto.flush()


def _unwatched(n: int, at: int) -> AbstractContextManager:
    return contextlib.nullcontext()


def run_unit(
    code: ChapterCode, n: int, namespace: dict, around: Callable[[int, int], AbstractContextManager] = _unwatched
) -> object:
    """Execute unit n in a namespace, statement by statement; returns the last one's value if it is an expression.

    `around(n, at)` is entered for statement number `at`.
    """
    value, where = None, _where(code, n)
    for at, statement in enumerate(code.units[n].body):
        if isinstance(statement, ast.Expr):
            compiled = compile(ast.Expression(statement.value), where, "eval")
        else:
            compiled = compile(ast.Module([statement], []), where, "exec")
        with around(n, at):
            value = eval(compiled, namespace)
    return value


def _where(code: ChapterCode, n: int) -> str:
    return f"{code.source_of(n).name}, cell {code.cell_in_notebook(n) + 1}"


def run_script(
    files: ChapterFiles, parameters: dict, profile: str, keeper: Keeper, units: list[int] | None = None
) -> dict:
    """Run a chapter's code, or some of its units, with these parameters; returns its stamp.

    Raises BookError for a cell that fails, OutOfTime between pieces.
    """
    code, stamps = ChapterCode(files), []
    with as_script(files, profile, keeper):
        for part in code.by_notebook(units):
            stamps.append(_run_notebook(code, part, parameters, keeper))
    stamp = of_notebooks(stamps, one_run=True)
    seconds = round(stamp["seconds"] + keeper.earlier_seconds, 1)
    return seal(stamp | {"seconds": seconds, "peak_mb": max(stamp["peak_mb"], keeper.peak_mb)})


def _run_notebook(code: ChapterCode, units: list[int], parameters: dict, keeper: Keeper) -> dict:
    """Run units of one notebook in a fresh namespace; returns their stamp."""
    namespace = code.namespace(parameters)
    for n in units:
        timed_unit(code, n, namespace, keeper)
        if isinstance(namespace.get(CHAPTER), Chapter):
            keeper.device = namespace[CHAPTER].device
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    if not isinstance(namespace.get(CHAPTER), Chapter):
        raise BookError(f"{code.source_of(units[0]).name}: no cell sets chapter = open_chapter(...)")
    return namespace[CHAPTER].stamp()


def timed_unit(code: ChapterCode, n: int, namespace: dict, keeper: Keeper) -> float:
    """Run a unit in a namespace; returns its seconds, which are stored in the chapter, too.

    Its value is printed if that is a line about a claim. Pieces resumed from an earlier attempt count with the seconds
    that they took then. Raises BookError for a unit that fails.
    """
    began, earlier, where = time.perf_counter(), keeper.earlier_seconds, _where(code, n)
    printed = Copied(sys.stdout)
    try:
        with contextlib.redirect_stdout(printed):
            value = run_unit(code, n, namespace)
    except (BookError, MemoryError, OSError):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if f.filename == where), "?")
        raise BookError(f"{where}, line {line} failed: {type(error).__name__}: {error}") from error
    if text := printed.getvalue():
        cell = code.units[n].cell
        keeper.texts[cell] = keeper.texts.get(cell, "") + text
    if isinstance(value, display.Line):
        print(value.plain, flush=True)
    seconds = time.perf_counter() - began + keeper.earlier_seconds - earlier
    if isinstance(namespace.get(CHAPTER), Chapter):
        namespace[CHAPTER].took(code.cell_in_notebook(n), seconds)
    return seconds
