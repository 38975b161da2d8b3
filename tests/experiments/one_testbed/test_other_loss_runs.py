"""Outputs of unit length: unequal correlations and solved batches, in short trainings."""

import torch

from experiments.one_testbed import solved_and_not, solved_batches, unequal_length_errors, unequal_lengths


def test_a_batch_of_strong_correlations_has_the_smaller_loss():
    found = solved_batches([1, 2], batch=32, steps=40, directions=8)
    assert found["τ²"].shape == found["loss"].shape == (4, 2)
    assert (found["loss"].mean(1).diff() > 0).all()  # ρ falls
    arms = solved_and_not({"τ²": torch.tensor([[2.0], [4.0], [3.0], [1.0]])})
    assert float(arms["observed"]["ρ = .9 over ρ = .6"]) == 0.5 and float(arms["control"]["ρ = .4 over ρ = .2"]) == 3


def test_unequal_lengths_come_near_the_fixed_point():
    arms = unequal_length_errors(unequal_lengths([1], 64, 200))
    assert max(float(x.max()) for x in arms["observed"].values()) < 0.15
    assert min(float(x.min()) for x in arms["control"].values()) > 0.2
