import pytest
import torch
from torch.nn.functional import normalize

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.categorical_optima import categorical_optima, cone_angle_bound
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import energy
from contrastive_dynamics.nonlinearity.one_filter.latent_models import orthonormal_patterns, tilted_patterns
from contrastive_dynamics.nonlinearity.one_filter.local_convergence import angle_between
from contrastive_dynamics.numerics.random_streams import stream

RELU = activation("relu")


def patterns(seed, deviation, m=6):
    g = stream(seed, 0, "categorical optima")
    u = tilted_patterns(orthonormal_patterns(m, m, g), deviation, g)
    p = 0.5 + torch.rand(m, generator=g, dtype=torch.float64)
    return u, p / p.sum(), g


def weighted_energy(w, u, p):
    h = RELU.h(w @ u)
    return (h.square() @ p - (h @ p).square()) / 2


def nudged(w, g, n=4000, size=1e-4):
    """Energies' points around each filter, in random directions of the sphere `[n, M, d]`."""
    push = torch.randn(n, *w.shape, generator=g, dtype=w.dtype)
    return normalize(w + size * normalize(push, dim=-1), dim=-1)


def test_the_energy_is_that_of_the_circle():
    u, w = torch.eye(2, dtype=torch.float64), normalize(torch.tensor([[1.0, 0.3]], dtype=torch.float64), dim=-1)
    even = torch.full((2,), 0.5, dtype=torch.float64)
    assert torch.allclose(weighted_energy(w, u, even), energy(w[None], u.mT[None], RELU)[0])


@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_every_nudge_lowers_the_energy_and_the_angle_keeps_to_its_bound(seed, deviation):
    u, p, g = patterns(seed, deviation)
    found = categorical_optima(u, p)
    assert bool(found.strict.all())
    assert (weighted_energy(nudged(found.w, g), u, p) < weighted_energy(found.w, u, p)).all()
    assert float(angle_between(found.w, u.mT).max()) <= cone_angle_bound(deviation)
    on_kink = ((found.w @ u).abs() < 1e-12).sum(-1)
    assert torch.equal(on_kink, found.kinks) and (found.w @ u - torch.diag((found.w @ u).diagonal()) < 1e-12).all()


def test_a_rare_neighbour_that_the_filter_would_let_in_takes_the_optimum_away():
    """t_j > p_j/(1 − p_m): the condition fails, and some nudge raises the energy."""
    rows = torch.tensor([[1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    u, p = normalize(rows, dim=-1).mT, torch.tensor([0.45, 0.1, 0.45], dtype=torch.float64)
    found = categorical_optima(u, p)
    rises = weighted_energy(nudged(found.w, stream(0, 0, "nudge")), u, p) > weighted_energy(found.w, u, p)
    assert found.strict.tolist() == [False, True, True]
    assert rises.any(0).tolist() == [True, False, False]


def test_orthonormal_patterns_are_their_own_optima():
    found = categorical_optima(torch.eye(4, dtype=torch.float64), torch.full((4,), 0.25, dtype=torch.float64))
    assert torch.equal(found.w, torch.eye(4, dtype=torch.float64)) and cone_angle_bound(0.0) == 0


def test_arguments_outside_their_range_are_refused():
    with pytest.raises(ValueError, match="M ≥ 2"):
        categorical_optima(torch.eye(2)[:, :1], torch.ones(1))
    with pytest.raises(ValueError, match="deviation must be"):
        cone_angle_bound(0.7)
