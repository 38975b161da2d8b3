"""A chapter run as a plain script with one line of one kernel broken, in memory and in this process alone."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import yaml

from ..claims.claim_table import Claims
from ..claims.judging import Reading, judge_all
from ..ground.parameters import profile_parameters
from ..ground.sources import ChapterFiles, chapter_names
from ..provenance.slices import Story

PACKAGE = "contrastive_dynamics"
LIBRARY = Path(importlib.util.find_spec(PACKAGE).origin).parent


@dataclass(frozen=True)
class Mutation:
    """`old` stands once in the module's source; with `new` in its place the verdict of the chapter's claim must change.

    `module` is its dotted name in the library; `parameters` differ from the smoke profile where that gives no verdict.
    """

    chapter: str
    claim: str
    module: str
    old: str
    new: str
    parameters: dict = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Chapters give their claims the same ids: only both together name one."""
        return f"{self.chapter}/{self.claim}"

    @property
    def file(self) -> Path:
        return LIBRARY.joinpath(*self.module.split(".")).with_suffix(".py")

    @property
    def source(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def broken(self) -> str:
        """The module's source with the line broken."""
        return self.source.replace(self.old, self.new)


def class_a_chapter(make: Callable[[str], type], root: Path) -> dict[str, type]:
    """`TestNAME` → make(name) for every chapter: pytest-xdist hands out a class as a whole, so two processes share."""
    return {"Test" + name.title().replace("-", ""): make(name) for name in chapter_names(root)}


def load_mutations(folder: Path) -> list[Mutation]:
    """All rows of a folder that has a file `CHAPTER.yaml` for each chapter."""
    files = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))}
    return [Mutation(chapter, **row) for chapter, rows in files.items() for row in rows or []]


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
        if name != f"{PACKAGE}.{self.mutation.module}":
            return None
        self.served = True
        file = str(self.mutation.file)
        loader = _Broken(name, file, self.mutation.broken)
        return importlib.util.spec_from_file_location(name, file, loader=loader)


@contextlib.contextmanager
def fresh_library(mutation: Mutation | None = None) -> Iterator[_Finder | None]:
    """Import the library anew inside the block, mutated; what was imported before stands again after it.

    Torch's default dtype, its thread count and the pyplot figures are put back too. Trainings stay in this process,
    since others would import the library as it stands on disk.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import torch

    def ours() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] == PACKAGE]

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
    prepare: Callable[[], None] = lambda: None,
    changes: dict | None = None,
    clock: dict[int, float] | None = None,
    around: Callable[[int], contextlib.AbstractContextManager] = lambda unit: contextlib.nullcontext(),
    also: Iterable[int] = (),
) -> dict[str, dict]:
    """Claim → stored arms after a run with the smoke profile: of all units, or of those that some claims need.

    `changes` are parameters that differ from the profile; `prepare` is called before the first unit, in the library
    that the units import; `clock` takes the CPU seconds of each unit that is run; `around` is entered for each; `also`
    has units that are run besides those of the claims.
    """
    parameters, story = profile_parameters(files, "smoke") | (changes or {}), Story(files)
    claims = [claim] if isinstance(claim, str) else claim
    units = range(len(story.units)) if claims is None else sorted({*story.union(claims), *also})
    namespace: dict = {"__name__": "__main__"}
    with fresh_library(mutation) as finder, contextlib.redirect_stderr(io.StringIO()):
        prepare()
        exec(story.defaults, namespace)
        namespace.update(parameters)
        for n in units:
            unit, began = story.units[n], time.process_time()
            with around(n):
                exec(compile(unit.source, f"{files.source.name}, code cell {unit.cell + 1}", "exec"), namespace)
            if clock is not None:
                clock[n] = round(time.process_time() - began, 2)
        if finder and not finder.served:
            raise ValueError(f"{files.name}: the cells that {claim} needs do not import {mutation.module}")
        return {i: reading.to_json() for i, reading in namespace["chapter"].readings.items()}


def words(files: ChapterFiles, stored: dict[str, dict]) -> dict[str, str]:
    """Claim → what the rule finds on stored arms, with Holm's correction over all of them.

    Not the verdict: that is undecided for whatever fails before the authors' side was run.
    """
    readings = {i: Reading.of(**arms) for i, arms in stored.items()}
    return {i: v.found for i, v in judge_all(Claims.load(files.claims), readings).items()}


def _alone(root: Path, name: str, claim: str, changes: dict) -> dict | None:
    os.environ["CLBOOK_ROOT"] = str(root)
    return run_script(ChapterFiles(root, name), claim, changes=changes).get(claim)


def run_alone(files: ChapterFiles, claims: Iterable[str], changes: dict) -> dict[str, dict | None]:
    """Claim → stored arms, each from its own units in a process that has run nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        jobs = {claim: pool.submit(_alone, files.root, files.name, claim, changes) for claim in claims}
        return {claim: job.result() for claim, job in jobs.items()}
