"""One start under three rules: each against the equation that it solves, and what is left in the end."""

import math

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.constrained_flow import limit_rank, output_velocity, polar_velocity
from contrastive_dynamics.collapse_and_constraints.pair_losses import expected_trace_matrix
from contrastive_dynamics.data.half_moons import half_moon_law
from contrastive_dynamics.numerics.ranks import effective_rank
from experiments.collapse_and_constraints.three_rules import half_moon_spectrum, rotated_start, three_rules

TIMES = torch.linspace(0, 8, 9, dtype=torch.float64)


@pytest.mark.parametrize("negatives", [0, 1, 4])
def test_the_spectrum_is_that_of_the_expected_trace_matrix(negatives):
    values, vectors = half_moon_spectrum(negatives)
    c = expected_trace_matrix(*half_moon_law(), 1, 1, negatives)
    assert torch.allclose(vectors @ torch.diag(values) @ vectors.mT, c, atol=1e-15) and values[0] < values[1]
    assert torch.linalg.det(vectors) == pytest.approx(1) and bool((vectors[:, 1] > 0).all())


def test_the_eigenvectors_turn_steadily():
    vectors = torch.stack([half_moon_spectrum(k / 10).vectors for k in range(60)])
    assert float(vectors.diff(dim=0).abs().max()) < 0.1


def test_the_start_has_its_size_and_shape():
    for size, angle in ((0.2, 0.7), (0.95, 3.0)):
        sigma = torch.linalg.svdvals(rotated_start(size, angle))
        assert sigma.tolist() == pytest.approx([size, 0.6 * size])
    turned = rotated_start(1, 0.7) @ torch.linalg.inv(rotated_start(1, 0.0))
    assert float(torch.trace(turned)) == pytest.approx(2 * math.cos(0.7))


def test_no_rule_and_the_norm_held():
    q0, lam = rotated_start(0.5, 0.3), torch.tensor([-0.8, 0.3], dtype=torch.float64)
    rules = three_rules(q0, lam, TIMES)
    grown = (-2 * lam[:, None] * TIMES[:, None, None]).exp() * q0
    assert torch.allclose(rules.none, grown, rtol=1e-12)
    assert torch.allclose(rules.norm, grown * (q0.norm() / grown.norm(dim=(-2, -1)))[:, None, None], rtol=1e-12)


@pytest.mark.parametrize("velocity", [output_velocity, polar_velocity])
def test_orthonormal_layers_follow_their_velocity(velocity):
    q0, lam, step = rotated_start(0.5, 0.3), torch.tensor([-0.8, -0.3], dtype=torch.float64), 1e-4
    path = three_rules(q0, lam, step * torch.arange(3, dtype=torch.float64), velocity, 1e-12, 1e-14).layers
    assert torch.allclose((path[2] - path[0]) / (2 * step), velocity(path[1], lam), atol=1e-6)  # order step²


@pytest.mark.parametrize("lam", [(-0.8, -0.2), (-0.6, 0.5), (-1, -1)])
def test_a_gap_flattens_what_no_budget_for_each_direction_holds(lam):
    q0, lam = rotated_start(0.2, 0.7), torch.tensor(lam, dtype=torch.float64)
    rules = three_rules(q0, lam, TIMES)
    ranks = {name: effective_rank(path) for name, path in rules._asdict().items()}
    assert float(ranks["layers"][-1]) == pytest.approx(int(limit_rank(q0, lam)), abs=1e-3)
    white = bool(lam[0] == lam[1])
    for name in ("none", "norm"):
        assert float(ranks[name][-1]) == pytest.approx(float(ranks[name][0]) if white else 1, abs=1e-2)


def test_other_arguments_are_refused():
    with pytest.raises(ValueError, match="negatives must be ≥ 0, got -1"):
        half_moon_spectrum(-1)
    with pytest.raises(ValueError, match="size must be above 0 and at most 1, got 1.5"):
        rotated_start(1.5, 0.0)
    with pytest.raises(ValueError, match="times must"):
        three_rules(rotated_start(0.2, 0.7), torch.tensor([-1.0, -0.5], dtype=torch.float64), TIMES[:1])
