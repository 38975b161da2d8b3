"""A chapter's code, or a part of it, as a plain script: no notebook, no kernel, none of their packages."""

import ast
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator

from ..chapter import chapter as chapter_module
from ..chapter import display, glue
from ..chapter.chapter import Chapter
from ..chapter.pieces import Keeper
from ..ground.errors import BookError
from ..ground.sources import ChapterFiles
from ..provenance.slices import CHAPTER, Story, Unit
from ..provenance.stamps import seal


@contextlib.contextmanager
def _script(files: ChapterFiles, profile: str, keeper: Keeper) -> Iterator[None]:
    """What a chapter finds around it when it runs as a script: folder, variables, pieces, pictures as files."""

    def figure(fig, name: str, dpi: int = 150) -> None:
        (keeper.folder / f"{name}.png").write_bytes(glue.drawn(fig, name, dpi))

    variables = {"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": profile, "MPLBACKEND": "Agg"}
    before, shown = dict(os.environ), glue.figure
    os.environ.update(variables)
    glue.figure, chapter_module._PIECES["keeper"] = figure, keeper
    try:
        with contextlib.chdir(files.source.parent):
            yield
    finally:
        glue.figure = shown
        del chapter_module._PIECES["keeper"]
        os.environ.clear()
        os.environ.update(before)


def _run_unit(unit: Unit, namespace: dict, name: str) -> None:
    """Execute a unit and print what it ends with, if that is a line about a claim."""
    tree = ast.parse(unit.source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), name, "eval"), namespace) if last else None
    if isinstance(value, display.Line):
        print(value.plain, flush=True)


def run_script(
    files: ChapterFiles, parameters: dict, profile: str, keeper: Keeper, units: list[int] | None = None
) -> dict:
    """Run a chapter's code, or some of its units, with these parameters; returns its stamp.

    Raises BookError for a cell that fails, OutOfTime between pieces.
    """
    story, namespace = Story(files), {"__name__": "__main__"}
    with _script(files, profile, keeper):
        exec(story.defaults, namespace)
        namespace.update(parameters)
        for n in range(len(story.units)) if units is None else units:
            _timed_unit(story, n, namespace)
            if isinstance(namespace.get(CHAPTER), Chapter):
                keeper.device = namespace[CHAPTER].device
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        if not isinstance(namespace.get(CHAPTER), Chapter):
            raise BookError(f"{files.source.name}: no cell sets chapter = open_chapter(...)")
        stamp = namespace[CHAPTER].stamp()
    seconds = round(stamp["seconds"] + keeper.earlier_seconds, 1)
    return seal(stamp | {"seconds": seconds, "peak_mb": max(stamp["peak_mb"], keeper.peak_mb)})


def _timed_unit(story: Story, n: int, namespace: dict) -> None:
    unit, began = story.units[n], time.perf_counter()
    where = f"{story.files.source.name}, cell {unit.cell + 1}"
    try:
        _run_unit(unit, namespace, where)
    except (BookError, MemoryError, OSError):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if f.filename == where), "?")
        raise BookError(f"{where}, line {line} failed: {type(error).__name__}: {error}") from error
    if isinstance(namespace.get(CHAPTER), Chapter):
        namespace[CHAPTER].took(unit.cell, time.perf_counter() - began)
