"""Code as tokens: a canonical form of the syntax tree, in which each global name is resolved.

Omitted, since they cannot change a result: docstrings, comments, layout, annotations of functions and variables, texts
of errors, import statements, and empty fields (newer versions of Python add some). A name that is local to a function
is kept; a global one is passed to a resolver, which returns its tokens.
"""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMING = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_DOCUMENTED = (ast.Module, *_FUNCTIONS, ast.ClassDef)
_SILENT = ("ctx", "kind", "type_comment", "type_params", "annotation", "returns")
_MARKS = ("ClassVar", "InitVar", "KW_ONLY")  # annotations that a dataclass interprets
_BUILTIN_TYPES = {"int", "float", "str", "bool", "tuple", "list", "dict"}  # a kernel may use these to check its fields


@dataclass(frozen=True)
class Definition:
    """A function, class or constant of the library: a node of its graph."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class LibraryModule:
    """A module of the library, bound to some name."""

    name: str


@dataclass(frozen=True)
class External:
    """Something from another package, by its dotted name."""

    dotted: str


AS_IS = -1  # in place of a number of attributes: the tokens stand for a whole expression
Tokens = list  # of texts and of Definitions
Resolver = Callable[[str, tuple[str, ...]], tuple[Tokens, int] | None]


def statements_bind(node: ast.AST | Iterable[ast.AST]) -> set[str]:
    """Names that code binds in its own scope, by assignments, definitions and imports."""
    names: set[str] = set()
    for part in [node] if isinstance(node, ast.AST) else node:
        if isinstance(part, (*_FUNCTIONS, ast.ClassDef)):
            names.add(part.name)
            continue
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
        elif isinstance(part, IMPORTS):
            names |= {bound for bound, _ in imported_names(part)}
        elif isinstance(part, _NAMING):
            names |= {name for name in (getattr(part, "name", None), getattr(part, "rest", None)) if name}
        if isinstance(part, COMPREHENSIONS):  # an assignment expression binds outside it
            names |= {n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr)}
        elif not isinstance(part, ast.Lambda):
            names |= statements_bind(list(ast.iter_child_nodes(part)))
    return names


def argument_names(arguments: ast.arguments) -> set[str]:
    """The names of a function's own arguments."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {argument.arg for argument in every if argument}


def imported_names(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """(name bound, name imported) for an import statement; for `import a.b` both are `a`."""
    if isinstance(node, ast.ImportFrom):
        return [(alias.asname or alias.name, alias.name) for alias in node.names]
    return [(a.asname, a.name) if a.asname else (a.name.partition(".")[0],) * 2 for a in node.names]


class Speller:
    """Writes syntax trees as tokens.

    `resolve(name, attributes)` returns the tokens of a global name and how many of the attributes after it they cover,
    or None for an unknown name. `local_import(node)` returns name → resolver for an import statement inside a function,
    and `bind(name)` the tokens of the name of a top-level definition.
    """

    def __init__(
        self,
        resolve: Resolver,
        local_import: Callable[[ast.AST], dict[str, Resolver]] = lambda node: {},
        bind: Callable[[str], Tokens] = lambda name: [],
    ):
        self.resolve, self.local_import, self.bind = resolve, local_import, bind

    def spell(self, node: object, scopes: tuple[dict, ...] = ()) -> Tokens:
        """The tokens of a node; `scopes` are those around it, innermost first, each name → None or a resolver."""
        out: Tokens = []
        self._node(node, scopes, out)
        return out

    def _node(self, node: object, scopes: tuple[dict, ...], out: Tokens) -> None:
        if isinstance(node, list):
            out.append("[")
            for item in node:
                if not isinstance(item, IMPORTS):
                    self._node(item, scopes, out)
            out.append("]")
        elif not isinstance(node, ast.AST):
            out.append(repr(node))
        elif isinstance(node, (ast.Name, ast.Attribute)) and self._reference(node, scopes, out):
            pass
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node, scopes, out)
        elif isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            self._function(node, scopes, out)
        elif isinstance(node, ast.ClassDef):
            self._class(node, scopes, out)
        elif isinstance(node, ast.Raise):
            self._fields(node, {"exc": node.exc.func if isinstance(node.exc, ast.Call) else node.exc}, scopes, out)
        elif isinstance(node, ast.AnnAssign) and node.value and not (scopes and "class" in scopes[0]):
            self._node(ast.Assign([node.target], node.value), scopes, out)
        elif isinstance(node, ast.Assert):
            self._fields(node, {"test": node.test}, scopes, out)
        else:
            self._fields(node, dict(ast.iter_fields(node)), scopes, out)

    def _fields(self, node: ast.AST, fields: dict, scopes: tuple[dict, ...], out: Tokens) -> None:
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            fields["body"] = fields["body"][1:]
        out.append(f"({type(node).__name__}")
        for name, value in sorted(fields.items()):
            if value not in (None, []) and name not in _SILENT:
                out.append(f".{name}")
                self._node(value, scopes, out)
        out.append(")")

    def _reference(self, node: ast.Name | ast.Attribute, scopes: tuple[dict, ...], out: Tokens) -> bool:
        """Write what a chain `name.a.b` with a global name refers to; False for anything else."""
        base, attributes = node, []
        while isinstance(base, ast.Attribute):
            attributes.insert(0, base.attr)
            base = base.value
        if not isinstance(base, ast.Name):
            return False
        scope = next((scope for scope in scopes if base.id in scope), None)
        resolver = self.resolve if scope is None else scope[base.id]
        if scope is scopes[0] if scopes else False:
            if "class" in scope and isinstance(base.ctx, ast.Load):  # perhaps not bound yet, and then an outer name
                out.append("or")
                self._reference(node, scopes[1:], out)
        resolved = resolver(base.id, tuple(attributes)) if resolver else None
        tokens, used = resolved if resolved else ([f"name {base.id}"], 0)
        if used == AS_IS and not attributes:
            out += tokens
            return True
        kind = type(node.ctx).__name__  # whether it is read, bound or deleted
        out += [f"<{kind}", *tokens, *(f".{a}" for a in attributes[max(used, 0) :]), ">"]
        return True

    def _comprehension(self, node: ast.AST, scopes: tuple[dict, ...], out: Tokens) -> None:
        """The targets are local, except to the first iterable."""
        first = node.generators[0].iter
        own = dict.fromkeys(set().union(*(statements_bind(g.target) for g in node.generators)))
        inside = (own, *_beyond_class(scopes))
        out.append(f"({type(node).__name__}")
        self._node(first, scopes, out)
        for generator in node.generators:
            out.append(f"for {generator.is_async}")
            self._node(generator.target, inside, out)
            if generator.iter is not first:
                self._node(generator.iter, inside, out)
            self._node(generator.ifs, inside, out)
        for name in ("key", "value", "elt"):
            if hasattr(node, name):
                self._node(getattr(node, name), inside, out)
        out.append(")")

    def _function(self, node: ast.AST, scopes: tuple[dict, ...], out: Tokens) -> None:
        """Decorators and defaults are in the outer scope; a top-level function's name is left to `bind`."""
        body = node.body if isinstance(node.body, list) else [node.body]
        if isinstance(node, _FUNCTIONS) and ast.get_docstring(node, clean=False) is not None:
            body = body[1:]
        own: dict = dict.fromkeys(argument_names(node.args) | statements_bind(body))
        for inner in [n for statement in body for n in _own_nodes(statement)]:
            if isinstance(inner, IMPORTS):
                own |= self.local_import(inner)
            elif isinstance(inner, ast.Nonlocal | ast.Global):
                own = {name: value for name, value in own.items() if name not in inner.names}
        out.append(f"({type(node).__name__}")
        name = getattr(node, "name", "")
        out += [name] if scopes else self.bind(name) if name else []
        self._node(getattr(node, "decorator_list", []), scopes, out)
        self._node(node.args.defaults + [d for d in node.args.kw_defaults if d], scopes, out)
        shape = [(len(part), [a.arg for a in part]) for part in (node.args.posonlyargs, node.args.args)]
        keywords = [(a.arg, d is not None) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
        rest = [getattr(node.args.vararg, "arg", None), getattr(node.args.kwarg, "arg", None)]
        out.append(repr((shape, keywords, rest, len(node.args.defaults))))
        self._node(body, (own, *_beyond_class(scopes)), out)
        out.append(")")

    def _class(self, node: ast.ClassDef, scopes: tuple[dict, ...], out: Tokens) -> None:
        own = dict.fromkeys(statements_bind(node.body)) | {"class": None}
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        out.append("(ClassDef")
        out += [node.name] if scopes else self.bind(node.name)
        for part in (node.decorator_list, node.bases, node.keywords):
            self._node(part, scopes, out)
        for statement in body:
            if isinstance(statement, ast.AnnAssign):
                kind = ast.unparse(statement.annotation)
                out += ["field", kind if kind in _BUILTIN_TYPES else "", *(mark for mark in _MARKS if mark in kind)]
            self._node(statement, (own, *_beyond_class(scopes)), out)
        out.append(")")


def _beyond_class(scopes: tuple[dict, ...]) -> tuple[dict, ...]:
    """The scopes that a nested function sees: all but that of an enclosing class."""
    return scopes[1:] if scopes and "class" in scopes[0] else scopes


def _own_nodes(node: ast.AST) -> Iterable[ast.AST]:
    """A node and all nodes below it that belong to the same scope."""
    yield node
    if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)
