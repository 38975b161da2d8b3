"""The chapters on a device other than the CPU: every tensor is where its inputs are, and verdicts are the same."""

import pytest
import torch
from checkout import ROOT
from elsewhere import ELSEWHERE, elsewhere
from mutations.kept_outcomes import Elsewhere, least_decided
from mutations.mutants import class_per_chapter, words

from clbook.claims.claim_table import Claims
from clbook.common.sources import ChapterFiles
from clbook.provenance.staleness import notebooks_stamp


def test_elsewhere_is_a_device_of_its_own():
    with elsewhere():
        x = torch.tensor([1.0, 2.0], device=ELSEWHERE)
        assert (x.device, x.tolist(), float((x @ x).sqrt() ** 2)) == (ELSEWHERE, [1.0, 2.0], pytest.approx(5))
        with pytest.raises(RuntimeError, match="two devices"):
            x + torch.ones(2)
        with pytest.raises((RuntimeError, TypeError)):
            x.numpy()
        assert torch.equal(x.cpu() + torch.ones(2), torch.tensor([2.0, 3.0]))
    assert torch.ones(1).device.type == "cpu"


def test_a_list_selects_elsewhere_what_it_selects_here():
    rows, here = [2, 0], torch.arange(12.0).reshape(3, 4)
    with elsewhere():
        there = here.to(ELSEWHERE)
        assert there[rows].tolist() == here[rows].tolist() and there[:, rows].tolist() == here[:, rows].tolist()
        there[rows] = 7.0
    assert there.near.tolist() == [[7.0] * 4, [4.0, 5.0, 6.0, 7.0], [7.0] * 4]


def of_chapter(name: str) -> type:
    """The test of one chapter."""

    class OnAnother:
        def test_it_runs_on_another_device_with_the_same_verdicts(self, monkeypatch):
            monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
            files = ChapterFiles(ROOT, name)
            here = words(Claims.load(files.claims), notebooks_stamp(files)["readings"])
            there = Elsewhere(files).verdicts()
            decided = {claim for claim, word in there.items() if word != "undecided"}  # few seeds leave some open
            in_both = {claim for claim in decided if here[claim] != "undecided"}
            assert {claim: there[claim] for claim in in_both} == {claim: here[claim] for claim in in_both}
            assert len(decided) >= least_decided(name) * len(here)

    return OnAnother


globals().update(class_per_chapter(of_chapter, ROOT))
