import math

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.latent_models import (
    latent_summation,
    orthonormal_patterns,
    population_field,
    tilted_patterns,
)
from contrastive_dynamics.nonlinearity.one_filter.local_convergence import (
    angle_between,
    cell_radius,
    contraction,
    contraction_slack,
    irregularity,
    pattern_angle_bound,
    pattern_contraction,
    rate_bound_ratio,
    starts_near,
    theorem_region,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import power_iteration
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64


def constant_field(values):
    a = torch.diag(torch.tensor(values, dtype=F64))
    return lambda w: a.expand(len(w), *a.shape)


def test_angles_keep_their_digits_near_zero_and_reach_pi():
    e1 = torch.tensor([1.0, 0.0], dtype=F64)
    for theta in (1e-12, 1e-3, 1.0, math.pi):
        other = torch.tensor([math.cos(theta), math.sin(theta)], dtype=F64)
        assert angle_between(e1, other).item() == pytest.approx(theta, rel=1e-12, abs=1e-15)


def test_starts_lie_at_the_angle_asked_for():
    u = orthonormal_patterns(5, 5, stream(0, 0, "u")).mT
    w = starts_near(u, torch.linspace(0.1, 0.5, 5, dtype=F64), stream(0, 0, "near"))
    assert torch.allclose(angle_between(w, u), torch.linspace(0.1, 0.5, 5, dtype=F64))
    assert torch.allclose(w.norm(dim=-1), torch.ones(5, dtype=F64))


def test_one_step_of_power_iteration_contracts_by_at_most_the_irregularity():
    w0 = starts_near(
        torch.eye(3, dtype=F64)[:1].expand(200, 3), torch.linspace(0.01, 1.4, 200, dtype=F64), stream(0, 0, "w")
    )
    run = power_iteration(constant_field([1.0, 0.7, 0.1]), w0, 1)
    before, after = ((w - torch.eye(3, dtype=F64)[0]).square().sum(-1) / 2 for w in run.w)
    assert bool((after <= irregularity(1 - before, torch.tensor(0.7, dtype=F64)) * before * (1 + 1e-12)).all())


def test_the_region_of_theorem_3_is_a_fixed_point_and_may_not_exist():
    angle, ratio = torch.tensor([0.05, 0.3, 1.2], dtype=F64), torch.tensor(0.3, dtype=F64)
    gamma, beta = theorem_region(angle, ratio)
    assert gamma[2].isnan() and beta[2].isnan()
    gamma, beta, angle = gamma[:2], beta[:2], angle[:2]
    assert torch.allclose(gamma, irregularity((angle + beta).cos(), ratio), rtol=1e-10)
    c_gamma = 2 * gamma.sqrt() / (1 + gamma)
    assert torch.allclose(beta.cos(), (angle.cos() - c_gamma) / (1 - c_gamma))
    assert bool((gamma > ratio**2).all())


def test_contraction_of_a_known_sequence_and_of_a_constant_matrix():
    t = torch.arange(60, dtype=F64)
    runs = torch.stack([0.6**t, 0.5**t, torch.ones(60, dtype=F64)], -1)
    rate = contraction(runs)
    assert torch.allclose(rate[:2], torch.tensor([0.6, 0.5], dtype=F64)) and rate[2].isnan()
    assert torch.equal(contraction(runs[:, 1:2]), rate[1:2])
    run = power_iteration(constant_field([1.0, 0.5]), torch.tensor([[1.0, 0.3]], dtype=F64), 50)
    assert contraction(run.discrepancy).item() == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize("deviation", [0.02, 0.1])
def test_latent_summation_obeys_rate_region_and_nearness(deviation):
    g = stream(5, 0, "latent")
    u = tilted_patterns(orthonormal_patterns(6, 6, g), deviation, g)
    q = torch.full((6,), 0.2, dtype=F64)
    points, p = latent_summation(u, q)
    field = population_field(points, p, activation("relu"))
    run = power_iteration(field, starts_near(u.mT, 0.1, g), 60)
    slack = contraction_slack(contraction(run.discrepancy), pattern_contraction(q), deviation)
    assert 0 < slack.max() <= 1
    assert bool((angle_between(run.w[-1], u.mT) <= pattern_angle_bound(q, deviation)).all())
    w0 = starts_near(run.w[-1], 0.02, g)
    phi, ratio = run.w[-1], 1 - run.gap[-1] / run.lambda1[-1]
    gamma, beta = theorem_region(angle_between(w0, phi), ratio)
    assert bool((beta < cell_radius(points, w0)).all())
    again = power_iteration(field, w0, 40)
    assert rate_bound_ratio(again.w, phi, gamma).max() <= 1 + 1e-6
    assert rate_bound_ratio(again.w, phi, gamma, power=2).max() > 1e3
    assert bool((angle_between(again.w[-1], w0) <= beta).all())


def test_cell_radius_is_where_the_first_gate_flips():
    points, w = torch.tensor([[1.0, 1.0], [0.0, 2.0], [1.0, -0.2]], dtype=F64), torch.tensor([1.0, 0.0], dtype=F64)
    assert cell_radius(points, w).item() == 0  # on the plane of the second point
    w = torch.tensor([math.cos(0.3), math.sin(0.3)], dtype=F64)
    radius = cell_radius(points, w).item()
    assert radius == pytest.approx(0.3)
    for turn, same in [(0.99, True), (1.01, False)]:
        v = torch.tensor([math.cos(0.3 - turn * radius), math.sin(0.3 - turn * radius)], dtype=F64)
        assert bool(((points @ v > 0) == (points @ w > 0)).all()) is same


def test_angle_bound_grows_with_the_deviation_and_gives_up():
    q = torch.tensor([0.1, 0.2, 0.3], dtype=F64)
    assert torch.equal(pattern_angle_bound(q, 0.0), torch.zeros(3, dtype=F64))
    assert bool((pattern_angle_bound(q, 0.05) < pattern_angle_bound(q, 0.1)).all())
    assert pattern_angle_bound(torch.tensor([0.35], dtype=F64), 0.5).item() == pytest.approx(math.pi / 2)


def test_bad_deviation_is_refused():
    with pytest.raises(ValueError, match="deviation must be > 0 and < 1, got 0"):
        contraction_slack(torch.tensor([0.3]), torch.tensor([0.3]), 0)
