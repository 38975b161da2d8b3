import math

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import gated_covariance
from contrastive_dynamics.nonlinearity.one_filter.latent_models import (
    CRITICAL_Q,
    bernoulli_levels,
    categorical_covariance,
    closed_form_error,
    critical_probability,
    latent_categorical,
    latent_summation,
    orthonormal_patterns,
    pattern_eigenvalues,
    population_field,
    relu_off_plane,
    summation_covariance,
    tilted_patterns,
    tilted_summation,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64


@pytest.mark.parametrize("dtype, tol", [(F64, 1e-13), (torch.float32, 1e-5)])
@pytest.mark.parametrize("d, m", [(3, 3), (7, 4), (2, 1)])
def test_orthonormal_patterns_are_orthonormal(d, m, dtype, tol):
    u = orthonormal_patterns(d, m, stream(0, 0, "u"), dtype)
    assert u.dtype == dtype and torch.allclose(u.mT @ u, torch.eye(m, dtype=dtype), atol=tol)


@pytest.mark.parametrize("deviation", [0.0, 0.05, 0.5, 0.95])
def test_tilted_patterns_have_unit_columns_and_the_deviation_asked_for(deviation):
    u = tilted_patterns(orthonormal_patterns(9, 6, stream(1, 0, "u")), deviation, stream(1, 0, "tilt"))
    gram = u.mT @ u
    assert torch.linalg.matrix_norm(gram - torch.eye(6, dtype=F64), 2).item() == pytest.approx(deviation, abs=1e-12)
    assert torch.allclose(gram.diagonal(), torch.ones(6, dtype=F64))


def test_standardised_bernoulli_moments_by_enumeration():
    q = torch.tensor([0.1, 0.3, 0.8], dtype=F64)
    points, p = latent_summation(torch.eye(3, dtype=F64), q)
    assert p.sum().item() == pytest.approx(1) and len(torch.unique(points, dim=0)) == 8
    assert torch.allclose(p @ points, torch.zeros(3, dtype=F64), atol=1e-14)
    assert torch.allclose(points.mT @ (p[:, None] * points), torch.eye(3, dtype=F64), atol=1e-14)
    high, low = bernoulli_levels(q)
    assert bool(((points == high) | (points == low)).all())
    assert torch.allclose(p @ (points > 0).to(F64), q, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_closed_forms_8_and_9_meet_the_enumeration(seed):
    g = stream(seed, 0, "closed")
    u = orthonormal_patterns(7, 5, g)
    p = torch.rand(5, dtype=F64, generator=g)
    p = p / p.sum()
    q = 0.05 + 0.9 * torch.rand(5, dtype=F64, generator=g)
    assert closed_form_error(latent_categorical(u, p), u, lambda m: categorical_covariance(u, p, m)) < 1e-12
    assert closed_form_error(latent_summation(u, q), u, lambda m: summation_covariance(u, q, m)) < 1e-12
    # the printed I in place of U Uᵀ is wrong when the patterns do not span the space
    outer = u[:, 0, None] * u[:, 0]
    printed = (1 - q[0]) ** 2 * outer + q[0] * (torch.eye(7, dtype=F64) - outer)
    assert not torch.allclose(printed, summation_covariance(u, q, 0))


def test_rounding_opens_gates_of_the_categorical_model_and_the_margin_shuts_them():
    u, p = orthonormal_patterns(16, 16, stream(0, 0, "kink")), torch.full((16,), 1 / 16, dtype=F64)
    population = latent_categorical(u, p)
    assert closed_form_error(population, u, lambda m: categorical_covariance(u, p, m), activation("relu")) > 0.1
    assert relu_off_plane().slope(torch.tensor([-1.0, 0.0, 1e-12, 0.5])).tolist() == [0, 0, 0, 1]


def test_the_top_eigenvector_changes_at_the_critical_probability():
    assert CRITICAL_Q == pytest.approx(0.381966, abs=1e-6) and (1 - CRITICAL_Q) ** 2 == pytest.approx(CRITICAL_Q)
    u, q = orthonormal_patterns(5, 5, stream(2, 0, "u")), torch.tensor([0.2, 0.9, 0.5, 0.05, 0.4], dtype=F64)
    assert critical_probability(u, q, 1) == pytest.approx(CRITICAL_Q, abs=1e-10)
    assert critical_probability(u, q, 1, centred=False) == pytest.approx(0.5, abs=1e-10)
    for q_m, is_lme in [(CRITICAL_Q - 0.01, True), (CRITICAL_Q + 0.01, False)]:
        points, p = latent_summation(u, torch.where(torch.arange(5) == 3, q_m, q))
        along, across = pattern_eigenvalues(gated_covariance(points, u[:, 3], activation("relu"), p), u[:, 3])
        assert along.item() == pytest.approx((1 - q_m) ** 2) and across.item() == pytest.approx(q_m)
        assert bool(along > across) is is_lme


@pytest.mark.parametrize("name", ["linear", "relu", "leaky_relu", "quadratic"])
@pytest.mark.parametrize("dtype, tol", [(F64, 1e-12), (torch.float32, 1e-4)])
def test_population_field_equals_the_gated_covariance_alone_and_in_a_batch(name, dtype, tol):
    g = stream(3, 0, "field")
    points, p = latent_summation(orthonormal_patterns(4, 4, g, dtype), torch.full((4,), 0.3, dtype=dtype))
    w = torch.randn(6, 4, dtype=dtype, generator=g)
    field = population_field(points, p, activation(name))
    assert torch.allclose(field(w), gated_covariance(points, w, activation(name), p), atol=tol)
    assert torch.allclose(field(w)[[4, 1]], torch.cat([field(w[4:5]), field(w[1:2])]), atol=tol)


def test_bad_input_says_what_is_allowed():
    g, eye = stream(0, 0, "bad"), torch.eye(3, dtype=F64)
    with pytest.raises(ValueError, match="m must be ≥ 1 and ≤ d, got m=4 and d=3"):
        orthonormal_patterns(3, 4, g)
    with pytest.raises(ValueError, match="deviation must be ≥ 0 and < 1.* got deviation=1.5"):
        tilted_patterns(eye, 1.5, g)
    with pytest.raises(ValueError, match="sum 1"):
        latent_categorical(eye, torch.full((3,), 0.5, dtype=F64))
    with pytest.raises(ValueError, match="M must be ≤ 20 .* got M=21"):
        latent_summation(torch.eye(21), torch.full((21,), 0.2))
    with pytest.raises(ValueError, match="q must be > 0 and < 1"):
        latent_summation(eye, torch.tensor([0.2, 0.0, 0.5], dtype=F64))
    assert math.isfinite(CRITICAL_Q)


def test_a_tilted_summation_is_the_model_of_its_patterns():
    relu = activation("relu")
    u, points, field = tilted_summation(stream(0, 0, "tilted"), 4, 0.1, 0.2, relu)
    assert float(torch.linalg.matrix_norm(u.mT @ u - torch.eye(4, dtype=F64), 2)) == pytest.approx(0.1)
    support, p = latent_summation(u, torch.full((4,), 0.2, dtype=F64))
    assert torch.equal(points, support)
    torch.testing.assert_close(field(u.mT), population_field(support, p, relu)(u.mT))
