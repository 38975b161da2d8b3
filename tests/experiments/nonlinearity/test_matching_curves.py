"""Curves of many configurations at once are those of each network alone."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.matching_score import matching_scores
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from experiments.nonlinearity.matching_curves import BLOCK, FILTERS, PADDING, matching_curves, training_blocks

SMALL = TokenTraining(candidates=2, beta=2, places=4, tokens=6, generators=7, length=2, outputs=5, batch=12)
MIXED = {  # one program: M = 4 filters per place
    "many": (SMALL, range(BLOCK + 3)),
    "linear": (replace(SMALL, activation="linear"), [2, 1]),
    "sigmoid": (replace(SMALL, activation="sigmoid", loss="quadratic_over_tau"), [1]),
    "plain": (replace(SMALL, batch_norm="off"), [5]),
    "variance": (replace(SMALL, batch_norm="variance", zeta=3.0), [5]),
    "one candidate": (replace(SMALL, candidates=1, beta=4, loss="triplet"), [5]),
}


@cache
def alone(name, seed):
    """The curve of one network of the mixed program in a program of its own."""
    return matching_curves({0: (MIXED[name][0], [seed])}, 25, points=5)[0]


def test_a_curve_ends_with_the_scores_of_the_final_filters():
    curve = matching_curves({0: (SMALL, [3, 4])}, 30, points=7)[0]
    assert curve["step"].tolist() == [1, 5, 10, 15, 20, 25, 30] and curve["plus"].shape == (2, 7)
    plus, minus = matching_scores(curve["w"], curve["candidates"], padding=PADDING)
    assert torch.equal(curve["plus"][:, -1], plus) and torch.equal(curve["minus"][:, -1], minus)
    assert torch.equal(curve["printed"], torch.stack(matching_scores(curve["w"], curve["candidates"]), -1))
    assert torch.equal(curve["candidates"], SMALL.pool([3, 4]).candidates())


def test_scores_beside_those_of_the_end():
    """Of the start, and of the end against the candidates of the place before it."""
    curve = matching_curves({0: (SMALL, [3, 4])}, 30, 2, FILTERS)[0]
    for row, seed in enumerate((3, 4)):
        start = starting_weights([(SMALL, seed)], "cpu").w
        candidates = SMALL.pool([seed]).candidates()
        scores = torch.stack(matching_scores(start, candidates, padding=PADDING)).flatten()
        assert torch.equal(curve["start"][row], start[0]) and torch.allclose(curve["untrained"][row], scores)
        following = candidates[:, [3, 0, 1, 2]]
        scores = torch.stack(matching_scores(curve["w"][row, None], following, padding=PADDING)).flatten()
        assert torch.allclose(curve["neighbour"][row], scores)


def test_linear_filters_are_scored_by_size():
    found = matching_curves({"l": MIXED["linear"], "r": (SMALL, [7])}, 20, points=2)
    for name, absolute in (("l", True), ("r", False)):
        scores = matching_scores(found[name]["w"], found[name]["candidates"], absolute, PADDING)
        assert torch.equal(found[name]["plus"][:, -1], scores[0])


@pytest.mark.parametrize("workers", [1, 2])
def test_networks_are_the_same_in_any_block_and_arm(workers):
    found = matching_curves(MIXED, 25, points=5, workers=workers)
    assert found.keys() == MIXED.keys() and found["many"]["plus"].shape == (BLOCK + 3, 5)
    for name, (_, seeds) in MIXED.items():
        for row, seed in enumerate(seeds):
            single = alone(name, seed)
            assert torch.allclose(found[name]["w"][row], single["w"][0], atol=1e-4), (name, seed)
            assert torch.equal(found[name]["candidates"][row], single["candidates"][0])


def test_a_worker_draws_what_this_process_draws_whatever_dtype_is_the_default():
    arms = {0: (SMALL, [3, 4, 5, 6, 7, 8, 9, 10])}
    here = matching_curves(arms, 20, points=3, workers=1)[0]
    torch.set_default_dtype(torch.float64)
    try:
        wide, apart = (matching_curves(arms, 20, points=3, workers=n)[0] for n in (1, 2))
    finally:
        torch.set_default_dtype(torch.float32)
    for key, value in here.items():
        assert torch.equal(value, wide[key]) and wide[key].dtype == apart[key].dtype == value.dtype
        assert torch.allclose(value.double(), apart[key].double(), atol=1e-4)


def test_an_error_in_a_worker_is_that_of_the_training():
    # one block per arm: if two diverged, the error would name whichever came first
    arms = {"diverges": (replace(SMALL, rate=1e30, batch_norm="off"), range(4)), "learns": (SMALL, range(4))}
    assert len(training_blocks(arms, workers=2)) == 2
    with pytest.raises(FloatingPointError, match="training diverged: seed 0 of TokenTraining"):
        matching_curves(arms, 30, 2, workers=2)


def test_blocks_are_small_one_program_each_and_share_minibatches():
    arms = MIXED | {"wide": (replace(SMALL, beta=3), range(2)), "slow": (replace(SMALL, rate=1e-3), [0])}
    blocks = training_blocks(arms)
    assert sum(len(block.runs) for block in blocks) == sum(len(list(seeds)) for _, seeds in arms.values())
    for block in blocks:
        assert len(block.runs) <= BLOCK and len({training.program for training, _ in block.runs}) == 1
        sources = [(training.candidates, seed) for training, seed in block.runs]
        assert sources == sorted(sources)
    assert len(training_blocks(arms, "meta")) == 3  # sizes or rates that differ


def test_a_training_that_diverges_says_which():
    with pytest.raises(FloatingPointError, match="training diverged: seed 1 of TokenTraining"):
        matching_curves({0: (replace(SMALL, rate=1e30, batch_norm="off"), [1])}, 30, 2)


def test_bad_sizes_are_one_line_before_any_work():
    with pytest.raises(ValueError, match="points must be ≥ 2 and ≤ steps, got 25 points and 10 steps"):
        matching_curves({0: (SMALL, [0])}, 10)
    with pytest.raises(ValueError, match="memory: must be at most .* GB on cpu, 2 networks of K·M = 4"):
        matching_curves({"huge": (replace(SMALL, beta=10**12), iter([0, 1]))}, 30)
    with pytest.raises(ValueError, match="arm 'none' must have one seed or more, got none"):
        matching_curves({"none": (SMALL, [])}, 30)
