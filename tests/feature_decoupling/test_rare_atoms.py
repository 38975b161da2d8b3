from itertools import product
from math import log

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.fused_stream import can_be_fused
from contrastive_dynamics.feature_decoupling.rare_atoms import (
    RareAtoms,
    lucky_share,
    lucky_starts,
    lucky_tail,
    mean_step,
)
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import initial_weights
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment
from contrastive_dynamics.numerics.random_streams import stream


def streams(runs, purpose="data"):
    return [stream(0, run, purpose) for run in range(runs)]


def rare(dim, atoms, rarer, runs=2, active=0.3):
    return RareAtoms(random_dictionary(dim, atoms, streams(runs, "dictionary")), active, 0.7, rarer)


def enumerated_moment(model):
    """E[x⁺x⁺⁺ᵀ] of one run, over all z, all masks at rate 1/2, and noise by its own second moment."""
    m = model.dictionary[0]
    dim, atoms = m.shape
    total = torch.zeros(dim, dim, dtype=torch.float64)
    for z in product((-1, 0, 1), repeat=atoms):
        chance = 1.0
        for value, rate in zip(z, model.rates.tolist(), strict=True):
            chance *= rate / 2 if value else 1 - rate
        signal = m @ torch.tensor(z, dtype=torch.float64)
        own = torch.outer(signal, signal) + model.noise**2 * torch.eye(dim, dtype=torch.float64)
        for bits in product((0.0, 1.0), repeat=dim):
            mask = torch.tensor(bits, dtype=torch.float64)
            total += chance / 2**dim * torch.outer(2 * mask, 2 * (1 - mask)) * own
    return total


def test_mean_step_is_that_of_the_enumerated_moment():
    model = rare(5, 3, 1.7, runs=1)
    weights = initial_weights(model, 4, 1.0, streams(1, "start"))
    expected = weights[0] @ enumerated_moment(model) @ model.dictionary[0]
    assert torch.allclose(mean_step(model, weights)[0], expected, rtol=1e-12, atol=1e-14)


def test_equal_rates_are_those_of_sparse_coding():
    model = rare(12, 4, 1.0)
    same = SparseCoding(model.dictionary, model.active, model.noise)
    weights = initial_weights(model, 7, 1.0, streams(2, "start"))
    expected = weights @ cross_moment(same) @ model.dictionary
    assert torch.allclose(mean_step(model, weights), expected, rtol=1e-12, atol=1e-15)
    assert torch.equal(model.latents(50, streams(2)), same.latents(50, streams(2)))


def test_latents_have_the_rates_and_are_symmetric():
    model, count = rare(6, 3, 2.5), 40_000
    z = model.latents(count, streams(2))
    spread = (model.rates * (1 - model.rates) / count).sqrt()
    assert ((z.abs().mean(1) - model.rates).abs() < 4.5 * spread).all()
    assert (z.mean(1).abs() < 4.5 * (model.rates / count).sqrt()).all()
    assert model.rates.tolist() == pytest.approx([0.3, 0.3, 0.12])


def test_it_is_part_of_itself_and_not_fused():
    model = rare(6, 3, 2.0)
    assert model.part(slice(1)).rarer == 2.0 and not can_be_fused(model)


@pytest.mark.parametrize("ratio", [1.0, 1.2, 1.5])
@pytest.mark.parametrize("frequent", [1, 7, 63])
def test_share_agrees_with_adaptive_quadrature_and_with_starts(frequent, ratio):
    adaptive = quad(lambda x: 2 * norm.pdf(x) * (2 * norm.cdf(x / ratio) - 1) ** frequent, 0, 15, epsabs=0, epsrel=1e-9)
    found = lucky_share(frequent, ratio)
    assert found == pytest.approx(adaptive[0], rel=1e-8)
    drawn = np.abs(np.random.default_rng(frequent).standard_normal((100_000, frequent + 1)))
    leads = drawn[:, -1] > ratio * drawn[:, :-1].max(-1)
    assert abs(leads.mean() - found) < 4.5 * (found / 100_000) ** 0.5


@pytest.mark.parametrize("frequent", [1, 15, 10**4, 10**12])
def test_at_equal_rates_every_atom_has_its_part(frequent):
    assert lucky_share(frequent, 1.0) * (frequent + 1) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("ratio", "power"), [(1.2, -1.41), (1.5, -2.15)])
def test_power_over_d_is_minus_the_square_up_to_a_logarithm(ratio, power):
    sizes = [2.0**k for k in range(6, 16)]
    fitted = np.polyfit(np.log(sizes), np.log([lucky_share(int(d) - 1, ratio) for d in sizes]), 1)[0]
    assert fitted == pytest.approx(power, abs=0.02) and -(ratio**2) < fitted
    near = [log(lucky_share(n, ratio) / lucky_tail(n, ratio)) for n in (10**3, 10**6, 10**12)]
    assert abs(near[-1]) < abs(near[0]) and abs(near[-1]) < 0.06


def test_drawn_starts_have_the_share():
    model = rare(512, 16, 1.3, runs=4)
    weights = initial_weights(model, 4000, 1.0, streams(4, "start"))
    expected = lucky_share(15, 1.3)
    assert abs(float(lucky_starts(model, weights).mean()) - expected) < 4.5 * (expected / 16_000) ** 0.5


@pytest.mark.parametrize(
    "call",
    [lambda: rare(6, 3, 0.9), lambda: lucky_share(0, 1.2), lambda: lucky_share(5, 0.5), lambda: lucky_tail(1, 1.2)],
)
def test_says_in_one_line_what_is_allowed(call):
    with pytest.raises(ValueError, match="must be ≥") as told:
        call()
    assert "\n" not in str(told.value)
