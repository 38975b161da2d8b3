"""Definitions that count as earlier texts of theirs make the same bits as these."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from checkout import ROOT, unpack
from mutations.mutants import class_per
from same_bits import printed, rows, says_nothing

pytest.importorskip("numba", reason="compiled code needs numba")


@cache
def printed_now(program: str) -> str:
    """What a program prints on the present library."""
    with tempfile.TemporaryDirectory() as compiled:
        return printed(program, ROOT, Path(compiled))


def of_program(program: str) -> type:
    """The tests of the definitions that one program speaks for."""
    spoken_for = [row for row in rows() if row["program"] == program]

    class SameBits:
        @pytest.mark.parametrize("commit", sorted({row["commit"] for row in spoken_for}))
        def test_both_texts_print_the_same(self, commit, tmp_path):
            try:
                earlier = unpack(commit, tmp_path)
            except (subprocess.CalledProcessError, FileNotFoundError):
                pytest.skip(f"needs git and the commit {commit[:7]}")
            assert printed(program, earlier, tmp_path / "compiled") == printed_now(program) != ""

        @pytest.mark.parametrize("row", spoken_for, ids=lambda row: row["definition"])
        def test_the_program_executes_the_definition_and_notices_when_it_is_broken(self, row):
            """Otherwise it prints the same whatever the definition does; a changed one would count as the earlier."""
            assert says_nothing(program, row["definition"], printed_now(program)) == ""

    return SameBits


globals().update(class_per(sorted({row["program"] for row in rows()}), of_program))


def test_a_program_that_does_not_call_a_definition_cannot_speak_for_it():
    other = "contrastive_dynamics.testbed.soft_threshold.water_filling"
    prints = printed_now("canonical_moments")
    assert says_nothing("canonical_moments", other, prints) == f"canonical_moments does not execute {other}"
