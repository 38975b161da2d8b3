"""Definitions that count as earlier texts of theirs make the same bits as these."""

import subprocess

import pytest
from checkout import ROOT, unpack
from same_bits import printed, rows

pytest.importorskip("numba", reason="compiled code needs numba")


@pytest.mark.parametrize(("commit", "program"), sorted({(row["commit"], row["program"]) for row in rows()}))
def test_both_texts_print_the_same(commit, program, tmp_path):
    try:
        earlier = unpack(commit, tmp_path)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip(f"needs git and the commit {commit[:7]}")
    before, now = (printed(program, root, tmp_path / "compiled") for root in (earlier, ROOT))
    assert before == now != ""
