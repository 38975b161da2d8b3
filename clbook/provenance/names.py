"""The global names that code binds and reads: certainly or possibly, at once or in a later call."""

import ast
from dataclasses import dataclass, field, replace

from .syntax import COMPREHENSIONS, IMPORTS, argument_names

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SWALLOWING = ("suppress", "raises")  # contexts whose body may end early


@dataclass
class Names:
    """The global names of a piece of code.

    bound: names that may be bound; certain: those that are always bound. read: names read at once; late: names read
    when a function of the code is called; before: those of the late ones that may be read before the code itself has
    bound them. changed: objects on which a method is called for its effect; foreign: those of the changed ones that the
    code itself may not have bound before.
    """

    bound: set[str] = field(default_factory=set)
    certain: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)

    def add(self, other: "Names") -> None:
        for name in ("bound", "certain", "read", "late", "before", "changed", "foreign"):
            getattr(self, name).update(getattr(other, name))

    def perhaps(self) -> "Names":
        """The same names for code that may not run: none is certainly bound."""
        return replace(self, certain=set())


def names_of(node: ast.AST) -> Names:
    """The global names of a node."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            return Names(read={node.id})
        return Names(bound={node.id}, certain={node.id})
    if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return _changed_in_place(node)
    for kinds, names in _SPECIAL:
        if isinstance(node, kinds):
            return names(node)
    return _children(node)


def _children(node: ast.AST) -> Names:
    names = Names()
    for child in ast.iter_child_nodes(node):
        names.add(names_of(child))
    return names


def _changed_in_place(node: ast.Subscript | ast.Attribute) -> Names:
    """`a.b[c] = …` reads `a`, rebinds it, and reads `c`."""
    result, part = Names(), node
    while isinstance(part, ast.Subscript | ast.Attribute):
        if isinstance(part, ast.Subscript):
            result.add(names_of(part.slice))
        part = part.value
    root = names_of(part)
    names = root.read | root.bound
    result.add(Names(bound=names, certain=set(names), read=set(names), late=root.late, before=root.before))
    return result


def _loop(node: ast.For | ast.AsyncFor) -> Names:
    """The body may read what the target binds, and may not run at all."""
    names, target = names_of(node.iter), names_of(node.target)
    names.add(target.perhaps())
    names.add(block(node.body, target.bound).perhaps())
    names.add(block(node.orelse).perhaps())
    return names


def _condition(node: ast.If) -> Names:
    names, branches = names_of(node.test), [block(node.body), block(node.orelse)]
    both = branches[0].certain & branches[1].certain
    for branch in branches:
        names.add(branch.perhaps())
    names.certain |= both
    return names


def _perhaps(node: ast.AST) -> Names:
    """Names of code that may not run, or not to its end."""
    names = Names()
    for _, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value] if isinstance(value, ast.AST) else []
        statements = [part for part in parts if isinstance(part, ast.stmt)]
        names.add(block(statements).perhaps())
        for part in parts:
            if isinstance(part, ast.AST) and not isinstance(part, ast.stmt):
                names.add(names_of(part).perhaps())
    if isinstance(node, ast.ExceptHandler) and node.name:
        names.bound.add(node.name)
    return names


def _with(node: ast.With | ast.AsyncWith) -> Names:
    names = block([*node.items, *node.body])
    calls = {ast.unparse(item.context_expr.func) for item in node.items if isinstance(item.context_expr, ast.Call)}
    return names.perhaps() if any(call.endswith(_SWALLOWING) for call in calls) else names


def _function(node: ast.AST) -> Names:
    """Defaults and decorators are read at once, the body when it is called."""
    body = node.body if isinstance(node.body, list) else [node.body]
    inside, outside = block(body), _children(node.args)
    for decorator in getattr(node, "decorator_list", []):
        outside.add(names_of(decorator))
    late = (inside.read | inside.late | inside.changed) - (argument_names(node.args) | inside.bound)
    name = {node.name} if hasattr(node, "name") else set()  # a lambda has none
    return Names(name, set(name), outside.read | outside.changed, late | outside.late, set(late), set())


def _class(node: ast.ClassDef) -> Names:
    """The body runs at once, in a scope that falls back on outer names."""
    inside = _children(node)
    read = inside.read | inside.changed
    return Names({node.name}, {node.name}, read, inside.late, inside.before)


def _comprehension(node: ast.AST) -> Names:
    """The targets are local, except to the first iterable; `:=` binds outside."""
    first, inside, targets = names_of(node.generators[0].iter), Names(), set()
    for generator in node.generators:
        targets |= names_of(generator.target).bound
    for child in ast.walk(node):
        if isinstance(child, ast.NamedExpr):
            first.bound.add(child.target.id)
    rest = [g.iter for g in node.generators[1:]] + [c for g in node.generators for c in g.ifs]
    rest += [getattr(node, name) for name in ("key", "value", "elt") if hasattr(node, name)]
    for part in rest:
        inside.add(names_of(part))
    inside.bound -= targets
    return Names(
        first.bound | inside.bound,
        first.certain,
        first.read | (inside.read - targets),
        first.late | (inside.late - targets),
        first.before | (inside.before - targets),
        first.changed | (inside.changed - targets),
        first.foreign | (inside.foreign - targets),
    )


def _import(node: ast.Import | ast.ImportFrom) -> Names:
    names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return Names(bound=names, certain=set(names))


def _augmented(node: ast.AugAssign) -> Names:
    names = _children(node)
    names.read |= names_of(node.target).bound
    return names


def _expression(node: ast.Expr) -> Names:
    """A method that is called only for its effect may change its object."""
    names = _children(node)
    part = node.value.func if isinstance(node.value, ast.Call) else node.value
    if isinstance(part, ast.Attribute):
        while isinstance(part, ast.Attribute | ast.Subscript | ast.Call):
            part = part.func if isinstance(part, ast.Call) else part.value
        if isinstance(part, ast.Name):
            names.changed.add(part.id)
            names.foreign.add(part.id)
    return names


def block(statements: list[ast.AST], bound: set[str] = frozenset()) -> Names:
    """Names of consecutive statements; what an earlier one certainly bound is neither read nor changed from outside."""
    result = Names()
    for statement in statements:
        names, known = names_of(statement), result.certain | bound
        names.read = names.read - known
        names.before = names.before - known
        names.foreign = names.foreign - known
        result.add(names)
    return result


_SPECIAL = (
    ((ast.For, ast.AsyncFor), _loop),
    (ast.If, _condition),
    ((ast.While, ast.Try, ast.TryStar, ast.ExceptHandler, ast.Match, ast.match_case), _perhaps),
    ((ast.With, ast.AsyncWith), _with),
    (_DEFINITIONS, _function),
    (ast.ClassDef, _class),
    (COMPREHENSIONS, _comprehension),
    (IMPORTS, _import),
    (ast.AugAssign, _augmented),
    (ast.Expr, _expression),
)
