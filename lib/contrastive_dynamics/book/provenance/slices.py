"""Which code of a chapter a cell needs: the chapter as units in a row, and for each name the unit that bound it last.

A unit is a whole cell; of the set-up (the cells between the parameters and the first prose after them) each statement;
an import statement anywhere. Statements of the set-up that change the state of the process are needed by every cell.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..ground.errors import BookError
from ..ground.parameters import Parameter, read_parameters
from ..ground.sources import Cell, ChapterFiles
from .library import Library, Module, Target
from .names import Names, block, names_of
from .syntax import IMPORTS, Definition, External

# what changes torch, numpy or the process for all code after it: calls whose dotted name begins so
STATE = ("torch.set_", "torch.use_deterministic", "torch.manual_seed", "numpy.random.seed", "random.seed",
         "torch.backends", "os.environ", "os.putenv", "warnings.simplefilter")  # fmt: skip
CHAPTER = "chapter"  # the name under which every chapter opens itself


@dataclass(frozen=True)
class Unit:
    """A cell, or a statement of one: its number among the code cells, its source and syntax trees."""

    cell: int
    source: str
    body: tuple[ast.stmt, ...]
    whole: bool  # a cell, but for its import statements
    setup: bool

    @cached_property
    def names(self) -> Names:
        return block(list(self.body))

    def _named(self, function: str, position: int) -> tuple[str, ...]:
        """The constants that calls of a function have at a position."""
        calls = [n for s in self.body for n in ast.walk(s) if isinstance(n, ast.Call) and len(n.args) > position]
        named = [c.args[position] for c in calls if ast.unparse(c.func) == function]
        return tuple(arg.value for arg in named if isinstance(arg, ast.Constant))

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The claims that it judges."""
        return self._named(f"{CHAPTER}.judge", 0)

    @cached_property
    def line(self) -> tuple[str, str] | None:
        """What it shows at its end of the stored run: (`judge`, claim) or (`close`, nothing)."""
        call = getattr(self.body[-1], "value", None)
        if not (isinstance(self.body[-1], ast.Expr) and isinstance(call, ast.Call)):
            return None
        said = ast.unparse(call.func).removeprefix(f"{CHAPTER}.")
        if ast.unparse(call.func) == said or said not in ("judge", "close"):
            return None
        return said, call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""

    @property
    def only_line(self) -> bool:
        """Whether it does nothing but show a line."""
        return len(self.body) == 1 and self.line is not None

    @cached_property
    def texts(self) -> frozenset[str]:
        """Its string constants."""
        constants = [n.value for s in self.body for n in ast.walk(s) if isinstance(n, ast.Constant)]
        return frozenset(value for value in constants if isinstance(value, str))

    @cached_property
    def imports(self) -> bool:
        return all(isinstance(statement, IMPORTS) for statement in self.body)


def _apart(statement: ast.stmt) -> list[ast.stmt]:
    """`a, b = x, y` as two statements where neither value reads what is bound."""
    value, target = getattr(statement, "value", None), (getattr(statement, "targets", None) or [None])[0]
    pair = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(target, ast.Tuple)
    if not (pair and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)):
        return [statement]
    bound, read = names_of(target).bound, names_of(value).read
    if bound & read or any(isinstance(v, ast.Starred) for v in (*target.elts, *value.elts)):
        return [statement]
    singles = [ast.Assign([t], v) for t, v in zip(target.elts, value.elts, strict=True)]
    return [ast.fix_missing_locations(ast.copy_location(single, statement)) for single in singles]


class Story:
    """A chapter's code as units, with what its names mean."""

    def __init__(self, files: ChapterFiles, library: Library | None = None, cells: list[Cell] | None = None):
        self.files, self.library = files, library or Library()
        self.all_cells = files.cells() if cells is None else cells
        self._needed: dict[tuple[int, ...], list[int]] = {}
        self.parameters: dict[str, Parameter] = read_parameters(self.all_cells, files.source.name)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that run."""
        return [cell for cell in self.all_cells if not cell.markdown and cell.source.strip()]

    @cached_property
    def _setup(self) -> list[Cell]:
        """Code cells between the parameters and the first prose after them."""
        first = next(n for n, cell in enumerate(self.all_cells) if "parameters" in cell.tags) + 1
        prose = (n for n, cell in enumerate(self.all_cells) if n >= first and cell.markdown)
        return self.all_cells[first : next(prose, None)]

    @property
    def defaults(self) -> str:
        """The source of the parameters' cell, which every slice begins with."""
        return next(cell.source for cell in self.cells if "parameters" in cell.tags)

    @cached_property
    def units(self) -> list[Unit]:
        """All units in order, the parameters' cell left out."""
        found = []
        for number, cell in enumerate(self.cells):
            if "parameters" not in cell.tags:
                found += _units_of(number, cell, any(cell is one for one in self._setup), self.files.source.name)
        return found

    @cached_property
    def imports(self) -> dict[str, Target]:
        """What the names mean that the chapter imports; raises BookError for one that means two things."""
        home, found = Module("chapter", ""), {}
        for unit in self.units:
            for node in [n for statement in unit.body for n in ast.walk(statement) if isinstance(n, IMPORTS)]:
                for name, target in home.imported(node).items():
                    if found.setdefault(name, target) != target:
                        raise BookError(f"{self.files.source.name}: {name} is imported with two meanings")
        return found

    @cached_property
    def _made(self) -> set[str]:
        """Names that the chapter binds to objects of its own, which a method may change: no modules, not itself."""
        return {name for unit in self.units if not unit.imports for name in unit.names.bound} - {CHAPTER}

    @cached_property
    def state(self) -> list[int]:
        """The units of the set-up that change the state of the process."""
        return [n for n, unit in enumerate(self.units) if unit.setup and self.changes_state(unit)]

    def changes_state(self, unit: Unit) -> bool:
        """Whether a unit changes the process's state: itself, or by a function of the library or of the set-up."""
        trees, names, seen = list(unit.body), set(unit.names.read), {unit}
        while unit.setup and (more := [u for u in self._setup_functions if u not in seen and u.names.bound & names]):
            seen.update(more)
            trees += [statement for u in more for statement in u.body]
            names |= {name for u in more for name in u.names.late}
        if any(sets_state(tree, self.imports) for tree in trees):
            return True
        called = {self.meaning(n.func) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)}
        return unit.setup and any(self.is_procedure(one) for one in called if isinstance(one, Definition))

    @cached_property
    def _setup_functions(self) -> list[Unit]:
        return [unit for unit in self.units if unit.setup and isinstance(unit.body[0], ast.FunctionDef)]

    def is_procedure(self, called: Definition) -> bool:
        """Whether a function of the library itself changes the process's state."""
        module = self.library.module(called.module)
        tree = module and module.definitions.get(called.name)
        if not isinstance(tree, ast.FunctionDef):
            return False
        inner = [node for node in ast.walk(tree) if isinstance(node, IMPORTS)]
        return sets_state(tree, module.imports | {k: v for node in inner for k, v in module.imported(node).items()})

    def meaning(self, node: ast.AST) -> Target | None:
        """What of the library, or of another package, a name or a chain of attributes refers to."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imports:
            return None
        token = self.library.refer(self.imports[node.id], tuple(attributes))[0][0]
        return token if isinstance(token, Definition) else External(token.partition(" ")[2])

    def needed(self, last: int) -> list[int]:
        """The units that unit `last` depends on, and itself: for each name read, the unit that bound it last before.

        What a function reads counts as it stands where the function is used.
        """
        key = (last, *self.state)
        if key not in self._needed:
            self._needed[key] = self._resolved(last)
        return self._needed[key]

    def _resolved(self, last: int) -> list[int]:
        kept: set[int] = set()
        seen: set[tuple[str, int]] = set()

        def keep(at: int) -> None:
            if at not in kept:
                kept.add(at)
                names = self.units[at].names
                for name in names.read | names.before | (names.changed & self._made):
                    resolve(name, at)

        def resolve(name: str, before: int) -> None:
            if (name, before) in seen:
                return
            seen.add((name, before))
            for at in range(before - 1, -1, -1):
                names = self.units[at].names
                if name in names.bound or name in names.changed & self._made:
                    keep(at)
                    for late in names.late:
                        resolve(late, before)
                    if name in names.certain - names.read:  # bound anew, not only changed, or perhaps
                        return

        keep(last)
        for at in self.state:
            keep(at)
        return sorted(kept)

    @property
    def opening(self) -> list[int]:
        """The unit that opens the chapter, with all that it needs."""
        return [n for at, unit in enumerate(self.units) if CHAPTER in unit.names.bound for n in self.needed(at)]

    def union(self, claims: Iterable[str]) -> list[int]:
        """The units that some claims need, in order; raises BookError for a claim that no cell judges."""
        return sorted(set().union(*(self.needed(self.judging(claim)) for claim in claims)))

    def judging(self, claim: str) -> int:
        """The unit that judges a claim; raises BookError."""
        if claim not in self.claims:
            raise BookError(f"{self.files.name}: no cell judges {claim}")
        return self.claims[claim]

    def drawing(self, figure: str) -> int | None:
        """The unit that draws a figure: the last that has its name among its texts."""
        return next((n for n in reversed(range(len(self.units))) if self._draws(n, figure)), None)

    def _draws(self, n: int, figure: str) -> bool:
        return self.units[n].whole and figure in self.units[n].texts

    @cached_property
    def figures(self) -> dict[str, int]:
        """Name of a figure that the prose places → the unit that draws it."""
        prose = "\n".join(cell.source for cell in self.all_cells if cell.markdown)
        drawn = {name: self.drawing(name) for name in re.findall(r"\{glue:figure\} (\S+)", prose)}
        return {name: at for name, at in drawn.items() if at is not None}

    def figures_of(self, claims: Iterable[str]) -> dict[str, int]:
        """The figures of some claims: they need no cell that another claim needs and these do not."""
        have, claimed = set(self.union(claims)), set(self.union(self.claims))
        found = {}
        for name, at in self.figures.items():
            shared = {n for n in self.needed(at) if n in claimed and not self.units[n].setup and self.units[n].whole}
            if shared and shared <= have:
                found[name] = at
        return found

    @cached_property
    def claims(self) -> dict[str, int]:
        """Claim → the unit that judges it, in the order of the chapter."""
        return {claim: n for n, unit in enumerate(self.units) for claim in unit.judges}


def sets_state(tree: ast.AST, imports: dict[str, Target]) -> bool:
    """Whether code changes the process's state: by a call, or by an assignment to a part of a module."""
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


def _units_of(number: int, cell: Cell, setup: bool, where: str) -> list[Unit]:
    try:
        body = ast.parse(cell.source).body
    except SyntaxError as error:
        raise BookError(f"{where}: code cell {number + 1}, line {error.lineno}: {error.msg}") from None
    if setup:
        singles = [single for statement in body for single in _apart(statement)]
        return [Unit(number, _text(cell.source, [s], len(body)), (s,), False, True) for s in singles]
    imports = [s for s in body if isinstance(s, IMPORTS)]
    found = [Unit(number, _text(cell.source, [s], len(body)), (s,), False, False) for s in imports]
    rest = [s for s in body if not isinstance(s, IMPORTS)]
    return found + ([Unit(number, _text(cell.source, rest, len(body)), tuple(rest), True, False)] if rest else [])


def _text(source: str, statements: list[ast.stmt], of: int) -> str:
    """The source of statements, each on the lines that it has in its cell, so that an error names the right one."""
    given, lines = source.splitlines(), [""] * len(source.splitlines())
    if len(statements) == of:
        return source
    for statement in statements:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]) - 1
        alone = ast.unparse(ast.parse("\n".join(given[first : statement.end_lineno]))) == ast.unparse(statement)
        shown = given[first : statement.end_lineno] if alone else [ast.unparse(statement)]
        lines[first : first + len(shown)] = shown
    return "\n".join(lines)
