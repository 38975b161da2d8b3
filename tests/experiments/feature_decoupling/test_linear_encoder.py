import math

import pytest
import torch

from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining
from contrastive_dynamics.numerics.random_streams import stream
from experiments.feature_decoupling.linear_encoder import in_order, learning_times, rate_exponent

RATES, VARIANCES = torch.tensor([0.8, 0.4, 0.2, 0.1]), torch.tensor([0.9, 0.5, 1.0, 0.6])  # along the coordinates
TRAINING = DecoupledTraining(batch=2048, negatives=64, temperature=1.0, learning_rate=0.1)


def streams(purpose="batches", runs=2):
    return [stream(0, run, purpose) for run in range(runs)]


def pairs(count=4000):
    """Gaussian views whose covariance is RATES, and which vary by VARIANCES."""
    shared, *own = (
        torch.stack([torch.randn(count, 4, generator=g) for g in streams(name)]) for name in ("z", "one", "two")
    )
    return [1.0 + shared * RATES.sqrt() + noise * (VARIANCES - RATES).sqrt() for noise in own]


def small_start(scale=1e-3, features=32):
    return torch.stack([torch.randn(features, 4, generator=g) for g in streams("start")]) * scale


def times(views, steps=400, directions=None, start=1e-3, factor=2.5):
    along = torch.eye(4) if directions is None else directions
    return learning_times(*views, along, small_start(start), TRAINING, streams(), steps, factor)


def test_for_small_weights_a_direction_takes_the_time_of_its_rate():
    found = times(pairs(), 200)
    kappa = 0.1 * 64 / 65
    expected = math.log(2.5) / torch.log1p(kappa * RATES)
    first_three = slice(3)  # the last is reached by the first, through their correlation in so few pairs
    assert ((found / expected - 1)[:, first_three].abs() < 0.2).all()
    assert torch.equal(found, times(pairs(), 200, 3 * torch.eye(4)))  # whatever the length of a direction


def test_without_augmentation_the_variance_is_the_rate():
    first, _ = pairs()
    same = times((first, first))
    assert torch.equal(same.argsort(-1), VARIANCES.argsort(descending=True).expand(2, -1))
    assert (rate_exponent(same, RATES, VARIANCES).abs() < 0.3).all()
    assert (rate_exponent(times(pairs()), RATES, VARIANCES) < -0.7).all()


def test_what_is_not_learned_has_no_time_and_a_run_is_the_same_alone():
    found = times(pairs(), 20)
    assert found[:, 0].isfinite().all() and found[:, 3].isinf().all()
    views = [view[1:] for view in pairs()]
    alone = learning_times(*views, torch.eye(4), small_start()[1:], TRAINING, streams()[1:], 20, 2.5)
    assert torch.equal(alone, found[1:])


def test_the_exponent_is_that_of_exact_powers_and_leaves_out_what_is_not_learned():
    exact = RATES.double() ** -1.5 * VARIANCES.double() ** 0.5
    five = torch.cat([exact, torch.tensor([torch.inf], dtype=torch.float64)]).expand(2, -1)
    grown = [torch.cat([x, x[:1]]) for x in (RATES.double(), VARIANCES.double())]
    assert rate_exponent(five, *grown).tolist() == pytest.approx([-1.5, -1.5])


def test_only_pairs_in_which_rate_and_variance_disagree_are_counted():
    seen = torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [torch.inf, 3.0, torch.inf, torch.inf]])
    right, told = in_order(seen, RATES, VARIANCES, 1.2)
    assert (right.tolist(), told) == ([3.0, 0.0, 2.5], 3)
    assert in_order(seen, RATES, VARIANCES, 3.9)[1] == 2


def test_bad_input_is_named():
    views = pairs(10)
    with pytest.raises(
        ValueError, match="^steps, factor and generators must be ≥ 1, > 1 and one per run, 2, got 0, 2.5 a"
    ):
        times(views, 0)
    with pytest.raises(ValueError, match="got 5, 1.0 and 2$"):
        times(views, 5, factor=1.0)
    with pytest.raises(ValueError, match="^apart must be ≥ 1, got 0.5$"):
        in_order(torch.ones(1, 4), RATES, VARIANCES, 0.5)
    with pytest.raises(ValueError, match=r"^times must be finite for 4 directions or more of each run, got \[0\]$"):
        rate_exponent(torch.full((1, 4), torch.inf), RATES, VARIANCES)
