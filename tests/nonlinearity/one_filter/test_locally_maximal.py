import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import gated_covariance, gated_field, project_out
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import circle_fixed_points
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import (
    eigen_check,
    flow_jacobian,
    growth_rate,
    newton_fixed_points,
    roughness,
    tangent_basis,
)
from contrastive_dynamics.nonlinearity.one_filter.planar_density import random_disc_population
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import sphere_flow, uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

X = torch.randn(30, 4, generator=stream(0, 0, "data"), dtype=torch.float64)
QUADRATIC = gated_field(X, activation("quadratic"))
W = uniform_on_sphere([stream(0, k, "start") for k in range(5)], 4)


def density_jacobian(a, w, mean_h, boundary, jump):
    """Tᵀ(A − wᵀAw·I − jump·E[h]·B)T, the Jacobian of the flow at a fixed point if the inputs have a density."""
    lam = torch.einsum("ri,rij,rj->r", w, a, w)[:, None, None]
    t = tangent_basis(w)
    return t.mT @ (a - lam * torch.eye(w.shape[-1], dtype=w.dtype) - jump * mean_h[:, None, None] * boundary) @ t


def test_tangent_basis_is_orthonormal_and_tangent():
    t = tangent_basis(W)
    assert torch.allclose(t.mT @ t, torch.eye(3, dtype=W.dtype).expand(5, -1, -1), atol=1e-14)
    assert torch.einsum("rij,ri->rj", t, W).abs().max() < 1e-14


def test_roughness_of_a_smooth_field_against_autograd():
    def image(v, w):
        return gated_covariance(X, v, activation("quadratic")) @ w

    exact = []
    for w, t in zip(W, tangent_basis(W), strict=True):
        exact.append(torch.linalg.matrix_norm(torch.autograd.functional.jacobian(lambda v, w=w: image(v, w), w) @ t, 2))
    assert torch.allclose(roughness(QUADRATIC, W, 1e-4), torch.stack(exact), rtol=1e-6)
    coarse, fine = (roughness(QUADRATIC, W, s) - torch.stack(exact) for s in (0.02, 0.01))
    assert ((coarse / fine).abs() > 3.5).all()  # second order


def test_flow_jacobian_against_autograd_at_a_fixed_point():
    rest = sphere_flow(QUADRATIC, W, tol=1e-12).w

    def velocity(w):
        return project_out(w, gated_covariance(X, w, activation("quadratic")) @ w)

    t = tangent_basis(rest)
    exact = torch.stack([torch.autograd.functional.jacobian(velocity, w) for w in rest])
    measured = flow_jacobian(QUADRATIC, rest, 1e-4)
    assert torch.allclose(measured, t.mT @ exact @ t, atol=1e-6 * float(exact.abs().max()))
    assert (growth_rate(measured) < 0).all()  # where a flow came to rest is stable


def test_theorem_1_inequality_in_four_dimensions():
    rest = sphere_flow(QUADRATIC, W, tol=1e-12).w
    check = eigen_check(QUADRATIC, rest)
    slack = growth_rate(flow_jacobian(QUADRATIC, rest)) + check.gap - roughness(QUADRATIC, rest)
    assert bool(check.is_lme.any()) and (slack[check.is_lme] <= 1e-5 * check.lambda1[check.is_lme]).all()


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_jacobian_on_a_density_has_the_closed_form(name):
    act = activation(name)
    pop = random_disc_population([stream(0, k, "density") for k in range(4)], radial=12, angular=32)
    rest = circle_fixed_points(lambda i: pop.at(i).matrix_field(act), 4, pop.coefficients, angles=90)
    here = pop.at(rest.run)
    field, w = here.matrix_field(act), rest.w
    jump = 1 - float(act.slope(torch.tensor(-1.0)))
    closed = density_jacobian(field(w), w, here.mean_activation(w, act), here.boundary(w)[0], jump)
    scale = field(w).norm(dim=(-2, -1))[:, None, None]
    assert ((flow_jacobian(field, w, 1e-4) - closed) / scale).abs().max() < 1e-6
    assert torch.equal(growth_rate(closed) < 0, rest.stable)


def test_eigen_check_tells_the_three_conditions_apart():
    a = torch.diag(torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64))
    tied = torch.diag(torch.tensor([3.0, 3.0, 1.0], dtype=torch.float64))
    axes = torch.eye(3, dtype=torch.float64)
    mixed = (axes[0] + axes[1]) / 2**0.5
    w = torch.stack((axes[0], axes[1], mixed, axes[0]))
    check = eigen_check(lambda v: torch.stack((a, a, a, tied)), w)
    assert check.is_lme.tolist() == [True, False, False, False]
    assert check.gap.tolist() == [1, 1, 1, 0] and check.residual[2] > 0.1


def test_a_run_is_the_same_alone():
    assert torch.allclose(roughness(QUADRATIC, W)[2:3], roughness(QUADRATIC, W[2:3]), rtol=1e-10)
    alone = growth_rate(flow_jacobian(QUADRATIC, W[2:3]))
    assert torch.allclose(growth_rate(flow_jacobian(QUADRATIC, W))[2:3], alone, rtol=1e-10)


def test_bad_step_is_named():
    with pytest.raises(ValueError, match="step must be > 0 and < 0.5 radians, got 1.0"):
        roughness(QUADRATIC, W, 1.0)


def test_newton_finds_saddles_that_the_flow_leaves():
    a = torch.diag(torch.tensor([3.0, 2.0, 1.0], dtype=W.dtype))

    def field(w):
        return a.expand(len(w), 3, 3)

    starts = uniform_on_sphere([stream(0, k, "newton") for k in range(60)], 3)
    w, settled = newton_fixed_points(field, starts)
    assert settled.all()
    found = w.abs().argmax(-1)
    assert set(found.tolist()) == {0, 1, 2}  # every eigenvector, the two unstable ones among them
    assert torch.allclose(w.abs(), torch.eye(3, dtype=W.dtype)[found], atol=1e-9)


def test_newton_on_a_field_that_depends_on_w():
    w, settled = newton_fixed_points(QUADRATIC, W)
    check = eigen_check(QUADRATIC, w)
    assert settled.any() and (check.residual[settled] < 1e-9).all()


@pytest.mark.parametrize("bad", [{"steps": 0}, {"tol": 0.0}, {"reach": 2.0}])
def test_newton_refuses_bad_numbers(bad):
    with pytest.raises(ValueError, match="steps must be ≥ 1, tol > 0, and reach > 0 and < π/2, got"):
        newton_fixed_points(QUADRATIC, W, **bad)
