import pytest
import torch
from scipy.integrate import quad

from contrastive_dynamics.nonlinearity.one_filter.winning_probability import (
    count_score,
    leader_bound,
    leader_bound_mended,
    leader_excess,
    rank_bound,
    rank_bound_mended,
    rank_excess,
    single_modulation,
    winning_count,
    winning_probability,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64


def by_adaptive_quadrature(epsilon, index):
    def integrand(y):
        product = 0.5
        for other in epsilon[:index] + epsilon[index + 1 :]:
            product *= min(max((y + epsilon[index] - other + 1) / 2, 0), 1)
        return product

    knots = [s - epsilon[index] + e for e in epsilon for s in (-1, 1)]
    return quad(integrand, 0, 1, points=sorted(k for k in knots if 0 < k < 1) or None, epsabs=1e-13)[0]


@pytest.mark.parametrize("epsilon", [[0.0, 0.0], [0.7, -0.2, 0.1], [1.5, 0.2, 0.2, -2.0], [-0.4, 0.3, 0.0, 0.9, 2.5]])
def test_gauss_legendre_between_knots_meets_adaptive_quadrature(epsilon):
    exact = winning_probability(torch.tensor(epsilon, dtype=F64))
    assert exact.tolist() == pytest.approx([by_adaptive_quadrature(epsilon, i) for i in range(len(epsilon))], abs=1e-11)


@pytest.mark.parametrize("d", [2, 3, 8, 25])
@pytest.mark.parametrize("dtype, tol", [(F64, 1e-13), (torch.float32, 1e-5)])
def test_closed_form_155_meets_the_integral(d, dtype, tol):
    e = torch.linspace(-2.5, 1.8, 44, dtype=dtype)
    vectors = torch.cat([e[:, None], torch.zeros(44, d - 1, dtype=dtype)], -1)
    assert torch.allclose(winning_probability(vectors)[:, 0], single_modulation(e, d), atol=tol)


def test_limits_of_the_odds():
    none = winning_probability(torch.zeros(6, dtype=F64))
    assert torch.allclose(none, torch.full((6,), (1 - 2.0**-6) / 6, dtype=F64))  # all draws negative: nobody
    far = winning_probability(torch.tensor([5.0, 0.0, 0.0], dtype=F64))
    assert far.tolist() == pytest.approx([0.5, 0.0, 0.0])


def test_the_odds_are_the_same_alone_and_reordered_and_differentiable():
    e = torch.randn(7, 5, dtype=F64, generator=stream(0, 0, "e"))
    p = winning_probability(e)
    assert torch.allclose(winning_probability(e[3]), p[3]) and torch.allclose(
        winning_probability(e.flip(-1)), p.flip(-1)
    )
    assert torch.autograd.gradcheck(winning_probability, e[:2].clone().requires_grad_())


def test_counts_follow_the_odds_and_miss_them_without_the_positive_start():
    e, n = torch.tensor([0.3, 0.0, -0.2, 0.1], dtype=F64), 50_000
    p = winning_probability(e)
    assert count_score(winning_count(e, n, stream(0, 0, "count")), n, p).abs().max() < 4.5
    assert count_score(winning_count(e, n, stream(0, 0, "count"), start_positive=False), n, p).abs().max() > 10


def test_bound_156_holds_up_to_gap_1_and_fails_beyond():
    e = 3 * torch.rand(3000, 4, dtype=F64, generator=stream(1, 0, "e"))
    gap = 2 * leader_bound(e)
    assert leader_excess(e[gap <= 1]).max() <= 1e-13
    assert leader_excess(e[gap > 1]).min() > 0
    assert leader_excess(e, leader_bound_mended).max() <= 1e-13
    assert leader_excess(torch.tensor([1.0, 0.0, 0.0], dtype=F64)).item() == pytest.approx(0)  # equality at gap 1


def test_bound_157_turns_negative_beyond_gap_2_and_is_mended_by_a_cut():
    e = torch.tensor([2.5, 2.4, 0.0], dtype=F64)
    assert rank_bound(e)[1].item() == pytest.approx((1 - 1.2) ** 3 / 3) and rank_bound(e)[1] < 0
    assert rank_bound_mended(e)[1] == 0 and winning_probability(e)[2] == 0
    tied = torch.tensor([0.0, 0.0, -1.3], dtype=F64)
    assert rank_excess(tied).item() == pytest.approx(0, abs=1e-15)  # equality: one straggler between −2 and −1
    many = 3 * torch.rand(3000, 5, dtype=F64, generator=stream(2, 0, "e"))
    near = many.amax(-1) - many.amin(-1) <= 2
    assert rank_excess(many[near]).max() <= 1e-13 and rank_excess(many[~near]).max() > 0
    assert rank_excess(many, rank_bound_mended).max() <= 1e-13
