import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.pair_losses import expected_trace_matrix, trace_matrix
from contrastive_dynamics.data.half_moons import (
    half_moon_law,
    half_moon_moments,
    half_moon_pairs,
    half_moon_views,
    half_moons,
)
from contrastive_dynamics.numerics.random_streams import stream


def streams(run, device=None):
    return [stream(0, k, "pairs", device) for k in range(run)]


@pytest.mark.parametrize("n", [2, 6, 200])
def test_the_points_lie_on_two_half_circles(n):
    upper, lower = half_moons(n).split(n // 2)
    lower = torch.tensor([1, 0.5], dtype=torch.float64) - lower
    for part in (upper, lower):
        assert part.dtype == torch.float64
        assert torch.allclose(part.norm(dim=-1), torch.ones(n // 2, dtype=torch.float64))
        assert (part[:, 1] >= -1e-15).all() and (part[:, 0].diff() < 0).all() and part[0].tolist() == [1, 0]


@pytest.mark.parametrize("n", [6, 40, 500])
def test_moments_in_closed_form(n):
    # k = n/2 angles in even steps from 0 to π: Σcos = 0, Σcos² = (k + 1)/2, Σsin = cot(π/(2(k − 1))), Σ sin cos = 0.
    k = n // 2
    sine, cosine2, sine2 = 1 / math.tan(math.pi / (2 * (k - 1))) / k, (k + 1) / (2 * k), (k - 1) / (2 * k)
    mean, second = half_moon_moments(n)
    exact = [[cosine2 + 0.5, (0.5 - sine) / 2], [(0.5 - sine) / 2, sine2 + (0.25 - sine) / 2]]
    assert torch.allclose(mean, torch.tensor([0.5, 0.25], dtype=torch.float64))
    assert torch.allclose(second, torch.tensor(exact, dtype=torch.float64))


def test_moments_for_many_points():
    off = 0.25 - 1 / math.pi
    limit = torch.tensor([[1, off], [off, 0.625 - 1 / math.pi]], dtype=torch.float64)
    assert torch.allclose(half_moon_moments(20_000)[1], limit, atol=2e-4)
    mean, moment = half_moon_law()
    assert torch.equal(mean, half_moon_moments(2)[0]) and torch.allclose(moment, limit, rtol=0, atol=1e-15)
    assert torch.allclose(half_moon_moments(2)[0], torch.tensor([0.5, 0.25], dtype=torch.float64))


def test_shapes_and_laws_of_the_pairs():
    x, positives, negatives = half_moon_pairs(streams(50), 20, p=3, q=40, variance=0.1)
    assert (x.shape, positives.shape, negatives.shape) == ((50, 20, 2), (50, 20, 3, 2), (50, 20, 40, 2))
    assert torch.equal(x, half_moons(20).expand(50, -1, -1))
    noise = (positives - x.unsqueeze(-2)).reshape(-1, 2)
    assert torch.allclose(torch.cov(noise.mT), 0.1 * torch.eye(2, dtype=torch.float64), atol=0.01)
    assert noise.mean(0).abs().max() < 4 * (0.1 / len(noise)) ** 0.5
    rows = (negatives.unsqueeze(-2) == half_moons(20)).all(-1)  # [run, anchor, q, point]
    assert (rows.sum(-1) == 1).all()
    counts = rows.sum((0, 2)).to(torch.float64)  # [anchor, point], each 2000/20 on average
    chi2 = ((counts - 100) ** 2 / 100).sum()
    assert abs(chi2 - 380) < 5 * (2 * 380) ** 0.5  # 20 multinomials of 19 degrees of freedom


def test_without_noise_a_positive_is_its_anchor():
    x, positives, _ = half_moon_pairs(streams(2), 8, p=2, variance=0.0)
    assert torch.equal(positives, x.unsqueeze(-2).expand_as(positives))


def test_a_run_draws_the_same_in_any_batch_and_its_positives_for_any_q():
    together = half_moon_pairs(streams(4), 12, p=2, q=3)
    alone = half_moon_pairs([stream(0, 2, "pairs")], 12, p=2, q=3)
    assert all(torch.equal(part[2:3], own) for part, own in zip(together, alone, strict=True))
    assert torch.equal(half_moon_pairs(streams(4), 12, p=2, q=1)[1], together[1])
    assert not torch.equal(together[1][0], together[1][1])


@pytest.mark.parametrize(("p", "q"), [(1, 1), (3, 2)])
def test_the_trace_matrix_has_the_expected_mean(p, q):
    run, n = 4000, 20
    c = trace_matrix(*half_moon_pairs(streams(run), n, p, q))
    mean, second = half_moon_moments(n)
    standard_error = c.std(0) / run**0.5
    assert ((c.mean(0) - expected_trace_matrix(mean, second, n, p, q)).abs() < 4 * standard_error).all()
    printed = expected_trace_matrix(0 * mean, second, n, p, q)  # −n p E[xxᵀ], right for centred data
    assert ((c.mean(0) - printed).abs() > 10 * standard_error).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: half_moons(5), "n must be an even integer ≥ 2, got 5"),
        (lambda: half_moon_moments(0), "n must be .*, got 0"),
        (lambda: half_moon_pairs(streams(1), 7), "n must be .*, got 7"),
        (
            lambda: half_moon_pairs([], 8),
            "generators, p and q must be ≥ 1 and variance finite and ≥ 0, got 0 generators",
        ),
        (lambda: half_moon_pairs(streams(1), 8, p=0), "p=0, q=1"),
        (lambda: half_moon_pairs(streams(1), 8, q=0), "p=1, q=0"),
        (lambda: half_moon_pairs(streams(1), 8, variance=-0.1), "variance=-0.1"),
        (lambda: half_moon_pairs(streams(1), 8, variance=math.nan), "variance=nan"),
    ],
)
def test_bad_input_is_named(call, text):
    with one_line_error(ValueError, text):
        call()


def test_everything_is_where_the_generators_are():
    with elsewhere():
        parts = half_moon_pairs(streams(2, ELSEWHERE), 8, 2, 3)
        assert {part.device for part in (*parts, *half_moon_moments(8, ELSEWHERE), *half_moon_law(ELSEWHERE))} == {
            ELSEWHERE
        }


def test_views_come_with_the_moments_of_their_points():
    *pairs, mean, moment = half_moon_views([stream(0, 0, "views")], 8, 2, 3)
    for one, other in zip(pairs, half_moon_pairs([stream(0, 0, "views")], 8, 2, 3), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(mean, half_moon_moments(8)[0]) and torch.equal(moment, half_moon_moments(8)[1])
