"""The race of heads to half of the balance."""

import pytest
import torch

from contrastive_dynamics.alignment_and_balance.projection_heads import apply_heads
from contrastive_dynamics.alignment_and_balance.zero_shot import output_balance
from experiments.alignment_and_balance.temperature_race import (
    RacePlan,
    collapsed_heads,
    first_passage,
    signal_pairs,
    updates_to_half,
)

PLAN = RacePlan(seed=3, starts=2, rank=4, width=16, batch=32, pairs=256, collapse=100, race=120, every=20)


def test_first_passage_is_linear_between_looks():
    values = torch.tensor([[1.0, 5.0, 1.0], [3.0, 5.0, 1.5], [5.0, 5.0, 2.0]])
    found = first_passage(values, 4.0, 10)
    assert found.tolist() == [15.0, 0.0, float("inf")]


def test_pairs_share_their_signals_and_not_their_noises():
    images, captions = signal_pairs(PLAN)
    assert images.shape == captions.shape == (256, 8)
    assert torch.equal(images[:, :4], captions[:, :4]) and not torch.equal(images[:, 4:], captions[:, 4:])


def test_the_race_starts_at_a_collapse_and_negatives_end_it():
    image, _ = collapsed_heads(PLAN)
    before = output_balance(apply_heads(image, signal_pairs(PLAN)[0])[0])
    assert bool((before < 2).all())
    times = updates_to_half(PLAN, [2.0, 1e-3], [8.0], "adamw", 3e-3)
    assert times.shape == (2, 1, 2)
    assert bool((times[0] < 120).all()) and bool((times[1] > times[0]).all())  # silent negatives do not level


def test_an_optimiser_must_be_known():
    with pytest.raises(ValueError, match="optimiser must be one of adamw, sgd, got 'lion'"):
        updates_to_half(PLAN, [2.0], [8.0], "lion", 1e-3)
