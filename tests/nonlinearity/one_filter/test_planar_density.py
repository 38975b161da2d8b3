import math

import pytest
import torch
from scipy.integrate import dblquad

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import on_circle
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import roughness
from contrastive_dynamics.nonlinearity.one_filter.planar_density import (
    DiscPopulation,
    ascend_bound_ratio,
    random_disc_population,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

RELU = activation("relu")
STREAMS = [stream(0, k, "density") for k in range(6)]
POP = random_disc_population(STREAMS, radius=0.5)
W = uniform_on_sphere(STREAMS, 2)


def uniform_disc(radius):
    return DiscPopulation(torch.zeros(1, 1, dtype=torch.float64), radius)


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.0])
def test_uniform_disc_in_closed_form(radius):
    pop, w = uniform_disc(radius), on_circle(torch.tensor([0.7], dtype=torch.float64))
    mean = 2 * radius / (3 * math.pi)
    assert pop.mean_activation(w, RELU).item() == pytest.approx(mean, rel=1e-12)
    a = pop.matrix_field(RELU)(w)[0]
    second = radius**2 / 8  # half the disc: E[(wᵀx)²] = E[(tᵀx)²] = R²/8 each
    assert (w[0] @ a @ w[0]).item() == pytest.approx(second - mean**2, rel=1e-12)
    assert torch.trace(a).item() == pytest.approx(2 * second - mean**2, rel=1e-12)
    b, top = pop.boundary(w)
    assert top.item() == pytest.approx(1 / (math.pi * radius**2), rel=1e-12)
    assert torch.trace(b[0]).item() == pytest.approx(2 * radius / (3 * math.pi), rel=1e-12)
    rho = pop.boundary_roughness(w, RELU)
    assert rho.item() == pytest.approx(4 * radius**2 / (9 * math.pi**2), rel=1e-12)
    assert (rho / pop.roughness_bound(w, 3)).item() == pytest.approx(4 / (9 * math.pi * radius), rel=1e-12)
    assert (rho / pop.roughness_bound(w, 2)).item() == pytest.approx(4 / (9 * math.pi), rel=1e-12)


def test_field_against_scipy():
    pop, w = POP.at(torch.tensor([1])), W[1:2]
    theta = math.atan2(w[0, 1], w[0, 0])

    def density(r, phi):
        point = torch.tensor([[[r * math.cos(phi), r * math.sin(phi)]]], dtype=torch.float64)
        return math.exp(pop.log_density(point).item()) * r

    def integral(f, low, high):
        return dblquad(lambda r, phi: f(r, phi) * density(r, phi), low, high, 0, 0.5, epsabs=1e-9, epsrel=1e-9)[0]

    ahead = (theta - math.pi / 2, theta + math.pi / 2)
    total = integral(lambda r, phi: 1.0, 0, 2 * math.pi)
    e = [integral(lambda r, phi, k=k: r * (math.cos, math.sin)[k](phi), *ahead) / total for k in (0, 1)]
    cross = integral(lambda r, phi: r * r * math.cos(phi) * math.sin(phi), *ahead) / total
    assert pop.matrix_field(RELU)(w)[0, 0, 1].item() == pytest.approx(cross - e[0] * e[1], abs=1e-8)
    assert pop.mean_activation(w, RELU).item() == pytest.approx((e[0] * w[0, 0] + e[1] * w[0, 1]).item(), abs=1e-8)


def test_roughness_from_its_definition_meets_the_closed_form():
    for act in (RELU, activation("leaky_relu")):
        errors = [(roughness(POP.matrix_field(act), W, s) / POP.boundary_roughness(W, act) - 1) for s in (0.02, 0.01)]
        assert ((errors[0] / errors[1]).abs() > 3).all()  # second order in the step
        fine = roughness(POP.matrix_field(act), W, 1e-4) / POP.boundary_roughness(W, act)
        assert (fine - 1).abs().max() < 1e-5


def test_gaussian_roughness_meets_the_closed_form():
    pop, w, tau = random_disc_population(STREAMS[:2], scale=0.7, radial=10, angular=20), W[:2], 0.1
    closed = pop.boundary_roughness(w, RELU, tau)
    coarse, fine = (roughness(pop.matrix_field(RELU, tau, frozen=w), w, s) / closed - 1 for s in (2e-4, 1e-5))
    assert fine.abs().max() < 1e-4 and coarse.abs().max() < 1e-2
    assert (closed / pop.boundary_roughness(w, RELU) <= pop.z0(w, RELU, tau)).all()


def test_quadrature_has_converged():
    finer = DiscPopulation(POP.coefficients, POP.radius, 24, 60)
    assert torch.allclose(POP.matrix_field(RELU)(W), finer.matrix_field(RELU)(W), rtol=0, atol=1e-8)
    assert torch.allclose(POP.boundary(W)[0], finer.boundary(W)[0], rtol=0, atol=1e-8)
    x, p = POP.nodes(W, on_circle(torch.zeros(6, dtype=torch.float64)))
    assert torch.allclose(p.sum(-1), torch.ones(6, dtype=torch.float64))
    assert torch.allclose(torch.einsum("rq,rqd->rd", p, x), torch.einsum("rq,rqd->rd", *POP.nodes(W)[::-1]), atol=1e-9)


def test_lower_importance_on_the_plane_by_z0():
    for tau in (0.3, 0.03):
        ratio = POP.plane_importance(W, RELU, tau) / POP.plane_importance(W, RELU)
        assert torch.allclose(ratio, POP.z0(W, RELU, tau), rtol=1e-12)


def test_mended_bound_holds_and_ascent_stays_below_two_thirds():
    ascended = ascend_bound_ratio(POP, W, RELU, steps=30)
    ratios = [p.boundary_roughness(W, RELU) / p.roughness_bound(W, 2) for p in (POP, ascended)]
    assert (ratios[1] > ratios[0]).all() and ratios[1].max() < 2 / 3
    tilt = DiscPopulation(torch.tensor([[0.0, 80.0, 0.0]], dtype=torch.float64), 1.0, 40, 60)
    front = on_circle(torch.zeros(1, dtype=torch.float64))
    assert 0.65 < (tilt.boundary_roughness(front, RELU) / tilt.roughness_bound(front, 2)).item() < 2 / 3


def test_bound_in_three_dimensions_by_sampling():
    # Uniform ball: ρ = E[h]·λmax(B) = (3C0/16)·(3C0/16), measured from the definition on common random points.
    n, c0, s = 400_000, 2.0, 0.05
    g = torch.Generator().manual_seed(3)
    x = torch.randn(n, 3, generator=g, dtype=torch.float64)
    x = c0 * x / x.norm(dim=-1, keepdim=True) * torch.rand(n, 1, generator=g, dtype=torch.float64) ** (1 / 3)
    w = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)

    def image(v):
        gated = x * (x @ v > 0).unsqueeze(-1)
        return (gated * (gated @ w)[:, None]).mean(0) - gated.mean(0) * (gated.mean(0) @ w)

    u = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    measured = (image(math.cos(s) * w + math.sin(s) * u) - image(math.cos(s) * w - math.sin(s) * u)).norm() / (2 * s)
    assert measured.item() == pytest.approx(9 * c0**2 / 256, rel=0.03)
    assert 9 * c0**2 / 256 < c0**2 / math.pi


def test_a_run_is_the_same_alone_and_in_float32():
    alone = POP.at(torch.tensor([3]))
    assert torch.allclose(alone.matrix_field(RELU)(W[3:4])[0], POP.matrix_field(RELU)(W)[3], atol=1e-15)
    assert torch.equal(random_disc_population([stream(0, 3, "density")]).coefficients[0], POP.coefficients[3])
    single = DiscPopulation(POP.coefficients.float(), 0.5)
    assert torch.allclose(single.matrix_field(RELU)(W.float()).double(), POP.matrix_field(RELU)(W), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: DiscPopulation(torch.zeros(3, 4)), r"shape \[run, 1 \+ 2K\], got \[3, 4\]"),
        (lambda: DiscPopulation(torch.zeros(3, 3), radius=0.0), "radius must be > 0, got 0.0"),
        (lambda: random_disc_population([], 3), "number of generators must be ≥ 1, got 3 and 0"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()
