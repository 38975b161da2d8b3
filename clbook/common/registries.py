"""The names in a registry of the kernels, read from its source: listing a chapter's parameters imports no torch."""

import ast
from functools import cache

from . import project
from .errors import BookError
from .formats import text_of


@cache
def registered_names(registry: str) -> tuple[str, ...]:
    """The names in a registry `room.module.NAME` of the kernels, or else of the experiments, in its order.

    A registry is a dictionary by name, or a tuple, list or set of names; `{item.name: item for item in (…)}` takes each
    item's first argument. Unions, unpacking, other registries and re-exports are followed.

    Raises: BookError if there is no such registry, or if its names cannot be read from its source.
    """
    *module, name = registry.split(".")
    found = (_in_module((package, *module), name) for package in project.packages())
    names = next(filter(None, found), [])
    if not names:
        raise BookError(f"{project.kernels()} has no registry {registry}")
    return tuple(dict.fromkeys(names))


def _in_module(module: tuple[str, ...], name: str) -> list[str]:
    """The names in a registry that a module defines or imports; none if it does neither."""
    base = project.folder_of(module[0]).joinpath(*module[1:])
    path = next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)
    for node in ast.parse(text_of(path)).body if path else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=bound)]) | ast.AnnAssign(target=ast.Name(id=bound)) if bound == name:
                return _listed(node.value, module)
            case ast.ImportFrom():
                parent = module[: len(module) - node.level + (path.name == "__init__.py")] if node.level else ()
                source = (*parent, *(node.module or "").split(".")) if node.module else parent
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return _in_module(source, alias.name)
    return []


def _listed(node: ast.expr | None, module: tuple[str, ...]) -> list[str]:
    """The names that an expression lists."""
    match node:
        case ast.Constant(value=str(name)):
            return [name]
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [name for item in items for name in _listed(item, module)]
        case ast.Dict(keys=keys, values=values):  # of `**other` the key is None
            return [name for key, value in zip(keys, values, strict=True) for name in _listed(key or value, module)]
        case ast.Starred(value=other):
            return _listed(other, module)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.Add(), right=right):
            return _listed(left, module) + _listed(right, module)
        case ast.Name(id=name):
            return _in_module(module, name)
        case ast.DictComp(key=ast.Attribute(attr="name"), generators=[ast.comprehension(iter=ast.Tuple(elts=items))]):
            return [name for item in items for name in _listed(item.args[0], module)]
    raise BookError(f"{'.'.join(module)}: the names of a registry cannot be read from {ast.unparse(node)!r}")
