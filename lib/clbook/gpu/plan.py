"""What a machine can measure, in the order in which it is worth having, and what it cannot, each with the reason.

First the kernels' own tests, then every reading at smoke and at default size, the benchmarks, then readings at the
paper's size; within each the shortest first. All of it is found in the sources and in the stored runs, which say how
long each cell took on a CPU: no YAML is read.
"""

import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from contrastive_dynamics.data.registry import DataError, check

from ..common.parameters import profile_parameters
from ..common.sources import ChapterFiles, chapter_names
from ..provenance.digests import ChapterDigests
from ..provenance.library import PACKAGE, Library, sha
from ..provenance.slices import ChapterCode
from ..provenance.staleness import notebooks_stamp, read_record
from ..provenance.stamps import seconds_of, seconds_of_record
from .store import ABSENT, DIED, LATE, MEMORY

TESTS, BENCHMARKS, PROFILES = "tests", "benchmarks", ("smoke", "default", "paper")
ORDER = (TESTS, "smoke", "default", BENCHMARKS, "paper")
# programs that take --device, with their seconds on a CPU; those of sweeps measure papermill and dask
PROGRAMS = {"sparse_codes": 15, "two_modalities": 120, "token_training": 90, "contrastive_covariance": 240,
            "constrained_descent": 300}  # fmt: skip
NO_ROOMS = {"book", "chapters", "tools", "mutations", "outcomes"}  # of tests/: these are about the machinery
SMOKE = 0.3  # of the default's time, where no run at smoke size says more
HEAVY = 0.005  # of a chapter's time: claims that share a cell which takes longer are computed together
# seconds that one test, one cell or one program may take; a cell at the paper's size may take all there is
LIMITS = {TESTS: 120.0, "smoke": 180.0, "default": 300.0, BENCHMARKS: 420.0, "paper": float("inf")}
BUNDLE = 45.0  # seconds up to which claims of a chapter share a process
SMALL = 3.0  # the same in a rehearsal, which takes the first bundle of each chapter and size
NOT_SMALL = "not in the small rehearsal"


@dataclass(frozen=True)
class Job:
    """Something that one process measures: `what` names its claims; a test folder and a program have none."""

    stage: str
    name: str
    seconds: float
    what: tuple[str, ...] = ()
    alone: bool = False  # nothing else may run beside it
    chapter: str = ""

    @property
    def id(self) -> str:
        return f"{self.stage}-{self.name}".replace("/", "-")


@dataclass(frozen=True)
class Left:
    """Something that this machine does not measure, and why."""

    stage: str
    what: str
    reason: str


@dataclass(frozen=True)
class Run:
    """A chapter at one size: which claims can be read here, in bundles, and which cannot."""

    story: ChapterCode
    profile: str
    device: str

    @property
    def chapter(self) -> str:
        return self.story.files.name

    @property
    def place(self) -> tuple[str, str]:
        return self.chapter, self.profile

    @cached_property
    def parameters(self) -> dict[str, object]:
        given = profile_parameters(self.story.files, self.profile)
        return given | ({"device": self.device} if "device" in given else {})

    @cached_property
    def digests(self) -> ChapterDigests:
        return ChapterDigests(self.story, self.parameters)

    @cached_property
    def missing_data(self) -> str:
        """Why the data set of this size cannot be read, or nothing."""
        try:
            check(str(self.parameters.get("data", "generated")))
        except DataError:
            return f"needs the data set {self.parameters['data']}"
        return ""

    def obstacle(self, claim: str) -> str:
        """Why a claim cannot be read here, or nothing."""
        if "device" not in self.parameters and self.device != "cpu":
            return "the chapter has no parameter 'device'"
        return self.missing_data if "data" in self.digests.claim(claim).parameters else ""

    @cached_property
    def seconds(self) -> dict[int, float]:
        """Cell → seconds on a CPU: of the stored run at this size as far as it says them, else in proportion."""
        files, stamp = self.story.files, notebooks_stamp(self.story.files)
        record = read_record(files.record(self.profile))["run"] if files.record(self.profile).is_file() else None
        known = seconds_of_record(record, self.digests) if record else {}
        shown = seconds_of(stamp, ChapterDigests(self.story, stamp["parameters"])) if stamp else {}
        factor = record["seconds"] / max(sum(shown.values()), 1.0) if record else 1.0
        factor = SMOKE if self.profile == "smoke" and not record else factor
        return {cell: factor * seconds for cell, seconds in shown.items()} | known

    @cached_property
    def heavy(self) -> set[int]:
        """Cells that take too long to be run once more for each claim."""
        least = max(0.5, HEAVY * sum(self.seconds.values()))
        return {cell for cell, seconds in self.seconds.items() if seconds > least}

    def cost(self, claims: Iterable[str]) -> float:
        """Seconds of the cells that some claims need."""
        return sum(self.seconds.get(cell, 0.0) for cell in self._cells(claims))

    def bundles(self, claims: Iterable[str], most: float) -> list[tuple[str, ...]]:
        """Claims that share a cell that takes long together, and short ones in the company of others; shortest first.

        They depend on all claims of the chapter, so that an interrupted bundle is found again.
        """
        packed: list[set[str]] = []
        for group in sorted(self._sharing(claims), key=self.cost):
            if packed and self.cost(packed[-1] | group) <= most:
                packed[-1] |= group
            else:
                packed.append(group)
        return [tuple(claim for claim in self.story.claims if claim in group) for group in packed]

    def _sharing(self, claims: Iterable[str]) -> list[set[str]]:
        """The claims in groups: two that need a heavy cell in common, directly or by way of others, are in one."""
        groups: list[set[str]] = []
        cells: list[set[int]] = []
        for claim in claims:
            group, needed = {claim}, self._cells([claim]) & self.heavy
            for k in reversed([k for k, others in enumerate(cells) if others & needed]):
                group, needed = group | groups.pop(k), needed | cells.pop(k)
            groups.append(group)
            cells.append(needed)
        return groups

    def _cells(self, claims: Iterable[str]) -> set[int]:
        """The cells that some claims need."""
        return {self.story.units[n].cell for n in self.story.union(claims)}


def runs(root: Path, device: str) -> list[Run]:
    """Every chapter at every size for which it has a profile."""
    library = Library().read()
    stories = [ChapterCode(ChapterFiles(root, name), library) for name in chapter_names(root)]
    return [
        Run(story, profile, device)
        for profile in PROFILES
        for story in stories
        if profile == "default" or story.files.profile(profile).is_file()
    ]


def kernel_test_jobs(root: Path) -> list[Job]:
    """A job for each folder of kernel tests, with a digest of the tests and of the rooms and tools that they reach."""
    library = root / "lib" / PACKAGE
    rooms = {p.name: _text(p) for p in sorted(library.glob("*")) if p.is_dir() and p.name not in NO_ROOMS}
    tools = {p.stem: p.read_text(encoding="utf-8") for p in sorted((root / "tests" / "tools").glob("*.py"))}
    found = []
    for folder in sorted(p for p in (root / "tests").glob("*") if p.is_dir() and p.name not in NO_ROOMS):
        if text := _text(folder):
            key = sha(*_reached(text, rooms | tools))[:12]
            found.append(Job(TESTS, folder.name, len(text) / 1000, (key,)))
    return found


def _text(folder: Path) -> str:
    """All Python files of a folder, one after the other."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def _reached(text: str, texts: dict[str, str]) -> list[str]:
    """A text, and those of the rooms and tools that it imports or that these import."""
    names, found = set(), [text]
    for one in found:
        for name in re.findall(rf"^ *(?:from|import) (?:\.+|{PACKAGE}\.)?(\w+)", one, re.MULTILINE):
            if name in texts and name not in names:
                names.add(name)
                found.append(texts[name])
    return found


def benchmark_jobs(root: Path) -> list[Job]:
    """A job for each benchmark, which nothing else may disturb."""
    there = {path.stem for path in (root / "benchmarks").glob("*.py")}
    return [Job(BENCHMARKS, name, seconds, alone=True) for name, seconds in PROGRAMS.items() if name in there]


def is_stored(entry: dict | None, run: Run, claim: str) -> bool:
    """Whether an entry was made by the present code and parameters."""
    return bool(entry) and entry.get("digest") == run.digests.claim(claim).digest


def comes_again(entry: dict, seconds: float) -> bool:
    """Whether a failed reading is worth another run, which has some seconds for a cell: what failed may not again."""
    kind = entry.get("kind")
    if kind == ABSENT:
        return importlib.util.find_spec(entry["package"].partition(".")[0]) is not None
    if kind == LATE:
        return seconds > 1.5 * entry["limit"]
    return kind in (MEMORY, DIED) and entry["workers"] > 1  # it had to share the machine


def reading_jobs(run: Run, stored: dict, seconds: float, small: bool) -> tuple[list[Job], list[Left]]:
    """The readings of a chapter at one size that are not stored yet, and those that are not made here."""
    jobs, left, most = [], [], min(seconds, LIMITS[run.profile])
    obstacles = {claim: run.obstacle(claim) for claim in run.story.claims}
    for k, bundle in enumerate(run.bundles(run.story.claims, SMALL if small else BUNDLE)):
        entries = {claim: stored.get((*run.place, claim)) for claim in bundle}
        known = {claim: entry for claim, entry in entries.items() if is_stored(entry, run, claim)}
        again = {claim for claim, entry in known.items() if "failed" in entry and comes_again(entry, most)}
        absent = {c: e["package"] for c, e in known.items() if e.get("kind") == ABSENT and c not in again}
        fresh = tuple(claim for claim in bundle if not obstacles[claim] and claim not in known)
        reasons = [(claim, obstacles[claim]) for claim in bundle if obstacles[claim]]
        reasons += [(claim, f"needs {package}, not installed here") for claim, package in absent.items()]
        reasons += [(claim, NOT_SMALL) for claim in fresh if small and k]
        left += [Left(run.profile, f"{run.chapter}/{claim}", reason) for claim, reason in reasons]
        if small and k:
            continue
        name = f"{run.chapter}-{k + 1}"
        jobs += [Job(run.profile, name, run.cost(fresh), fresh, chapter=run.chapter)] if fresh else []
        jobs += [
            Job(run.profile, f"{name}-{claim}", run.cost([claim]), (claim,), alone=True, chapter=run.chapter)
            for claim in sorted(again)
        ]
    return jobs, left


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """By stage, then the shortest first; what is tried again comes after the rest of its stage."""
    return sorted(jobs, key=lambda job: (ORDER.index(job.stage), job.stage in PROFILES and job.alone, job.seconds))
