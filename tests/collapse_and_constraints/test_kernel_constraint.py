"""The constrained kernel machine against automatic differentiation of its weights, and against its own flow."""

import math

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.kernel_constraint import (
    constrained_gram,
    constrained_path,
    constrained_velocity,
)
from contrastive_dynamics.collapse_and_constraints.pair_losses import pair_loss, pairing
from contrastive_dynamics.numerics.stiefel import grassmann_gradient, qr


def problem(z, n=4, features=20):
    g = torch.Generator().manual_seed(5)
    psi = torch.randn(3 * n, features, generator=g, dtype=torch.float64) / features**0.5
    theta = qr(psi.mT @ torch.randn(3 * n, z, generator=g, dtype=torch.float64))  # Θᵀ
    return psi, theta, psi @ psi.mT, pairing(n, 1, 1)


def loss(u, n=4):
    a, b, c = u.split(n)
    return pair_loss(a, b.unsqueeze(-2), c.unsqueeze(-2))


@pytest.mark.parametrize("z", [1, 2, 4])
def test_velocity_by_autograd(z):
    psi, theta, k, s = problem(z)
    weights = theta.clone().requires_grad_()
    (g,) = torch.autograd.grad(loss(psi @ weights), weights)
    torch.testing.assert_close(constrained_velocity(psi @ theta, k, s), -psi @ grassmann_gradient(theta, g))


def test_weights_outside_the_span_obey_the_same_equation():
    psi, _, k, s = problem(2)
    theta = qr(torch.randn(20, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).requires_grad_()
    (g,) = torch.autograd.grad(loss(psi @ theta), theta)
    theta = theta.detach()
    torch.testing.assert_close(constrained_velocity(psi @ theta, k, s), -psi @ grassmann_gradient(theta, g))


@pytest.mark.parametrize("z", [1, 3])
def test_path_keeps_the_constraint_and_the_closed_form(z):
    psi, theta, k, s = problem(z)
    times = torch.tensor([0.0, 0.3, 2.0, 200.0], dtype=torch.float64)
    path = constrained_path(psi @ theta, k, s, times, rtol=1e-10)
    for u, t in zip(path, (0.0, 0.3, 2.0, math.inf), strict=True):
        torch.testing.assert_close(u.mT @ torch.linalg.solve(k, u), torch.eye(z, dtype=u.dtype), rtol=0, atol=1e-8)
        torch.testing.assert_close(u @ u.mT, constrained_gram(psi @ theta, k, s, t), rtol=0, atol=1e-7)


def test_limit_has_the_least_loss_under_the_constraint():
    psi, theta, k, s = problem(3)
    limit = constrained_gram(psi @ theta, k, s, math.inf)
    root = torch.linalg.cholesky(k)
    assert int((torch.linalg.eigvalsh(limit) > 1e-10).sum()) == 3
    assert float((limit * s).sum()) == pytest.approx(float(torch.linalg.eigvalsh(root.mT @ s @ root)[:3].sum()))


def test_a_mistaken_argument_is_refused():
    psi, theta, k, s = problem(2)
    for u, t in ((2 * psi @ theta, 1.0), (psi @ theta, -1.0)):
        with pytest.raises(ValueError, match="time must be ≥ 0 and UᵀK⁻¹U the identity"):
            constrained_gram(u, k, s, t)
    with pytest.raises(ValueError, match="times must be"):
        constrained_path(psi @ theta, k, s, torch.tensor([1.0, 0.0], dtype=torch.float64))
