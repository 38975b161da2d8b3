import math

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import gated_covariance
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import (
    FIGURE_8_POINTS,
    blurred_landscape,
    circle_fixed_points,
    circle_grid,
    count_energy_maxima,
    count_maxima,
    energy,
    energy_maxima,
    falls,
    on_circle,
)

POINTS = on_circle(math.pi * torch.tensor(FIGURE_8_POINTS, dtype=torch.float64))


def random_points(seed, n=9):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([0, 1, 0, 1, 0, 1.0, 0, 0], 3),
        ([0, 1, 1, 1, 0, 0, 0, 0.0], 1),  # a plateau on top counts once
        ([0, 1, 1, 2, 0, 0, 0, 0.0], 1),  # a step on the way up does not
        ([1, 0, 0, 0, 0, 0, 0, 1.0], 1),  # a plateau across the seam
        ([3, 3, 3, 3, 3, 3, 3, 3.0], 0),  # everywhere flat
    ],
)
def test_count_maxima_of_small_sequences(values, count):
    assert count_maxima(torch.tensor(values, dtype=torch.float64)) == count
    for shift in range(8):
        assert count_maxima(torch.tensor(values, dtype=torch.float64).roll(shift)) == count


@pytest.mark.parametrize("waves", [1, 2, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_count_maxima_of_waves(waves, dtype):
    theta = circle_grid(1000, torch.zeros(1, dtype=dtype))
    assert count_maxima(torch.cos(waves * theta)) == waves


def test_falls_of_a_batch_are_those_of_each_row():
    slope = torch.randn(5, 50, generator=torch.Generator().manual_seed(0))
    assert torch.equal(falls(slope), torch.stack([falls(row) for row in slope]))
    # between two falls there is a rise, so falls of s and of −s are equally many
    assert torch.equal(falls(slope).sum(-1), falls(-slope).sum(-1))


@pytest.mark.parametrize("name", ["linear", "relu", "leaky_relu"])
def test_grid_and_exact_arcs_find_the_same_maxima(name):
    x = torch.stack([random_points(s) for s in range(8)])
    exact = [energy_maxima(points, activation(name)) for points in x]
    assert count_energy_maxima(x, activation(name), 50_000).tolist() == [len(e) for e in exact]
    w = on_circle(circle_grid(50_000, x)).expand(len(x), -1, -1)
    top = energy(w, x, activation(name)).amax(-1)
    assert torch.allclose(top, torch.tensor([max(m.energy for m in e) for e in exact], dtype=x.dtype), rtol=1e-3)


def test_figure_8():
    assert count_energy_maxima(POINTS[None], activation("relu")) == 9
    assert count_energy_maxima(POINTS[None], activation("linear")) == 2
    relu = energy_maxima(POINTS, activation("relu"))
    assert len(relu) == 9 and all(m.at_kink and not m.is_lme for m in relu)
    linear = energy_maxima(POINTS, activation("linear"))
    assert len(linear) == 2 and all(m.is_lme and not m.at_kink for m in linear)
    assert linear[1].theta - linear[0].theta == pytest.approx(math.pi, abs=1e-12)


def test_energy_is_half_the_gated_quadratic_form():
    w = on_circle(circle_grid(17, POINTS))
    for name in ("linear", "relu", "leaky_relu"):
        a = gated_covariance(POINTS.expand(17, -1, -1), w, activation(name))
        form = torch.einsum("mi,mij,mj->m", w, a, w) / 2
        assert torch.allclose(form, energy(w[None], POINTS[None], activation(name))[0], atol=1e-15)


def test_count_does_not_turn_with_the_axes():
    for angle in (0.3, 1.1):
        c, s = math.cos(angle), math.sin(angle)
        turned = POINTS @ torch.tensor([[c, s], [-s, c]], dtype=torch.float64)
        assert count_energy_maxima(turned[None], activation("relu"), 20_000) == 9


def test_fixed_points_of_linear_filters_are_the_eigenvectors():
    x = torch.stack([random_points(s) for s in range(4)])
    points = circle_fixed_points(
        lambda i: lambda w: gated_covariance(x[i], w, activation("linear")), 4, x, angles=64, bisections=50
    )
    assert points.run.bincount().tolist() == [4] * 4 and int(points.stable.sum()) == 8
    vectors = torch.linalg.eigh(gated_covariance(x, x[:, 0], activation("linear"))).eigenvectors[points.run]
    along = torch.einsum("pij,pi->pj", vectors, points.w).abs()
    assert torch.allclose(along.amax(-1), torch.ones_like(points.theta), atol=1e-13)
    assert torch.equal(along.argmax(-1) == 1, points.stable)
    assert points.speed.max() < 1e-13


def test_blurred_landscape_has_the_stated_curvature():
    width = torch.tensor([0.5, 0.2, 0.1], dtype=torch.float64)
    for angles, tol in ((2048, 1e-5), (8192, 1e-6)):
        e, rho, gap = blurred_landscape(math.pi * torch.tensor(FIGURE_8_POINTS, dtype=torch.float64), width, angles)
        curvature = (e.roll(-1, -1) - 2 * e + e.roll(1, -1)) / (2 * math.pi / angles) ** 2
        assert (curvature + gap + rho).abs().max() < tol


def test_sharp_blur_meets_the_points_and_a_wide_one_is_flat():
    angle = math.pi * torch.tensor(FIGURE_8_POINTS, dtype=torch.float64)
    width = torch.tensor([0.004, 30.0], dtype=torch.float64)
    e = blurred_landscape(angle, width, 8192)[0]
    sharp = energy(on_circle(circle_grid(8192, POINTS))[None], POINTS[None], activation("relu"))[0]
    assert (e[0] - sharp).abs().max() < 1e-3
    assert (e[1].max() - e[1].min()) / e[1].mean() < 1e-2
    assert torch.allclose(blurred_landscape(angle, width[:1], 8192)[0][0], e[0], atol=1e-15)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"x must have shape \[run, n, 2\], got \[9, 3\]"):
        count_energy_maxima(torch.zeros(9, 3), activation("relu"))
    with pytest.raises(ValueError, match="degree 1, got 'quadratic' of degree 2"):
        energy_maxima(POINTS, activation("quadratic"))
    with pytest.raises(ValueError, match="angles must be ≥ 8, got 3"):
        circle_grid(3, POINTS)
    with pytest.raises(ValueError, match="angles must be a multiple of 4 and width ≥ 8π/angles, got 4096, 0.001"):
        blurred_landscape(torch.zeros(3), torch.tensor([0.001]))
