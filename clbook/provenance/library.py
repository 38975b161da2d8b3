"""The library as a graph, whose nodes are definitions and whose edges the global names that they read; its digests.

A module contains only imports, definitions and assignments of names (a test checks this), so a definition's tokens and
what they refer to determine everything that it does. Another text may do the same: a definition that `same_bits.json`
lists counts as the earlier one with which it agrees to the last bit, until either it or what it reaches changes again.
"""

import ast
import contextlib
import hashlib
import sys
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from ..common import project
from ..common.errors import BookError
from ..common.formats import SAME_BITS as SAME_BITS_FORMAT
from ..common.formats import intact, text_of
from .syntax import IMPORTS, Definition, External, LibraryModule, Speller, Tokens, imported_names

PACKAGE, MACHINERY = project.kernels(), "clbook"
OWN = Path(__file__).parents[1]  # the machinery's folder
FOLDERS = {package: project.folder_of(package) for package in project.packages()}  # kernels first
FOLDER = FOLDERS[PACKAGE]
COLOURS, STYLE = f"{MACHINERY}.notebook.colours", "notebook/book.mplstyle"  # what a picture shows of the machinery
SAME_BITS = "same_bits.json"  # beside the kernels: rows of a definition, its digest `now`, and the one it counts `as`
SUMS = "SUMS"  # data set → file → sum, or file → sum in a module named after its data sets
Target = Definition | LibraryModule | External


def sources_sum(library: "Library") -> str:
    """The sum of all files of a library, of this machinery and its style, of the book's settings and of Python."""
    found = hashlib.sha256(f"{sys.version_info[:2]} {project.settings()}".encode())
    for place in (*library.folders.values(), library.own):
        for path in sorted(path for kind in ("*.py", "*.json", "*.mplstyle") for path in place.rglob(kind)):
            with contextlib.suppress(OSError):  # one that goes away meanwhile
                found.update(f"\n{path.relative_to(place)}\n".encode() + path.read_bytes())
    return found.hexdigest()


def is_machinery(module: str) -> bool:
    """Whether a module belongs to clbook, of which digests contain names alone."""
    return module == MACHINERY or module.startswith(f"{MACHINERY}.")


def joined(*parts: str) -> str:
    """Texts joined by separators, so that joined texts can be joined again."""
    return "\x1f".join(parts)


def sha(*parts: str) -> str:
    """The SHA-256 digest of several texts."""
    return hashlib.sha256(joined(*parts).encode()).hexdigest()


@dataclass
class Module:
    """One module: the syntax tree of each definition, and what imported names refer to."""

    name: str
    source: str
    is_package: bool = False
    spelled: dict[str, Tokens] = field(default_factory=dict)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def definitions(self) -> dict[str, ast.AST]:
        """Name → its definition or the value assigned to it; the last one if there are several."""
        result: dict[str, ast.AST] = {}
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                result[node.name] = node
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                result |= assigned(target, getattr(node, "value", None))
        return result

    @cached_property
    def imports(self) -> dict[str, Target]:
        return {k: v for node in self.tree.body if isinstance(node, IMPORTS) for k, v in self.imported(node).items()}

    def imported(self, node: ast.Import | ast.ImportFrom) -> dict[str, Target]:
        """What the names bound by an import statement of this module refer to."""
        parts = self.name.split(".")
        parent = parts[: len(parts) - getattr(node, "level", 0) + self.is_package] if getattr(node, "level", 0) else []
        if isinstance(node, ast.Import):
            return {bound: _named(asked) for bound, asked in imported_names(node)}
        base = ".".join([*parent, *([node.module] if node.module else [])])
        return {bound: _named(f"{base}.{asked}") for bound, asked in imported_names(node)}


def assigned(target: ast.AST | None, value: ast.AST | None) -> dict[str, ast.AST]:
    """Name → value of an assignment to names; a tuple assigned to a tuple of names is split."""
    if isinstance(target, ast.Name) and value is not None:
        return {target.id: value}
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return {k: v for t, v in zip(target.elts, value.elts, strict=True) for k, v in assigned(t, v).items()}
    return {}


def _named(dotted: str) -> Target:
    """The target of a dotted name; a module of the library may turn out to be a definition, see `Library.settle`."""
    return LibraryModule(dotted) if dotted.partition(".")[0] in (*FOLDERS, MACHINERY) else External(dotted)


class Library:
    """The modules of kernels, experiments and machinery, from files or, for those in `replaced`, from other texts.

    With a folder, the kernels are read from there, and there are no experiments.
    """

    def __init__(
        self, folder: Path | dict[str, Path] = FOLDERS, replaced: dict[str, str] | None = None, own: Path = OWN
    ):
        self.folders = {PACKAGE: folder} if isinstance(folder, Path) else folder
        self.folder, self.own, self.replaced = self.folders[PACKAGE], own, replaced or {}
        self._modules: dict[str, Module | None] = {}
        self._digests: dict[str, Digests] = {}
        lines = (own / STYLE).read_text(encoding="utf-8").splitlines() if (own / STYLE).is_file() else []
        self.style = "\n".join(line for line in lines if line and not line.startswith("#"))  # of all figures

    @cached_property
    def sources(self) -> str:
        """The sum of all files that digests depend on, when it was first asked for."""
        return sources_sum(self)

    def read(self) -> "Library":
        """Read every module now, so that later edits have no effect; returns the library itself."""
        _ = self.sources  # of the files as they are read here
        for name in (*self.names(), COLOURS):
            self.module(name)
        return self

    @cached_property
    def same_bits(self) -> dict[str, str]:
        """Digest of a definition → that of the earlier text which gives the same bits; BookError if it is damaged."""
        path = self.folder / SAME_BITS
        rows = intact(path, SAME_BITS_FORMAT) if path.is_file() else []
        return {row["now"]: row["as"] for row in rows}

    def module(self, name: str) -> Module | None:
        """A module of the library, or None if there is no such file."""
        if name not in self._modules:
            path = self.file(name)
            on_disk = text_of(path) if path else None
            text = self.replaced.get(name, on_disk)
            is_package = bool(path) and path.name == "__init__.py"
            self._modules[name] = Module(name, text, is_package) if text is not None else None
        return self._modules[name]

    def file(self, name: str) -> Path | None:
        """The file of a module, or None if there is none."""
        package, *parts = name.split(".")
        folder = self.own if package == MACHINERY else self.folders.get(package)
        base = folder.joinpath(*parts) if folder else None
        return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None) if base else None

    def digests(self, data: str) -> "Digests":
        """The digests of definitions for a run on one data set, the same object whenever they are asked for."""
        return self._digests.setdefault(data, Digests(self, data))

    def names(self) -> list[str]:
        """Every module of the kernels and of the experiments, by dotted name."""
        result = []
        for package, folder in self.folders.items():
            for path in sorted(folder.rglob("*.py")):
                parts = path.relative_to(folder).with_suffix("").parts
                result.append(".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts))))
        return result

    def settle(self, target: Target) -> Target | None:
        """Resolve a target to a module or definition, through re-exports; None if there is neither."""
        if not isinstance(target, LibraryModule):
            return target
        parent, _, name = target.name.rpartition(".")
        home = self.module(parent)
        if home and name in home.definitions:
            return Definition(parent, name)
        if home and home.imports.get(name, target) != target:
            return self.settle(home.imports[name])
        if self.module(target.name):
            return target
        return Definition(parent, name) if home and is_machinery(parent) else None

    def refer(self, target: Target, attributes: tuple[str, ...], with_colours: bool = False) -> tuple[Tokens, int]:
        """The tokens of a target with attributes, and how many attributes they cover; raises BookError if unknown.

        The book's colours count by name, as all machinery does, or with `with_colours` as definitions.
        """
        if isinstance(target, External):
            return ["external " + ".".join((target.dotted, *attributes))], len(attributes)
        used, settled = 0, self.settle(target)
        while isinstance(settled, LibraryModule) and used < len(attributes):
            settled = self.settle(LibraryModule(f"{settled.name}.{attributes[used]}"))
            used += 1
        if isinstance(settled, External):
            return ["external " + ".".join((settled.dotted, *attributes[used:]))], len(attributes)
        if isinstance(settled, Definition):
            seen = with_colours and settled.module == COLOURS and settled.name in self.module(COLOURS).definitions
            return ([settled] if seen or not is_machinery(settled.module) else [f"machinery {settled.name}"]), used
        if settled is None:
            raise BookError(f"{'.'.join((target.name, *attributes))}: no such module or definition")
        return [f"module {settled.name}"], used

    def speller(self, module: Module) -> Speller:
        """A speller for the code of a module, with its names resolved."""

        def resolve(name: str, attributes: tuple[str, ...]) -> tuple[Tokens, int] | None:
            if name in module.definitions:
                return [Definition(module.name, name)], 0
            return self.refer(module.imports[name], attributes) if name in module.imports else None

        return Speller(resolve, lambda node: self.local_import(module, node))

    def local_import(self, module: Module, node: ast.AST) -> dict:
        """Name → resolver of its target, for an import statement inside a function."""
        targets = module.imported(node)
        return {name: (lambda _, attributes, t=target: self.refer(t, attributes)) for name, target in targets.items()}

    def spelled(self, definition: Definition) -> Tokens:
        """The tokens of a definition, with "itself" for a reference to itself."""
        module = self.module(definition.module)
        if definition.name not in module.spelled:
            tokens = self.speller(module).spell(module.definitions[definition.name])
            module.spelled[definition.name] = ["itself" if token == definition else token for token in tokens]
        return module.spelled[definition.name]


def definition_at(library: Library, module: str, line: int) -> Definition | None:
    """The definition whose source contains a line; None for code that runs on import."""
    for name, node in library.module(module).definitions.items():
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        if first <= line <= node.end_lineno:
            return Definition(module, name)
    return None


def definition_with(library: Library, module: str, text: str) -> Definition | None:
    """The definition whose source contains a text, in a module as `breaks` names it; None without either."""
    name = project.full_name(module)
    if (found := library.module(name)) is None or text not in found.source:
        return None
    before = found.source.partition(text)[0] + text[: len(text) - len(text.lstrip())]
    return definition_at(library, name, 1 + before.count("\n"))


_at_hand = cache(Library)  # read once


@dataclass(frozen=True)
class LineBehind:
    """The line of the library with which a claim was tried, and where the reference shows the function around it."""

    line: str
    definition: Definition

    @property
    def function(self) -> str:
        """`module.function`."""
        return f"{self.definition.module.rpartition('.')[2]}.{self.definition.name}"

    @property
    def address(self) -> str:
        """From a page of `book/` or a chapter's; for a private function or a constant, the section of its module."""
        module, name = self.definition.module, self.definition.name
        shown = module if name.startswith("_") or name.isupper() else f"{module}.{name}"
        return f"../book/reference/{reference_page(module)}.html#{shown}"


def reference_page(module: str) -> str:
    """The page of the reference that shows a module: its room, after the package's name if it is not of the kernels."""
    package, room, *_ = module.split(".")
    return room if package == PACKAGE else f"{package}_{room}"


@cache
def line_behind(module: str, text: str) -> LineBehind | None:
    """The first line of a text in a module, and its function; None if the library at hand lacks it."""
    place = definition_with(_at_hand(), module, text)
    return LineBehind(text.strip().partition("\n")[0], place) if place else None


class Digests:
    """Merkle digests of definitions, for a run on one data set: each covers everything that its definition reaches."""

    def __init__(self, library: Library, data: str):
        self.library, self.data = library, data
        self._closure_digests: dict[Definition, str] = {}
        self._text_digests: dict[Definition, str] = {}
        self._reached: dict[Definition, frozenset[Definition]] = {}

    def _tokens(self, definition: Definition) -> Tokens:
        module, node = self.library.module(definition.module), None
        if definition.name == SUMS:
            node = module.definitions[SUMS]
        if not isinstance(node, ast.Dict) or None in node.keys:  # with `**`, the whole dictionary counts
            return self.library.spelled(definition)
        entries = {k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)}
        if any(isinstance(value, ast.Dict) for value in node.values):
            read = [entries[self.data]] if self.data in entries else []
        else:
            read = [node] if self.data.startswith(module.name.rpartition(".")[2]) else []
        return [token for entry in read for token in self.library.speller(module).spell(entry)]

    def closure_digest(self, definition: Definition, above: tuple[Definition, ...] = ()) -> str:
        """The Merkle digest of a definition: of its tokens, with the digest of its target for each reference."""
        if definition not in self._closure_digests:
            if definition in above:
                raise BookError(f"{definition}: calls itself through {above[-1]}; only a direct call is allowed")
            inside = (*above, definition)
            texts = [t if isinstance(t, str) else self.closure_digest(t, inside) for t in self._tokens(definition)]
            own = sha(*texts)
            self._closure_digests[definition] = self.library.same_bits.get(own, own)
        return self._closure_digests[definition]

    def text_digest(self, definition: Definition) -> str:
        """The digest of a definition's own text alone, with references by name."""
        if definition not in self._text_digests:
            self._text_digests[definition] = sha(*map(str, self._tokens(definition)))
        return self._text_digests[definition]

    def reached(self, definition: Definition) -> frozenset[Definition]:
        """The definition and all that its digest covers."""
        if definition not in self._reached:
            self.closure_digest(definition)  # raises BookError for a circle
            below = [self.reached(t) for t in set(self._tokens(definition)) if isinstance(t, Definition)]
            self._reached[definition] = frozenset({definition}).union(*below)
        return self._reached[definition]
