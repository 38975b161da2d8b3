"""Broken lines change digests of readings; what is kept of such runs, and of runs on a second device, is valid for
the present code, and judged by present rules.

Nothing is run here: `make deep` runs a sample again, and `make outcomes` makes what is missing.
"""

import json
from functools import cache

import pytest
from checkout import ROOT
from mutations.executed import holes
from mutations.kept_outcomes import Elsewhere, Mutations, least_decided
from mutations.mutants import class_per_chapter, load_mutations, words
from mutations.outcome_keys import path_of

from clbook.common import environment
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.digests import Provenance
from clbook.provenance.library import FOLDERS
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import notebooks_stamp

PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
HERE = {name: version.partition("+")[0] for name, version in environment.versions().items() if name in PINS}
ROWS = json.loads((ROOT / "lib" / "contrastive_dynamics" / "same_bits.json").read_text(encoding="utf-8"))
COUNTED = {row["definition"] for row in ROWS}  # definitions that count as an earlier text of theirs
OTHER = {name: version for name, version in HERE.items() if PINS[name] != version}


pinned = pytest.mark.skipif(bool(OTHER), reason=f"outcomes are kept for the pinned versions, here are {OTHER}")


def cells(provenance: Provenance) -> dict[str, str]:
    """What a digest of a chapter's cells alone would cover."""
    library = tuple(f"{package}." for package in FOLDERS)
    return {name: own for name, own in provenance.reaches.items() if not name.startswith(library)}


def of_chapter(name: str) -> type:
    """The tests of one chapter, which share the digests of its broken lines."""

    class Kept:
        files = ChapterFiles(ROOT, name)
        rows = [m for m in load_mutations(ROOT) if m.chapter == name]
        mutations = staticmethod(cache(lambda: Mutations(Kept.files, Kept.rows, seconds=0.0)))
        elsewhere = staticmethod(cache(lambda: Elsewhere(Kept.files, seconds=0.0)))

        def test_each_changes_the_digest_of_its_claim_and_not_the_cells(self):
            keys = self.mutations().keys
            assert self.rows and not keys.unseen(self.rows)
            assert all(cells(keys.provenance(m)) == cells(keys.broken_provenance(m)) != {} for m in self.rows)

        @pinned
        def test_there_is_a_valid_outcome_of_every_mutation_and_of_every_claim_and_cell_elsewhere(self):
            missing = [m.name for m in self.mutations().missing] + self.elsewhere().missing
            assert missing == [], f"`make outcomes CHAPTER={name}` makes and keeps these"

        @pinned
        def test_every_broken_line_changes_the_verdict(self):
            plan = self.mutations()
            verdicts = {m.id: plan.words(m.claim, plan.valid[m.name]) for m in self.rows if m.name in plan.valid}
            assert verdicts and not {i: both for i, both in verdicts.items() if both[0] == both[1]}

        @pinned
        def test_verdicts_on_another_device_are_the_notebook_s(self):
            elsewhere, stored = self.elsewhere(), notebooks_stamp(self.files)["readings"]
            here = words(elsewhere.claims, stored)
            verdicts = elsewhere.words(elsewhere.valid)
            decided = {claim for claim, word in verdicts.items() if word != "undecided"}  # few seeds leave some open
            in_both = {claim for claim in decided if here[claim] != "undecided"}
            assert {claim: verdicts[claim] for claim in in_both} == {claim: here[claim] for claim in in_both}
            assert len(decided) >= least_decided(name) * len(here)

        @pinned
        def test_what_was_executed_is_covered_by_the_digest(self):
            plan = self.mutations()
            kept = {m.claim: m for m in self.rows if not m.for_kernel and m.claim in plan.valid}
            # an entry that a row of same_bits keeps valid was run with the earlier text: `make deep` runs a sample anew
            kept = {c: m for c, m in kept.items() if not COUNTED & plan.keys.provenance(m).reaches.keys()}
            print(f"{name}: {len(kept)} claims whose entries were run with the present text")
            assert not holes({c: (plan.keys.provenance(m), plan.valid[c]["executed"]) for c, m in kept.items()})

    return Kept


globals().update(class_per_chapter(of_chapter, ROOT))


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_what_is_committed_belongs_to_rows_and_to_claims(name):
    files, rows = ChapterFiles(ROOT, name), load_mutations(ROOT)
    kept = json.loads(path_of(files).read_text()) if path_of(files).is_file() else {"mutations": {}, "elsewhere": {}}
    assert kept["mutations"].keys() <= {m.name for m in rows if m.chapter == name}
    assert {n for n in kept["elsewhere"] if not n.startswith("cell ")} <= ChapterCode(files).claims.keys()
