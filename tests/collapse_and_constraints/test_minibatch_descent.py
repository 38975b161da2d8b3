"""The map of a minibatch step against the weights, and the noise at rest against the map."""

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.constrained_flow import polar_map
from contrastive_dynamics.collapse_and_constraints.minibatch_descent import minibatch_map, stationary_distance
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import descent_step, draw_weights, outputs
from contrastive_dynamics.numerics.random_streams import stream


def symmetric(g, *shape, scale=1.0):
    c = scale * torch.randn(*shape, shape[-1], generator=g, dtype=torch.float64)
    return (c + c.mT) / 2


@pytest.mark.parametrize(("h", "d", "z"), [(4, 4, 2), (9, 4, 1), (50, 6, 3), (8, 4, 4)])
def test_map_is_the_step_of_the_weights(h, d, z):
    weights = draw_weights(*([stream(1, k, f"{layer}") for k in range(5)] for layer in (1, 2)), h, d, z)
    m = outputs(weights)
    for t in range(30):
        c = symmetric(stream(1, t, "c"), 5, d)
        weights, m = descent_step(weights, c, 0.1), minibatch_map(m, c, 0.1)
        torch.testing.assert_close(m, outputs(weights), rtol=0, atol=1e-11)


def test_noise_at_rest():
    lam, rate, batch, runs = torch.tensor([-2.0, -1.5, 0.5, 1.0], dtype=torch.float64), 0.01, 25, 300
    m, total, target = torch.eye(4, dtype=torch.float64)[:, :2].expand(runs, 4, 2), 0.0, torch.diag((lam < 0).double())
    for t in range(400):
        noise = symmetric(stream(4, t, "noise"), runs, 4) / batch**0.5
        m = minibatch_map(m, torch.diag(lam) + noise, rate)
        if t >= 100:
            total += float((m @ m.mT - target).square().sum((-2, -1)).mean()) / 300
    variance = (torch.ones(4, 4) + torch.eye(4)) / 2  # of the entries of `symmetric`
    assert total == pytest.approx(float(stationary_distance(lam, variance, 2, rate, batch)), rel=0.12)


def test_one_matrix_is_polar_map():
    lam = torch.tensor([-2.0, 0.5, 1.0], dtype=torch.float64)
    m = outputs(draw_weights([stream(0, 0, "1")], [stream(0, 0, "2")], 9, 3, 2))
    torch.testing.assert_close(minibatch_map(m, torch.diag(lam), 0.1), polar_map(m, lam, 0.1))


def test_a_mistaken_rank_is_refused():
    lam = torch.tensor([-1.0, -1.0, 2.0])
    for k in (0, 1, 3):
        with pytest.raises(ValueError, match="k must be ≥ 1 and < d"):
            stationary_distance(lam, torch.ones(3, 3), k, 0.1, 1)
