import math
from itertools import product

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.distinct_limits import (
    ascent_limits,
    basin_shares,
    expected_finds,
    first_finds,
    stretched_summation,
)
from contrastive_dynamics.nonlinearity.one_filter.latent_models import latent_summation, population_field
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import sphere_flow, uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
LENGTHS = torch.linspace(1, 1.5, 6, dtype=F64)


@pytest.mark.parametrize("name", ["relu", "linear"])
def test_limits_are_those_of_the_flow_of_the_matrix(name):
    model, act = stretched_summation(LENGTHS, 0.2), activation(name)
    w0 = uniform_on_sphere([stream(0, k, "start") for k in range(60)], 6)
    flow = sphere_flow(population_field(*model, act), w0, step=1.0, tol=1e-8, max_steps=4000).w
    limits = ascent_limits(*model, w0, act, tol=1e-6, max_steps=5000)
    near = (limits - flow).norm(dim=-1) < 1e-3
    assert near.double().mean() > 0.98  # a start at a border may fall on either side


def test_limits_of_rotated_patterns_are_rotated():
    q, _ = torch.linalg.qr(torch.randn(6, 6, dtype=F64, generator=stream(0, 0, "turn")))
    w0 = uniform_on_sphere([stream(0, k, "start") for k in range(40)], 6)
    relu = activation("relu")
    turned = latent_summation(q * LENGTHS, torch.full((6,), 0.2, dtype=F64))
    plain = ascent_limits(*stretched_summation(LENGTHS, 0.2), w0, relu)
    assert torch.allclose(ascent_limits(*turned, w0 @ q.mT, relu), plain @ q.mT, atol=1e-6)


def test_expected_finds_is_the_enumerated_mean():
    b = torch.tensor([0.5, 0.3, 0.2], dtype=F64)
    for k in (1, 2, 4):
        mean = sum(math.prod(float(b[j]) for j in draw) * len(set(draw)) for draw in product(range(3), repeat=k))
        assert float(expected_finds(b, k)) == pytest.approx(mean, abs=1e-14)


def test_finds_and_basins_are_counted():
    e = torch.eye(3, dtype=F64)
    w = torch.stack([e[0], e[1], e[0], -e[1], e[1]])
    assert first_finds(w).tolist() == [1, 2, 2, 3, 3]
    assert first_finds(w, signed=False).tolist() == [1, 2, 2, 2, 2]
    assert basin_shares(w).tolist() == pytest.approx([0.4, 0.4, 0.2])
