import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import gated_covariance
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import (
    distinct_points,
    power_iteration,
    sphere_flow,
    sphere_velocity,
    uniform_on_sphere,
)
from contrastive_dynamics.numerics.random_streams import stream

DIAGONAL = torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.5], dtype=torch.float64))


def starts(run, d=4, dtype=torch.float64):
    return uniform_on_sphere([stream(0, k, "start") for k in range(run)], d, dtype)


def constant(w):
    return DIAGONAL.to(w.dtype).expand(len(w), -1, -1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constant_field_ends_at_the_top_eigenvector(dtype):
    end = sphere_flow(constant, starts(16, dtype=dtype), tol=1e-6)
    assert end.w.dtype == dtype and bool(end.converged.all())
    # at rest the angle is at most speed · ‖A‖/gap
    assert (end.w[:, 1:].norm(dim=-1) <= 1.01 * 1e-6 * DIAGONAL.norm()).all()


def test_flow_follows_the_exact_solution_to_order_four():
    # For constant A: w(t) = e^{tA} w0 / ‖e^{tA} w0‖, and t = s/‖A‖ with s = step · number of steps.
    w0, total = starts(5), 2.0
    t = total / DIAGONAL.norm()
    exact = torch.linalg.matrix_exp(t * DIAGONAL) @ w0.mT
    exact = (exact / exact.norm(dim=0)).mT
    errors = []
    for n in (4, 8, 16):
        end = sphere_flow(constant, w0, step=total / n, max_steps=n, keep_every=1)
        assert end.path.shape[0] == n + 2 and not bool(end.converged.any())
        errors.append((end.w - exact).norm())
    assert errors[0] / errors[1] > 12 and errors[1] / errors[2] > 12


def test_velocity_is_the_gradient_on_the_sphere():
    # E = ¼ V[(wᵀx)²]·… for h = x²: F = A(w)w / 2 is the gradient of ½ V[h]; two paths, the second by autograd.
    x = torch.randn(30, 4, generator=stream(0, 0, "data"), dtype=torch.float64)
    for name in ("linear", "relu", "leaky_relu", "quadratic"):
        act = activation(name)
        w = starts(6).requires_grad_()
        energy = act.h(w @ x.mT).var(dim=-1, correction=0).sum() / 2
        (gradient,) = torch.autograd.grad(energy, w)
        tangential = gradient - w * (w * gradient).sum(-1, keepdim=True)
        velocity = sphere_velocity(lambda v, act=act: gated_covariance(x, v, act), w.detach())
        assert torch.allclose(velocity / act.degree, tangential, atol=1e-12)


def test_a_run_is_the_same_alone_and_reordered():
    x = torch.randn(40, 4, generator=stream(0, 1, "data"), dtype=torch.float64)

    def field(w):
        return gated_covariance(x, w, activation("quadratic"))

    w0 = starts(6)
    together = sphere_flow(field, w0)
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    assert torch.allclose(sphere_flow(field, w0[order]).w, together.w[order], atol=1e-12)
    alone = sphere_flow(field, w0[2:3])
    assert torch.allclose(alone.w, together.w[2:3], atol=1e-12) and alone.steps[0] == together.steps[2]
    assert torch.equal(starts(6)[:3], starts(3))


def test_flow_never_loses_energy():
    x = torch.randn(40, 4, generator=stream(0, 2, "data"), dtype=torch.float64)
    path = sphere_flow(lambda w: gated_covariance(x, w, activation("quadratic")), starts(8), keep_every=1).path
    energy = (path @ x.mT).square().var(dim=-1, correction=0)
    assert (energy.diff(dim=0) > -1e-13 * energy.max()).all()


def test_power_iteration_of_a_constant_matrix():
    run = power_iteration(constant, starts(7), 60)
    assert run.w.shape == (61, 7, 4) and run.discrepancy.shape == (60, 7) and run.alignment.shape == (61, 7)
    assert torch.allclose(run.lambda1, torch.full_like(run.lambda1, 3.0))
    assert torch.allclose(run.gap, torch.ones_like(run.gap))
    assert torch.allclose(run.alignment, run.w[..., 0].abs())
    # the discrepancy of a constant matrix falls by λ2/λ1 per step in the end
    assert (run.discrepancy[40] / run.discrepancy[39] - 2 / 3).abs().max() < 1e-3
    direct = torch.linalg.matrix_power(DIAGONAL, 60) @ starts(7).mT
    assert torch.allclose(run.w[-1], (direct / direct.norm(dim=0)).mT, atol=1e-12)


def test_distinct_points():
    w = torch.eye(3, dtype=torch.float64)[[0, 1, 0, 2, 1]]
    assert distinct_points(w).tolist() == [0, 1, 0, 2, 1]
    assert distinct_points(torch.cat((w, -w))).max() == 5
    assert distinct_points(torch.cat((w, -w)), signed=False).max() == 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sphere_flow(constant, starts(2), step=3.0), "step must be > 0 and ≤ 2, and tol > 0, got step=3.0"),
        (lambda: sphere_flow(constant, starts(2)[0]), r"shape \[run, d\]"),
        (lambda: sphere_flow(constant, torch.zeros(2, 4)), "vectors of length > 0, got a zero"),
        (lambda: power_iteration(constant, starts(2), 0), "steps must be ≥ 1, got 0"),
        (lambda: power_iteration(lambda w: 0 * constant(w), starts(2), 3), r"A\(w\)w = 0 at iteration 0"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()
