"""Depths of optima on the circle: the objective's gradient is the flow, depths of known functions, the same counts."""

import math

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.contrastive_covariance import gated_contrastive_covariance
from contrastive_dynamics.losses.pairwise_importance import gaussian_importance, infonce_importance
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import FIGURE_8_POINTS, circle_grid, on_circle
from contrastive_dynamics.nonlinearity.one_filter.optimum_depths import (
    IMPORTANCES,
    circle_objective,
    climbed_objective,
    optimum_depths,
)
from contrastive_dynamics.numerics.random_streams import stream

F64, TAU = torch.float64, 0.3
LIKE = torch.zeros(1, dtype=F64)


def importance(name, h):
    if name == "InfoNCE":
        return infonce_importance(h, h, TAU)
    return gaussian_importance(h, TAU if name == "Gaussian" else 1e300)


@pytest.mark.parametrize("name", IMPORTANCES)
@pytest.mark.parametrize("kind", ["relu", "leaky_relu", "quadratic"])
def test_gradient_of_the_objective_is_the_flow_with_the_importance_held_constant(name, kind):
    act, draw = activation(kind), stream(0, 0, "objective")
    x = torch.randn(9, 3, generator=draw, dtype=F64)
    w = torch.randn(3, generator=draw, dtype=F64).requires_grad_()
    (gradient,) = torch.autograd.grad(climbed_objective(act.h(x @ w), name, TAU), w)
    w = w.detach()
    a = gated_contrastive_covariance(x, x, w, act, importance(name, act.h(x @ w).unsqueeze(-1)))
    torch.testing.assert_close(gradient, a @ w / act.degree, rtol=1e-12, atol=1e-14)


def test_figure_8_has_nine_maxima_and_the_linear_circle_two():
    x = on_circle(math.pi * torch.tensor(FIGURE_8_POINTS, dtype=F64)).unsqueeze(0)
    for kind, count in (("relu", 9), ("linear", 2)):
        (values,) = circle_objective(x, activation(kind), "uniform", 1.0, 3000)
        assert len(optimum_depths(values)) == count


def test_depths_of_a_known_function():
    theta = circle_grid(4096, LIKE)
    # valleys at 1 − 2·c and 1 + 2·c of two unequal hills: cos 2θ + ½ cos θ
    values = torch.cos(2 * theta) + 0.5 * torch.cos(theta)
    valley = float(values.min())
    expected = torch.tensor([0.5, 1.5], dtype=F64) - valley
    got = optimum_depths(values).sort().values
    torch.testing.assert_close(got, expected / (1.5 - valley), rtol=1e-5, atol=0)
    torch.testing.assert_close(optimum_depths(3 * values.roll(777) - 5).sort().values, got, rtol=1e-10, atol=0)


def test_depth_is_the_climb_over_the_higher_valley():
    values = torch.tensor([0, 3, 2, 5, 1, 2, 1, 4], dtype=F64)  # tops 3, 5, 2, 4 with valleys 0, 2, 1, 1 before them
    torch.testing.assert_close(optimum_depths(values), torch.tensor([1, 3, 1, 3], dtype=F64) / 5)
    assert optimum_depths(torch.ones(16, dtype=F64)).numel() == 0


def test_a_high_temperature_makes_importance_uniform():
    x = on_circle(2 * math.pi * torch.rand(2, 7, generator=stream(0, 0, "turns"), dtype=F64))
    uniform, gaussian, infonce = (circle_objective(x, activation("relu"), n, 1e5, 400) for n in IMPORTANCES)
    torch.testing.assert_close(gaussian, uniform, rtol=1e-5, atol=1e-9)
    shift = infonce - infonce.mean(-1, keepdim=True)  # rows sum to 1 in place of n − 1
    torch.testing.assert_close(6 * shift, uniform - uniform.mean(-1, keepdim=True), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("name", "tau"), [("triplet", 1.0), ("uniform", 0.0)])
def test_other_importances_and_temperatures_are_refused(name, tau):
    with pytest.raises(ValueError, match="importance must be one of"):
        climbed_objective(torch.ones(3, dtype=F64), name, tau)
