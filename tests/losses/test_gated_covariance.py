import math

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import (
    gate,
    gated_covariance,
    gated_field,
    gaussian_gated_covariance,
    project_out,
)

NAMES = ("linear", "relu", "leaky_relu", "quadratic")


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def probabilities(*shape):
    return torch.softmax(draw(*shape, seed=7), dim=-1)


@pytest.mark.parametrize("name", NAMES)
def test_gated_inputs_return_the_activation(name):
    act, x, w = activation(name), draw(20, 4), draw(5, 4, seed=1)
    assert torch.allclose((gate(x, w, act) * w[:, None]).sum(-1) / act.degree, act.h(w @ x.mT), atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_covariance_is_half_the_mean_squared_difference_of_pairs(name):
    act, x, w, p = activation(name), draw(3, 12, 4), draw(3, 4, seed=1), probabilities(3, 12)
    g = gate(x, w, act)
    difference = g.unsqueeze(-2) - g.unsqueeze(-3)
    enumerated = torch.einsum("rn,rm,rnmi,rnmj->rij", p, p, difference, difference) / 2
    assert torch.allclose(gated_covariance(x, w, act, p), enumerated, atol=1e-13)
    uniform = torch.full_like(p, 1 / 12)
    assert torch.allclose(gated_covariance(x, w, act), gated_covariance(x, w, act, uniform), atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_gaussian_covariance_against_enumeration(name):
    act, x, w, p, tau = activation(name), draw(3, 12, 4), draw(3, 4, seed=1), probabilities(3, 12), 0.7
    g, h = gate(x, w, act), act.h(torch.einsum("rnd,rd->rn", x, w))
    a = torch.zeros(3, 4, 4, dtype=x.dtype)
    for i in range(12):
        for j in range(12):
            alpha = torch.exp(-((h[:, i] - h[:, j]) ** 2) / (2 * tau)) * p[:, i] * p[:, j] / 2
            d = g[:, i] - g[:, j]
            a += alpha[:, None, None] * d.unsqueeze(-1) * d.unsqueeze(-2)
    assert torch.allclose(gaussian_gated_covariance(x, w, act, p, h, tau), a, atol=1e-13)
    assert torch.allclose(gated_field(x, act, tau, p)(w), a, atol=1e-13)
    # the limit of a wide kernel is uniform importance
    assert torch.allclose(gated_field(x, act, 1e12, p)(w), gated_field(x, act, math.inf, p)(w), atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_positive_semidefinite_symmetric_and_of_the_dtype(dtype):
    x, w = draw(3, 30, 4).to(dtype), draw(3, 4, seed=1).to(dtype)
    for tau in (math.inf, 0.5):
        a = gated_field(x, activation("relu"), tau)(w)
        assert a.dtype == dtype and torch.allclose(a, a.mT, atol=1e-6)
        assert torch.linalg.eigvalsh(a).min() > -1e-5


def test_a_run_is_the_same_alone():
    x, w = draw(6, 10, 3), draw(6, 3, seed=1)
    for tau in (math.inf, 0.5):
        together = gated_field(x, activation("relu"), tau)(w)
        assert torch.allclose(gated_field(x[4:5], activation("relu"), tau)(w[4:5])[0], together[4], atol=1e-15)


def test_degree_one_fields_do_not_see_the_length_of_w():
    x, w = draw(10, 3), draw(6, 3, seed=1)
    field = gated_field(x, activation("leaky_relu"))
    assert torch.allclose(field(w), field(5 * w), atol=1e-14)


def test_project_out():
    w = draw(5, 4) / draw(5, 4).norm(dim=-1, keepdim=True)
    v = draw(5, 4, seed=1)
    assert (project_out(w, v) * w).sum(-1).abs().max() < 1e-14
    assert torch.allclose(project_out(w, project_out(w, v)), project_out(w, v), atol=1e-14)


def test_bad_temperature_is_named():
    with pytest.raises(ValueError, match="tau must be > 0, got 0"):
        gated_field(draw(5, 2), activation("relu"), tau=0.0)(draw(1, 2))
