import pytest
import torch
from scipy import integrate, stats

from contrastive_dynamics.losses.activations import ACTIVATIONS, Activation, activation
from contrastive_dynamics.losses.gated_covariance import gated_covariance
from contrastive_dynamics.nonlinearity.one_filter.gaussian_mixture import GaussianMixture, random_gaussian_mixture
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import (
    flow_jacobian,
    newton_fixed_points,
    tangent_basis,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

DRAWS = [stream(0, k, "mixture") for k in range(3)]
MIXTURES = random_gaussian_mixture(DRAWS, d=4)
W = uniform_on_sphere(DRAWS, 4)


def density_jacobian(a, w, mean_h, boundary, jump):
    """Tᵀ(A − wᵀAw·I − jump·E[h]·B)T, the Jacobian of the flow at a fixed point if the inputs have a density."""
    lam = torch.einsum("ri,rij,rj->r", w, a, w)[:, None, None]
    t = tangent_basis(w)
    return t.mT @ (a - lam * torch.eye(w.shape[-1], dtype=w.dtype) - jump * mean_h[:, None, None] * boundary) @ t


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_field_and_mean_against_samples(name):
    act, n = activation(name), 400_000
    x = MIXTURES.sample(n, stream(0, 0, "sample"))
    exact = MIXTURES.matrix_field(act)(W)
    error = (gated_covariance(x, W, act) - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))
    assert error.max() < 10 * n**-0.5
    h = act.h(torch.einsum("rnd,rd->rn", x, W))
    assert ((h.mean(-1) - MIXTURES.mean_activation(W, act)).abs() < 5 * h.std(-1) / n**0.5).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slope_moments_against_quadrature(name):
    """One component in one direction: E[x x h'(s)²] along w is E[s² h'(s)²], an integral over one variable."""
    act, m, v = activation(name), 0.4, 0.7
    one = GaussianMixture(torch.tensor([[[m, 0.3]]]).double(), v * torch.eye(2).double()[None, None], torch.ones(1, 1))
    w = torch.tensor([[1.0, 0.0]]).double()

    def moment(f):  # in two halves: the integrand may have a kink at 0
        def integrand(s):
            return f(s, float(act.slope(torch.tensor(s)))) * stats.norm.pdf(s, m, v**0.5)

        return sum(integrate.quad(integrand, *ends, epsabs=1e-13)[0] for ends in ((-9, 0), (0, 9)))

    along = one.matrix_field(act)(w)[0, 0, 0]
    assert float(along) == pytest.approx(moment(lambda s, g: (s * g) ** 2) - moment(lambda s, g: s * g) ** 2, rel=1e-7)


def test_linear_field_is_the_covariance_of_the_mixture():
    linear = MIXTURES.matrix_field(activation("linear"))(W)
    mean = torch.einsum("rc,rcd->rd", MIXTURES.weight, MIXTURES.mean)
    apart = MIXTURES.mean - mean.unsqueeze(1)
    within = MIXTURES.covariance + apart.unsqueeze(-1) * apart.unsqueeze(-2)
    assert torch.allclose(linear, torch.einsum("rc,rcde->rde", MIXTURES.weight, within), atol=1e-13)


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_boundary_gives_the_jacobian_of_the_flow(name):
    act, side = activation(name), torch.ones(1, dtype=torch.float64)
    field, jump = MIXTURES.matrix_field(act), float(act.slope(side) - act.slope(-side))
    w, settled = newton_fixed_points(field, W)
    assert settled.any()
    pop, w = MIXTURES.at(settled), w[settled]
    field = pop.matrix_field(act)
    formula = density_jacobian(field(w), w, pop.mean_activation(w, act), pop.boundary(w), jump)
    assert torch.allclose(flow_jacobian(field, w, 1e-4), formula, atol=1e-6)


def test_runs_do_not_see_each_other():
    alone = random_gaussian_mixture([stream(0, 1, "mixture")], d=4)
    assert torch.equal(alone.mean[0], MIXTURES.mean[1])
    act = activation("relu")
    assert torch.allclose(alone.matrix_field(act)(W[1:2]), MIXTURES.matrix_field(act)(W)[1:2], atol=1e-15)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="mean, covariance and weight must be"):
        GaussianMixture(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3, 2), torch.ones(1, 2))
    with pytest.raises(ValueError, match="got 0 generators"):
        random_gaussian_mixture([], d=3)
    with pytest.raises(ValueError, match="d=1"):
        random_gaussian_mixture(DRAWS, d=1)
    cubic = Activation("cubic", lambda x: x**3, lambda x: 3 * x**2, degree=3)
    with pytest.raises(ValueError, match="got 'cubic'"):
        MIXTURES.matrix_field(cubic)
