"""A chapter run as a plain script with one line of one kernel broken, only in the memory of this process."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest import mock

from clbook.claims.claim_table import Claims
from clbook.claims.judging import Reading, judge_all
from clbook.commands.script import run_unit
from clbook.common import project
from clbook.common.parameters import profile_parameters
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.common.subprocess_call import run_in_process
from clbook.provenance.library import FOLDERS, Library, definition_with
from clbook.provenance.slices import ChapterCode
from clbook.provenance.syntax import Definition

FEW_SEEDS = 0.05  # level of the arms of a smoke run, which its few seeds leave open at the level of verdicts
_APART: list[bool] = []  # filled in a process that may compile a mutation, which then stays in it


@dataclass(frozen=True)
class Mutation:
    """`old` occurs once in the module's source; with `new` in its place the verdict on the chapter's claim must change.

    `module` is its dotted name, a kernel's without the package. `parameters` differ from the smoke profile if that
    gives no verdict.
    The first of a claim's `breaks` is its own, the others test a kernel (`for_kernel`).
    """

    chapter: str
    claim: str
    module: str
    old: str
    new: str
    parameters: dict = field(default_factory=dict)
    for_kernel: bool = False

    @property
    def name(self) -> str:
        """The row's name in its chapter: the claim, followed by the kernel if it tests one."""
        return f"{self.claim}/{self.kernel.name if self.kernel else '?'}" if self.for_kernel else self.claim

    @property
    def id(self) -> str:
        """Chapters give their claims the same ids, so only chapter and name together identify a row."""
        return f"{self.chapter}/{self.name}"

    @property
    def kernel(self) -> Definition | None:
        """The definition that the broken line stands in."""
        return _definition_with(self.module, self.source, self.old)

    @property
    def file(self) -> Path:
        return Library().file(project.full_name(self.module))

    @property
    def source(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def compiled(self) -> bool:
        """Whether numba compiles the module: then what calls it contains it, too."""
        return any(word in self.source for word in ("njit", "compiled_once"))

    @property
    def broken(self) -> str:
        """The module's source with the line broken."""
        return self.source.replace(self.old, self.new)


def class_per_chapter(make: Callable[[str], type], root: Path) -> dict[str, type]:
    """`TestNAME` → make(name) for every chapter."""
    return class_per(chapter_names(root), make)


def class_per(names: Iterable[str], make: Callable[[str], type]) -> dict[str, type]:
    """`TestNAME` → make(name) for every name. pytest-xdist assigns whole classes, so processes share them."""
    return {"Test" + name.title().replace("-", "").replace("_", ""): make(name) for name in names}


@cache
def _definition_with(module: str, source: str, text: str) -> Definition | None:
    return definition_with(Library(replaced={project.full_name(module): source}), module, text)


def load_mutations(root: Path) -> list[Mutation]:
    """The mutations in the claims files of a book: first each claim's own, then those that test a kernel."""
    mutations = []
    for name in chapter_names(root):
        for claim in Claims.load(ChapterFiles(root, name).claims).rows.values():
            fields = ({"module" if key == "in" else key: value for key, value in row.items()} for row in claim.breaks)
            mutations += [Mutation(name, claim.id, **row, for_kernel=at > 0) for at, row in enumerate(fields)]
    return sorted(mutations, key=lambda mutation: mutation.for_kernel)


class _Broken(importlib.machinery.SourceFileLoader):
    """Loads a module from changed source; never reads or writes a cached compilation."""

    def __init__(self, name: str, path: str, source: str):
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname: str):
        return compile(self.source, self.path, "exec")


class _Finder:
    """Serves one module of the library with a mutation's source."""

    def __init__(self, mutation: Mutation):
        self.mutation, self.served = mutation, False

    def find_spec(self, name: str, path=None, target=None):
        if name != project.full_name(self.mutation.module):
            return None
        self.served = True
        file = str(self.mutation.file)
        loader = _Broken(name, file, self.mutation.broken)
        return importlib.util.spec_from_file_location(name, file, loader=loader)


@contextlib.contextmanager
def fresh_library(mutation: Mutation | None = None) -> Iterator[_Finder | None]:
    """Import the library afresh inside the block, mutated; afterwards restore what was imported before.

    Torch's default dtype, its thread count and the pyplot figures are restored, too. Training stays in this process,
    since other processes would import the library from disk.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import torch

    def ours() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] in FOLDERS]

    kept = {name: sys.modules.pop(name) for name in ours()}
    dtype, threads, finder = torch.get_default_dtype(), torch.get_num_threads(), mutation and _Finder(mutation)
    sys.meta_path[:0] = [finder] if finder else []
    try:
        with mock.patch.dict(os.environ, LOKY_MAX_CPU_COUNT="1"):
            yield finder
    finally:
        if finder:
            sys.meta_path.remove(finder)
        for name in ours():
            del sys.modules[name]
        sys.modules.update(kept)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        plt.close("all")


def run_script(
    files: ChapterFiles,
    claim: str | Iterable[str] | None = None,
    mutation: Mutation | None = None,
    changes: dict | None = None,
    clock: dict[int, float] | None = None,
    around: Callable[[int, int], contextlib.AbstractContextManager] = lambda unit, at: contextlib.nullcontext(),
    also: Iterable[int] = (),
) -> dict[str, dict]:
    """Claim → stored arms after a run of the smoke profile: of all units, or of those that some claims need.

    `changes` are parameters that differ from the profile. `clock` receives the CPU seconds of each unit that is run,
    `around` is entered for each of its statements, and `also` lists units that are run in addition to those of the
    claims. With a mutation of compiled code all of this happens in another process.
    """
    if mutation and mutation.compiled and not _APART:
        readings, seconds = run_in_process(_apart, files.root, files.name, claim, mutation, changes, list(also))
        (clock if clock is not None else {}).update(seconds)
        return readings
    parameters, code = profile_parameters(files, "smoke") | (changes or {}), ChapterCode(files)
    claims = [claim] if isinstance(claim, str) else claim
    units = None if claims is None else {*code.union(claims), *also}
    readings: dict[str, dict] = {}
    with fresh_library(mutation) as finder, contextlib.redirect_stderr(io.StringIO()):
        for part in code.by_notebook(units):
            namespace = code.namespace(parameters)
            for n in part:
                began = time.process_time()
                run_unit(code, n, namespace, around)
                if clock is not None:
                    clock[n] = round(time.process_time() - began, 2)
            opened = namespace.get("chapter")
            readings |= {i: reading.to_json() for i, reading in opened.readings.items()} if opened else {}
        if finder and not finder.served:
            raise ValueError(f"{files.name}: the cells that {claim} needs do not import {mutation.module}")
        return readings


def _apart(root: Path, name: str, claim, mutation: Mutation, changes: dict | None, also: list[int]) -> tuple:
    """`run_script` in this process, of which nothing stays: neither its compiled code nor the files of that."""
    os.environ["CLBOOK_ROOT"], clock = str(root), {}
    _APART.append(True)
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, NUMBA_CACHE_DIR=folder):
        return run_script(ChapterFiles(root, name), claim, mutation, changes, clock, also=also), clock


def words(claims: Claims, stored: dict[str, dict]) -> dict[str, str]:
    """Claim → the outcome of the rule on stored arms.

    This is not the verdict, which stays undecided for a claim that fails before the authors' side has been run.
    """
    readings = {i: Reading.of(**arms) for i, arms in stored.items()}
    return {i: v.before_review for i, v in judge_all(claims, readings).items()}


def arm_words(claims: Claims, claim: str, stored: dict) -> str:
    """The outcome of the rule on every case of every stored arm, in one line, at the level of a run with few seeds."""
    verdict = judge_all(claims, {claim: Reading.of(**stored)})[claim]
    arms, rule = vars(verdict.reading.as_judged(verdict.claim)), verdict.claim.rule
    said = [f"{arm} {rule.outcome(s, FEW_SEEDS)}" for arm, cases in arms.items() for s in cases.values()]
    return ", ".join(["undecided", *said])


def _alone(root: Path, name: str, claim: str, changes: dict) -> dict | None:
    os.environ["CLBOOK_ROOT"] = str(root)
    return run_script(ChapterFiles(root, name), claim, changes=changes).get(claim)


def run_alone(files: ChapterFiles, claims: Iterable[str], changes: dict) -> dict[str, dict | None]:
    """Claim → stored arms, each from its own units in a process that has run nothing else."""
    return {claim: run_in_process(_alone, files.root, files.name, claim, changes) for claim in claims}
