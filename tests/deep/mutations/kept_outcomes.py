"""Outcomes of runs of mutated chapters and of chapters on another device, kept in a file while their keys match.

`tests/outcomes/CHAPTER.json` has an entry for each mutation, by its name, and one for each claim on another device,
with the arms that were measured; these are judged again each time. An entry's key is a digest of what its run depends
on: the digest of the claim's reading (`clbook.provenance.digests`), for a mutation with and without it, and the
versions of torch, numpy and scipy. If an entry's key or seal does not match, the entry is invalid and its run is made
again. So is a sample of the valid ones, which changes with each commit. `make outcomes` runs this
file, which makes the missing runs and keeps their outcomes.
"""

import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from clbook.claims.claim_table import Claims
from clbook.common.samples import commit_or_digest, sample
from clbook.common.sources import ChapterFiles, chapter_names, find_root
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode

from . import other_device
from .executed import Executed, uncovered
from .mutants import Mutation, load_mutations, run_script, words
from .outcome_keys import Keys, agree, holds, load, save, say_what_is_missing, sealed

MUTATION_SECONDS, DEVICE_SECONDS = 100.0, 50.0  # of CPU: sizes of a chapter's samples
DIVERGED = "diverged"  # in place of a verdict


class Mutations:
    """The mutations of one chapter: which are run, which kept outcomes are valid, and their verdicts."""

    def __init__(
        self,
        files: ChapterFiles,
        rows: Sequence[Mutation],
        seconds: float = MUTATION_SECONDS,
        library: Library | None = None,
    ):
        self.files, self.rows, self.keys = files, [m for m in rows if m.chapter == files.name], Keys(files, library)
        self.wanted = {m.name: self.keys.of_mutation(m) for m in self.rows}
        self.claims, kept = Claims.load(files.claims), load(files)["mutations"]
        self.believed = {name: kept[name] for name, key in self.wanted.items() if holds(kept.get(name), key)}
        cost = {name: sum(entry["seconds"]) for name, entry in self.believed.items()}
        self.sampled = set(sample(cost, seconds, f"{commit_or_digest(find_root())} mutations of {files.name}"))
        self.missing = [m for m in self.rows if m.name not in self.believed]
        self.unbroken: dict[str, tuple[dict, dict, Executed]] = {}  # arms, seconds of each unit, what it executed

    def together(self, mutation: Mutation) -> tuple[str, ...]:
        """The claims that share a mutation's parameters; only its own if it has none."""
        run = [m for m in self.rows if m in self.missing or m.name in self.sampled]
        alike = tuple(dict.fromkeys(m.claim for m in run if m.parameters == mutation.parameters))
        return alike if mutation.parameters and mutation in run else (mutation.claim,)

    def measure(self, mutation: Mutation) -> dict:
        """Make an entry: the claim's arms without and with the mutation, from the units that it needs.

        Claims with the same parameters are run together once without a mutation. `seconds` has the times of both runs,
        and `executed` is what the run without a mutation executed; raises AssertionError if the digest misses any of
        it. A mutation that makes training diverge leaves no arms.
        """
        claims, claim, changes = self.together(mutation), mutation.claim, mutation.parameters
        alike = json.dumps([claims, changes])
        if alike not in self.unbroken:
            seconds, watched = {}, Executed(self.keys.story)
            arms = run_script(self.files, claims, changes=changes, clock=seconds, around=watched.statement)
            self.unbroken[alike] = arms, seconds, watched
        (sound, seconds, watched), clock, made = self.unbroken[alike], {}, self.keys.made(mutation)
        try:
            broken = run_script(self.files, claim, mutation, changes=changes, clock=clock)
        except FloatingPointError:  # broken training may diverge on one processor and not on another
            broken = {claim: None}
        took = [round(sum(seconds[n] for n in made.units), 1), round(sum(clock.values()), 1)]
        executed = watched.by(made.units, claim)
        assert not uncovered(made, executed), f"{mutation.id}: executed and not covered: {uncovered(made, executed)}"
        entry = {"key": self.wanted[mutation.name], "seconds": took, "executed": executed}
        return sealed(entry | {"sound": sound[claim], "broken": broken[claim]})

    def words(self, claim: str, entry: dict) -> tuple[str, str]:
        """The verdicts without and with the mutation, by the present rule."""
        arms = (entry["sound"], entry["broken"])
        return tuple(words(self.claims, {claim: one})[claim] if one else DIVERGED for one in arms)

    def _certain(self, claim: str, both: tuple[str, str], of_all: tuple[str, ...]) -> tuple:
        """What every processor must find: other rounding leads broken training elsewhere, or to infinity.

        Where chance decides, the mutation must break the verdict, but perhaps to another word. A claim near its line
        may have another verdict to be broken.
        """
        sound, broken = both
        if self.claims.rows[claim].near:
            return (broken != sound,)
        if DIVERGED in of_all:
            return (sound,)
        return (sound, broken != sound) if self.claims.rows[claim].by_chance else both

    def verdicts(self, mutation: Mutation) -> tuple[str, str]:
        """The kept verdicts, or those of a run if none are kept; in the sample both, which must then agree."""
        claim, kept = mutation.claim, self.believed.get(mutation.name)
        if kept and mutation.name not in self.sampled:
            return self.words(claim, kept)
        if mutation in self.missing[:1]:
            say_what_is_missing(self.files, f"{len(self.missing)} of {len(self.rows)} mutations")
        found = self.words(claim, self.measure(mutation))
        if kept:
            before = self.words(claim, kept)
            agree(f"{mutation.id}, mutated", *(self._certain(claim, both, before + found) for both in (before, found)))
        return found


class Elsewhere:
    """A chapter on another device: its claims, and the cells that no claim needs and that only have to run."""

    def __init__(self, files: ChapterFiles, seconds: float = DEVICE_SECONDS, library: Library | None = None):
        self.files, self.keys = files, Keys(files, library)
        self.story, self.claims = self.keys.story, Claims.load(files.claims)
        self.units, self.wanted = dict(self.story.claims), {}
        for claim, at in self.story.claims.items():
            self.wanted[claim] = self.keys.of_unit(at, claim)
        for at in ends(self.story):
            key = self.keys.of_unit(at, None)
            self.units[f"cell {key[:16]}"], self.wanted[f"cell {key[:16]}"] = at, key
        kept = load(files)["elsewhere"]
        self.believed = {name: kept[name] for name, key in self.wanted.items() if holds(kept.get(name), key)}
        self.missing = [name for name in self.wanted if name not in self.believed]
        cost = {name: entry["seconds"] for name, entry in self.believed.items()}
        self.sampled = set(sample(cost, seconds, f"{commit_or_digest(find_root())} {files.name} elsewhere"))

    def needed(self, name: str) -> set[int]:
        """The units of a claim or a cell."""
        return set(self.story.needed(self.units[name]))

    def measure(self, names: Collection[str]) -> dict[str, dict]:
        """Entries from one run of all that they need: CPU seconds, and arms for a claim that is judged at this size."""
        clock: dict[int, float] = {}
        units = set().union(*map(self.needed, names))
        arms = other_device.run_elsewhere(self.files, units, clock)
        entries = {}
        for name in names:
            seconds = round(sum(clock[n] for n in self.needed(name)), 1)
            entries[name] = sealed({"key": self.wanted[name], "seconds": seconds, "arms": arms.get(name)})
        return entries

    def words(self, entries: dict[str, dict]) -> dict[str, str]:
        """The verdicts, by the present rules, of all entries that have arms."""
        return words(self.claims, {name: entry["arms"] for name, entry in entries.items() if entry["arms"]})

    def verdicts(self) -> dict[str, str]:
        """Claim → verdict: the kept ones, of which a sample is run again, or those of a run if none are kept."""
        if self.missing:
            say_what_is_missing(self.files, f"{len(self.missing)} claims and cells on the other device")
        run = [name for name in self.wanted if name in self.sampled or name in self.missing]
        found = self.measure(run) if run else {}
        for name in sorted(self.sampled):
            kept, again = (self.words({name: entries[name]}) for entries in (self.believed, found))
            agree(f"{self.files.name}/{name}, on another device", kept, again)
        entries = found | self.believed
        return self.words({name: entries[name] for name in self.wanted})


def ends(story: ChapterCode) -> list[int]:
    """The units that neither a claim nor another unit needs, except imports and the last line."""
    rest = set(range(len(story.units))) - set(story.union(story.claims))
    rest = {n for n in rest if not story.units[n].imports and not story.units[n].closes}
    inner = {n for at in rest for n in story.needed(at) if n != at}
    return sorted(rest - inner)


def renew(files: ChapterFiles, rows: Sequence[Mutation]) -> Iterator[str]:
    """Make the runs whose outcomes are missing and keep these; drop entries that no row names. Yields what was run."""
    plan, there = Mutations(files, rows, seconds=0.0), Elsewhere(files, seconds=0.0)
    order, found = [m.name for m in plan.rows], dict(plan.believed)
    for mutation in plan.missing:
        found[mutation.name] = plan.measure(mutation)
        save(files, "mutations", {name: found[name] for name in order if name in found})  # in case it is cut short
        yield mutation.id
    save(files, "mutations", {name: found[name] for name in order})
    if there.missing:
        there.believed |= there.measure(there.missing)
        yield f"{files.name}, on another device"
    save(files, "elsewhere", {name: there.believed[name] for name in there.wanted})


def _renew(name: str) -> None:
    root = find_root()
    os.environ["CLBOOK_ROOT"] = str(root)
    for done in renew(ChapterFiles.find(name, root), load_mutations(root)):
        print(done, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes started below
    names = sys.argv[1:] or chapter_names(find_root())
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_renew, names))
