"""Which of a chapter's code cells a claim needs: the names that each cell reads and binds."""

import ast
from dataclasses import dataclass
from functools import cache

from contrastive_dynamics.book.sources import Cell, ChapterFiles


def code_cells(files: ChapterFiles) -> list[Cell]:
    """The cells of a chapter that run."""
    return [cell for cell in files.cells() if not cell.markdown and cell.source.strip()]


def cells_of(files: ChapterFiles, claims: tuple[str, ...]) -> list[int]:
    """Which code cells the verdicts on some claims come from, with the parameters; raises ValueError."""
    code = code_cells(files)
    first = next(n for n, cell in enumerate(code) if "parameters" in cell.tags)
    return sorted({first}.union(*(needed_cells(code, _judging_cell(files, code, claim)) for claim in claims)))


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


@cache
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


def _judging_cell(files: ChapterFiles, code: list[Cell], claim: str) -> int:
    judged = [n for n, cell in enumerate(code) if judges(cell.source, claim)]
    if not judged:
        raise ValueError(f"{files.name}: no cell judges {claim}")
    return judged[-1]


def judges(source: str, claim: str) -> bool:
    """Whether a cell calls `chapter.judge` for a claim, on one line or several."""
    return repr(claim) in _judged(source)


@cache
def _judged(source: str) -> set[str]:
    calls = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and n.args)
    return {ast.unparse(c.args[0]) for c in calls if ast.unparse(c.func) == "chapter.judge"}
