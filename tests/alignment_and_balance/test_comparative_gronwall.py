import math
from typing import NamedTuple

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.comparative_gronwall import (
    bound,
    closed_form,
    condition_growth_bound,
    condition_rate_bound,
    convergence_time_bound,
    coupled_growth_bound,
    draw_process,
    solve,
)
from contrastive_dynamics.alignment_and_balance.infinite_width_flow import (
    WideState,
    non_contrastive_solution,
    wide_condition_number,
    wide_flow,
    wide_start,
    wide_velocity,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
RUNS, TIMES = 12, torch.linspace(0, 3, 13, dtype=F64)


def streams(purpose, run=RUNS):
    return [stream(0, k, purpose) for k in range(run)]


def uniform(purpose, low, high, *shape):
    return low + (high - low) * torch.stack([torch.rand(shape, generator=g, dtype=F64) for g in streams(purpose)])


def pair():
    a = draw_process(len(TIMES), streams("a"))
    return a, *(uniform(name, 0.2, 2) for name in ("x0", "y0", "b", "c"))


def test_the_closed_form_solves_the_pair_and_stays_below_the_bound():
    a, x0, y0, b, c = pair()
    x, y = solve(a, TIMES, x0, y0, b, c)
    exact = closed_form(a, TIMES, x0, y0, b, c)
    assert torch.allclose(x, exact[0], rtol=1e-8, atol=1e-9) and torch.allclose(y, exact[1], rtol=1e-8)
    top = bound(x0, y0, b, c)
    assert bool((y <= top).all()) and bool((y.diff(dim=0) > 0).all())
    long = closed_form(10 * a, TIMES, x0, y0, b, c)
    assert float((long[0] / x0)[-1].max()) < 1e-3
    assert torch.allclose(long[1][-1] * (b / c * long[0][-1]).exp(), top, rtol=1e-12)
    alone = solve(a[3:4], TIMES, x0[3], y0[3], b[3], c[3])
    assert torch.allclose(x[:, 3:4], alone[0], atol=1e-8) and torch.allclose(y[:, 3:4], alone[1], rtol=1e-8)
    assert bound(2.0, 3.0, 1.0, 4.0) == pytest.approx(3 * math.exp(0.5))


def test_two_processes_exceed_the_bound_by_no_more_than_their_ratio():
    a, x0, y0, b, c = pair()
    other = draw_process(len(TIMES), streams("b"))
    y = solve(a, TIMES, x0, y0, b, c, other)[1]
    over = y[-1] > bound(x0, y0, b, c)
    assert bool(over.any()) and not bool(over.all())
    assert bool((y[-1] < bound(x0, y0, b * (other / a).amax(-1), c)).all())


def test_a_process_is_drawn_by_run():
    a = draw_process(5, streams("a"), 0.5)
    assert a.shape == (RUNS, 5) and bool((a > 0).all())
    assert torch.equal(draw_process(5, streams("a")[2:3], 0.5), a[2:3])
    assert torch.equal(draw_process(5, streams("a"), 0.0), torch.ones_like(a))


@pytest.mark.parametrize("noise_columns", [0.0, 3.0, 1e8])
def test_the_condition_number_never_outgrows_its_bound(noise_columns):
    sigma, noise = uniform("sigma", 0.5, 3, 4), 0.2
    thetas = torch.cat([torch.logspace(-3, 3, 60, dtype=F64), torch.tensor([math.inf], dtype=F64)])
    start = wide_start(sigma, noise, noise_columns)
    path = non_contrastive_solution(start, sigma, noise, thetas)
    assert bool((wide_condition_number(path) <= condition_growth_bound(sigma, 4 + noise_columns)).all())
    # almost reached by one large σ of two
    two = torch.tensor([[5.0, 1.0]], dtype=F64)
    end = non_contrastive_solution(wide_start(two, noise, noise_columns), two, noise, thetas[-1:])
    assert 1 <= float(condition_growth_bound(two, 2 + noise_columns) / wide_condition_number(end)) < 1.01


def aligned():
    sigma, k = uniform("sigma", 0.5, 2, 4), (4 * uniform("k", -1, 1, 4)).exp()
    return WideState(k, k, k.new_zeros(RUNS)), sigma, uniform("tau", 0.2, 6), uniform("negatives", 0.2, 4)


def test_the_condition_number_falls_as_fast_as_its_bound():
    state, sigma, tau, negatives = aligned()
    rate, top = condition_rate_bound(state, sigma, tau, negatives)
    assert bool((rate <= top).all()) and bool((top < 0).all())
    k, slope = state.kappa_squared, wide_velocity(state, sigma, 0.0, tau, negatives).kappa_squared
    k = torch.func.jvp(lambda x: x.amax(-1) / x.amin(-1), (k,), (slope,))[1]
    assert torch.allclose(rate, k, rtol=1e-12)
    # equal σ, two columns: T̄ cancels and the bound is the rate
    state = WideState(*(x[..., :2] for x in state[:2]), state.noise_squared)
    assert torch.allclose(*condition_rate_bound(state, torch.ones(RUNS, 2, dtype=F64), tau, negatives), rtol=1e-9)


def test_noise_breaks_the_rate_bound():
    state, sigma, tau, negatives = aligned()
    noisy = state._replace(noise_squared=100 * state.kappa_squared.sum(-1))
    rate, top = condition_rate_bound(noisy, sigma, tau, negatives)
    assert bool((rate > top).any())


@pytest.mark.parametrize("tolerance", [0.1, 1.0])
def test_the_flow_is_balanced_by_the_time_that_the_bound_names(tolerance):
    state, sigma, tau, negatives = aligned()
    time = convergence_time_bound(state, sigma, tau, negatives, tolerance)
    assert bool((time > 0).all())
    shares = torch.tensor([0.0, 1e-3, 1.0], dtype=F64).unsqueeze(-1)
    path = wide_flow(state, sigma, 0.0, shares * time, tau, negatives, rtol=1e-6)
    ratio = wide_condition_number(path).square()
    assert bool((ratio[-1] <= 1 + tolerance).all()) and bool((ratio[1] > 1 + tolerance).any())
    there = WideState(*(x[-1] for x in path))
    assert not bool(convergence_time_bound(there, sigma, tau, negatives, tolerance).any())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a, s: solve(-a, TIMES, 1.0, 1.0, 1.0, 1.0), "solve: a, X_0, Y_0, b and c must be > 0, got -"),
        (
            lambda a, s: solve(a, TIMES, 1.0, 1.0, 1.0, 1.0, -a),
            "other must be > 0 and of shape (12, 13), got (12, 13) from -",
        ),
        (
            lambda a, s: closed_form(a, TIMES.flip(0), 1.0, 1.0, 1.0, 1.0),
            "increasing knots, got a (12, 13), times (13,)",
        ),
        (lambda a, s: draw_process(1, streams("a")), "≥ 2, ≥ 1 and ≥ 0, got 1 knots, 12 generators, spread 1"),
        (lambda a, s: condition_growth_bound(s[1], 3), "columns must be ≥ r = 4, got 3"),
        (lambda a, s: convergence_time_bound(*s, 0.0), "tolerance, τ² and K must be > 0, got 0"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError) as caught:
        call(pair()[0], aligned())
    assert text in str(caught.value) and "\n" not in str(caught.value)


def noiseless(sigma, times, tau_squared=None):
    return wide_flow(wide_start(sigma, 0.0, 0), sigma, 0.0, times, tau_squared)


class Growth(NamedTuple):
    """Lemma 5.2 at work, `[..., run]` each: X, Y, −X'/(cAX) ≥ 1 and Y'/(bAXY) ≤ 1."""

    x: torch.Tensor
    y: torch.Tensor
    fall: torch.Tensor
    growth: torch.Tensor


def coupled_growth(state, sigma):
    moved = wide_velocity(state, sigma, 0.0, None)
    k, rho = state.kappa_squared, state.kappa_hat_squared / state.kappa_squared
    a, least = 2 / k.sum(-1), rho.argmin(-1, keepdim=True)
    turn = ((moved.kappa_hat_squared - rho * moved.kappa_squared) / k).gather(-1, least).squeeze(-1)
    x, y = 1 - rho.amin(-1), (k.amax(-1) / k.amin(-1)).sqrt()
    growth = moved.kappa_squared / k
    growth = (growth.gather(-1, k.argmax(-1, keepdim=True)) - growth.gather(-1, k.argmin(-1, keepdim=True))).squeeze(-1)
    low, high = sigma.amin(-1).square(), sigma.amax(-1).square()
    return Growth(x, y, turn / (low * a * x), growth / (high * a * x))


def test_lemma_5_2_runs_on_the_noiseless_flow():
    sigma = torch.tensor([[2.0, 1.6, 1.3, 1.0], [1.2, 1.0, 1.0, 0.9]], dtype=F64)
    times = torch.linspace(0, 20, 81, dtype=F64)
    path = noiseless(sigma, times)
    found = coupled_growth(path, sigma)
    bound_ = coupled_growth_bound(WideState(*(x[0] for x in path)), sigma)
    assert bound_.tolist() == pytest.approx([2 * math.e**2, 4 / 3 * math.exp(8 / 9)])
    assert (found.y < bound_).all() and (found.y[-1] / bound_ > 0.2).all()
    assert (found.fall >= 1 - 1e-9).all() and (found.growth <= 1 + 1e-9).all()
    later = coupled_growth_bound(path, sigma)
    assert (later.diff(dim=0) < 1e-9).all() and (later >= found.y[-1]).all()  # a bound from any time on, ever closer
    assert found.y[-1, 0].item() == pytest.approx(3.04, abs=0.01)


def test_the_rates_are_those_of_x_and_y():
    sigma = torch.tensor([[2.0, 1.6, 1.3, 1.0]], dtype=F64)
    times = torch.tensor([0.5, 0.5 + 1e-5, 0.5 + 2e-5], dtype=F64)
    path = noiseless(sigma, torch.cat([times.new_zeros(1), times]))
    path = WideState(*(x[1:] for x in path))
    x, y, fall, growth = coupled_growth(path, sigma)
    a = (2 / path.kappa_squared.sum(-1))[1]
    assert -(x[2] - x[0]) / 2e-5 == pytest.approx(fall[1].item() * 1 * a.item() * x[1].item(), rel=1e-5)
    assert (y[2] - y[0]) / 2e-5 == pytest.approx(growth[1].item() * 2 * a.item() * x[1].item() * y[1].item(), rel=1e-5)


def test_half_the_constant_would_not_do_and_noise_is_refused():
    sigma = torch.tensor([[3.0] + [1.0] * 50], dtype=F64)  # a long column among many short ones
    state = wide_start(sigma, 0.0, 0)
    worst = coupled_growth(noiseless(sigma, torch.linspace(0, 20, 81, dtype=F64)), sigma).growth.max()
    assert 0.5 < worst <= 1  # so b/2 would not do
    with one_line_error(ValueError, "coupled_growth_bound: κ_ξ² and κ̂_p² must be 0 and ≥ 0, got 1 and 0"):
        coupled_growth_bound(state._replace(noise_squared=torch.ones(1, dtype=F64)), sigma)
    with one_line_error(ValueError, "coupled_growth_bound: .* got 0 and -9"):
        coupled_growth_bound(state._replace(kappa_hat_squared=-state.kappa_squared), sigma)
