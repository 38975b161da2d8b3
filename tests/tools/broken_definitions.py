"""Does a program notice a definition? What it executes, and copies of the library in which the definition is broken."""

import ast
import copy
import cProfile
import inspect
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from checkout import ROOT, import_path

from clbook.provenance.library import FOLDERS, Definition, Library, definition_at

_COPIED = ("lib", "clbook", "chapters/experiments")
_MUTANTS = 8  # of a definition that are tried
_OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@cache
def executed(program: Path) -> set[str]:
    """The dotted names of the library's definitions that a program executes in its own process."""
    command = [sys.executable, __file__, str(program)]
    with tempfile.TemporaryDirectory() as empty:  # what a cache of compiled code holds would run unseen
        env = os.environ | {"PYTHONPATH": import_path(), "NUMBA_CACHE_DIR": empty}
        done = subprocess.run(command, env=env, check=True, text=True, stdout=subprocess.PIPE)
    return set(done.stdout.rpartition("EXECUTED\n")[2].split())


def _profile(program: str) -> set[str]:
    profile, library = cProfile.Profile(builtins=False), Library()
    sys.path.insert(0, str(Path(program).parent))  # as if it were started: programs of a folder share a module
    with profile:
        runpy.run_path(program, run_name="__main__")
    codes = [entry.code for entry in profile.getstats() if not isinstance(entry.code, str)]
    return {name for code in codes if code.co_flags & inspect.CO_NEWLOCALS and (name := _name(library, code))}


def _name(library: Library, code) -> str | None:
    for package, folder in FOLDERS.items():
        if code.co_filename.startswith(f"{folder}{os.sep}"):
            parts = Path(code.co_filename).relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found = definition_at(library, ".".join((package, *parts)), code.co_firstlineno)
            return found and str(found)
    return None


def is_executable(dotted: str) -> bool:
    """Whether a definition is a function or a class; a constant is read and not executed."""
    node = _node(Definition(*dotted.rsplit(".", 1)))
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _node(definition: Definition) -> ast.AST:
    return Library().module(definition.module).definitions[definition.name]


def mutants(node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Copies of a definition, each with one operator, number, truth, order or result changed; is it a result?"""
    for at in range(len(_places(node))):
        twin = copy.deepcopy(node)
        place = _places(twin)[at]
        for field, value in _mutated(place).items():
            setattr(place, field, value)
        yield ast.fix_missing_locations(twin), isinstance(place, ast.Return)


def _places(node: ast.AST) -> list[ast.AST]:
    """The parts of a definition that a mutation changes; texts of errors are none of what it does."""
    said = {id(n) for raised in ast.walk(node) if isinstance(raised, ast.Raise) for n in ast.walk(raised)}
    return [n for n in ast.walk(node) if id(n) not in said and _mutated(n) is not None]


def _mutated(node: ast.AST) -> dict | None:
    """The fields of a node that a mutation changes, with their new values; None where there is no mutation."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in _OTHER:
        return {"op": _OTHER[type(node.op)]()}
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        return {"ops": [_OTHER[type(node.ops[0])](), *node.ops[1:]]}
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return {"value": node.value + 1}
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        return {"value": not node.value}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sorted":
        return {"keywords": [*node.keywords, ast.keyword("reverse", ast.Constant(True))]}
    if isinstance(node, ast.Return) and node.value is not None:
        return {"value": ast.Constant(None)}
    return None


def broken_copies(dotted: str, folder: Path) -> Iterator[tuple[Path, bool]]:
    """Copies of the library in a folder, one after the other, in which a definition has a mutation; of its result?"""
    definition = Definition(*dotted.rsplit(".", 1))
    node, file = _node(definition), Library().file(definition.module)
    found = list(mutants(node))
    for mutant, of_result in found[:: max(1, -(-len(found) // _MUTANTS))]:
        shutil.rmtree(folder, ignore_errors=True)
        for part in _COPIED:
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        lines = file.read_text(encoding="utf-8").splitlines()
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        before = lines[first - 1][: node.col_offset] if first == node.lineno else ""  # `NAME = ` of a constant
        lines[first - 1 : node.end_lineno] = [before + ast.unparse(mutant)]
        (folder / file.relative_to(ROOT)).write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield folder, of_result


if __name__ == "__main__":
    names = _profile(sys.argv[1])
    print("EXECUTED", *sorted(names), sep="\n")
