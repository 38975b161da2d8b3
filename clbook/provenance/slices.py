"""Program slices: the units of a chapter's code on which a given unit depends.

A unit depends on the units that last bound the names it reads or whose objects it changes by a method, and on the
statements of the set-up that change the state of the process. Cells that draw bind names such as `ax` again and again,
so a picture's slice leaves out what a unit certainly binds anew before it changes it. The units of a chapter's notebook
and its appendix are numbered together, but each notebook runs by itself: no unit of one depends on a unit of the other.
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
from .kept_digests import KeptDigests
from .library import Library, Module, Target
from .syntax import IMPORTS, Definition, External
from .units import CHAPTER, Unit, sets_state, units_of


class ChapterCode:
    """The code of a chapter, or of one of its notebooks, as units, and what its names refer to.

    `cells`, if given, are those of a single notebook, whose source is then not read. Raises BookError if the notebooks
    of a chapter do not have the same parameters.
    """

    def __init__(self, files: ChapterFiles, library: Library | None = None, cells: list[Cell] | None = None):
        self.files, self.library = files, library or Library()
        self.sources = files.notebooks if cells is None else files.notebooks[:1]
        self.notebooks = [part.cells() for part in self.sources] if cells is None else [cells]
        self.all_cells = [cell for notebook in self.notebooks for cell in notebook]
        self._needed: dict[tuple, list[int]] = {}
        self._kept: KeptDigests | None = None
        self.spelled: dict[tuple, dict] = {}  # what `ChapterDigests` spells of this code, for all its runs,
        self.closed: dict[int, dict] = {}  # and the functions of the set-up that it could take from the library
        pairs = zip(self.sources, self.notebooks, strict=True)
        first, *others = [read_parameters(notebook, part.source.name, cells is None) for part, notebook in pairs]
        if any(list(other.items()) != list(first.items()) for other in others):
            raise BookError(f"{self.sources[1].source.name}: its parameters must be those of {files.source.name}")
        self.parameters: dict[str, Parameter] = first

    @property
    def kept(self) -> KeptDigests:
        """Digests of this code that an earlier process made; others once a copy of it has another library."""
        if self._kept is None or self._kept.library is not self.library:
            self._kept = KeptDigests(self.library, [repr(cell) for notebook in self.notebooks for cell in notebook])
        return self._kept

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that contain code."""
        return _code(self.all_cells)

    def namespace(self, parameters: dict) -> dict:
        """The global variables with which a slice starts: the parameters cell's, then these values."""
        result: dict = {"__name__": "__main__"}
        exec(next(cell.source for cell in self.cells if "parameters" in cell.tags), result)
        result.update(parameters)
        return result

    @cached_property
    def units(self) -> list[Unit]:
        """All units in order, without the parameters cells."""
        result, number = [], 0
        for files, notebook in zip(self.sources, self.notebooks, strict=True):
            setup, first = _setup(notebook), number
            for cell in _code(notebook):
                if "parameters" not in cell.tags:
                    where = f"{files.source.name}: code cell {number - first + 1}"
                    result += units_of(number, files.part, cell, any(cell is other for other in setup), where)
                number += 1
        return result

    def of_notebook(self, part: int) -> list[int]:
        """The numbers of one notebook's units: 0 for the chapter's own, 1 for its appendix."""
        return [n for n, unit in enumerate(self.units) if unit.part == part]

    def source_of(self, index: int) -> Path:
        """The file in which a unit stands."""
        return next(files.source for files in self.sources if files.part == self.units[index].part)

    def cell_in_notebook(self, index: int) -> int:
        """The number of a unit's cell among the code cells of its notebook."""
        unit, notebooks = self.units[index], zip(self.sources, self.notebooks, strict=True)
        return unit.cell - sum(len(_code(cells)) for files, cells in notebooks if files.part < unit.part)

    def by_notebook(self, units: Iterable[int] | None) -> list[list[int]]:
        """Units (None: all) in order, one list for each notebook that has some of them."""
        wanted = range(len(self.units)) if units is None else sorted(units)
        return [list(group) for _, group in groupby(wanted, key=lambda n: self.units[n].part)]

    @cached_property
    def imports(self) -> dict[str, Target]:
        """What the chapter's imported names refer to; raises BookError for a name with two meanings.

        The notebooks of a chapter share this table, so neither may bind a name that the other imports, and none a name
        from the library.
        """
        home, result, importing = Module("chapter", ""), {}, {}
        for unit in self.units:
            for node in [n for statement in unit.body for n in ast.walk(statement) if isinstance(n, IMPORTS)]:
                for name, target in home.imported(node).items():
                    importing.setdefault(name, set()).add(unit.part)
                    if result.setdefault(name, target) != target:
                        raise BookError(f"{self.files.source.name}: {name} is imported with two meanings")
        for unit in (unit for unit in self.units if not unit.imports):
            for name in sorted(unit.names.bound & result.keys()):
                if not isinstance(result[name], External) or unit.part not in importing[name]:
                    raise BookError(f"{self.files.source.name}: {name} is imported and bound by a cell, too")
        return result

    @cached_property
    def _changeable(self) -> dict[int, set[str]]:
        """Notebook → names that it binds to objects which a method may change, so neither modules nor the chapter."""
        result: dict[int, set[str]] = {}
        for unit in self.units:
            result.setdefault(unit.part, set()).update(set() if unit.imports else unit.names.bound - {CHAPTER})
        return result

    @cached_property
    def state(self) -> list[int]:
        """The units of the set-up that change the state of the process."""
        return [n for n, unit in enumerate(self.units) if unit.setup and self.changes_state(unit)]

    def changes_state(self, unit: Unit) -> bool:
        """Whether a unit changes the process's state, by itself or by a call of a library or set-up function."""
        trees, names, seen = list(unit.body), set(unit.names.read), {unit}
        while unit.setup and (more := [u for u in self._functions(unit) if u not in seen and u.names.bound & names]):
            seen.update(more)
            trees += [statement for u in more for statement in u.body]
            names |= {name for u in more for name in u.names.late}
        if any(sets_state(tree, self.imports) for tree in trees):
            return True
        called = {self.meaning(n.func) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)}
        return unit.setup and any(self.is_procedure(d) for d in called if isinstance(d, Definition))

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
        """What an imported name, with its attributes, refers to; None for any other expression."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imports:
            return None
        token = self.library.refer(self.imports[node.id], tuple(attributes))[0][0]
        return token if isinstance(token, Definition) else External(token.partition(" ")[2])

    def needed(self, last: int, picture: bool = False) -> list[int]:
        """The slice of unit `last`: itself and, transitively, the units that last bound the names it reads.

        The names that a function's body reads are resolved where the function is used. The slice of a `picture` is a
        part of the other: an object that a unit changes by a method counts only if an earlier unit may have bound it.
        """
        key = (last, picture, *self.state)
        if key not in self._needed:
            self._needed[key] = self._resolved(last, picture)
        return self._needed[key]

    def _resolved(self, last: int, picture: bool) -> list[int]:
        kept: set[int] = set()
        seen: set[tuple[str, int]] = set()
        part = self.units[last].part
        changeable, first = self._changeable[part], self.of_notebook(part)[0]

        def keep(at: int) -> None:
            if at not in kept:
                kept.add(at)
                names = self.units[at].names
                own = names.certain - names.read  # certainly bound here, before anything changes it
                changed = names.foreign if picture else names.changed
                for name in names.read | names.before | (changed & changeable - own):
                    resolve(name, at)

        def resolve(name: str, before: int) -> None:
            if (name, before) in seen:
                return
            seen.add((name, before))
            for at in range(before - 1, first - 1, -1):
                names = self.units[at].names
                if name in names.bound or name in names.changed & changeable:
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
        """The slice of the unit that opens the chapter, of each notebook."""
        return [n for at, unit in enumerate(self.units) if CHAPTER in unit.names.bound for n in self.needed(at)]

    def union(self, claims: Iterable[str]) -> list[int]:
        """The union of some claims' slices, in order; raises BookError for a claim that no cell judges."""
        return sorted(set().union(*(self.needed(self.judging(claim)) for claim in claims)))

    def judging(self, claim: str) -> int:
        """The unit that judges a claim; raises BookError."""
        if claim not in self.claims:
            raise BookError(f"{self.files.name}: no cell judges {claim}")
        return self.claims[claim]

    def drawing(self, figure: str) -> int | None:
        """The unit that draws a figure: the last whole cell with its name among its string constants; None if none."""
        return next((n for n in reversed(range(len(self.units))) if self._draws(n, figure)), None)

    def _draws(self, n: int, figure: str) -> bool:
        return self.units[n].whole and figure in self.units[n].texts

    @cached_property
    def figures(self) -> dict[str, int]:
        """Figure in the prose → the unit that draws it."""
        prose = "\n".join(cell.source for cell in self.all_cells if cell.markdown)
        drawn = {name: self.drawing(name) for name in re.findall(r"\{(?:glue:|record-)figure\} (\S+)", prose)}
        return {name: at for name, at in drawn.items() if at is not None}

    def figures_of(self, claims: Iterable[str]) -> dict[str, int]:
        """Figures of some claims: those whose slices share cells with claims, all of them in these claims' slices."""
        have, claimed = set(self.union(claims)), set(self.union(self.claims))
        result = {}
        for name, at in self.figures.items():
            shared = {n for n in self.needed(at) if n in claimed and not self.units[n].setup and self.units[n].whole}
            if shared and shared <= have:
                result[name] = at
        return result

    @cached_property
    def claims(self) -> dict[str, int]:
        """Claim → the unit that judges it, in the order of the chapter."""
        return {claim: n for n, unit in enumerate(self.units) for claim in unit.judges}

    def regime(self, claim: str) -> str:
        """The condition under which a cell judges a claim, as text; it belongs to the claim's rule."""
        return self.units[self.claims[claim]].regime(claim) if claim in self.claims else ""


def _code(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if not cell.markdown and cell.source.strip()]


def _setup(cells: list[Cell]) -> list[Cell]:
    """Code cells between the parameters and the first prose after them."""
    first = next(n for n, cell in enumerate(cells) if "parameters" in cell.tags) + 1
    prose = (n for n, cell in enumerate(cells) if n >= first and cell.markdown)
    return cells[first : next(prose, None)]
