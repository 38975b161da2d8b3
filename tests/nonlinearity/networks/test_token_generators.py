"""The pools, their minibatches and their exact law: against enumeration, counting and each other."""

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.contrastive_covariance import uniform_contrastive_covariance
from contrastive_dynamics.nonlinearity.networks.token_generators import (
    WILDCARD,
    TokenGenerators,
    draw_generators,
    letters,
    token_norms,
)
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import (
    between_variance,
    decomposed_variance,
    enumerate_inputs,
)
from contrastive_dynamics.nonlinearity.two_layers.two_layer import hidden_outputs
from contrastive_dynamics.numerics.random_streams import stream


def streams(seeds, purpose="pool"):
    return [stream(s, 0, purpose) for s in seeds]


def small_pool(seeds=(0,)):
    return draw_generators(streams(seeds), count=5, places=3, length=2, d=4, p=2)


def test_a_pool_fixes_as_many_places_as_it_says_from_as_many_tokens():
    pool = draw_generators(streams(range(6)), count=40, places=10, length=5, d=20, p=3)
    assert pool.patterns.shape == (6, 40, 10) and pool.patterns.dtype == torch.int32
    assert ((pool.patterns != WILDCARD).sum(-1) == 5).all()
    assert (pool.candidates().sum(-1) <= 3).all() and (pool.candidates().sum(-1) >= 1).all()


def test_tokens_of_a_place_that_no_generator_uses_are_no_candidates():
    pool = draw_generators(streams(range(20)), count=2, places=2, length=1, d=20, p=10)
    assert pool.candidates().sum(-1).max() <= 2


def test_a_run_draws_the_same_alone_and_beside_others():
    alone, beside = small_pool([3]), small_pool([7, 3, 1])
    assert torch.equal(alone.patterns[0], beside.patterns[1])
    a = alone.views(streams([3], "views"), 8, 4)
    b = beside.views(streams([7, 3, 1], "views"), 8, 4)
    assert torch.equal(a[:, 0], b[:, 1])


def test_both_views_of_a_sample_fill_one_pattern():
    pool = small_pool()
    views = pool.views(streams([0], "views"), 50, 2)
    assert views.shape == (2, 1, 100, 3) and views.min() >= 0 and views.max() < 4
    fits = (pool.patterns[0] == WILDCARD) | (pool.patterns[0] == views.unsqueeze(-2))  # [step, run, view, G, K]
    fits = fits.all(-1)
    assert (fits[..., :50, :] & fits[..., 50:, :]).any(-1).all()


def test_the_exact_law_agrees_with_counts():
    pool = small_pool([1])
    x, p = enumerate_inputs(pool.fields())
    code = x[0].argmax(-1) @ torch.tensor([16, 4, 1])
    views = pool.views(streams([1], "views"), 40_000, 1)[0, 0].long() @ torch.tensor([16, 4, 1])
    counts = torch.bincount(views, minlength=64)[code] / len(views)
    deviation = (counts - p[0]).abs() / (p[0] * (1 - p[0]) / 40_000).sqrt().clamp_min(1e-9)
    assert deviation[p[0] > 0].max() < 4.5 and counts[p[0] == 0].max() == 0


@pytest.mark.parametrize("name", ["linear", "relu", "quadratic"])
def test_the_between_variance_is_the_limit_of_the_contrastive_covariance(name):
    pool, act = small_pool([2]), activation(name)
    norms = token_norms(4, 2.0)
    w = torch.randn(1, 3, 2, 4, generator=stream(0, 0, "w"), dtype=torch.float64)
    exact = between_variance(pool.fields(norms), w, act)[0]
    n = 200_000
    one_hot = torch.nn.functional.one_hot(pool.views(streams([2], "views"), n, 1)[0, 0].long(), 4).double() * norms
    gated = hidden_outputs(one_hot, w[0], act)[0].flatten(1)
    estimate = uniform_contrastive_covariance(gated[:n], gated[n:])
    assert (estimate - exact).norm() < 0.02 * exact.norm()


def test_the_between_variance_is_the_variance_less_that_within_the_generators():
    pool, act = small_pool([4]), activation("relu")
    model = pool.fields()
    w = torch.randn(1, 3, 2, 4, generator=stream(1, 0, "w"), dtype=torch.float64)
    off = decomposed_variance(model, w, act) - between_variance(model, w, act)
    blocks = off[0].unflatten(0, (3, 8)).unflatten(2, (3, 8))
    between_places = blocks * (1 - torch.eye(3, dtype=torch.float64))[:, None, :, None]
    assert between_places.abs().max() < 1e-14 and blocks[0, :, 0].diagonal().min() >= -1e-15


def test_norms_are_half_long_half_short_to_the_last_digit():
    assert token_norms(5, 3.0).tolist() == [3.0, 3.0, 1 / 3, 1 / 3, 1 / 3]


@pytest.mark.parametrize(
    "size, says",
    [
        ({"p": 21}, "p must be ≥ 1 and ≤ d, and d ≥ 2, got p=21 and d=20"),
        ({"p": 0}, "got p=0"),
        ({"length": 11}, "length=11, places=10"),
        ({"length": 0}, "length=0, places=10"),
        ({"count": 0}, "count must be ≥ 1, and length ≥ 1 and ≤ places, got count=0"),
        ({"d": 1, "p": 1}, "and d=1"),
    ],
)
def test_an_impossible_pool_is_one_line(size, says):
    with pytest.raises(ValueError) as error:
        draw_generators(streams([0]), **size)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_bad_patterns_streams_batches_and_norms():
    with pytest.raises(ValueError, match="patterns must be in −1..d−1 and d ≥ 2, got 0..4 and d=4"):
        TokenGenerators(torch.tensor([[[0, 4]]], dtype=torch.int32), 4)
    with pytest.raises(ValueError, match="streams must be 1, one per run, and n ≥ 1, got 2 streams and n=3"):
        small_pool().views(streams([0, 1]), 3, 1)
    with pytest.raises(ValueError, match="got 1 streams and n=0"):
        small_pool().views(streams([0]), 0, 1)
    with pytest.raises(ValueError, match="zeta ≥ 1, got d=4, zeta=0.5"):
        token_norms(4, 0.5)


def test_a_sequence_is_written_in_letters():
    assert letters(torch.tensor([2, WILDCARD, 0, 25])) == "C*AZ"
