import math

import pytest
import torch
from torch.nn.functional import normalize

from contrastive_dynamics.nonlinearity.one_filter.local_convergence import irregularity, starts_near, theorem_region
from contrastive_dynamics.nonlinearity.one_filter.power_iteration_bounds import (
    AffineField,
    certified_gamma,
    check_region,
    displacement_ratio,
    eigenvector_shift,
    expansion_constant,
    expansion_ratio,
    power_step,
    region_radius,
    shortfall_ratio,
    spectral_matrix,
    turning_irregularity,
    turning_ratio,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import power_iteration
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64


def randn(*shape, purpose="x"):
    return torch.randn(*shape, dtype=F64, generator=stream(0, 0, purpose))


def symmetric(*shape):
    x = randn(*shape, purpose="symmetric")
    return (x + x.mT) / 2


def on_sphere(*shape):
    return normalize(randn(*shape, purpose="sphere"), dim=-1)


def test_the_least_lipschitz_constant_of_an_affine_field_is_known():
    field = AffineField.of(randn(20, 11, 4))
    assert torch.allclose(field.mixing.mT @ field.mixing, torch.eye(4, dtype=F64).expand(20, 4, 4), atol=1e-12)
    v, w = on_sphere(2, 20, 4)
    change = torch.linalg.matrix_norm(field(v) - field(w), 2)
    assert bool((change <= field.lipschitz * (v - w).norm(dim=-1) * (1 + 1e-12)).all())
    across = starts_near(field.pivot, math.pi / 2, stream(0, 0, "across"))
    w = v - 0.1 * torch.einsum("rij,ri->rj", field.mixing, across)  # equality
    assert torch.allclose(torch.linalg.matrix_norm(field(v) - field(w), 2), 0.1 * field.lipschitz)
    with pytest.raises(ValueError, match=r"raw must have shape \[run, 2d \+ 3, d\], got \[20, 10, 4\]"):
        AffineField.of(randn(20, 10, 4))


def test_a_spectral_matrix_has_the_eigenvalues_asked_for():
    raw = randn(7, 6, 5)
    found = torch.linalg.eigvalsh(spectral_matrix(raw))
    assert torch.allclose(found, raw[:, -1].exp().sort().values)


def test_a_step_is_that_of_power_iteration():
    a, w = spectral_matrix(randn(30, 5, 4)), on_sphere(30, 4)
    step, run = power_step(a, w), power_iteration(lambda _: a, w, 1)
    assert torch.allclose(step.c, run.alignment[0]) and torch.allclose(1 - step.short_d, run.alignment[1])
    assert torch.allclose(step.moved, run.discrepancy[0]) and torch.allclose(step.image, run.w[1])
    assert torch.allclose(step.gap, run.gap[0]) and bool((step.lowest > 0).all())


def test_lemma_7_is_sharp_near_the_eigenvector_and_needs_a_positive_matrix():
    a = torch.diag(torch.tensor([1.0, 0.6, 0.1], dtype=F64))
    for angle in (1.0, 1e-1, 1e-3):
        w = torch.tensor([math.cos(angle), math.sin(angle), 0], dtype=F64)
        x = 0.36 * math.tan(angle) ** 2
        by_hand = (1 - (1 + x) ** -0.5) / (x / 2)
        assert shortfall_ratio(power_step(a, w)).item() == pytest.approx(by_hand, rel=1e-9)
    assert by_hand > 1 - 1e-6
    w = torch.tensor([math.cos(0.5), 0, math.sin(0.5)], dtype=F64)
    assert shortfall_ratio(power_step(torch.diag(torch.tensor([1.0, 1e-3, -1.0], dtype=F64)), w)) > 1e3


def test_lemma_8_is_sharp_at_rank_one_and_holds_without_mu():
    w = on_sphere(50, 4)
    one = displacement_ratio(power_step(torch.diag(torch.tensor([1.0, 0, 0, 0], dtype=F64)).expand(50, 4, 4), w))
    assert torch.allclose(one, torch.ones(50, dtype=F64))
    step = power_step(spectral_matrix(2 * randn(500, 5, 4)), on_sphere(500, 4))
    assert bool((step.moved <= (2 * step.short_c).sqrt() * (1 + 1e-12)).all())
    assert displacement_ratio(step).max() <= 1


def test_the_shift_is_the_derivative_of_the_eigenvector():
    a, delta = spectral_matrix(randn(10, 5, 4)), symmetric(10, 4, 4)

    def projector(t):
        vectors = torch.linalg.eigh(a + t * delta).eigenvectors[..., -1]
        return vectors.unsqueeze(-1) * vectors.unsqueeze(-2)

    slope = torch.autograd.functional.jacobian(projector, torch.zeros((), dtype=F64))
    phi = torch.linalg.eigh(a).eigenvectors[..., -1]
    shift = eigenvector_shift(a, delta)
    assert torch.allclose(torch.einsum("rij,rj->ri", slope, phi), shift, atol=1e-9)


def test_no_constant_below_four_roots_of_two_serves_lemma_9():
    a = torch.diag(torch.tensor([0.0, 1.0], dtype=F64))
    t, push = 1e-9, 0.5 + 1e-7  # eigenvalues that have just crossed
    delta = push * torch.tensor([[1.0, t], [t, -1.0]], dtype=F64)
    assert expansion_ratio(a, delta).item() == pytest.approx(4 * 2**0.5 / 8, rel=1e-2)
    assert expansion_constant(torch.tensor(2.0)) == 2
    angle = torch.linspace(0, math.pi, 200, dtype=F64)
    small = 1e-4 * torch.stack((angle.cos(), angle.sin(), angle.sin(), -angle.cos()), -1).view(-1, 2, 2)
    limit = (16 / 15) ** 0.5 / 8  # of small perturbations in the plane
    assert expansion_ratio(a.expand(200, 2, 2), small).max().item() == pytest.approx(limit, rel=1e-3)


def test_below_half_the_gap_the_remainder_is_below_half_the_bound():
    a, delta = spectral_matrix(randn(500, 5, 4)), symmetric(500, 4, 4)
    values = torch.linalg.eigvalsh(a)
    size = torch.rand(500, dtype=F64, generator=stream(0, 0, "size")) / 2
    scale = size * (values[:, -1] - values[:, -2]) / torch.linalg.matrix_norm(delta, 2)
    assert expansion_ratio(a, scale[:, None, None] * delta).max() < 0.5


def test_the_remainder_of_lemma_9_is_of_second_order():
    a, delta = spectral_matrix(randn(1, 5, 4))[0], symmetric(4, 4)
    ratios = [expansion_ratio(a, e * delta).item() for e in (1e-3, 1e-4)]
    assert ratios[0] == pytest.approx(ratios[1], rel=0.05)
    without = [expansion_ratio(a, e * delta, order=0.0).item() for e in (1e-3, 1e-4)]
    assert without[1] / without[0] == pytest.approx(10, rel=0.05)


def test_lemma_10_is_sharp_where_the_field_hardly_moves():
    r, angle = 1e-3, 1e-2
    base, e = torch.diag(torch.tensor([1.0, r], dtype=F64))[None], torch.eye(2, dtype=F64)
    w = torch.tensor([[math.cos(angle), math.sin(angle)]], dtype=F64)
    for slope in (1e-6, 1e-7):
        field = AffineField(base, e[:1], e[None], torch.tensor([slope], dtype=F64))
        step = power_step(field(w), w)
        assert 0.98 < turning_ratio(step, field(step.image), field.lipschitz).item() <= 1
    still = AffineField(base, e[:1], e[None], torch.zeros(1, dtype=F64))
    assert torch.equal(still(w), base)


def test_omega_is_mu_where_the_field_stands_still():
    mu = irregularity(torch.tensor(0.9), torch.tensor(0.3))
    none = turning_irregularity(mu, torch.tensor(0.9), torch.tensor(0.5), torch.tensor(0.0))
    assert none == 0
    two_terms = turning_irregularity(torch.tensor(0.25), torch.tensor(0.0), torch.tensor(2.0), torch.tensor(0.1))
    assert two_terms.item() == pytest.approx(2 * 2 * 0.01 + 2 * 0.1 / 2 * 0.5)


def test_gamma_is_that_of_theorem_3_for_a_constant_matrix():
    a = torch.diag(torch.tensor([1.0, 0.3, 0.1], dtype=F64)).expand(3, 3, 3)
    angle = torch.tensor([0.05, 0.2, 1.2], dtype=F64)
    w = starts_near(torch.eye(3, dtype=F64)[:1].expand(3, 3), angle, stream(0, 0, "near"))
    start = power_step(a, w)
    gamma, expected = certified_gamma(start, torch.zeros(3, dtype=F64)), theorem_region(angle, start.ratio)
    assert torch.allclose(gamma[:2], expected[0][:2], rtol=1e-7) and gamma[2].isnan()
    assert torch.allclose(2 * (region_radius(gamma, start.short_c) / 2).asin()[:2], expected[1][:2], rtol=1e-6)


def near_fields(n=300):
    raw = randn(n, 11, 4)
    field = AffineField.of(raw)
    top = torch.linalg.eigh(field.base).eigenvectors[..., -1]
    return field, normalize(top + 0.1 * on_sphere(n, 4), dim=-1)


def test_a_certified_gamma_bounds_omega_over_the_whole_region():
    field, w = near_fields()
    start = power_step(field(w), w)
    gamma = certified_gamma(start, field.lipschitz)
    known = gamma < 1
    assert 0.1 < known.double().mean() < 1
    radius = region_radius(gamma, start.short_c)[known]
    for k in range(50):
        size = radius * torch.rand(len(radius), dtype=F64, generator=stream(0, k, "size")).sqrt()
        v = starts_near(w[known], 2 * (size / 2).asin(), stream(0, k, "inside"))
        step = power_step(field(w.new_zeros(len(w), 4).masked_scatter(known[:, None], v))[known], v)
        omega = step.mu + turning_irregularity(step.mu, step.c, step.gap, field.lipschitz[known])
        assert bool((omega <= gamma[known]).all())


def test_lemma_11_holds_from_every_start_that_is_certified():
    field, w = near_fields()
    check = check_region(field, w, field.lipschitz)
    counts = check.lowest > 0
    assert counts.sum() > 30 and check.fall[counts].max() <= 1 + 1e-6 and check.reach[counts].max() <= 1
    assert check_region(field, w, field.lipschitz, power=2.0).fall[counts].max() > 1
    run = power_iteration(field, w, 20)
    distance = 1 - run.alignment
    promised = check.gamma[counts] * distance[0, counts]
    assert bool((distance[1, counts] <= promised + 1e-12).all())
    assert torch.equal(check.gamma.isnan(), check.fall.isnan())
    with pytest.raises(ValueError, match="steps must be ≥ 1, got 0"):
        check_region(field, w, field.lipschitz, steps=0)


def test_gradients_stay_finite_where_no_gamma_is_found():
    raw = randn(40, 12, 4).requires_grad_()
    field, w = AffineField.of(raw[:, :-1]), normalize(raw[:, -1], dim=-1)
    check = check_region(field, w, field.lipschitz, steps=1)
    assert bool(check.gamma.isnan().any())
    torch.where(check.gamma.isnan(), 0.0, check.fall).sum().backward()
    assert bool(raw.grad.isfinite().all())
