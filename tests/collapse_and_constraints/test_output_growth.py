"""The growth rate K against steps of the gradient, of the flow, and of projected descent."""

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import draw_weights
from contrastive_dynamics.collapse_and_constraints.output_growth import STEEPEST, growth_rate
from contrastive_dynamics.collapse_and_constraints.pair_losses import pairing
from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.wide_training import Pairs, network, network_gradients, train
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import grassmann_gradient


def streams(purpose, runs=6):
    return [stream(7, k, purpose) for k in range(runs)]


def problem(h, p=1, q=1, scale=1.0, runs=6):
    g, n = stream(7, p, "points"), 4
    points = torch.randn(runs, n * (1 + p + q), 3, generator=g, dtype=torch.float64)
    return Pairs(points, n, p, q, scale), draw_weights(streams("1", runs), streams("2", runs), h, 3, 2)


@pytest.mark.parametrize("name", STEEPEST)
def test_steepest_bounds_the_slope(name):
    x = torch.linspace(-30, 30, 6001, dtype=torch.float64)
    act = WIDE[name]
    assert float(act.slope(x).abs().max()) == pytest.approx(STEEPEST[name], rel=1e-3)
    assert float(act.slope(x).abs().max()) <= STEEPEST[name]
    assert abs(float(act.h(torch.zeros(1, dtype=torch.float64)))) < 1e-15


def test_rate_is_4_slope_squared_points_pairing():
    pairs, _ = problem(9, 2, 1, 0.5)
    norm = float(torch.linalg.matrix_norm(0.5 * pairing(4, 2, 1), 2))
    expected = 4 * 2.0**2 * pairs.points.square().sum((-2, -1)) * norm
    torch.testing.assert_close(growth_rate(pairs, 2.0), expected)
    with pytest.raises(ValueError, match="steepest must be > 0, got 0"):
        growth_rate(pairs, 0.0)


@pytest.mark.parametrize("name", STEEPEST)
@pytest.mark.parametrize("h", [3, 40])
def test_flow_and_gradients_stay_below(name, h):
    pairs, weights = problem(h)
    act = WIDE[name]
    g1, g2 = network_gradients(weights, pairs, act)
    size = network(weights, pairs.points, act).norm(dim=(-2, -1))
    bound = growth_rate(pairs, STEEPEST[name]) * size
    half = bound / (2 * STEEPEST[name] * pairs.points.norm(dim=(-2, -1)))
    assert bool((g1.norm(dim=(-2, -1)) <= half).all()) and bool((g2.norm(dim=(-2, -1)) <= half).all())
    moves = tuple(-grassmann_gradient(w, g) for w, g in zip(weights, (g1, g2), strict=True))
    _, speed = torch.func.jvp(lambda w1, w2: network(type(weights)(w1, w2), pairs.points, act), tuple(weights), moves)
    assert bool((speed.norm(dim=(-2, -1)) <= bound).all())


@pytest.mark.parametrize("name", ["tanh", "relu", "soft"])
def test_descent_stays_below(name):
    pairs, weights = problem(20)
    sizes = [
        network(w, pairs.points, WIDE[name]).norm(dim=(-2, -1)) for w in train(weights, pairs, WIDE[name], 0.01, 5)
    ]
    factor = 1 + 2 * 0.01 * growth_rate(pairs, STEEPEST[name])
    assert all(bool((late <= factor * early).all()) for early, late in zip(sizes, sizes[1:], strict=False))


def test_equal_points_reach_the_bound():
    pairs = Pairs(torch.tensor([0.6, 0.8], dtype=torch.float64).expand(1, 8, 2), 4, 1, 0)
    weights = draw_weights(streams("1", 1), streams("2", 1), 5000, 2, 1)
    rate = float(growth_rate(pairs, 1.0))
    first, *_, last = (
        network(w, pairs.points, WIDE["tanh"]).norm() for w in train(weights, pairs, WIDE["tanh"], 1e-4, 20)
    )
    assert float((last / first).log()) / (rate * 20e-4) == pytest.approx(1, abs=0.01)
