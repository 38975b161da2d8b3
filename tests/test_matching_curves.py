"""Curves of several configurations at once are those of each network alone."""

from dataclasses import replace

import pytest
import torch

from contrastive_dynamics.matching_curves import BLOCK, PADDING, matching_curve, matching_curves
from contrastive_dynamics.matching_score import matching_scores
from contrastive_dynamics.token_training import TokenTraining

SMALL = TokenTraining(candidates=2, beta=2, places=4, tokens=6, generators=7, length=2, outputs=5, batch=12)


def test_a_curve_ends_with_the_scores_of_the_final_filters():
    curve = matching_curve(SMALL, [3, 4], 30, points=7)
    assert curve["step"].tolist() == [1, 5, 10, 15, 20, 25, 30] and curve["plus"].shape == (2, 7)
    plus, minus = matching_scores(curve["w"], curve["candidates"], padding=PADDING)
    assert torch.equal(curve["plus"][:, -1], plus) and torch.equal(curve["minus"][:, -1], minus)
    assert torch.equal(curve["candidates"], SMALL.pool([3, 4]).candidates())


def test_linear_filters_are_scored_by_size():
    linear = replace(SMALL, activation="linear")
    curve = matching_curve(linear, range(3), 20, points=2)
    assert torch.equal(curve["plus"][:, -1], matching_scores(curve["w"], curve["candidates"], True, PADDING)[0])


@pytest.mark.parametrize("workers", [1, 3])
def test_networks_are_the_same_in_any_block_and_arm(workers):
    arms = {"many": (SMALL, range(BLOCK + 3)), "plain": (replace(SMALL, batch_norm="both"), [5])}
    found = dict(matching_curves(arms, 25, points=5, workers=workers))
    assert list(found) == ["many", "plain"] and found["many"]["plus"].shape == (BLOCK + 3, 5)
    alone = matching_curve(SMALL, [9], 25, points=5)
    assert torch.allclose(found["many"]["w"][9], alone["w"][0], atol=1e-4)
    assert torch.allclose(found["plain"]["w"], matching_curve(arms["plain"][0], [5], 25, points=5)["w"])


def test_bad_sizes_are_one_line_before_any_work():
    with pytest.raises(ValueError, match="got 25 points, 10 steps, allowed are 2 ≤ points ≤ steps"):
        matching_curve(SMALL, [0], 10)
    with pytest.raises(ValueError, match="memory: 2 networks of K·M = 4"):
        next(matching_curves({"huge": (replace(SMALL, beta=10**12), iter([0, 1]))}, 30))
