"""Memory is checked before it is used."""

import os

import pytest
import torch

from contrastive_dynamics.numerics import memory


def test_what_fits_passes_and_what_does_not_is_one_line():
    memory.require_memory(1e3, "cpu", "a few numbers")
    with pytest.raises(ValueError, match="memory: must be at most .* GB on cpu, a matrix need 1e\\+09 GB"):
        memory.require_memory(1e18, "cpu", "a matrix")


def test_where_the_size_cannot_be_known_nothing_is_refused(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    memory.require_memory(1e30, "cpu", "anything")


def test_memory_that_is_freed_and_asked_for_again_costs_no_page_faults():
    if not memory.keep_freed_memory():
        pytest.skip("the C library is not glibc: freed memory is left to it")
    import resource

    def faults_of_allocations(count):
        torch.ones(2**18)  # a megabyte, 256 pages
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(count):
            torch.ones(2**18)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert faults_of_allocations(100) < 10 * 256


def test_where_the_c_library_is_another_nothing_is_done(monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed_memory.__wrapped__() is False
