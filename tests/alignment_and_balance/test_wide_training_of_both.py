import math

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.infinite_width_flow import (
    WideState,
    non_contrastive_solution,
    wide_condition_number,
    wide_flow,
    wide_start,
)
from contrastive_dynamics.alignment_and_balance.wide_training import WideStage, settling_time, wide_training

F64 = torch.float64
FOUR = (2.0, 1.6, 1.3, 1.0)


def tensor(*values):
    return torch.tensor(values[0] if isinstance(values[0], tuple) else values, dtype=F64)


def line(rows=21):
    return torch.linspace(0, 1, rows, dtype=F64)


# From another integration of the same equations, by Runge and Kutta's method, h = 0.01 in s.
VECTORS = {
    "A": (
        FOUR, 0.8, 8, 8.0, [(3.0, None)],
        (1.711112478, 0.547944991, 0.238086641, 0.101491419), 0.02773105, 4.10605363,
    ),
    "B": (
        FOUR, 0.8, 1000, 8.0, [(3.0, None), (8.0, 2.0)],
        (0.512474405, 0.524903585, 0.539247731, 0.325755924), 0.00734804, 1.28661320,
    ),
    "C": (
        (1.5, 1.2, 1.0), 0.5, 1e6, 127.0, [(2.0, 4.0), (6.0, 0.5)],
        (0.471507921, 0.469160594, 0.451243113), 0.00239953, 1.02220783,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name):
    sigma, noise, dim, negatives, stages, squares, noise_share, condition = VECTORS[name]
    run = wide_training(
        tensor(sigma).unsqueeze(0), noise, dim, [WideStage(*s) for s in stages], line(), negatives, rtol=1e-11
    )
    torch.testing.assert_close(run.state.kappa_squared[-1, 0], tensor(*squares), rtol=0, atol=1e-8)
    assert run.noise_share[-1].item() == pytest.approx(noise_share, abs=2e-8)
    assert run.condition[-1].item() == pytest.approx(condition, rel=1e-8)
    assert run.s[-1].item() == pytest.approx(sum(length for length, _ in stages)) and len(run.s) == 1 + 20 * len(stages)
    agreement = tensor(0.9999999995, 0.9999985875, 0.9998260797, 0.9921192298) if name == "A" else 1
    assert ((run.agreement[-1, 0] - agreement).abs() < 1e-9).all()
    conserved = (run.state.kappa_squared / tensor(sigma).square()).sum(-1) + run.state.noise_squared / noise**2
    assert (conserved - 1).abs().max() < 1e-8
    torch.testing.assert_close(run.shares.sum(-1) + run.noise_share, torch.ones_like(run.noise_share))


def test_runs_of_several_dimensions_are_the_flow_in_time_d_times_s():
    sigma, dims, stages = tensor(FOUR).expand(3, -1), tensor(8, 50, 1000), [WideStage(2.0, None), WideStage(3.0, 2.0)]
    both = wide_training(sigma, 0.8, dims, stages, line(5), 8.0)
    for k, d in enumerate(dims):
        begin, now = 0, wide_start(sigma[:1], 0.8, d - 4)
        for length, tau in stages:
            path = wide_flow(now, sigma[:1], 0.8, d * length * line(5), tau, 8.0)
            now = WideState(*(x[-1] for x in path))
            rows = slice(begin, begin + 5)
            torch.testing.assert_close(
                d * both.state.kappa_squared[rows, k], path.kappa_squared[:, 0], rtol=1e-7, atol=0
            )
            torch.testing.assert_close(both.condition[rows, k], wide_condition_number(path)[:, 0], rtol=1e-7, atol=0)
            begin += 4
    assert torch.equal(both.s[:, 0], both.s[:, 2]) and both.s[4, 0] == 2 and not both.stopped.any()


def test_without_negatives_the_end_is_the_exact_one():
    sigma, dims = tensor(FOUR).expand(3, -1), tensor(50, 1000, 1e6)
    run = wide_training(sigma, 0.8, dims, [WideStage(60.0, None)], line(), rtol=1e-10)
    exact = non_contrastive_solution(wide_start(sigma, 0.8, dims - 4), sigma, 0.8, tensor(math.inf))
    torch.testing.assert_close(run.condition[-1], wide_condition_number(exact)[0], rtol=1e-6, atol=0)
    assert run.condition[-1, 2] > 400 and (run.agreement[-1] > 1 - 1e-9).all() and (run.noise_share[-1] < 1e-9).all()


def test_stage_two_stops_where_the_condition_number_falls_to_the_level():
    sigma, dims = tensor(FOUR).expand(3, -1), tensor(8, 50, 1000)
    stages = [WideStage(4.0, None), WideStage(25.0, 2.0)]
    run = wide_training(sigma, 0.8, dims, stages, line(41), 8.0, stop=1.05)
    assert run.stopped.all() and (run.condition[-1] - 1.05).abs().max() < 1e-7
    assert (run.condition[-2] > 1.05).all() and (run.s[-1].diff() > 0).all() and torch.equal(run.s[40], tensor(4, 4, 4))
    lasting = wide_training(sigma, 0.8, dims, stages, line(101), 8.0)
    late = (lasting.s > run.s[-1]).float().argmax(0)
    for k in range(3):
        assert (lasting.condition[late[k] :, k] < 1.05).all() and lasting.condition[late[k] - 1, k] > 1.05
    one = wide_training(sigma[:1], 0.8, dims[1:2], stages, line(41), 8.0, stop=1.05)
    torch.testing.assert_close(one.s[-1], run.s[-1, 1:2], rtol=1e-6, atol=0)


def test_a_run_that_stays_above_or_below_the_level_keeps_its_length():
    sigma = torch.stack([tensor(FOUR), tensor(1, 1, 1, 1)])
    run = wide_training(sigma, 0.5, 50, [WideStage(5.0, None)], line(), stop=1.05)
    assert not run.stopped.any() and torch.equal(run.s[-1], tensor(5, 5))
    state = wide_start(sigma, 0.5, 46)
    found = settling_time(state, sigma, 0.5, 50 * 5 * line(), None, level=1.05)
    assert found.tolist() == [math.inf, 0]


def test_a_hump_is_left_behind():
    """From one τ² the condition number begins above the level, rises, and falls: the fall is found."""
    sigma, state = tensor(FOUR).unsqueeze(0), wide_start(tensor(FOUR).unsqueeze(0), 0.8, 996)
    times = 1000 * 12 * line(61)
    found = settling_time(state, sigma, 0.8, times, 2.0, 8.0, level=2.0)
    path = wide_flow(state, sigma, 0.8, torch.cat([times[:1], found]), 2.0, 8.0)
    assert wide_condition_number(path)[-1].item() == pytest.approx(2, rel=1e-6) and found > 1000


def test_arguments_outside_their_range():
    sigma, stages = tensor(FOUR).unsqueeze(0), [WideStage(1.0, None)]
    with one_line_error(ValueError, "dim must be ≥ r = 4, got 3"):
        wide_training(sigma, 0.8, 3, stages, line())
    with one_line_error(ValueError, r"length > 0, got \[0.0\]"):
        wide_training(sigma, 0.8, 8, [WideStage(0.0, None)], line())
    with one_line_error(ValueError, "stages must be one or more"):
        wide_training(sigma, 0.8, 8, [], line())
    with one_line_error(ValueError, "fractions must go from 0 to 1, got 0 to 2"):
        wide_training(sigma, 0.8, 8, stages, 2 * line())
    with one_line_error(ValueError, r"increasing, got \[1\]"):
        wide_training(sigma, 0.8, 8, stages, line(1))
    for stop in (1.0, math.nan):
        with one_line_error(ValueError, "stop must be > 1 or None"):
            wide_training(sigma, 0.8, 8, stages, line(), stop=stop)
    with one_line_error(ValueError, "level must be > 1, got 1"):
        settling_time(wide_start(sigma, 0.8, 4), sigma, 0.8, line(), None, level=1)
