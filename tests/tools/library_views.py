"""The library with one module changed."""

from clbook.provenance.library import Library, Module


def with_source(library: Library, module: str, source: str) -> Library:
    """A copy of a library with one module's source replaced; it shares what was read from the others."""
    other = Library(library.folders, library.replaced | {module: source}, library.own)
    before, after = library.module(module), other.module(module)
    same = before and before.definitions.keys() == after.definitions.keys() and before.imports == after.imports
    for name, read in library._modules.items():
        if name != module and read:  # names in other modules may now refer to something else
            other._modules[name] = read if same else Module(name, read.source, read.is_package)
    return other
