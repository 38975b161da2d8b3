"""The units of a chapter as tokens, with the values of parameters and without code that only displays something."""

import ast
import copy
import json
from dataclasses import dataclass

from ..common.formats import text_of
from ..common.parameters import seed_block
from .library import sha
from .slices import ChapterCode
from .syntax import AS_IS, IMPORTS, Definition, Speller, Tokens
from .units import CHAPTER, Unit

BLOCK = f"{CHAPTER}.seeds"  # the name of the block of seeds among the parameters that a unit reads
_CHANGING = {
    "append",
    "add",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
}  # methods that change their object
_SHOWN = ("glue.", f"{CHAPTER}.judge", f"{CHAPTER}.close")  # calls that only display
DRAWING = {"glue.figure", "glue.explorable", "glue.animation"}  # calls that store a picture


@dataclass(frozen=True)
class Closed:
    """A function of a chapter's set-up that could be in the library, given by its tokens."""

    name: str
    tokens: tuple

    def __str__(self) -> str:
        return f"{self.name} of the set-up"


@dataclass(frozen=True)
class Global:
    """A name that the chapter binds; a digest contains a number instead, in order of appearance in the slice."""

    name: str

    def __str__(self) -> str:
        return self.name


class Writer:
    """Writes units as tokens, with the values of parameters; colours count by definition if `with_colours`."""

    def __init__(
        self,
        code: ChapterCode,
        values: dict[str, object],
        bound: set[str],
        closed: dict[str, "Closed"],
        with_colours: bool,
    ):
        self.code, self.values, self.bound, self.closed, self.with_colours = code, values, bound, closed, with_colours
        self.parameters: set[str] = set()
        self.speller = Speller(self.resolve, bind=lambda name: self.resolve(name, ())[0])

    def unit(self, unit: Unit, claim: str | None) -> Tokens:
        """The tokens of a unit; unless `claim` is None, without display calls and other claims' verdicts."""
        out: Tokens = []
        for statement in unit.body:
            if claim is not None and only_shows(statement, claim):
                continue
            if f"{CHAPTER}.p" in unit.source or f"{CHAPTER}.library_piece" in unit.source:
                statement = _Unlabelled().visit(copy.deepcopy(statement))
            out += (unit.setup and self.procedure(statement)) or self.speller.spell(statement)
        return out + self._benchmarks(unit)

    def _benchmarks(self, unit: Unit) -> Tokens:
        """The sums of the stored benchmarks that a unit reads."""
        if f"{CHAPTER}.benchmark" not in unit.source:
            return []
        calls = (node for statement in unit.body for node in ast.walk(statement) if isinstance(node, ast.Call))
        names = [ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func) == f"{CHAPTER}.benchmark"]
        return [f"file {sha(text_of(self.code.files.benchmark(name)))}" for name in names]

    def procedure(self, statement: ast.stmt) -> Tokens:
        """The inlined body of a library function that changes the process's state; empty for any other statement."""
        call = getattr(statement, "value", None)
        if not (isinstance(statement, ast.Expr) and isinstance(call, ast.Call) and not call.keywords):
            return []
        called = self.code.meaning(call.func)
        if not (isinstance(called, Definition) and self.code.is_procedure(called)):
            return []
        module = self.code.library.module(called.module)
        function, speller = module.definitions[called.name], self.code.library.speller(module)
        arguments = self._arguments(function.args, call.args, speller)
        if arguments is None:
            return []
        imports = [statement for statement in function.body if isinstance(statement, IMPORTS)]
        scope = {k: v for node in imports for k, v in self.code.library.local_import(module, node).items()} | arguments
        body = [s for s in function.body if not isinstance(s, IMPORTS) and not _is_text(s)]
        return [token for s in body for token in speller.spell(s, (scope,))]

    def _arguments(self, shape: ast.arguments, arguments: list[ast.expr], speller: Speller) -> dict | None:
        """Parameter → resolver that substitutes its argument or default; None unless all are plain and positional."""
        names, defaults = [a.arg for a in shape.args], shape.defaults
        plain = not (shape.posonlyargs or shape.kwonlyargs or shape.vararg or shape.kwarg)
        if not plain or not len(names) - len(defaults) <= len(arguments) <= len(names):
            return None
        spelled = [self.speller.spell(node) for node in arguments]
        spelled += [speller.spell(node) for node in defaults[len(defaults) - (len(names) - len(arguments)) :]]
        spelled = spelled[: len(names)]
        return {name: (lambda _, attributes, t=tokens: (t, AS_IS)) for name, tokens in zip(names, spelled, strict=True)}

    def resolve(self, name: str, attributes: tuple[str, ...]) -> tuple[Tokens, int] | None:
        if name in self.code.imports:
            return self.code.library.refer(self.code.imports[name], attributes, self.with_colours)
        if name == CHAPTER:
            return self._chapter(attributes)
        if name in self.values:
            return self._value(name), 0
        if name in self.closed:
            return [self.closed[name]], 0
        return ([Global(name)], 0) if name in self.bound else None

    def _value(self, name: str) -> Tokens:
        self.parameters.add(name)
        return [f"parameter {name} = {json.dumps(self.values[name])}"]

    def _chapter(self, attributes: tuple[str, ...]) -> tuple[Tokens, int]:
        """Tokens of an attribute of the chapter: by value if derived from parameters, otherwise by name."""
        values, what = self.values, attributes[0] if attributes else ""
        if what == "seeds":
            self.parameters.add(BLOCK)
            block = seed_block(values["first_seed"], values["seeds"])
            return [f"seeds {block.start} to {block.stop}"], 1
        if what in ("device", "data") and what in values:
            return self._value(what), 1
        return [f"machinery {what}"], min(1, len(attributes))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def opens_chapter(unit: Unit) -> bool:
    return unit.setup and CHAPTER in unit.names.bound


def draws(unit: Unit) -> bool:
    """Whether a unit stores a picture, perhaps in a function that it defines."""
    calls = [node for statement in unit.body for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(ast.unparse(call.func) in DRAWING for call in calls)


def only_shows(statement: ast.stmt, claim: str | None) -> bool:
    """Whether a statement only displays: a glued number, or the verdict on a claim other than this one."""
    call = getattr(statement, "value", None)
    if not (isinstance(statement, ast.Expr) and isinstance(call, ast.Call)):
        return False
    own = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == claim
    function = ast.unparse(call.func)
    return function.startswith(_SHOWN) and not (function == f"{CHAPTER}.judge" and own) and not _has_effect(call)


def _has_effect(call: ast.Call) -> bool:
    """Whether an argument binds a name, or calls a method that changes its object."""
    inner = [n for arg in (*call.args, *(k.value for k in call.keywords)) for n in ast.walk(arg)]
    methods = {n.func.attr for n in inner if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    in_place = {m for m in methods if m in _CHANGING or m.endswith("_") and not m.startswith("_")}
    return bool(in_place) or any(isinstance(n, ast.NamedExpr) for n in inner)


class _Unlabelled(ast.NodeTransformer):
    """Removes the labels of progress bars and pieces."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = ast.unparse(node.func)
        if function == f"{CHAPTER}.progress" and node.args:
            return node.args[0]
        if function in (f"{CHAPTER}.piece", f"{CHAPTER}.library_piece"):
            return ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
        return node
