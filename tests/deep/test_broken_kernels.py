"""Chapters with one line of a kernel broken: runs of a sample give the verdicts that are kept; how such runs work."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from checkout import ROOT
from mutations.kept_outcomes import Mutations
from mutations.mutants import Mutation, class_per_chapter, fresh_library, load_mutations, run_script
from stand_in import SOURCE, write_stand_in

from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles
from clbook.provenance.library import FOLDERS, PACKAGE

MUTATIONS = load_mutations(ROOT)


def changed(root: Path, mutation: Mutation, *others: Mutation) -> tuple[str, str]:
    """The claim's verdict without and with the mutation, from a run in its own chapter."""
    plan = Mutations(ChapterFiles(root, mutation.chapter), [mutation, *others])
    return plan.words(mutation.claim, plan.measure(mutation))


def of_chapter(name: str) -> type:
    """The tests of one chapter."""

    class Broken:
        rows = [m for m in MUTATIONS if m.chapter == name]
        plan = staticmethod(cache(lambda: Mutations(ChapterFiles(ROOT, name), Broken.rows)))

        @pytest.mark.parametrize("mutation", rows, ids=lambda m: m.id)
        def test_a_broken_kernel_changes_the_verdict(self, mutation, monkeypatch):
            monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
            sound, broken = self.plan().verdicts(mutation)
            assert broken != sound

    return Broken


globals().update(class_per_chapter(of_chapter, ROOT))


RELU = Mutation(
    "stand-in", "thm-1", "losses.activations", 'Activation("relu", torch.relu,', 'Activation("relu", torch.neg,'
)
LINEAR = 'double = ACTIVATIONS["linear"]'
LEAK = replace(RELU, old="LEAK = 0.05", new="LEAK = 0.06")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path)


def test_a_mutation_of_the_stand_in_changes_its_verdict(stand_in):
    assert changed(stand_in.root, RELU) == ("reproduced", "not reproduced")


def test_a_line_that_does_not_matter_changes_nothing(stand_in):
    assert changed(stand_in.root, LEAK) == ("reproduced", "reproduced")


@pytest.fixture
def both(stand_in):
    """The root of two chapters with the same claims; no ReLU enters the theorem of the second."""
    write_stand_in(stand_in.root, SOURCE.replace('double = ACTIVATIONS["relu"]', LINEAR), name="twin")
    return stand_in.root


def test_a_mutation_is_looked_up_in_its_own_chapter(both):
    assert changed(both, RELU) == ("reproduced", "not reproduced")
    assert changed(both, replace(RELU, chapter="twin")) == ("reproduced", "reproduced")


def test_a_row_for_the_sake_of_a_kernel_stands_beside_that_of_its_claim(stand_in):
    rows = [RELU, replace(RELU, new=RELU.new.replace("neg", "zeros_like"), for_kernel=True)]
    plan = Mutations(stand_in, rows)
    assert list(plan.wanted) == ["thm-1", "thm-1/ACTIVATIONS"] and len(set(plan.wanted.values())) == 2
    assert [plan.words("thm-1", plan.measure(m)) for m in rows] == 2 * [("reproduced", "not reproduced")]
    assert len(plan.unbroken) == 1


def test_claims_of_one_id_are_run_with_those_of_their_own_chapter(both):
    wide = replace(RELU, parameters={"scale": 2.0})
    others = [replace(wide, claim="fig-1"), replace(wide, chapter="twin"), replace(RELU, claim="thm-1-a")]
    plan = Mutations(ChapterFiles(both, "stand-in"), [wide, *others])
    assert [plan.claims_run_with(m) for m in (wide, others[2])] == [("thm-1", "fig-1"), ("thm-1-a",)]
    assert changed(both, wide, *others) == ("reproduced", "not reproduced")


def test_a_module_that_the_claim_does_not_use_is_refused(stand_in):
    with pytest.raises(ValueError, match="do not import nonlinearity.one_filter.winning_probability"):
        run_script(
            stand_in,
            "thm-1",
            replace(RELU, module="nonlinearity.one_filter.winning_probability", old="return", new="return "),
        )
    with pytest.raises(BookError, match="no cell judges thm-9"):
        run_script(stand_in, "thm-9")


def test_the_smoke_profile_is_used(stand_in):
    assert len(run_script(stand_in)["fig-1"]["observed"][""]) == 3


def test_the_library_stands_unbroken_afterwards(stand_in):
    import contrastive_dynamics.losses.activations as before

    text = (FOLDERS[PACKAGE] / "losses" / "activations.py").read_bytes()
    run_script(stand_in, "thm-1", RELU)
    import contrastive_dynamics.losses.activations as after

    assert after is before and (FOLDERS[PACKAGE] / "losses" / "activations.py").read_bytes() == text


def test_what_was_imported_and_the_default_dtype_are_put_back_after_a_failure():
    import sys

    import torch

    kept, dtype = dict(sys.modules), torch.get_default_dtype()
    with pytest.raises(ZeroDivisionError), fresh_library(RELU):
        torch.set_default_dtype(torch.float64)
        raise ZeroDivisionError
    ours = [name for name in kept if name.startswith("contrastive_dynamics")]
    assert ours and all(sys.modules[name] is kept[name] for name in ours)
    assert torch.get_default_dtype() is dtype and not any(type(f).__name__ == "_Finder" for f in sys.meta_path)
