"""Memory is asked for before it is used."""

import os

import pytest

from contrastive_dynamics import memory


def test_what_fits_passes_and_what_does_not_is_one_line():
    memory.require_memory(1e3, "cpu", "a few numbers")
    with pytest.raises(ValueError, match="memory: a matrix need 1e\\+09 GB, allowed are .* GB on cpu"):
        memory.require_memory(1e18, "cpu", "a matrix")


def test_where_the_size_cannot_be_known_nothing_is_refused(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    memory.require_memory(1e30, "cpu", "anything")
