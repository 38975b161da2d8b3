"""Each mutation's line stands once and can be broken. Nothing is run here.

That it changes the digest of its claim's reading is tested beside what such runs gave, in `test_kept_outcomes.py`.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

from checkout import ROOT
from mutations.mutants import Mutation, load_mutations
from mutations.outcome_keys import Keys
from stand_in import write_stand_in

from clbook.claims.claim_table import Claims
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.library import PACKAGE

MUTATIONS = load_mutations(ROOT)


@cache
def ruled(root: Path) -> set[str]:
    """`chapter/claim` of every claim with a rule."""
    rows = {name: Claims.load(ChapterFiles(root, name).claims).rows for name in chapter_names(root)}
    return {f"{name}/{i}" for name, claims in rows.items() for i, claim in claims.items() if claim.rule}


def unbreakable(rows: list[Mutation]) -> list[str]:
    """Mutations whose line does not stand once in its module, or whose broken module is no Python."""
    problems = []
    for m in rows:
        if m.file is None:
            problems.append(f"{m.id}: there is no module {m.module}")
        elif (times := m.source.count(m.old)) != 1:
            problems.append(f"{m.id}: its line stands {times} times in {m.module}")
        else:
            try:
                compile(m.broken, m.module, "exec")
            except (SyntaxError, ValueError) as error:
                problems.append(f"{m.id}: broken, {m.module} is no Python: {error}")
    return problems


def test_every_line_to_break_stands_once_and_can_be_broken():
    assert MUTATIONS and unbreakable(MUTATIONS) == []


def test_a_line_that_stands_not_once_or_breaks_the_syntax_is_named():
    many, none = (replace(RELU, claim=name, old=old) for name, old in (("many", "torch"), ("none", "no such line")))
    rows = [RELU, many, none, replace(RELU, claim="odd", new=")")]
    problems = unbreakable([*rows, replace(RELU, claim="gone", module="losses.nowhere")])
    assert [problem.partition(":")[0] for problem in problems] == [
        f"stand-in/{i}" for i in ("many", "none", "odd", "gone")
    ]


def test_every_claim_with_a_rule_has_a_mutation():
    assert {m.id for m in MUTATIONS if not m.for_kernel} == ruled(ROOT)


def test_a_row_for_the_sake_of_a_kernel_names_a_claim_with_a_rule_and_is_the_only_one_of_its_name():
    assert {f"{m.chapter}/{m.claim}" for m in MUTATIONS} == ruled(ROOT)
    assert len({m.id for m in MUTATIONS}) == len(MUTATIONS)


RELU = Mutation(
    "stand-in", "thm-1", "losses.activations", 'Activation("relu", torch.relu,', 'Activation("relu", torch.neg,'
)
LINEAR = 'double = ACTIVATIONS["linear"]'
LEAK = replace(RELU, old="LEAK = 0.05", new="LEAK = 0.06")


def test_a_digest_changes_where_the_claim_reaches_what_is_changed_and_nowhere_else():
    rows = [replace(LEAK, chapter=m.chapter, claim=m.claim) for m in MUTATIONS if m.chapter == "nonlinearity"]
    keys = Keys(ChapterFiles(ROOT, "nonlinearity"))
    spared = [m.id for m in rows if f"{PACKAGE}.losses.activations.LEAK" not in keys.provenance(m).reaches]
    assert keys.unseen(rows) == spared and 0 < len(spared) < len(rows)


BREAK = "{in: losses.activations, old: LEAK = 0.05, new: LEAK = 0.06}"


def test_every_chapter_has_mutations_of_its_own(tmp_path):
    for name, claims in {"stand-in": ("thm-1", "fig-1"), "twin": ("thm-1",)}.items():
        files = write_stand_in(tmp_path, name=name).claims
        for claim in claims:
            files.write_text(files.read_text().replace(f"id: {claim}\n", f"id: {claim}\n  breaks: {BREAK}\n"))
    rows = {m.id for m in load_mutations(tmp_path)}
    assert rows == {"stand-in/thm-1", "stand-in/fig-1", "twin/thm-1"}
    assert ruled(tmp_path) - rows == {"stand-in/thm-1-a", "twin/thm-1-a", "twin/fig-1"}


def test_a_row_for_the_sake_of_a_kernel_is_named_after_what_it_breaks(tmp_path):
    files = write_stand_in(tmp_path).claims
    files.write_text(files.read_text().replace("id: thm-1\n", f"id: thm-1\n  breaks: [{BREAK}, {BREAK}]\n"))
    own, other = load_mutations(tmp_path)
    assert [own.id, other.id] == ["stand-in/thm-1", "stand-in/thm-1/LEAK"]
    assert str(own.kernel) == str(other.kernel) == f"{PACKAGE}.losses.activations.LEAK"
