import math

import pytest
import torch

from contrastive_dynamics.nonlinearity.one_filter.modulated_growth import (
    blow_up_time,
    circle_boundary,
    earliest_blow_up,
    growth,
    integrated_blow_up,
    largest_rate,
    modulated_flow,
    wins_by,
    wins_flow,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64


@pytest.mark.parametrize("y0", [-3.0, -0.4, 0.05, 2.0])
@pytest.mark.parametrize("b", [0.0, 0.3, 2.0])
def test_growth_solves_its_equation(y0, b):
    y0, b = torch.tensor(y0, dtype=F64), torch.tensor(b, dtype=F64)
    t = torch.linspace(0, 0.9, 5, dtype=F64) * blow_up_time(y0, b).clamp(max=0.2)
    t.requires_grad_()
    y = growth(y0, b, t)
    (slope,) = torch.autograd.grad(y.sum(), t)
    assert torch.allclose(slope, (y + b) * y, rtol=1e-10) and y[0] == y0


def test_negative_starts_end_at_minus_b_and_small_b_is_the_limit():
    b = torch.tensor([0.5, 2.0], dtype=F64)
    assert torch.allclose(growth(torch.tensor(-0.1, dtype=F64), b, torch.tensor(200.0, dtype=F64)), -b)
    y0 = torch.tensor(0.3, dtype=F64)
    assert blow_up_time(y0, torch.tensor(1e-9, dtype=F64)).item() == pytest.approx(1 / 0.3)
    assert blow_up_time(-y0, b).tolist() == [math.inf, math.inf]


@pytest.mark.parametrize("y0, b", [(0.01, 3.0), (0.4, 0.5), (1.0, 0.0)])
def test_blow_up_time_meets_the_integrated_equation(y0, b):
    exact = blow_up_time(torch.tensor(y0, dtype=F64), torch.tensor(b, dtype=F64)).item()
    assert integrated_blow_up(y0, b) == pytest.approx(exact, rel=1e-10)
    before = growth(*(torch.tensor(v, dtype=F64) for v in (y0, b, exact * (1 - 1e-9))))
    assert before > 1e6


def test_the_race_without_projection_goes_to_the_earliest_blow_up():
    y0 = torch.rand(50, 4, dtype=F64, generator=stream(0, 0, "y"))
    b = torch.rand(50, 4, dtype=F64, generator=stream(0, 1, "y"))
    last = blow_up_time(y0, b).amin(-1, keepdim=True) * (1 - 1e-9)
    assert torch.equal(growth(y0, b, last).argmax(-1), earliest_blow_up(y0, b).argmax(-1))


def test_argmin_of_the_blow_up_time_depends_on_the_length_of_the_start():
    direction, b = torch.tensor([0.5, 0.85], dtype=F64), torch.tensor([1.5, 1.0], dtype=F64)
    winners = [earliest_blow_up(r * direction, b).argmax().item() for r in (0.1, 10.0)]
    assert winners == [0, 1]


def test_basin_boundary_in_two_dimensions():
    b = torch.tensor([[1.5, 1.0], [1.0, 1.0], [0.7, 1.0]], dtype=F64)
    flow = circle_boundary(b, wins_flow)
    c = b[:, 0] - b[:, 1]
    assert torch.allclose(flow, ((2 - c**2).sqrt() - c) / 2, atol=1e-7)
    assert flow[0].item() == pytest.approx(0.411, abs=5e-4)
    assert torch.allclose(circle_boundary(b, wins_by(largest_rate)), flow, atol=1e-7)
    assert circle_boundary(b, wins_by(earliest_blow_up))[0].item() == pytest.approx(0.618, abs=5e-4)


def test_flow_ends_at_a_basis_vector_and_is_the_same_alone_reordered_or_batched():
    y0 = uniform_on_sphere([stream(0, k, "start") for k in range(12)], 4)
    b = torch.tensor([1.5, 1.0, 1.0, 1.0], dtype=F64)
    end = modulated_flow(y0, b)
    positive = (y0 > 0).any(-1)
    assert torch.allclose(end.amax(-1)[positive], torch.ones(int(positive.sum()), dtype=F64), atol=1e-5)
    assert torch.allclose(modulated_flow(y0[5], b), end[5]) and torch.allclose(
        modulated_flow(y0.flip(0), b), end.flip(0)
    )


def test_growth_keeps_float32():
    y = growth(torch.tensor(0.1), torch.tensor(1.0), torch.tensor(0.5))
    assert y.dtype == torch.float32 and blow_up_time(torch.tensor(0.1), torch.tensor(1.0)).dtype == torch.float32


def test_a_start_that_never_blows_up_is_refused():
    with pytest.raises(ValueError, match="y0 must be > 0, got -1.0"):
        integrated_blow_up(-1.0, 1.0)
