import math

import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.constrained_optima import frobenius_optimum
from contrastive_dynamics.collapse_and_constraints.unconstrained_flow import blow_up
from contrastive_dynamics.collapse_and_constraints.weight_decay import decayed_flow, without_decay
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank


def draw(*shape, purpose="w"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


C = torch.diag(torch.tensor([-3.0, -1.0, 0.5, 2.0]).double())
W1, W2 = 0.4 * draw(8, 5, 4), 0.4 * draw(8, 5, 3, purpose="top")


def penalised_loss(w1, w2, c, mu):
    """Tr(W2ᵀW1 C W1ᵀW2) + (μ/2)(‖W1‖_F² + ‖W2‖_F²), `[run]`. Source: esser-2023, the paragraph above Proposition 2."""
    w = w1.mT @ w2
    return (w * (c @ w)).sum((-2, -1)) + mu / 2 * sum(layer.square().sum((-2, -1)) for layer in (w1, w2))


def test_a_short_flow_descends_the_penalised_loss():
    gradients = torch.func.grad(lambda a, b: penalised_loss(a, b, C, 0.7).sum(), (0, 1))(W1, W2)
    found = decayed_flow(W1, W2, C, 0.7, step=1e-5, max_steps=1)
    for before, after, g in zip((W1, W2), found[:2], gradients, strict=True):
        moved = (after - before) / found.time[:, None, None]
        assert torch.allclose(moved, -g, rtol=1e-3, atol=1e-3)


def test_a_start_bursts_if_its_time_without_a_penalty_is_below_the_deadline():
    free = blow_up(W1, W2, C).time
    mu = 1 / (2 * float(free.sort().values[3:5].mean()))
    found = decayed_flow(W1, W2, C, mu)
    grown = found.log_norm > 0
    assert torch.equal(grown, free < 1 / (2 * mu)) and grown.sum() == 4
    assert torch.allclose(without_decay(found.time, mu)[grown], free[grown], rtol=1e-5)
    assert bool((found.log_norm.abs() >= math.log(1e6)).all())
    ranks = effective_rank(found.w1.mT @ found.w2)
    assert bool((ranks[grown] < 1.001).all())
    assert bool((penalised_loss(found.w1, found.w2, C, mu)[grown] < -1e6).all())


def test_the_optimum_under_bounds_is_a_stationary_point_and_no_minimum():
    w1, w2, radius = torch.zeros(1, 5, 4).double(), torch.zeros(1, 5, 3).double(), 1.3
    w1[0, 0, 0] = w2[0, 0, 0] = radius
    mu = 2 * radius**2 * 3.0
    value = penalised_loss(w1, w2, C, 0.0)
    assert torch.allclose(value, frobenius_optimum(C, radius, radius))
    for g in torch.func.grad(lambda a, b: penalised_loss(a, b, C, mu).sum(), (0, 1))(w1, w2):
        assert torch.allclose(g, torch.zeros_like(g), atol=1e-12)
    here, there = (penalised_loss(a * w1, a * w2, C, mu) for a in (1, 1.1))
    assert there < here


def test_without_a_penalty_it_is_the_free_flow():
    found = decayed_flow(W1, W2, C, 0.0)
    assert torch.allclose(found.time, blow_up(W1, W2, C).time, rtol=1e-5)


def test_other_arguments_are_refused_in_one_line():
    for call, said in (
        (lambda: decayed_flow(W1, W2, C, -1.0), "mu must be ≥ 0, got -1"),
        (lambda: decayed_flow(W1, W2, C, 1.0, factor=1.0), "factor must be > 1"),
        (lambda: decayed_flow(W1, W2, C[:3, :3], 1.0), "w1, w2, c"),
        (lambda: without_decay(torch.ones(2), 0.0), "mu must be > 0"),
    ):
        with one_line_error(ValueError, said):
            call()


def test_it_runs_on_another_device():
    with elsewhere():
        w1, w2, c = (part.to(ELSEWHERE) for part in (W1, W2, C))
        assert {part.device for part in decayed_flow(w1, w2, c, 1.0, max_steps=5)} == {ELSEWHERE}
