import json
import math

import pytest
import sympy
import torch
from threshold_vectors import PATH, text

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar
from contrastive_dynamics.testbed.soft_threshold import (
    direction_gap,
    effective_rank_of_shares,
    learned_temperature,
    population_loss,
    share_velocity,
    water_filling,
    water_level,
)

RHO = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.1, 0.0], dtype=torch.float64)
ROWS = json.loads(PATH.read_text(encoding="utf-8"))


def normal(purpose, *shape):
    return torch.randn(*shape, generator=stream(1, 0, purpose), dtype=torch.float64)


def test_the_vectors_are_those_of_exact_fractions():
    assert PATH.read_text(encoding="utf-8") == text() and len(ROWS) > 100


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("outputs", [1, 2, 4, 6])
def test_vectors(tied, outputs):
    rows = [row for row in ROWS if row["tied"] == tied and row["outputs"] == outputs]
    for row in rows:
        rho = torch.tensor(row["rho"], dtype=torch.float64)
        found = water_filling(rho, row["tau_squared"], outputs, tied=tied)
        assert (found - torch.tensor(row["shares"], dtype=torch.float64)).abs().max() < 1e-13
        assert abs(float(water_level(rho, row["tau_squared"], outputs, tied=tied)) - row["level"]) < 1e-13
        assert abs(float(learned_temperature(rho, outputs)) - row["learned_temperature"]) < 1e-13


def test_batches_are_single_calls():
    rho, tau = torch.stack([RHO, RHO / 2]), torch.tensor([0.5, 2.0], dtype=torch.float64)
    singles = [water_filling(r, float(t)) for r, t in zip(rho, tau, strict=True)]
    assert torch.equal(water_filling(rho, tau), torch.stack(singles))


def shrunk(g, radius=1.0):
    """The nearest matrix of nuclear norm at most 1."""
    u, s, vh = torch.linalg.svd(g)
    level = ((s.cumsum(-1) - radius) / torch.arange(1, len(s) + 1)).amax().clamp(min=0)
    return u @ torch.diag((s - level).clamp(min=0)) @ vh


@pytest.mark.parametrize("tau", [0.4, 1.0, 2.2, 4.0])
def test_projected_gradient_on_the_nuclear_norm_ball_ends_at_the_shares(tau):
    """Two encoders: the loss is differentiated by autograd, and the constraint is only that of the norms."""
    left, right = haar([stream(1, 0, "left"), stream(1, 0, "right")], 6, 6)
    c, g = left @ torch.diag(RHO) @ right.mT, shrunk(normal("start", 6, 6)).requires_grad_()
    for _ in range(400):
        (slope,) = torch.autograd.grad(population_loss(g, c, tau), g)
        g = shrunk(g.detach() - 0.1 / tau**2 * slope).requires_grad_()
    shares = water_filling(RHO, tau, tied=False)
    assert (left.mT @ g.detach() @ right - torch.diag(shares)).abs().max() < 1e-6
    assert abs(float(shares.sum()) - min(1.0, float(RHO.sum()) / tau)) < 1e-12


@pytest.mark.parametrize(
    ("tied", "outputs", "tau", "within"),
    [
        (True, 6, 0.5, 1e-6),
        (True, 3, 1.5, 1e-6),
        (True, 3, 6.0, 5e-3),
        (False, 6, 1.5, 1e-3),
        (False, 3, 0.5, 1e-3),
        (False, 6, 6.0, 2e-2),  # the spare norm is slow to leave G
    ],
)
def test_descent_in_the_encoders_finds_the_shares_from_any_start(tied, outputs, tau, within):
    """Nothing of the law is used: maps of z outputs, divided by their norms, four starts; also with z below S."""
    maps = normal("maps", 4, 1 if tied else 2, outputs, 6).requires_grad_()
    adam = torch.optim.Adam([maps], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 600)
    for _ in range(600):
        unit = maps / maps.square().sum((-2, -1), keepdim=True).sqrt()
        g = unit[:, 0].mT @ unit[:, -1]
        adam.zero_grad()
        population_loss(g, torch.diag(RHO), tau).sum().backward()
        adam.step(), schedule.step()
    shares = water_filling(RHO, tau, outputs, tied=tied)
    assert (g.detach() - torch.diag(shares)).abs().max() < within


def test_any_other_point_costs_at_least_its_squared_distance():
    c = torch.diag(RHO)
    for tau in (0.5, 1.0, 3.0):
        s = torch.diag(water_filling(RHO, tau, tied=False))
        g = torch.stack([shrunk(x) for x in normal("points", 200, 6, 6)])
        excess = population_loss(g, c, tau) - population_loss(s, c, tau)
        assert (excess - tau**2 * (g - s).square().sum((-2, -1))).min() > -1e-12


def test_the_flow_on_the_sphere_is_a_replicator_equation_that_ends_at_the_shares():
    g, tau = torch.full((6,), 1 / 6, dtype=torch.float64), 1.5
    u = torch.diag(g.sqrt()).requires_grad_()
    (slope,) = torch.autograd.grad(population_loss(u.mT @ u, torch.diag(RHO), tau), u)
    velocity = u.detach() * (slope * u).sum() - slope
    of_shares = 2 * (u.detach() * velocity).sum(-2)
    assert torch.allclose(share_velocity(g, RHO, tau), of_shares, atol=1e-13)
    for _ in range(4000):
        g = g + 0.02 * share_velocity(g, RHO, tau)
    assert (g - water_filling(RHO, tau)).abs().max() < 1e-9


def sample_loss(u, v, first, second, tau):
    """InfoNCE of both sides over all pairs of a sample, less 2 log N, norms over the sample."""
    f, g = first @ u.mT, second @ v.mT
    f, g = (y / y.square().sum(-1).mean().sqrt() for y in (f, g))
    s = tau * f @ g.mT
    both = s.logsumexp(-1) + s.logsumexp(-2) - 2 * s.diagonal()
    return both.mean() - 2 * math.log(len(f))


def gaussian_pairs(n):
    first, noise = normal("first", n, 6), normal("noise", n, 6)
    return first, RHO * first + (1 - RHO**2).sqrt() * noise


def test_the_loss_of_a_large_sample_is_the_population_loss_and_its_gradient_vanishes_at_the_shares():
    first, second = gaussian_pairs(2500)
    tau = 1.0
    root = torch.diag(water_filling(RHO, tau, tied=False).sqrt()).requires_grad_()
    other = root.detach().clone().requires_grad_()
    loss = sample_loss(root, other, first, second, tau)
    at_the_shares = torch.autograd.grad(loss, [root, other])
    exact = population_loss((root.mT @ other).detach(), torch.diag(RHO), tau)
    assert abs(float(loss.detach() - exact)) < 0.06  # the sample's error is about 0.02
    others = [normal(name, 6, 6).div(6).requires_grad_() for name in ("u", "v")]
    at_others = torch.autograd.grad(sample_loss(*others, first, second, tau), others)
    assert max(float(x.norm()) for x in at_the_shares) < 0.1 < 0.3 < min(float(x.norm()) for x in at_others)


def cases(one_encoder):
    """ρ, μ, g and |g| in every case, each by symbols that are not negative."""
    a, e, s, t = sympy.symbols("a e s t", nonnegative=True)
    tau = sympy.Symbol("tau", positive=True)
    if one_encoder:
        real = sympy.Symbol("m", real=True)
        yield real + tau * s, real, tau, a, a  # above the level
        yield real - e, real, tau, a, a  # below it
        return
    for sign in (1, -1):
        yield t + tau * s, t, tau, sign * a, a
        yield t, t + e, tau, sign * a, a


@pytest.mark.parametrize("one_encoder", [True, False])
def test_each_direction_s_inequality_is_proved_by_machine(one_encoder):
    for rho, level, tau, share, size in cases(one_encoder):
        gap = sympy.expand(sympy.simplify(direction_gap(rho, tau, level, share, size)))
        assert gap.is_nonnegative


def test_with_half_the_level_it_is_refuted():
    a, t, tau = sympy.symbols("a t tau", positive=True)
    rho = 2 * t  # cut at t/2, so that τ²s = 3t/2
    gap = sympy.factor(direction_gap(rho, tau, t, a, a, cut=t / 2))
    witness = gap.subs({t: 1, tau: 1, a: sympy.Rational(1, 2)})
    assert witness < 0 and sympy.simplify(direction_gap(rho, tau, t, a, a)) == 0


def test_private_directions_enter_beyond_the_sum():
    sums = float(RHO.sum())
    assert float(water_filling(RHO, sums - 1e-6)[-1]) == 0 < float(water_filling(RHO, sums + 1e-6)[-1])
    assert float(water_filling(RHO, 8.0, tied=False)[-1]) == 0
    assert float(effective_rank_of_shares(torch.full((7,), 0.2))) == pytest.approx(7)
    at = learned_temperature(RHO)
    assert torch.allclose(at * water_filling(RHO, at), RHO, atol=1e-14) and float(at) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau_squared": 0.0}, "water_filling: tau_squared must be > 0 and finite, got 0.0"),
        ({"tau_squared": math.nan}, "water_filling: tau_squared must be > 0 and finite, got nan"),
        ({"outputs": 0}, "water_filling: outputs must be ≥ 1 or None, got 0"),
        ({"rho": RHO - 0.5, "tied": False}, "water_filling: rho must be 0 to 1 for two encoders, got -0.5 to 0.4"),
        ({"rho": RHO * 2}, "water_filling: rho must be -1 to 1 for one encoder, got 0 to 1.8"),
        ({"rho": RHO.long()}, r"water_filling: rho must be floats \[..., S\], S ≥ 1, got \[6\] of torch.int64"),
    ],
)
def test_bad_input(change, message):
    given = {"rho": RHO, "tau_squared": 1.0} | change
    with pytest.raises(ValueError, match=f"^{message}$"):
        water_filling(**given)
