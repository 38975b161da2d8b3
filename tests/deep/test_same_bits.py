"""Definitions that count as earlier texts of theirs make the same bits as these."""

import subprocess

import pytest
from checkout import ROOT, unpack
from same_bits import printed, rows, says_nothing

pytest.importorskip("numba", reason="compiled code needs numba")


@pytest.mark.parametrize(("commit", "program"), sorted({(row["commit"], row["program"]) for row in rows()}))
def test_both_texts_print_the_same(commit, program, tmp_path):
    try:
        earlier = unpack(commit, tmp_path)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip(f"needs git and the commit {commit[:7]}")
    before, now = (printed(program, root, tmp_path / "compiled") for root in (earlier, ROOT))
    assert before == now != ""


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["definition"])
def test_the_program_of_a_row_executes_its_definition_and_notices_when_it_is_broken(row, tmp_path):
    """Otherwise it prints the same whatever the definition does, and a changed one would count as the earlier."""
    prints = printed(row["program"], ROOT, tmp_path / "compiled")
    assert says_nothing(row["program"], row["definition"], prints) == ""


def test_a_program_that_does_not_call_a_definition_cannot_speak_for_it(tmp_path):
    other = "contrastive_dynamics.testbed.soft_threshold.water_filling"
    prints = printed("canonical_moments", ROOT, tmp_path)
    assert says_nothing("canonical_moments", other, prints) == f"canonical_moments does not execute {other}"
