"""Which code of a chapter a cell needs: the chapter as a row of units, and for each name the unit that last bound it.

Every cell needs the statements of the set-up that change the state of the process. A chapter's notebook and its
appendix form one row, but each runs by itself: no cell of one needs a cell of the other.
"""

import ast
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import groupby
from pathlib import Path

from ..common.errors import BookError
from ..common.parameters import Parameter, read_parameters
from ..common.sources import Cell, ChapterFiles
from .library import Library, Module, Target
from .syntax import IMPORTS, Definition, External
from .units import CHAPTER, Unit, sets_state, units_of


class ChapterCode:
    """The code of a chapter, or of one of its notebooks, as units, and what its names refer to.

    `cells` stand for those of one notebook, if its source is not to be read. Raises BookError if the notebooks of a
    chapter do not have the same parameters.
    """

    def __init__(self, files: ChapterFiles, library: Library | None = None, cells: list[Cell] | None = None):
        self.files, self.library = files, library or Library()
        self.sources = files.notebooks if cells is None else files.notebooks[:1]
        self.notebooks = [one.cells() for one in self.sources] if cells is None else [cells]
        self.all_cells = [cell for notebook in self.notebooks for cell in notebook]
        self._needed: dict[tuple[int, ...], list[int]] = {}
        pairs = zip(self.sources, self.notebooks, strict=True)
        first, *others = [read_parameters(notebook, one.source.name) for one, notebook in pairs]
        if any(list(other.items()) != list(first.items()) for other in others):
            raise BookError(f"{self.sources[1].source.name}: its parameters must be those of {files.source.name}")
        self.parameters: dict[str, Parameter] = first

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that contain code."""
        return _code(self.all_cells)

    def namespace(self, parameters: dict) -> dict:
        """What every slice of one notebook begins in: the parameters cell executed, then these values in its place."""
        found: dict = {"__name__": "__main__"}
        exec(next(cell.source for cell in self.cells if "parameters" in cell.tags), found)
        found.update(parameters)
        return found

    @cached_property
    def units(self) -> list[Unit]:
        """All units in order, without the parameters cells."""
        found, number = [], 0
        for files, notebook in zip(self.sources, self.notebooks, strict=True):
            setup, first = _setup(notebook), number
            for cell in _code(notebook):
                if "parameters" not in cell.tags:
                    where = f"{files.source.name}: code cell {number - first + 1}"
                    found += units_of(number, files.part, cell, any(cell is one for one in setup), where)
                number += 1
        return found

    def of_notebook(self, part: int) -> list[int]:
        """The units of one notebook: 0 for the chapter's own, 1 for its appendix."""
        return [n for n, unit in enumerate(self.units) if unit.part == part]

    def source_of(self, at: int) -> Path:
        """The file in which a unit stands."""
        return next(one.source for one in self.sources if one.part == self.units[at].part)

    def cell_in_notebook(self, at: int) -> int:
        """The number of a unit's cell among the code cells of its notebook."""
        unit, notebooks = self.units[at], zip(self.sources, self.notebooks, strict=True)
        return unit.cell - sum(len(_code(cells)) for one, cells in notebooks if one.part < unit.part)

    def by_notebook(self, units: Iterable[int] | None) -> list[list[int]]:
        """Units (None: all) in order, apart for each notebook that has some of them."""
        wanted = range(len(self.units)) if units is None else sorted(units)
        return [list(of) for _, of in groupby(wanted, key=lambda n: self.units[n].part)]

    @cached_property
    def imports(self) -> dict[str, Target]:
        """What the chapter's imported names refer to; raises BookError for a name with two meanings.

        The notebooks of a chapter share this table, so neither may bind a name that the other imports from the library.
        """
        home, found = Module("chapter", ""), {}
        for unit in self.units:
            for node in [n for statement in unit.body for n in ast.walk(statement) if isinstance(n, IMPORTS)]:
                for name, target in home.imported(node).items():
                    if found.setdefault(name, target) != target:
                        raise BookError(f"{self.files.source.name}: {name} is imported with two meanings")
        bound = set().union(*(unit.names.bound for unit in self.units if not unit.imports))
        if both := sorted(name for name in bound & found.keys() if not isinstance(found[name], External)):
            raise BookError(
                f"{self.files.source.name}: {both[0]} is imported from the library and bound by a cell, too"
            )
        return found

    @cached_property
    def _made(self) -> dict[int, set[str]]:
        """Names that each notebook binds to objects which a method may change; neither modules nor the chapter."""
        found: dict[int, set[str]] = {}
        for unit in self.units:
            found.setdefault(unit.part, set()).update(set() if unit.imports else unit.names.bound - {CHAPTER})
        return found

    @cached_property
    def state(self) -> list[int]:
        """The units of the set-up that change the state of the process."""
        return [n for n, unit in enumerate(self.units) if unit.setup and self.changes_state(unit)]

    def changes_state(self, unit: Unit) -> bool:
        """Whether a unit changes the process's state, itself or through a function of the library or of the set-up."""
        trees, names, seen = list(unit.body), set(unit.names.read), {unit}
        while unit.setup and (more := [u for u in self._functions(unit) if u not in seen and u.names.bound & names]):
            seen.update(more)
            trees += [statement for u in more for statement in u.body]
            names |= {name for u in more for name in u.names.late}
        if any(sets_state(tree, self.imports) for tree in trees):
            return True
        called = {self.meaning(n.func) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)}
        return unit.setup and any(self.is_procedure(one) for one in called if isinstance(one, Definition))

    def _functions(self, beside: Unit) -> list[Unit]:
        """The functions of the set-up in the same notebook."""
        setup = [unit for unit in self.units if unit.setup and unit.part == beside.part]
        return [unit for unit in setup if isinstance(unit.body[0], ast.FunctionDef)]

    def is_procedure(self, called: Definition) -> bool:
        """Whether a library function itself changes the process's state."""
        module = self.library.module(called.module)
        tree = module and module.definitions.get(called.name)
        if not isinstance(tree, ast.FunctionDef):
            return False
        inner = [node for node in ast.walk(tree) if isinstance(node, IMPORTS)]
        return sets_state(tree, module.imports | {k: v for node in inner for k, v in module.imported(node).items()})

    def meaning(self, node: ast.AST) -> Target | None:
        """What a name or a chain of attributes refers to in the library or in another package."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imports:
            return None
        token = self.library.refer(self.imports[node.id], tuple(attributes))[0][0]
        return token if isinstance(token, Definition) else External(token.partition(" ")[2])

    def needed(self, last: int) -> list[int]:
        """Unit `last` and the units that it depends on: for each name read, the unit that last bound it.

        The names that a function reads count as they are bound where the function is used.
        """
        key = (last, *self.state)
        if key not in self._needed:
            self._needed[key] = self._resolved(last)
        return self._needed[key]

    def _resolved(self, last: int) -> list[int]:
        kept: set[int] = set()
        seen: set[tuple[str, int]] = set()
        part = self.units[last].part
        made, first = self._made[part], self.of_notebook(part)[0]

        def keep(at: int) -> None:
            if at not in kept:
                kept.add(at)
                names = self.units[at].names
                own = names.certain - names.read  # certainly bound here, before anything changes it
                for name in names.read | names.before | (names.changed & made - own):
                    resolve(name, at)

        def resolve(name: str, before: int) -> None:
            if (name, before) in seen:
                return
            seen.add((name, before))
            for at in range(before - 1, first - 1, -1):
                names = self.units[at].names
                if name in names.bound or name in names.changed & made:
                    keep(at)
                    for late in names.late:
                        resolve(late, before)
                    if name in names.certain - names.read:  # certainly bound anew, not only changed
                        return

        keep(last)
        for at in self.state:
            if self.units[at].part == part:
                keep(at)
        return sorted(kept)

    @property
    def opening(self) -> list[int]:
        """The units that open the chapter, with everything they need."""
        return [n for at, unit in enumerate(self.units) if CHAPTER in unit.names.bound for n in self.needed(at)]

    def union(self, claims: Iterable[str]) -> list[int]:
        """The units needed by some claims, in order; raises BookError for a claim that no cell judges."""
        return sorted(set().union(*(self.needed(self.judging(claim)) for claim in claims)))

    def judging(self, claim: str) -> int:
        """The unit that judges a claim; raises BookError."""
        if claim not in self.claims:
            raise BookError(f"{self.files.name}: no cell judges {claim}")
        return self.claims[claim]

    def drawing(self, figure: str) -> int | None:
        """The unit that draws a figure: the last one that has its name among its texts."""
        return next((n for n in reversed(range(len(self.units))) if self._draws(n, figure)), None)

    def _draws(self, n: int, figure: str) -> bool:
        return self.units[n].whole and figure in self.units[n].texts

    @cached_property
    def figures(self) -> dict[str, int]:
        """Name of each figure that the prose places → the unit that draws it."""
        prose = "\n".join(cell.source for cell in self.all_cells if cell.markdown)
        drawn = {name: self.drawing(name) for name in re.findall(r"\{(?:glue:|record-)figure\} (\S+)", prose)}
        return {name: at for name, at in drawn.items() if at is not None}

    def figures_of(self, claims: Iterable[str]) -> dict[str, int]:
        """The figures of some claims: those that need no cell that another claim needs but these do not."""
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


def _code(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if not cell.markdown and cell.source.strip()]


def _setup(cells: list[Cell]) -> list[Cell]:
    """Code cells between the parameters and the first prose after them."""
    first = next(n for n, cell in enumerate(cells) if "parameters" in cell.tags) + 1
    prose = (n for n, cell in enumerate(cells) if n >= first and cell.markdown)
    return cells[first : next(prose, None)]
