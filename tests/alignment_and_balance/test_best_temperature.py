import math

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.best_temperature import (
    aligned_state,
    balancing_rate,
    balancing_time,
    best_tau_squared,
    best_tau_squared_many_signals,
)
from contrastive_dynamics.alignment_and_balance.infinite_width_flow import (
    WideState,
    negative_factors,
    wide_condition_number,
    wide_flow,
    wide_start,
    wide_velocity,
)

F64 = torch.float64


def tensor(*values):
    return torch.tensor(values, dtype=F64)


@pytest.mark.parametrize("sigma", [(1.0, 1.0, 1.0), (2.0, 1.3, 0.7)])
def test_the_rate_is_that_of_the_linearised_flow_at_balance(sigma):
    """Jacobian of d log κ²/dt by autograd, in aligned states without noise."""
    sigma, y, k = tensor(*sigma), 1.7, 5.0
    columns = sigma.square().reciprocal().sum()  # C of κ_p² = 1

    def growth(x):
        state = WideState(x.exp().unsqueeze(0), x.exp().unsqueeze(0), torch.zeros(1, dtype=F64))
        return wide_velocity(state, sigma.unsqueeze(0), 0.0, y, k).kappa_squared[0] / x.exp()

    jacobian = torch.autograd.functional.jacobian(growth, torch.zeros(3, dtype=F64)) * columns
    centred = torch.eye(3, dtype=F64) - 1 / 3
    expected = -balancing_rate(y, k, 3) * sigma.square().unsqueeze(1) * centred * columns / 3
    torch.testing.assert_close(jacobian, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("rank", [2, 3, 4, 10, 40, 1000])
@pytest.mark.parametrize("negatives", [0.01, 1.0, 8.0, 127.0, 32767.0, 1e12, 1e250])
def test_the_best_is_the_one_maximum_of_the_rate(negatives, rank):
    best = best_tau_squared(negatives, rank)
    grid = torch.linspace(math.log(best / 50), math.log(1.2 * rank + 2 * best), 4000, dtype=F64).exp()
    rate = balancing_rate(grid, negatives, rank)
    assert (rate.diff().sign().diff() != 0).sum() == 1  # it rises, then falls
    y = torch.tensor(best, dtype=F64, requires_grad=True)
    value = balancing_rate(y, negatives, rank).log()
    assert value >= rate.log().max() - 1e-12
    (slope,) = torch.autograd.grad(value, y)
    assert abs(slope * best) < 1e-9


def test_numbers_and_limits():
    for (k, r), expected in {(8, 1000): 2.04, (8, 4): 2.24, (127, 4): 2.98, (127, 10): 4.66}.items():
        assert best_tau_squared(k, r) == pytest.approx(expected, abs=0.006)
    for k, expected in {8: 2.04, 127: 3.81, 1023: 5.44, 32767: 8.40}.items():
        assert best_tau_squared_many_signals(k) == pytest.approx(expected, abs=0.005)
        assert best_tau_squared(k, 10**6) == pytest.approx(best_tau_squared_many_signals(k), rel=1e-4)
        y = best_tau_squared_many_signals(k)
        assert 1 / y == pytest.approx(math.exp(y) / (math.exp(y) + k), rel=1e-12)
    assert best_tau_squared(1e250, 4) / 4 == pytest.approx(0.77170, abs=1e-4)


def quadrature(y, k, r, high, low):
    """Time of one short column among equal σ: d log R/dt = −4(1 − S)(T_1 − T_r)/C, R the ratio, by Simpson's rule."""
    x = torch.linspace(math.log(low), math.log(high), 2001, dtype=F64)
    squares = torch.cat([x.exp().unsqueeze(-1).expand(-1, r - 1), torch.ones(2001, 1, dtype=F64)], -1)
    one_minus_s, t = negative_factors(squares / squares.sum(-1, keepdim=True), y, k)
    weights = torch.ones(2001, dtype=F64)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return float((weights / (4 * one_minus_s * (t[:, 0] - t[:, -1]))).sum() * (x[1] - x[0]) / 3)


@pytest.mark.parametrize("k, r", [(8.0, 4), (127.0, 10)])
def test_time_by_the_flow_is_the_quadrature(k, r):
    taus = tensor(0.5, 2, 4, 12)
    sigma = torch.ones(4, r, dtype=F64)
    found = balancing_time(aligned_state(sigma, 5.0, lost=1), sigma, taus, k, 1.1)
    torch.testing.assert_close(found, tensor(*(quadrature(y, k, r, 5, 1.1) for y in taus)), rtol=1e-5, atol=0)


def test_time_of_any_sigma_ends_at_the_ratio():
    sigma, taus = tensor(2.0, 1.6, 1.3, 1.0).expand(2, -1), tensor(1, 4)
    state = aligned_state(sigma, 5.0)
    assert torch.allclose((state.kappa_squared / sigma.square()).sum(-1), tensor(1, 1))
    assert wide_condition_number(state).square().tolist() == pytest.approx([5, 5])
    found = balancing_time(state, sigma, taus, 8.0, 1.1)
    end = wide_flow(state, sigma, 0.0, torch.stack([0 * found, found]), taus, 8.0)
    torch.testing.assert_close(wide_condition_number(end)[-1].square(), tensor(1.1, 1.1), rtol=1e-6, atol=0)
    assert balancing_time(aligned_state(sigma, 1.05), sigma, taus, 8.0, 1.1).tolist() == [0, 0]
    scaled = WideState(*(7 * x for x in state))
    torch.testing.assert_close(balancing_time(scaled, sigma, taus, 8.0, 1.1), 7 * found, rtol=1e-5, atol=0)


def test_arguments_outside_their_range():
    sigma = tensor(2.0, 1.0).unsqueeze(0)
    with one_line_error(ValueError, "negatives and rank must be .* got 0 and 4"):
        best_tau_squared(0.0, 4)
    with one_line_error(ValueError, "got 8 and 1"):
        best_tau_squared(8.0, 1)
    for bad in (0.0, math.inf, math.nan):
        with one_line_error(ValueError, "negatives must be > 0 and finite"):
            best_tau_squared_many_signals(bad)
    with one_line_error(ValueError, "1 to r − 1 or None, got 1, 2, 5 and 2"):
        aligned_state(sigma, 5.0, lost=2)
    with one_line_error(ValueError, "state must be aligned and without noise"):
        balancing_time(wide_start(sigma, 0.5, 3), sigma, 2.0, 8.0, 1.1)
    with one_line_error(ValueError, "must be > 0, got 0"):
        balancing_time(aligned_state(sigma, 5.0), sigma, 2.0, 8.0, 1.0)


def test_the_rate_needs_two_signals():
    with one_line_error(ValueError, "balancing_rate: rank must be ≥ 2, got 1"):
        balancing_rate(2.0, 8.0, 1)
