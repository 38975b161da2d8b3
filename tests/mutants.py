"""A chapter run as a plain script with one line of one kernel broken, in memory and in this process alone."""

import ast
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import yaml

from contrastive_dynamics.book.chapter import profile_parameters
from contrastive_dynamics.book.claims import Claims, Reading, judge_all
from contrastive_dynamics.book.sources import Cell, ChapterFiles, chapter_names

PACKAGE = "contrastive_dynamics"
LIBRARY = Path(importlib.util.find_spec(PACKAGE).origin).parent


@dataclass(frozen=True)
class Mutation:
    """`old` stands once in the module's source; with `new` in its place the verdict of the chapter's claim must change.

    `parameters` differ from the smoke profile where the claim has no verdict at that size.
    """

    chapter: str
    claim: str
    module: str
    old: str
    new: str
    parameters: dict = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Chapters give their claims the same ids: only both together name one."""
        return f"{self.chapter}/{self.claim}"

    @property
    def source(self) -> str:
        return (LIBRARY / f"{self.module}.py").read_text(encoding="utf-8")


def class_a_chapter(make: Callable[[str], type], root: Path) -> dict[str, type]:
    """`TestNAME` → make(name) for every chapter: pytest-xdist hands out a class as a whole, so two processes share."""
    return {"Test" + name.title().replace("-", ""): make(name) for name in chapter_names(root)}


def load_mutations(folder: Path) -> list[Mutation]:
    """All rows of a folder that has a file `CHAPTER.yaml` for each chapter."""
    files = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))}
    return [Mutation(chapter, **row) for chapter, rows in files.items() for row in rows or []]


class _Broken(importlib.machinery.SourceFileLoader):
    """Loads a module from changed source; never reads or writes a cached compilation."""

    def __init__(self, name: str, path: str, source: str):
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname: str):
        return compile(self.source, self.path, "exec")


class _Finder:
    """Serves one module of the library with a mutation's source."""

    def __init__(self, mutation: Mutation):
        self.mutation, self.served = mutation, False

    def find_spec(self, name: str, path=None, target=None):
        if name != f"{PACKAGE}.{self.mutation.module}":
            return None
        self.served = True
        file = str(LIBRARY / f"{self.mutation.module}.py")
        loader = _Broken(name, file, self.mutation.source.replace(self.mutation.old, self.mutation.new))
        return importlib.util.spec_from_file_location(name, file, loader=loader)


@contextlib.contextmanager
def fresh_library(mutation: Mutation | None = None) -> Iterator[_Finder | None]:
    """Import the library anew inside the block, mutated; what was imported before stands again after it.

    Torch's default dtype, its thread count and the pyplot figures are put back too. Trainings stay in this process,
    since others would import the library as it stands on disk.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import torch

    def ours() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] == PACKAGE]

    kept = {name: sys.modules.pop(name) for name in ours()}
    dtype, threads, finder = torch.get_default_dtype(), torch.get_num_threads(), mutation and _Finder(mutation)
    sys.meta_path[:0] = [finder] if finder else []
    try:
        with mock.patch.dict(os.environ, LOKY_MAX_CPU_COUNT="1"):
            yield finder
    finally:
        if finder:
            sys.meta_path.remove(finder)
        for name in ours():
            del sys.modules[name]
        sys.modules.update(kept)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        plt.close("all")


@dataclass
class _Names:
    """Names that a piece of code binds, reads at once, and reads later, when a function of it is called."""

    bound: set[str]
    read: set[str]
    late: set[str]

    def add(self, other: "_Names") -> None:
        self.bound |= other.bound
        self.read |= other.read
        self.late |= other.late


def _names(node: ast.AST) -> _Names:
    if isinstance(node, ast.For):  # its body reads what the target and the lines before bind
        found, target = _names(node.iter), _names(node.target)
        found.add(target)
        found.add(_block(node.body + node.orelse, target.bound))
        return found
    found = _Names(set(), set(), set())
    for child in ast.iter_child_nodes(node):
        found.add(_names(child))
    if isinstance(node, ast.Name):
        (found.read if isinstance(node.ctx, ast.Load) else found.bound).add(node.id)
    elif isinstance(node, ast.FunctionDef | ast.Lambda):
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)} | found.bound
        return _Names({getattr(node, "name", "lambda")}, _names(node.args).read, (found.read | found.late) - own)
    elif isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        return _Names(set(), found.read - found.bound, found.late - found.bound)
    elif isinstance(node, ast.alias):
        found.bound.add((node.asname or node.name).partition(".")[0])
    elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        found.bound |= found.read  # changed in place: bound and read
    elif isinstance(node, ast.AugAssign):
        found.read |= found.bound
    return found


def _block(statements: list[ast.stmt], bound: set[str] = frozenset()) -> _Names:
    """Of statements in a row; what an earlier one bound is not read from elsewhere."""
    found = _Names(set(), set(), set())
    for statement in statements:
        names = _names(statement)
        names.read -= found.bound | bound
        found.add(names)
    return found


def _cell_names(source: str) -> _Names:
    return _block(ast.parse(source).body)


def needed_cells(code: list[Cell], last: int) -> list[int]:
    """The cells that cell `last` depends on, and itself: for each name read, the cell that bound it last before.

    What a function reads counts as it stands where the function is used.
    """
    names, kept, seen = [_cell_names(cell.source) for cell in code], set(), set()

    def keep(at: int) -> None:
        if at not in kept:
            kept.add(at)
            for name in names[at].read | (names[at].late - names[at].bound):
                resolve(name, at)

    def resolve(name: str, before: int) -> None:
        if (name, before) in seen:
            return
        seen.add((name, before))
        for at in range(before - 1, -1, -1):
            if name in names[at].bound:
                keep(at)
                for late in names[at].late:
                    resolve(late, before)
                if name not in names[at].read:  # bound anew, not only changed
                    return

    keep(last)
    return sorted(kept)


def run_script(
    files: ChapterFiles,
    claim: str | tuple[str, ...] | None = None,
    mutation: Mutation | None = None,
    prepare: Callable[[], None] = lambda: None,
    changes: dict | None = None,
) -> dict[str, dict]:
    """Claim → stored arms after a run with the smoke profile: of all cells, or of those that some claims need.

    `changes` are parameters that differ from the profile; `prepare` is called before the first cell, in the library
    that the cells import.
    """
    parameters = profile_parameters(files, "smoke") | (changes or {})
    code = [cell for cell in files.cells() if not cell.markdown and cell.source.strip()]
    wanted = range(len(code))
    if claim is not None:
        first = next(n for n, cell in enumerate(code) if "parameters" in cell.tags)
        claims = (claim,) if isinstance(claim, str) else claim
        needed = [needed_cells(code, _judging_cell(files, code, each)) for each in claims]
        wanted = sorted({first}.union(*needed))
    namespace: dict = {"__name__": "__main__"}
    with fresh_library(mutation) as finder, contextlib.redirect_stderr(io.StringIO()):
        prepare()
        for n in wanted:
            exec(compile(code[n].source, f"{files.source.name}, code cell {n + 1}", "exec"), namespace)
            if "parameters" in code[n].tags:
                namespace.update(parameters)
        if finder and not finder.served:
            raise ValueError(f"{files.name}: the cells that {claim} needs do not import {mutation.module}")
        return {i: reading.to_json() for i, reading in namespace["chapter"].readings.items()}


def _judging_cell(files: ChapterFiles, code: list[Cell], claim: str) -> int:
    judged = [n for n, cell in enumerate(code) if judges(cell.source, claim)]
    if not judged:
        raise ValueError(f"{files.name}: no cell judges {claim}")
    return judged[-1]


def judges(source: str, claim: str) -> bool:
    """Whether a cell calls `chapter.judge` for a claim, on one line or several."""
    calls = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and n.args)
    return any(ast.unparse(c.func) == "chapter.judge" and ast.unparse(c.args[0]) == repr(claim) for c in calls)


def words(files: ChapterFiles, stored: dict[str, dict]) -> dict[str, str]:
    """Claim → verdict on stored arms, with Holm's correction over all of them."""
    readings = {i: Reading.of(**arms) for i, arms in stored.items()}
    return {i: v.verdict for i, v in judge_all(Claims.load(files.claims), readings).items()}
