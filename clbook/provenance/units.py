"""The units of a chapter's code, and which of them change the state of the process.

A unit is a whole cell, a single statement of the set-up (the cells between the parameters and the first prose after
them), or an import statement anywhere.
"""

import ast
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..common.errors import BookError
from ..common.sources import Cell
from .library import Target
from .names import Names, block, names_of
from .syntax import IMPORTS, External

# calls that change torch, numpy or the process for all later code have dotted names that begin like these
STATE = ("torch.set_", "torch.use_deterministic", "torch.manual_seed", "numpy.random.seed", "random.seed",
         "torch.backends", "os.environ", "os.putenv", "warnings.simplefilter")  # fmt: skip
CHAPTER = "chapter"  # the name under which every chapter opens itself


@dataclass(frozen=True)
class Unit:
    """A cell, or a statement of one: its number among the code cells of the chapter, its source and syntax trees."""

    cell: int
    part: int  # the notebook: 0 for the chapter's own, 1 for its appendix
    source: str
    body: tuple[ast.stmt, ...]
    whole: bool  # a cell without its import statements
    setup: bool

    @cached_property
    def names(self) -> Names:
        return block(list(self.body))

    def _named(self, function: str, position: int) -> tuple[str, ...]:
        """The constants at one position in the calls of a function."""
        calls = [n for s in self.body for n in ast.walk(s) if isinstance(n, ast.Call) and len(n.args) > position]
        named = [c.args[position] for c in calls if ast.unparse(c.func) == function]
        return tuple(arg.value for arg in named if isinstance(arg, ast.Constant))

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The claims that the unit judges."""
        return self._named(f"{CHAPTER}.judge", 0)

    def regime(self, claim: str) -> str:
        """The condition under which the unit judges a claim, as text; empty if there is none."""
        calls = [n for s in self.body for n in ast.walk(s) if isinstance(n, ast.Call) and n.args]
        own = [c for c in calls if ast.unparse(c.func) == f"{CHAPTER}.judge" and ast.unparse(c.args[0]) == repr(claim)]
        return " ".join(ast.unparse(k.value) for call in own for k in call.keywords if k.arg == "regime")

    @cached_property
    def line(self) -> tuple[str, str] | None:
        """The line about the stored run that the unit shows last: ("judge", claim) or ("close", "")."""
        call = getattr(self.body[-1], "value", None)
        if not (isinstance(self.body[-1], ast.Expr) and isinstance(call, ast.Call)):
            return None
        owner, _, method = ast.unparse(call.func).rpartition(".")
        if owner != CHAPTER or method not in ("judge", "close"):
            return None
        return method, call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""

    @property
    def closes(self) -> bool:
        """Whether the unit ends the run and stores it."""
        return self.line == ("close", "")

    @property
    def only_line(self) -> bool:
        """Whether the unit does nothing but show a line."""
        return len(self.body) == 1 and self.line is not None

    @cached_property
    def texts(self) -> frozenset[str]:
        """The unit's string constants."""
        constants = [n.value for s in self.body for n in ast.walk(s) if isinstance(n, ast.Constant)]
        return frozenset(value for value in constants if isinstance(value, str))

    @cached_property
    def imports(self) -> bool:
        return all(isinstance(statement, IMPORTS) for statement in self.body)


@lru_cache(maxsize=4096)  # a process reads a chapter more than once: its trees and their names are made once
def units_of(number: int, part: int, cell: Cell, setup: bool, where: str) -> tuple[Unit, ...]:
    """The units of one code cell; raises BookError, with the place, for code that Python cannot parse."""
    try:
        body = ast.parse(cell.source).body
    except SyntaxError as error:
        raise BookError(f"{where}, line {error.lineno}: {error.msg}") from None

    def unit(statements: list[ast.stmt], whole: bool) -> Unit:
        return Unit(number, part, _text(cell.source, statements, len(body)), tuple(statements), whole, setup)

    if setup:
        return tuple(unit([single], False) for statement in body for single in _split(statement))
    rest = [s for s in body if not isinstance(s, IMPORTS)]
    return (*(unit([s], False) for s in body if isinstance(s, IMPORTS)), *([unit(rest, True)] if rest else []))


def _split(statement: ast.stmt) -> list[ast.stmt]:
    """Split `a, b = x, y` into two assignments, if neither value reads what is bound."""
    value, target = getattr(statement, "value", None), (getattr(statement, "targets", None) or [None])[0]
    pair = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(target, ast.Tuple)
    if not (pair and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)):
        return [statement]
    bound, read = names_of(target).bound, names_of(value).read
    if bound & read or any(isinstance(v, ast.Starred) for v in (*target.elts, *value.elts)):
        return [statement]
    singles = [ast.Assign([t], v) for t, v in zip(target.elts, value.elts, strict=True)]
    return [ast.fix_missing_locations(ast.copy_location(single, statement)) for single in singles]


def _text(source: str, statements: list[ast.stmt], total: int) -> str:
    """The source of statements, each on its original lines of the cell, so that an error names the right line."""
    original, lines = source.splitlines(), [""] * len(source.splitlines())
    if len(statements) == total:
        return source
    for statement in statements:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]) - 1
        alone = ast.unparse(ast.parse("\n".join(original[first : statement.end_lineno]))) == ast.unparse(statement)
        shown = original[first : statement.end_lineno] if alone else [ast.unparse(statement)]
        lines[first : first + len(shown)] = shown
    return "\n".join(lines)


def sets_state(tree: ast.AST, imports: dict[str, Target]) -> bool:
    """Whether code changes the process's state, by a call or by assigning to an attribute or item of a module."""
    for node in ast.walk(tree):
        part = node.func if isinstance(node, ast.Call) else node
        stored = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
        attributes: list[str] = []
        while (isinstance(node, ast.Call) or stored) and isinstance(part, ast.Attribute | ast.Subscript):
            attributes = [part.attr, *attributes] if isinstance(part, ast.Attribute) else []
            part = part.value
        target = imports.get(part.id) if isinstance(part, ast.Name) else None
        if isinstance(target, External) and ".".join((target.dotted, *attributes)).startswith(STATE):
            return True
    return False
