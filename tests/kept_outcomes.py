"""What runs of mutated chapters, and of chapters on another device, gave: kept in a file, believed while its key holds.

`tests/outcomes/CHAPTER.json` has an entry for each mutation and one for the device, with the arms that were measured;
they are judged anew each time. An entry's key is a hash over all that its run depends on: the cells it needs, the
parameters, the library modules behind the names that these cells read, the mutation, what runs it (`mutants.py`, for
the device `elsewhere.py` and `other_device.py` too), the versions of torch, numpy and scipy. An entry whose key or
seal does not fit is not believed: the run is made again. So is a sample of those that are believed, which the keys
choose within a budget of CPU seconds. `make outcomes` runs this file: it makes and keeps the runs that are missing.
"""

import ast
import hashlib
import inspect
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import elsewhere
import mutants
import other_device
from mutants import Mutation, load_mutations, run_script, words
from needed_cells import cells_of, code_cells

from contrastive_dynamics.book import provenance
from contrastive_dynamics.book.chapter import profile_parameters
from contrastive_dynamics.book.sources import ChapterFiles, chapter_names

MUTATION_SECONDS, DEVICE_SECONDS = 35.0, 15.0  # of a chapter's sample


def digest(content: object) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def modules_of(statement: str) -> frozenset[str]:
    """The library modules that one import statement brings, transitively."""
    return frozenset(provenance.library_modules(statement))


@cache
def tree_of(source: str) -> str:
    """The digest of a source's syntax tree, without docstrings and comments."""
    return digest(provenance.canonical(ast.parse(source)))


def used_modules(code: str) -> set[str]:
    """The library modules behind the imported names that the code reads; chapters import in one cell for all claims."""
    nodes = list(ast.walk(ast.parse(code)))
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    found: set[str] = set()
    for node in nodes:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if (alias.asname or alias.name).partition(".")[0] in read:
                one = ast.ImportFrom(node.module, [alias], node.level) if isinstance(node, ast.ImportFrom) else None
                found |= modules_of(ast.unparse(one or ast.Import([alias])))
    return found


def key(files: ChapterFiles, claims: tuple[str, ...] | None, changes: dict, made_by: list) -> str:
    """The hash over all that a run with the smoke profile depends on; `made_by` has the modules that make it."""
    code = code_cells(files)
    wanted = range(len(code)) if claims is None else cells_of(files, claims)
    program = "\n".join(code[n].source for n in wanted)
    library = {name: tree_of(module_source(name)) for name in used_modules(program)}
    machinery = [tree_of(inspect.getsource(module)) for module in made_by]
    versions = {k: v.partition("+")[0] for k, v in provenance.versions().items() if k != "python"}
    return digest([tree_of(program), profile_parameters(files, "smoke") | changes, library, machinery, versions])


def module_source(name: str) -> str:
    """The source of a module of the library, on disk."""
    base = mutants.LIBRARY.joinpath(*name.split(".")[1:])
    return next(p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()).read_text(encoding="utf-8")


def mutation_key(files: ChapterFiles, mutation: Mutation) -> str:
    return digest([asdict(mutation), key(files, (mutation.claim,), mutation.parameters, [mutants])])


def device_key(files: ChapterFiles) -> str:
    return key(files, None, {}, [mutants, elsewhere, other_device])


def sealed(entry: dict) -> dict:
    """The entry with a hash over it, which shows a value that was edited or merged."""
    return entry | {"seal": digest(entry)}


def holds(entry: dict | None, wanted: str) -> bool:
    """Whether an entry is what a run of the present code left."""
    return (
        bool(entry) and entry.get("key") == wanted and sealed({k: v for k, v in entry.items() if k != "seal"}) == entry
    )


def sample(seconds: dict[str, float], budget: float, chosen_by: str) -> set[str]:
    """Names in an order that a hash chooses, each taken while the sum stays below the budget."""
    taken: set[str] = set()
    for name in sorted(seconds, key=lambda name: digest([chosen_by, name])):
        if sum(seconds[n] for n in taken) + seconds[name] < budget:
            taken.add(name)
    return taken


def path_of(files: ChapterFiles) -> Path:
    return files.root / "tests" / "outcomes" / f"{files.name}.json"


def load(files: ChapterFiles) -> dict:
    """What is kept of a chapter."""
    path = path_of(files)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {"mutations": {}, "elsewhere": None} | kept


def save(files: ChapterFiles, kept: dict) -> None:
    """Write the file, a line an entry."""
    rows = ",\n".join(f"{json.dumps(claim)}: {json.dumps(entry)}" for claim, entry in kept["mutations"].items())
    path, text = path_of(files), f'{{"mutations": {{\n{rows}\n}},\n"elsewhere": {json.dumps(kept["elsewhere"])}}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)


class Mutations:
    """The mutations of one chapter: which are run, which are believed, their verdicts."""

    def __init__(self, files: ChapterFiles, rows: Sequence[Mutation], seconds: float = MUTATION_SECONDS):
        self.files, self.rows = files, [m for m in rows if m.chapter == files.name]
        self.keys = {m.claim: self._key(m) for m in self.rows}
        kept = load(files)["mutations"]
        self.believed = {claim: kept[claim] for claim, k in self.keys.items() if holds(kept.get(claim), k)}
        cost = {claim: entry["seconds"] for claim, entry in self.believed.items()}
        self.sampled = sample(cost, seconds, digest(self.keys))
        self.missing = [m for m in self.rows if m.claim not in self.believed]
        self.unbroken: dict[str, tuple[dict, dict]] = {}  # arms, seconds of each cell

    def _key(self, mutation: Mutation) -> str:
        try:
            return mutation_key(self.files, mutation)
        except ValueError:  # no cell judges the claim: its run says so, the others have theirs
            return ""

    def together(self, mutation: Mutation) -> tuple[str, ...]:
        """The claims that are run with a mutation's parameters; itself alone where these are none."""
        run = [m for m in self.rows if m in self.missing or m.claim in self.sampled]
        alike = tuple(m.claim for m in run if m.parameters == mutation.parameters)
        return alike if mutation.parameters and mutation in run else (mutation.claim,)

    def measure(self, mutation: Mutation) -> dict:
        """An entry: the claim's arms without and with the mutation, from the cells that it needs.

        Claims with the same parameters are run together without a mutation, once. `seconds` are those of both runs.
        """
        claims, claim, changes = self.together(mutation), mutation.claim, mutation.parameters
        alike, clock, own = json.dumps([claims, changes]), [], cells_of(self.files, (claim,))
        if alike not in self.unbroken:
            arms = run_script(self.files, claims, changes=changes, clock=clock)
            self.unbroken[alike] = arms, dict(zip(cells_of(self.files, claims), clock, strict=True))
        (sound, seconds), clock = self.unbroken[alike], []
        broken = run_script(self.files, claim, mutation, changes=changes, clock=clock)
        entry = {"key": self.keys[claim], "seconds": round(sum(clock) + sum(seconds[n] for n in own), 1)}
        return sealed(entry | {"sound": sound[claim], "broken": broken[claim]})

    def words(self, claim: str, entry: dict) -> tuple[str, str]:
        """The verdicts without and with the mutation, by the present rule."""
        return tuple(words(self.files, {claim: entry[arms]})[claim] for arms in ("sound", "broken"))

    def verdicts(self, mutation: Mutation) -> tuple[str, str]:
        """Those that are kept, or of a run where none are; of both, which must agree, where it is in the sample."""
        claim, kept = mutation.claim, self.believed.get(mutation.claim)
        if kept and claim not in self.sampled:
            return self.words(claim, kept)
        if mutation in self.missing[:1]:
            say_what_is_missing(self.files, f"{len(self.missing)} of {len(self.rows)} mutations")
        found = self.words(claim, self.measure(mutation))
        if kept:
            agree(f"{mutation.id}, mutated", self.words(claim, kept), found)
        return found


def agree(what: str, kept: object, found: object) -> None:
    """Raises AssertionError for an entry that a run does not confirm."""
    assert kept == found, f"{what}: kept is {kept}, but a run gives {found}; find out why, then delete what is kept"


def say_what_is_missing(files: ChapterFiles, what: str) -> None:
    said = f"{files.name}: no outcome of the present code is kept for {what}, so each was run;"
    warnings.warn(f"{said} `make outcomes CHAPTER={files.name}` keeps what they give", stacklevel=2)


def measure_elsewhere(files: ChapterFiles) -> dict:
    """An entry: all arms from the other device, and the CPU seconds of each code cell."""
    seconds: list[float] = []
    arms = other_device.run_elsewhere(files, clock=seconds)
    return sealed({"key": device_key(files), "seconds": seconds, "arms": arms})


def verdicts_elsewhere(files: ChapterFiles, seconds: float = DEVICE_SECONDS) -> dict[str, str]:
    """Claim → verdict on another device: those that are kept, a sample of them run again, or of a run of all cells."""
    kept = load(files)["elsewhere"]
    if not holds(kept, device_key(files)):
        say_what_is_missing(files, "the other device")
        return words(files, measure_elsewhere(files)["arms"])
    arms = kept["arms"]
    cost = {claim: sum(kept["seconds"][n] for n in cells_of(files, (claim,))) for claim in arms}
    chosen = sorted(sample(cost, seconds, kept["key"]))
    found = other_device.run_elsewhere(files, tuple(chosen)) if chosen else {}
    for claim in chosen:
        agree(f"{files.name}/{claim}, on another device", *(words(files, {claim: a[claim]}) for a in (arms, found)))
    return words(files, arms)


def renew(files: ChapterFiles, rows: list[Mutation]) -> Iterator[str]:
    """Make the runs whose outcome is missing and keep them, drop what no row names; yields what was run."""
    plan, kept = Mutations(files, rows, seconds=0.0), load(files)
    order, found = [m.claim for m in plan.rows], dict(plan.believed)
    for mutation in plan.missing:
        found[mutation.claim] = plan.measure(mutation)
        kept["mutations"] = {claim: found[claim] for claim in order if claim in found}
        save(files, kept)  # a run that is cut short loses nothing
        yield mutation.id
    if not holds(kept["elsewhere"], device_key(files)):
        kept["elsewhere"] = measure_elsewhere(files)
        yield f"{files.name}, on another device"
    save(files, kept | {"mutations": {claim: found[claim] for claim in order}})


def _renew(name: str) -> None:
    root = Path(__file__).parents[1]
    os.environ["CLBOOK_ROOT"] = str(root)
    for done in renew(ChapterFiles.find(name, root), load_mutations(root / "tests" / "mutations")):
        print(done, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes below
    names = sys.argv[1:] or chapter_names(Path(__file__).parents[1])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_renew, names))
