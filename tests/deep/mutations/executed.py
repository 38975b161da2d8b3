"""Which library definitions a chapter's code executes, and whether a digest covers them."""

import contextlib
import cProfile
import inspect
import os
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

from clbook.common import project
from clbook.provenance.digests import Provenance
from clbook.provenance.library import FOLDERS, PACKAGE, definition_at
from clbook.provenance.slices import ChapterCode
from clbook.provenance.spelling import only_shows

_FOLDERS = tuple(f"{folder}{os.sep}" for folder in FOLDERS.values())


class Executed:
    """The library definitions that each statement executes, as seen by the interpreter's profiler, and those that
    numba compiles for it, which then run unseen. What is read from a cache of compiled code is not seen: a test that
    asks for all of it begins with an empty one.

    Code that runs on import belongs to no unit, wherever the import stands: a module only makes the values of its
    names, and a digest that reaches a name covers what makes it. Machinery belongs to none either, nor does the set-up
    of every run: a digest contains the seeds and the device that this yields, and the statements by which it sets
    torch's defaults.
    """

    def __init__(self, code: ChapterCode):
        self.code = code
        self._ran: dict[tuple[int, int], set[tuple[str, int]]] = {}  # unit, statement → files and lines
        self._known: dict[tuple[str, int], str | None] = {}

    @contextlib.contextmanager
    def statement(self, n: int, position: int) -> Iterator[None]:
        """Profile one statement of unit n while it runs."""
        if self.code.units[n].imports:
            yield
            return
        compiled = []
        with _compiling(compiled), cProfile.Profile(builtins=False) as profile, _paused_by_imports(profile):
            yield
        codes = [entry.code for entry in profile.getstats() if not isinstance(entry.code, str)] + compiled
        functions = inspect.CO_NEWLOCALS  # numba takes CO_OPTIMIZED from a compiled function that is called
        bodies = {c for c in codes if c.co_filename.startswith(_FOLDERS) and c.co_flags & functions}
        self._ran.setdefault((n, position), set()).update((code.co_filename, code.co_firstlineno) for code in bodies)

    def by(self, units: Iterable[int], claim: str) -> list[str]:
        """`module.name` of everything that some units executed for a claim, in alphabetical order.

        Statements that only show something are left out, as they are in the digest of the claim's reading.
        """
        body, wanted = {n: self.code.units[n].body for n in units}, set()
        for (n, position), places in self._ran.items():
            if n in body and not only_shows(body[n][position], claim):
                wanted |= places
        return sorted({name for file, line in wanted if (name := self._at(file, line))})

    def _at(self, file: str, line: int) -> str | None:
        if (file, line) not in self._known:
            package, folder = next((p, f) for p, f in FOLDERS.items() if file.startswith(f"{f}{os.sep}"))
            parts = Path(file).relative_to(folder).with_suffix("").parts
            module = ".".join((package, *parts))
            is_setup = parts[-1] == "run_defaults"  # it counts as statements of the set-up
            definition = None if is_setup else definition_at(self.code.library, module, line)
            self._known[file, line] = str(definition).removeprefix(f"{PACKAGE}.") if definition else None
        return self._known[file, line]


@contextlib.contextmanager
def _paused_by_imports(profile: cProfile.Profile) -> Iterator[None]:
    """Leave out of a profile what modules execute while they are imported."""
    execute, inside = SourceFileLoader.exec_module, []

    def unseen(loader: SourceFileLoader, module) -> None:
        profile.disable()
        inside.append(module)
        try:
            execute(loader, module)
        finally:
            inside.pop()
            if not inside:
                profile.enable(builtins=False)

    with mock.patch.object(SourceFileLoader, "exec_module", unseen):
        yield


def _compiling(codes: list) -> contextlib.AbstractContextManager:
    """Add the code of every function that numba compiles inside the block."""
    try:
        from numba.core import event
    except ImportError:
        return contextlib.nullcontext()

    class Noted(event.Listener):
        def on_start(self, event) -> None:
            codes.append(event.data["dispatcher"].py_func.__code__)

        def on_end(self, event) -> None:
            pass

    return event.install_listener("numba:compile", Noted())


def uncovered(provenance: Provenance, names: Iterable[str]) -> list[str]:
    """The executed definitions that a digest does not cover."""
    return [name for name in names if project.full_name(name) not in provenance.reaches]


def holes(ran: dict[str, tuple[Provenance, list[str]]]) -> list[str]:
    """The definitions that claims execute outside their digests, given each one's provenance and executed names.

    If no claim executed anything of the library, that is a problem, too: then the profiler failed.
    """
    problems = [
        f"{claim}: {name} is executed and not covered"
        for claim, (provenance, names) in ran.items()
        for name in uncovered(provenance, names)
    ]
    return problems + ([] if any(names for _, names in ran.values()) else ["nothing was executed"])
