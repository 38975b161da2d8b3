"""Definitions that count as earlier texts of theirs make the same bits as these."""

import subprocess

import pytest
from checkout import ROOT, unpack
from same_bits import printed, rows, says_nothing

pytest.importorskip("numba", reason="compiled code needs numba")


def of_program(program: str) -> type:
    """The tests of the definitions that one program speaks for, with what it prints at present."""
    spoken_for = [row for row in rows() if row["program"] == program]

    class SameBits:
        @pytest.fixture(scope="class")
        def prints(self, tmp_path_factory):
            return printed(program, ROOT, tmp_path_factory.mktemp("compiled"))

        @pytest.mark.parametrize("commit", sorted({row["commit"] for row in spoken_for}))
        def test_both_texts_print_the_same(self, commit, prints, tmp_path):
            try:
                earlier = unpack(commit, tmp_path)
            except (subprocess.CalledProcessError, FileNotFoundError):
                pytest.skip(f"needs git and the commit {commit[:7]}")
            assert printed(program, earlier, tmp_path / "compiled") == prints != ""

        @pytest.mark.parametrize("row", spoken_for, ids=lambda row: row["definition"])
        def test_the_program_executes_the_definition_and_notices_when_it_is_broken(self, row, prints):
            """Otherwise it prints the same whatever the definition does; a changed one would count as the earlier."""
            assert says_nothing(program, row["definition"], prints) == ""

    return SameBits


# pytest-xdist assigns whole classes, so what a program prints at present is found once
for name in sorted({row["program"] for row in rows()}):
    globals()["Test" + name.title().replace("_", "")] = of_program(name)


def test_a_program_that_does_not_call_a_definition_cannot_speak_for_it(tmp_path):
    other = "contrastive_dynamics.testbed.soft_threshold.water_filling"
    prints = printed("canonical_moments", ROOT, tmp_path)
    assert says_nothing("canonical_moments", other, prints) == f"canonical_moments does not execute {other}"
