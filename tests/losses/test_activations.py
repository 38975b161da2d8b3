"""Activations: homogeneity, slopes against autograd, and the convention at zero."""

import pytest
import torch

from contrastive_dynamics.losses.activations import ACTIVATIONS, LEAK, activation


def grid(dtype):
    x = torch.linspace(-3, 3, 121, dtype=dtype)
    return x[x.abs() > 1e-3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_homogeneous_with_its_degree(name, dtype):
    act, x = activation(name), grid(dtype)
    assert act.h(x).dtype == act.slope(x).dtype == dtype
    torch.testing.assert_close(act.slope(x) * x / act.degree, act.h(x))
    torch.testing.assert_close(act.h(2 * x), 2**act.degree * act.h(x))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slope_is_the_derivative(name):
    act, x = activation(name), grid(torch.float64).requires_grad_()
    (derivative,) = torch.autograd.grad(act.h(x).sum(), x)
    torch.testing.assert_close(act.slope(x), derivative)


def test_gated_slopes_are_zero_at_zero():
    zero = torch.zeros(1)
    assert activation("relu").slope(zero) == 0
    assert activation("leaky_relu").slope(zero) == 0
    assert activation("linear").slope(zero) == 1


def test_leak_of_the_experiments():
    assert LEAK == 0.05
    assert activation("leaky_relu").h(torch.tensor(-2.0)) == pytest.approx(-0.1)


@pytest.mark.parametrize("name", ["Relu", "", "tanh"])
def test_unknown_name_says_what_is_allowed(name):
    with pytest.raises(ValueError, match=f"must be one of linear, relu, leaky_relu, quadratic.*, got {name!r}"):
        activation(name)
