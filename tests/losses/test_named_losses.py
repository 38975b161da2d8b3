"""Each loss against autograd of its printed form, and against the energy it ascends."""

import math

import pytest
import torch
from one_line_error import one_line_error
from plain_network import plain_loss

from contrastive_dynamics.losses.contrastive_covariance import contrastive_energy
from contrastive_dynamics.losses.named_losses import LOSSES, contrastive_loss, infonce, quadratic, triplet, unit_outputs
from contrastive_dynamics.losses.pairwise_importance import infonce_loss
from contrastive_dynamics.numerics.random_streams import stream


def outputs(n=9, runs=()):
    f = torch.randn(2, *runs, n, 5, generator=stream(0, 0, "outputs"), dtype=torch.float64)
    return f[0], f[0] + 0.4 * f[1]


@pytest.mark.parametrize("name", LOSSES)
def test_on_the_sphere_the_gradient_is_that_of_the_printed_loss(name):
    leaves = [v.requires_grad_() for v in outputs()]
    unit = [unit_outputs(v)[0] for v in leaves]
    expected = torch.autograd.grad(plain_loss(name, *unit), leaves, retain_graph=True)
    ours = contrastive_loss(name).gradient(*(u.detach() for u in unit))
    through = torch.autograd.grad(unit, leaves, ours)
    for a, b in zip(through, expected, strict=True):
        assert (a - b).norm() < 1e-12 * b.norm()


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_that_of_the_energy_with_alpha_held_constant(name):
    loss, n = contrastive_loss(name), 7
    f, f_view = (v.requires_grad_() for v in outputs(n, (3,)))
    alpha = loss.importance(f, f_view).detach() if loss.importance else f.new_ones(3, n, n)
    energy = contrastive_energy(f, f_view, alpha).sum()
    expected = [-loss.weight(n) * g for g in torch.autograd.grad(energy, (f, f_view))]
    for a, b in zip(loss.gradient(f.detach(), f_view.detach()), expected, strict=True):
        assert (a - b).norm() < 1e-12 * b.norm()


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_for_unit_outputs_differs_by_multiples_of_the_outputs(name):
    loss, unit = contrastive_loss(name), [unit_outputs(v)[0] for v in outputs(7, (3,))]
    for z, ours, full in zip(unit, loss.unit_gradient(*unit), loss.gradient(*unit), strict=True):
        off = ours - full
        assert (off - z * (z * off).sum(-1, keepdim=True)).norm() < 1e-12 * full.norm()
        assert (full - z * (z * full).sum(-1, keepdim=True)).norm() > 1e-3 * full.norm()  # it tests something


def test_infonce_is_the_papers_loss_over_tau_n():
    f, f_view = (v.requires_grad_() for v in outputs())
    expected = torch.autograd.grad(infonce_loss(f, f_view, 0.3, 0.5).sum() / (0.3 * 9), (f, f_view))
    ours = infonce(0.3, 0.5).gradient(f.detach(), f_view.detach())
    for a, b in zip(ours, expected, strict=True):
        assert (a - b).norm() < 1e-12 * b.norm()


def test_a_zero_output_stays_finite():
    z, length = unit_outputs(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    assert torch.equal(z, torch.tensor([[0.0, 0.0], [0.6, 0.8]])) and (1 / length).tolist() == [
        [0.0],
        [pytest.approx(0.2)],
    ]


def test_an_unknown_loss():
    with pytest.raises(ValueError, match=f"must be one of {', '.join(LOSSES)}, got 'hinge'"):
        contrastive_loss("hinge")
    with pytest.raises(ValueError, match="no printed form of the loss 'hinge'"):
        plain_loss("hinge", *outputs())


def test_a_batch_of_one():
    with pytest.raises(ValueError, match="N ≥ 2"):
        infonce().gradient(*outputs(1))


@pytest.mark.parametrize("name", ["infonce", "quadratic", "gaussian"])
@pytest.mark.parametrize("tau", [0.0, -0.1, 1e-39, math.inf, -math.inf, math.nan])
def test_a_loss_refuses_what_is_no_temperature_before_it_is_used(name, tau):
    with one_line_error(ValueError, rf"^{name}: tau must be > 0 \(at least 1e-30\) and finite, got {tau}$"):
        LOSSES[name](tau)


def test_a_loss_refuses_weights_and_margins_that_are_none():
    for eps in (-1.0, math.nan, math.inf):
        with one_line_error(ValueError, f"^infonce: eps must be ≥ 0 and finite, got {eps}$"):
            infonce(0.1, eps)
        with one_line_error(ValueError, f"^infonce: eps must be ≥ 0 and finite, got {eps}$"):
            infonce_loss(*outputs(), 0.1, eps)
    for margin in (-1.0, math.nan, math.inf):
        with one_line_error(ValueError, f"^triplet: margin must be ≥ 0 and finite, got {margin}$"):
            triplet(margin)
    for allowed in (infonce(0.1, 0.0), triplet(0.0), infonce(1e-30), quadratic(1e-3)):
        assert all(part.isfinite().all() for part in allowed.gradient(*outputs()))
