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
from clbook.common.subprocess_call import end_with
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode

from . import other_device
from .executed import Executed, uncovered
from .mutants import Mutation, arm_words, load_mutations, run_script, words
from .outcome_keys import Keys, agree, is_valid, load, save, sealed, warn_of_missing

MUTATION_SECONDS, DEVICE_SECONDS = 100.0, 50.0  # of CPU: sizes of a chapter's samples
DIVERGED = "diverged"  # in place of a verdict
# Share of claims that a run on another device decides at least. Fourteen claims of One testbed are not judged below 160
# steps and eight seeds, and most others are open with three seeds: its run at smoke size shows that each cell works.
DECIDED = {"one-testbed": 0.25}


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
        self.valid = {name: kept[name] for name, key in self.wanted.items() if is_valid(kept.get(name), key)}
        cost = {name: sum(entry["seconds"]) for name, entry in self.valid.items()}
        self.sampled = set(sample(cost, seconds, f"{commit_or_digest(find_root())} mutations of {files.name}"))
        self.missing = [m for m in self.rows if m.name not in self.valid]
        self.unbroken: dict[str, tuple[dict, dict, Executed]] = {}  # arms, seconds of each unit, what it executed

    def claims_run_with(self, mutation: Mutation) -> tuple[str, ...]:
        """The claims of the runs with a mutation's parameters; only its own if it has none."""
        run = [m for m in self.rows if m in self.missing or m.name in self.sampled]
        claims = tuple(dict.fromkeys(m.claim for m in run if m.parameters == mutation.parameters))
        return claims if mutation.parameters and mutation in run else (mutation.claim,)

    def measure(self, mutation: Mutation) -> dict:
        """Make an entry: the claim's arms without and with the mutation, from the units that it needs.

        Claims with the same parameters are run together once without a mutation. `seconds` has the times of both runs,
        and `executed` is what the run without a mutation executed; raises AssertionError if the digest misses any of
        it. A mutation that makes training diverge leaves no arms.
        """
        claims, claim, changes = self.claims_run_with(mutation), mutation.claim, mutation.parameters
        key = json.dumps([claims, changes])
        if key not in self.unbroken:
            seconds, watched = {}, Executed(self.keys.code)
            arms = run_script(self.files, claims, changes=changes, clock=seconds, around=watched.statement)
            self.unbroken[key] = arms, seconds, watched
        (sound, seconds, watched), clock, provenance = self.unbroken[key], {}, self.keys.provenance(mutation)
        try:
            broken = run_script(self.files, claim, mutation, changes=changes, clock=clock)
        except FloatingPointError:  # broken training may diverge on one processor and not on another
            broken = {claim: None}
        took = [round(sum(seconds[n] for n in provenance.units), 1), round(sum(clock.values()), 1)]
        executed = watched.by(provenance.units, claim)
        missed = uncovered(provenance, executed)
        assert not missed, f"{mutation.id}: executed and not covered: {missed}"
        entry = {"key": self.wanted[mutation.name], "seconds": took, "executed": executed}
        return sealed(entry | {"sound": sound[claim], "broken": broken[claim]})

    def words(self, claim: str, entry: dict) -> tuple[str, str]:
        """The verdicts without and with the mutation, by the present rule.

        A row that few small networks leave open is undecided with both; what the rule says of its arms at 95 % counts.
        """
        readings = (entry["sound"], entry["broken"])
        both = tuple(words(self.claims, {claim: reading})[claim] if reading else DIVERGED for reading in readings)
        return both if both != ("undecided",) * 2 else tuple(arm_words(self.claims, claim, r) for r in readings)

    def _certain(self, claim: str, both: tuple[str, str], of_all: tuple[str, ...]) -> tuple:
        """The part of two verdicts that is the same on every processor: rounding may change broken training, or make
        it diverge.

        Where chance decides, the mutation must change the verdict, but perhaps to another word, and rounding may leave
        the unbroken verdict open.
        """
        sound, broken = both
        if self.claims.rows[claim].by_chance and "undecided" in of_all:
            return (broken != sound,)
        if DIVERGED in of_all:
            return (sound,)
        return (sound, broken != sound) if self.claims.rows[claim].by_chance else both

    def verdicts(self, mutation: Mutation) -> tuple[str, str]:
        """The kept verdicts, or those of a run if none are kept; in the sample both, which must agree."""
        claim, kept = mutation.claim, self.valid.get(mutation.name)
        if kept and mutation.name not in self.sampled:
            return self.words(claim, kept)
        if mutation in self.missing[:1]:
            warn_of_missing(self.files, f"{len(self.missing)} of {len(self.rows)} mutations")
        computed = self.words(claim, self.measure(mutation))
        if kept:
            before = self.words(claim, kept)
            certain = (self._certain(claim, both, before + computed) for both in (before, computed))
            agree(f"{mutation.id}, mutated", *certain)
        return computed


class Elsewhere:
    """A chapter on another device: its claims, and the cells that no claim needs, which only must not fail."""

    def __init__(self, files: ChapterFiles, seconds: float = DEVICE_SECONDS, library: Library | None = None):
        self.files, self.keys = files, Keys(files, library)
        self.code, self.claims = self.keys.code, Claims.load(files.claims)
        self.units, self.wanted = dict(self.code.claims), {}
        for claim, at in self.code.claims.items():
            self.wanted[claim] = self.keys.of_unit(at, claim)
        for at in ends(self.code):
            key = self.keys.of_unit(at, None)
            self.units[f"cell {key[:16]}"], self.wanted[f"cell {key[:16]}"] = at, key
        kept = load(files)["elsewhere"]
        self.valid = {name: kept[name] for name, key in self.wanted.items() if is_valid(kept.get(name), key)}
        self.missing = [name for name in self.wanted if name not in self.valid]
        cost = {name: entry["seconds"] for name, entry in self.valid.items()}
        self.sampled = set(sample(cost, seconds, f"{commit_or_digest(find_root())} {files.name} elsewhere"))

    def needed(self, name: str) -> set[int]:
        """The units of a claim or a cell."""
        return set(self.code.needed(self.units[name]))

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
            warn_of_missing(self.files, f"{len(self.missing)} claims and cells on the other device")
        run = [name for name in self.wanted if name in self.sampled or name in self.missing]
        computed = self.measure(run) if run else {}
        for name in sorted(self.sampled):
            kept, again = (self.words({name: entries[name]}) for entries in (self.valid, computed))
            agree(f"{self.files.name}/{name}, on another device", kept, again)
        entries = computed | self.valid
        return self.words({name: entries[name] for name in self.wanted})


def least_decided(chapter: str) -> float:
    """The least share of a chapter's claims that a run at smoke size on another device has to decide."""
    return DECIDED.get(chapter, 0.7)


def ends(code: ChapterCode) -> list[int]:
    """The units that neither a claim nor another unit needs, except imports and the last line."""
    rest = set(range(len(code.units))) - set(code.union(code.claims))
    rest = {n for n in rest if not code.units[n].imports and not code.units[n].closes}
    inner = {n for at in rest for n in code.needed(at) if n != at}
    return sorted(rest - inner)


def renew(files: ChapterFiles, rows: Sequence[Mutation]) -> Iterator[str]:
    """Make the runs whose outcomes are missing, keep these and drop entries that no row names; idempotent.

    Yields the name of each run.
    """
    plan, elsewhere = Mutations(files, rows, seconds=0.0), Elsewhere(files, seconds=0.0)
    order, entries = [m.name for m in plan.rows], dict(plan.valid)
    for mutation in plan.missing:
        entries[mutation.name] = plan.measure(mutation)
        save(files, "mutations", {name: entries[name] for name in order if name in entries})  # in case it is cut short
        yield mutation.id
    save(files, "mutations", {name: entries[name] for name in order})
    if elsewhere.missing:
        elsewhere.valid |= elsewhere.measure(elsewhere.missing)
        yield f"{files.name}, on another device"
    save(files, "elsewhere", {name: elsewhere.valid[name] for name in elsewhere.wanted})


def _renew(name: str) -> None:
    root = find_root()
    os.environ["CLBOOK_ROOT"] = str(root)
    for done in renew(ChapterFiles.find(name, root), load_mutations(root)):
        print(done, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes started below
    names = sys.argv[1:] or chapter_names(find_root())
    bound = {"initializer": end_with, "initargs": (os.getpid(),)}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), **bound) as pool:
        list(pool.map(_renew, names))
