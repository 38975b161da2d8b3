import math

import pytest
import torch
from stage_one_end import stage_one_end

from contrastive_dynamics.feature_decoupling.dictionaries import flat_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding, paper_scales
from contrastive_dynamics.feature_decoupling.stage_one import (
    decoupling_clock,
    factor_of_half,
    flat_rates,
    logistic_share,
    share_with_batch_noise,
)
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment, growth_rates, linear_share
from contrastive_dynamics.numerics.random_streams import stream

P, SIGMA, D, D1 = 0.031868170017, 0.32, 16, 256


@pytest.mark.parametrize("views", ["masked", "plain", "independent"])
def test_rates_are_those_of_flat_atoms(views):
    model = SparseCoding(flat_dictionary(16, 4, [stream(0, 0, "dictionary")]), 0.3, 0.6)
    dense = torch.linalg.qr(model.dictionary, mode="complete").Q[..., 4:]
    rates = flat_rates(4, 16, 0.3, 0.6, views, kappa=0.9, decay=0.01)
    for rate, v in zip(rates, (model.dictionary, dense), strict=True):
        exact = 0.9 * growth_rates(model, v, views) - 0.01
        torch.testing.assert_close(exact, torch.full_like(exact, rate), rtol=1e-12, atol=1e-14)


def test_both_arms_lie_on_one_logistic_curve():
    time = torch.linspace(0, 90, 7, dtype=torch.float64)
    curve = logistic_share(decoupling_clock(D, D1, P, time))
    for views in ("masked", "plain"):
        share = linear_share(D, D1, *flat_rates(D, D1, P, SIGMA, views), time)
        torch.testing.assert_close(share, curve, rtol=1e-12, atol=0)
    assert float(logistic_share(decoupling_clock(D, D1, P, 40.0))) == pytest.approx(0.460433749083, abs=2e-11)


@pytest.mark.parametrize("views", ["masked", "plain"])
def test_t1_is_where_the_matrix_exponential_has_grown_enough(views):
    model = SparseCoding(flat_dictionary(16, 4, [stream(0, 0, "dictionary")]), 0.3, 0.6)
    time, share = stage_one_end(4, 16, flat_rates(4, 16, 0.3, 0.6, views), 5.0)
    grown = torch.linalg.matrix_exp(time * cross_moment(model, views)[0])
    assert float(grown.square().sum()) / 16 == pytest.approx(25.0, rel=1e-10)
    inside = model.dictionary[0].mT @ grown
    assert float(inside.square().sum() / grown.square().sum()) == pytest.approx(share, rel=1e-10)
    if views == "masked":
        assert share >= 1 - 1 / 25


def test_at_the_factor_of_half_the_share_is_half_and_below_it_less():
    rates = flat_rates(D, D1, P, SIGMA, "plain")
    half = factor_of_half(D, D1, rates)
    assert half > 1
    below, at, above = (stage_one_end(D, D1, rates, share * half)[1] for share in (0.9, 1, 1.1))
    assert at == pytest.approx(0.5, abs=1e-12) and below < 0.5 < above
    # for d1 ≫ d its logarithm is (σ²/2p) log(d1/d) and a constant
    apart = [
        math.log(factor_of_half(D, dim, flat_rates(D, dim, P, SIGMA, "plain"))) - SIGMA**2 / (2 * P) * math.log(dim / D)
        for dim in (2**14, 2**20)
    ]
    assert apart[0] == pytest.approx(math.log(2) / 2, abs=0.01) and apart[1] == pytest.approx(apart[0], abs=0.01)


def test_the_batch_noise_is_that_of_one_step_and_vanishes_for_large_batches():
    share = share_with_batch_noise(D, D1, P, SIGMA, 512, 30, kappa=0.99, decay=0.001)
    a, b = flat_rates(D, D1, P, SIGMA, "masked", 0.99, 0.001)
    smooth = linear_share(D, D1, a, b, torch.arange(31.0).double(), 1.0)
    assert share[0] == pytest.approx(D / D1) and (share[10:] < smooth[10:]).all()
    large = share_with_batch_noise(D, D1, P, SIGMA, 2**40, 30, kappa=0.99, decay=0.001)
    torch.testing.assert_close(large, smooth, rtol=1e-8, atol=0)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"^d must be 1 to d1 - 1 = 3, got 4$"):
        decoupling_clock(4, 4, 0.1, 1.0)
    with pytest.raises(ValueError, match=r"^rates must be a > b, got 0.1 and 0.1$"):
        factor_of_half(2, 4, (0.1, 0.1))
    with pytest.raises(ValueError, match=r"^atoms, active, noise, kappa and decay must be .*, got 2 of 4, 1.0, "):
        flat_rates(2, 4, 1.0, 0.3)
    with pytest.raises(ValueError, match=r"^batch and steps must be ≥ 1 and ≥ 0, got 0 and 3$"):
        share_with_batch_noise(2, 4, 0.3, 0.3, 0, 3)


def test_the_share_tends_to_one_where_the_batch_grows_as_the_square_of_the_dimension():
    """At a step near T1, by the recursion with batch noise: with B ∝ d1 it does not."""
    p, sigma = paper_scales(16, 0.5, 1.0)
    dims, decay, step = (64, 128, 192, 384), 0.002, 140

    def shares(batch_of):
        run = (share_with_batch_noise(16, d1, p, sigma, batch_of(d1), step, 256 / 257, decay) for d1 in dims)
        return [float(found[-1]) for found in run]

    square, linear = shares(lambda d1: 640 * d1 * d1 // 64**2), shares(lambda d1: 640 * d1 // 192)
    assert square == sorted(square) and square[-1] > 0.97
    assert linear == sorted(linear, reverse=True) and linear[0] < 0.85
