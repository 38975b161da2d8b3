import math

import pytest
import torch
from scipy.integrate import solve_ivp
from torch.nn.functional import normalize

from contrastive_dynamics.nonlinearity.one_filter.modulated_growth import blow_up_time, modulated_flow
from contrastive_dynamics.nonlinearity.one_filter.pattern_race import (
    first_wins,
    free_race_winner,
    leading_share,
    leads,
    race_winner,
    votes_for,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64


def starts(n, d, purpose="start"):
    return normalize(torch.randn(n, d, dtype=F64, generator=stream(0, d, purpose)), dim=-1)


def identity(y):
    return y


@pytest.mark.parametrize("d", [2, 3, 10])
@pytest.mark.parametrize("c", [-0.3, 0.0, 0.5])
def test_winner_is_that_of_the_flow_of_the_matrix(d, c):
    y0 = starts(200, d)
    vote = votes_for(c, d, y0)
    end = modulated_flow(y0, 1.5 + vote)
    top = end.max(-1)
    expected = torch.where(top.values > 0.99, top.indices, -1)
    assert torch.equal(race_winner(y0, lambda y: y + 1.5, vote), expected)
    assert torch.equal(first_wins(y0, identity, c), expected == 0)


def test_winner_meets_an_independent_integrator_for_an_exponential_growth():
    y0, c = starts(12, 4), 0.4
    rates = torch.tensor([c, 0.0, 0.0, 0.0], dtype=F64)

    def slope(_, y):
        y = torch.from_numpy(y)
        push = (y.exp() + rates) * y
        return (push - y * (y @ push)).numpy()

    ends = [torch.from_numpy(solve_ivp(slope, (0, 300), y.numpy(), rtol=1e-9, atol=1e-12).y[:, -1]) for y in y0]
    expected = [int(end.argmax()) if end.max() > 0.9 else -1 for end in ends]
    assert race_winner(y0, torch.exp, rates).tolist() == expected


def test_ratio_to_the_leader_falls_at_the_rate_of_the_proof():
    y = starts(20, 5).requires_grad_()
    c, g = 0.3, torch.exp
    push = (g(y) + votes_for(c, 5, y)) * y
    velocity = push - y * (y * push).sum(-1, keepdim=True)
    _, rate = torch.func.jvp(lambda y: (y / y[:, :1]).abs().log(), (y.detach(),), (velocity.detach(),))
    assert torch.allclose(rate[:, 1:], (g(y) - g(y[:, :1]) - c)[:, 1:], atol=1e-12)


def test_linear_growth_direction_and_length_obey_the_equations_of_part_three():
    y = starts(20, 5).abs()
    c, a = 0.3, 1.7
    push = (a * y + votes_for(c, 5, y)) * y
    velocity = push - y * (y * push).sum(-1, keepdim=True)

    def polar(y):
        r = y[:, 1:] / y[:, :1]
        return r.norm(dim=-1), r / r.norm(dim=-1, keepdim=True)

    (s, rho), (ds, drho) = torch.func.jvp(polar, (y,), (velocity,))
    clock = s * y[:, 0]  # dσ/dt
    assert torch.allclose(ds / clock, a * s * (rho**3).sum(-1) - a - c * (1 + s**2).sqrt(), atol=1e-10)
    without_c = a * (rho**2 - rho * (rho**3).sum(-1, keepdim=True))
    assert torch.allclose(drho / clock[:, None], without_c, atol=1e-10)


@pytest.mark.parametrize("growth", [identity, torch.exp, lambda y: y**3])
def test_leaders_never_lose_and_without_a_vote_nobody_else_wins(growth):
    y0 = starts(400, 4)
    wins = {c: first_wins(y0, growth, c) for c in (0.0, 0.1, 0.5)}
    assert torch.equal(wins[0.0], leads(y0))
    assert not (wins[0.0] & ~wins[0.1]).any() and not (wins[0.1] & ~wins[0.5]).any()
    assert wins[0.5].sum() > wins[0.0].sum()


def test_a_vote_of_the_slope_or_more_wins_the_open_half():
    y0 = starts(400, 4)
    assert torch.equal(first_wins(y0, lambda y: 2 * y, 2.4), y0[:, 0] > 0)


def test_border_between_two_patterns_is_the_root_of_the_proof():
    c, ratio = 0.5, (1 + 0.5 * math.sqrt(7 / 4)) / 0.75  # s − 1 = c √(1 + s²) has s = (1 + c √(2 − c²))/(1 − c²)
    assert ratio - 1 == pytest.approx(c * math.sqrt(1 + ratio**2))
    y0 = normalize(torch.tensor([[1.0, ratio - 1e-3], [1.0, ratio + 1e-3]], dtype=F64), dim=-1)
    assert first_wins(y0, identity, c).tolist() == [True, False]


@pytest.mark.parametrize("d", [2, 3, 6])
def test_share_of_leaders_is_the_closed_form(d):
    share, exact = leads(starts(40_000, d)).double().mean(), leading_share(d)
    assert abs(share - exact) < 4 * math.sqrt(exact / 40_000)


def test_free_race_goes_to_the_earliest_blow_up():
    y0 = starts(300, 4)
    b = torch.tensor([1.5, 1.0, 1.0, 0.2], dtype=F64)
    time = blow_up_time(y0, b.expand_as(y0))
    expected = torch.where(time.amin(-1).isfinite(), time.argmin(-1), -1)
    assert torch.equal(free_race_winner(y0, b), expected)


def test_a_start_is_the_same_alone_and_in_float32():
    y0 = starts(30, 3)
    all_of_them = first_wins(y0, identity, 0.2)
    assert first_wins(y0[7:8], identity, 0.2)[0] == all_of_them[7]
    assert (first_wins(y0.float(), identity, 0.2) == all_of_them).all()
