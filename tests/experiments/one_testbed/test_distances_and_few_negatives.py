"""Runs under distances and with few negatives: their arms, and that each law is told from the other."""

import pytest
import torch

from experiments.one_testbed import (
    PAIRS,
    distance_count_errors,
    distance_share_errors,
    distance_shares,
    distance_temperatures,
    errors_by_negatives,
    errors_left,
    one_negative_errors,
    size_of_errors,
    trained_with_one_negative,
)
from experiments.one_testbed.distance_runs import GRIDS


def test_a_learned_temperature_is_told_from_the_count_of_inner_products():
    learned = distance_temperatures([(0.8, 0.5, 0.2)], [1, 2], batch=96, steps=250)
    assert learned["τ²"].shape == (2, 1, 2) and learned["τ²g"].shape == (2, 1, 2, 3)
    arms = distance_count_errors(learned)
    worst = max(float(of.max()) for of in arms["observed"].values())
    assert worst < 0.12 < float(arms["control"]["Σρ"].min())


def test_every_world_has_its_case_and_tokens_at_a_large_temperature_stand_outside():
    cells = distance_shares([1, 2], steps=3, batch=16)
    arms = distance_share_errors(cells)
    assert arms["observed"].keys() == {"Gaussian", *GRIDS} and list(arms["outside"]) == ["tokens, τ² = 8"]
    assert all(of.shape == (2,) for arm in arms.values() for of in arm.values())
    sums = [one["distances"].sum(-1) for one in cells.values()]
    assert all(torch.allclose(of, torch.ones_like(of)) for of in sums)


def test_one_negative_is_told_from_many():
    arms = one_negative_errors(trained_with_one_negative([1, 2], ["falling"], steps=250, pairs=256))
    (observed,) = arms["observed"].values()
    assert float(observed.max()) < 0.2 < float(arms["control"]["many negatives"].min())


def test_the_errors_of_few_negatives_are_compared_at_one_negative_and_at_many():
    errors = errors_by_negatives([1, 2], 2**10)
    assert all(of.shape == (2, len(PAIRS)) for of in errors.values())
    size, left = size_of_errors(errors), errors_left(errors)
    expected = (1 / (1 - 0.08) - 1) / (1 / (1 - 0.02) - 1)
    assert float(size["observed"]["N = 2"].mean()) == pytest.approx(expected, rel=0.2)
    assert float(size["control"]["the same ρ, N = 2"].mean()) == pytest.approx(1, rel=0.5)
    assert left["observed"].shape == left["control"]["the same v"].shape == (2,)
