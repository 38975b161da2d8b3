"""Random streams: a run's draws depend on (seed, run, purpose) and on nothing else."""

import hashlib

import pytest
import torch

from contrastive_dynamics.numerics.random_streams import stream, streams


def draw(*key):
    return torch.randn(5, generator=stream(*key))


def test_same_key_same_draws_whatever_was_drawn_before():
    first = draw(1, 2, "start")
    torch.randn(100)
    draw(1, 3, "start")
    assert torch.equal(first, draw(1, 2, "start"))


@pytest.mark.parametrize("key", [(2, 2, "start"), (1, 3, "start"), (1, 2, "data"), (12, 0, "start"), (1, 20, "start")])
def test_other_key_other_draws(key):
    assert not torch.equal(draw(1, 2, "start"), draw(*key))


def test_global_stream_is_left_alone():
    torch.manual_seed(0)
    expected = torch.randn(3)
    torch.manual_seed(0)
    draw(5, 5, "start")
    assert torch.equal(expected, torch.randn(3))


def test_state_is_the_digest():
    digest = int(hashlib.sha256(b"7/1/data").hexdigest()[:16], 16) // 2
    assert stream(7, 1, "data").initial_seed() == digest


def test_streams_are_uncorrelated():
    draws = torch.stack([torch.randn(4000, generator=stream(0, run, "data")) for run in range(8)])
    off = torch.corrcoef(draws) - torch.eye(8)
    assert off.abs().max() < 5 / 4000**0.5  # five standard errors


@pytest.mark.parametrize("seed, run", [(-1, 0), (0, -2)])
def test_negative_seed_or_run(seed, run):
    with pytest.raises(ValueError, match=f"seed and run must be ≥ 0, got seed={seed}, run={run}"):
        stream(seed, run, "start")


def test_streams_are_those_of_the_runs_seed_by_seed():
    found = [g.initial_seed() for g in streams([3, 1], 2, "start")]
    assert found == [stream(seed, run, "start").initial_seed() for seed, run in ((3, 0), (3, 1), (1, 0), (1, 1))]
    assert streams([], 1, "start") == []


@pytest.mark.parametrize(
    "seeds, runs, said",
    [([1], 0, "runs must be ≥ 1, got 0"), ([-1], 2, "seed and run must be ≥ 0, got seed=-1, run=0")],
)
def test_streams_of_no_run_or_of_a_negative_seed(seeds, runs, said):
    with pytest.raises(ValueError, match=said):
        streams(seeds, runs, "start")
