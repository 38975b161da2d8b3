"""All of G: in networks that are made, along principal components, and in training."""

import math
from dataclasses import replace

import pytest
import torch

from contrastive_dynamics.testbed.canonical_correlations import canonical_axes
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.pairs import Moments
from contrastive_dynamics.testbed.scores import canonical_map, shares
from contrastive_dynamics.testbed.whole_map import map_distance, principal_map
from experiments.one_testbed.four_worlds import four_worlds
from experiments.one_testbed.law_runs import law_in_a_world, map_errors, share_errors
from experiments.one_testbed.table_arms import Training, untrained


@pytest.mark.parametrize("world", ["moons", "modalities"])
def test_directions_that_are_mixed_are_seen(world):
    """Turned by θ, two directions of shares g and g' are |(g − g')sin θ| away; their shares only |(g − g')sin² θ|."""
    world, views = four_worlds([1, 2])[world]
    moments, start = views.moments(world), untrained(world, Linear(16), Training((1, 2))).trained
    axes = canonical_axes(moments, tied=world.tied)
    g = torch.tensor([0.5, 0.3, 0.2] + [0.0] * (axes.rho.shape[-1] - 3)).to(axes.rho)
    turned = torch.eye(len(g)).to(g)
    cos, sin = math.cos(0.3), math.sin(0.3)
    turned[:2, :2] = torch.tensor([[cos, -sin], [sin, cos]])

    def made(turn):
        outputs = [(a @ turn * g.sqrt()).mT[..., :16, :].expand(2, -1, -1) for a in axes[1:]]
        return replace(start, encoders=tuple({"w": w} for w in outputs[: len(start.encoders)]))

    plain, mixed = (canonical_map(made(turn), moments) for turn in (torch.eye(len(g)).to(g), turned))
    law = torch.diag_embed(g)
    assert torch.allclose(plain, law.expand_as(plain), atol=1e-5)
    assert torch.allclose(map_distance(mixed, law), torch.full((2,), 0.2 * sin).double(), atol=1e-5)
    assert torch.allclose(mixed.diagonal(dim1=-2, dim2=-1), shares(made(turned), moments), atol=1e-6)
    assert torch.allclose(
        (shares(made(turned), moments) - g).abs().sum(-1) / 2, torch.full((2,), 0.2 * sin**2).double()
    )


def test_the_distance_has_no_axes():
    draw = torch.Generator().manual_seed(0)
    g, law = (torch.randn(3, 5, 5, generator=draw, dtype=torch.float64) for _ in range(2))
    left, right = (torch.linalg.qr(torch.randn(5, 5, generator=draw, dtype=torch.float64)).Q for _ in range(2))
    assert torch.allclose(map_distance(left @ g @ right, left @ law @ right), map_distance(g, law))
    assert torch.equal(map_distance(g, g), torch.zeros(3).double())
    apart = (torch.diag(torch.tensor(of).double()) for of in ([1.0, 0.0], [0.0, 1.0]))
    assert float(map_distance(*apart)) == pytest.approx(1)


def test_shares_by_variance_lie_along_principal_components():
    """Two variables of ρ = .2 and .8 and of variance 4 and 1: the larger share goes to the weaker correlation."""
    variances, rho, g = torch.tensor([4.0, 1.0]), torch.tensor([0.2, 0.8]), torch.tensor([0.9, 0.1])
    second, cross = torch.diag(variances).double(), torch.diag(variances * rho).double()
    expected = torch.diag(torch.tensor([0.1, 0.9])).double()  # canonical directions are in the order of ρ
    one = principal_map(Moments(second, second, cross), g.double(), tied=True)
    assert torch.allclose(one, expected)
    two = principal_map(Moments(second, second, cross * torch.tensor([-1.0, 1.0])), g.double(), tied=False)
    assert torch.allclose(two, expected)


def test_more_pairs_leave_less_between_directions():
    few, many = (law_in_a_world("moons", [1, 2], [0.5], 150, batch) for batch in (64, 512))
    arms = map_errors({"few": few, "many": many})
    assert bool((arms["observed"]["many"] < 0.6 * arms["observed"]["few"]).all())
    assert bool((arms["observed"]["many"] >= share_errors({"many": many})["observed"]["many"]).all())
    assert all(bool((of > 0.3).all()) for of in arms["control"].values())
