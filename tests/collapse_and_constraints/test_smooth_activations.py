"""Activations of wide networks: values and slopes at 0, slopes against autograd, the largest curvature."""

import math

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.smooth_activations import CURVATURE, HALF, SOFT, TANH, WIDE


def grid(reach=12.0, points=48_001):
    return torch.linspace(-reach, reach, points, dtype=torch.float64)


@pytest.mark.parametrize(("name", "at_0"), [("tanh", (0, 1, 0)), ("soft", (0, 1, 0.5)), ("half", (0, 0.5, 0))])
def test_value_slope_and_curvature_at_0(name, at_0):
    act, x = WIDE[name], torch.zeros((), dtype=torch.float64, requires_grad=True)
    value = act.h(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x) if slope.requires_grad else (torch.zeros(()),)
    assert (value.item(), slope.item(), curvature.item()) == pytest.approx(at_0, abs=1e-15)
    assert act.slope(x).item() == at_0[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", WIDE)
def test_slope_is_the_derivative(name, dtype):
    act = WIDE[name]
    x = torch.cat([grid(), torch.tensor([-800.0, -35.0, 25.0, 35.0, 800.0], dtype=torch.float64)]).to(dtype)
    x = x[x != 0].requires_grad_()
    value = act.h(x)
    (derivative,) = torch.autograd.grad(value.sum(), x)
    assert value.dtype == dtype and bool(value.isfinite().all())
    torch.testing.assert_close(act.slope(x), derivative)


@pytest.mark.parametrize("name", [name for name in WIDE if name in CURVATURE])
def test_curvature_is_the_largest_second_derivative(name):
    x = grid().requires_grad_()
    (slope,) = torch.autograd.grad(WIDE[name].h(x).sum(), x, create_graph=True)
    second = torch.autograd.grad(slope.sum(), x)[0] if slope.requires_grad else torch.zeros(1)
    largest = second.abs().max().item()
    assert largest <= CURVATURE[name] + 1e-12
    assert largest == pytest.approx(CURVATURE[name], abs=1e-6)


def test_no_curvature_bounds_relu():
    assert set(WIDE) - set(CURVATURE) == {"relu"}
    assert set(CURVATURE) < set(WIDE)


def test_soft_is_the_centred_softplus_at_any_size():
    # by the standard library, at both ends and where the default threshold of softplus would cut
    for x in (-50.0, -20.5, -1e-3, 0.3, 19.0, 20.5, 30.0, 39.9, 41.0, 700.0):
        expected = 2 * (max(x, 0) + math.log1p(math.exp(-abs(x))) - math.log(2))
        assert SOFT.h(torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_the_next_order_of_tanh_is_the_third():
    x = torch.tensor([1e-2, 2e-2], dtype=torch.float64)
    rest = TANH.h(x) - x
    assert (rest[1] / rest[0]).item() == pytest.approx(8, rel=1e-3)
    rest = SOFT.h(x) - x
    assert (rest[1] / rest[0]).item() == pytest.approx(4, rel=1e-3)


def test_degrees():
    x = grid(points=101)
    assert {name: act.degree for name, act in WIDE.items() if act.degree is not None} == dict(linear=1, relu=1, half=1)
    torch.testing.assert_close(HALF.slope(x) * x / HALF.degree, HALF.h(x))
    assert all(act.name == name for name, act in WIDE.items())
