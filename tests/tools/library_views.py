"""The library with one module changed, and the definition behind a line of its source."""

from clbook.provenance.library import Library, Module
from clbook.provenance.syntax import Definition


def with_source(library: Library, module: str, source: str) -> Library:
    """A copy of a library with one module's source replaced; it shares what was read from the others."""
    other = Library(library.folders, library.replaced | {module: source}, library.own)
    before, after = library.module(module), other.module(module)
    same = before and before.definitions.keys() == after.definitions.keys() and before.imports == after.imports
    for name, read in library._modules.items():
        if name != module and read:  # names in other modules may now refer to something else
            other._modules[name] = read if same else Module(name, read.source, read.is_package)
    return other


def definition_at(library: Library, module: str, line: int) -> Definition | None:
    """The definition whose source contains a line; None for code that runs on import."""
    for name, node in library.module(module).definitions.items():
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        if first <= line <= node.end_lineno:
            return Definition(module, name)
    return None
