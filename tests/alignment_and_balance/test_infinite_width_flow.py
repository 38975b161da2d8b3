import itertools
import math

import numpy as np
import pytest
import torch

from contrastive_dynamics.alignment_and_balance.infinite_width_flow import (
    WideState,
    negative_factors,
    non_contrastive_exponent,
    non_contrastive_solution,
    wide_condition_number,
    wide_flow,
    wide_start,
    wide_velocity,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
TAU, K = torch.tensor([0.7, 2.0, 9.0], dtype=F64), torch.tensor([1.0, 3.0, 0.4], dtype=F64)
NOISE = torch.tensor([0.3, 0.1, 0.6], dtype=F64)
INFINITY = torch.tensor([math.inf], dtype=F64)


def signs(n):
    return torch.tensor(list(itertools.product([-1.0, 1.0], repeat=n)), dtype=F64)


def problem(run=3, r=3):
    """Different σ, a state halfway to alignment, noise columns."""
    draws = [torch.rand(3, r, generator=stream(0, k, "wide"), dtype=F64) for k in range(run)]
    sigma, k, rho = (torch.stack(parts) for parts in zip(*draws, strict=True))
    k = 0.5 + 2 * k
    return 0.7 + sigma, WideState(k, (2 * rho - 0.5).clamp(max=0.99) * k, 1 + k[:, 0])


def columns(k, k_hat, noise_squared, noise_columns):
    """Maps of both modalities with these squares and exactly orthogonal columns."""
    r = len(k)
    a, b = (torch.zeros(2 * (r + noise_columns), r + noise_columns, dtype=F64) for _ in range(2))
    each = math.sqrt(noise_squared / noise_columns)
    for p in range(r):
        a[p, p] = k[p].sqrt()
        b[p, p], b[r + p, p] = k_hat[p] / k[p].sqrt(), (k[p] - k_hat[p] ** 2 / k[p]).sqrt()
    for q in range(noise_columns):
        a[2 * r + q, r + q] = b[2 * r + noise_columns + q, r + q] = each
    return a, b


def enumerated_loss(a, b, r, tau, k):
    """L of all sign vectors: every positive pair, every negative, N from E‖Ku‖²; k None for the loss without them."""
    d = a.shape[1]
    u, pairs = signs(d) / d**0.5, signs(r + 2 * (d - r)) / d**0.5
    f_a, f_b = (m / (u @ m.mT).square().sum(-1).mean().sqrt() for m in (a, b))
    x = pairs[:, :d] @ f_a.mT
    y = torch.cat([pairs[:, :r], pairs[:, d:]], -1) @ f_b.mT
    positive = (x * y).sum(-1)
    if k is None:
        return -positive.mean()
    loss = 0
    for anchor, other in ((x, f_b), (y, f_a)):
        negative = (tau * anchor @ (u @ other.mT).mT).exp().mean(-1)
        top = (tau * positive).exp()
        loss = loss - (top / (top + k * negative)).log().mean()
    return loss / tau


def gram_velocity(a, b, sigma, noise, tau, k):
    """d/dt of KᵀK of both and between them, K' = −∂L/∂K D; by autograd."""
    scales = torch.cat([sigma, noise.expand(a.shape[1] - len(sigma))]).square()
    a, b = a.requires_grad_(), b.requires_grad_()
    da, db = (-g * scales for g in torch.autograd.grad(enumerated_loss(a, b, len(sigma), tau, k), (a, b)))
    return da.mT @ a + a.mT @ da, db.mT @ b + b.mT @ db, da.mT @ b + a.mT @ db


@pytest.mark.parametrize("contrast", [True, False])
def test_the_velocity_is_that_of_orthogonal_columns(contrast):
    (sigma, state), r = problem(r=2), 2
    velocity = wide_velocity(state, sigma, NOISE, TAU if contrast else None, K)
    for run in range(3):
        maps = columns(*(x[run] for x in state), 2)
        of_a, of_b, cross = gram_velocity(*maps, sigma[run], NOISE[run], TAU[run], K[run] if contrast else None)
        expected = torch.diag(torch.cat([velocity.kappa_squared[run], velocity.noise_squared[run].expand(2) / 2]))
        assert torch.allclose(of_a, expected, atol=1e-13) and torch.allclose(of_b, expected, atol=1e-13)
        between = torch.zeros_like(cross)
        between[:r, :r] = torch.diag(velocity.kappa_hat_squared[run])
        assert torch.allclose(cross, between, atol=1e-13)


def test_expectations_over_the_negatives():
    g = problem()[0] / 5
    one_minus_s, t = negative_factors(g, TAU, K)
    z = signs(3)
    for run in range(3):
        for plus in z:
            e = (TAU[run] * (z * g[run] * plus).sum(-1)).exp()
            assert torch.allclose((e.unsqueeze(-1) * z * plus).mean(0), e.mean() * t[run], rtol=1e-12)
            top = (TAU[run] * g[run].sum()).exp()
            assert torch.allclose(K[run] * e.mean() / (top + K[run] * e.mean()), one_minus_s[run], rtol=1e-12)
    cold, t = negative_factors(torch.full((1, 4), 0.25, dtype=F64), 3000.0, 2.0)
    assert torch.allclose(cold.log(), torch.tensor(math.log(1 / 9), dtype=F64)) and bool((t == 1).all())
    near = negative_factors(torch.tensor([[0.9]], dtype=F64), 3000.0, 1e-300)[0]  # log K − log 2
    assert torch.allclose(near.log(), torch.tensor(math.log(0.5e-300), dtype=F64))


def test_small_tau_is_the_flow_without_contrast_up_to_tau_squared():
    sigma, state = problem()
    plain = wide_velocity(state, sigma, NOISE, None)
    gaps = []
    for tau in (1e-3, 1e-4):
        hot = wide_velocity(state, sigma, NOISE, tau, K)
        parts = zip(hot, plain, (K.unsqueeze(-1), K.unsqueeze(-1), K), strict=True)
        gaps.append(max(float((x - 2 * k / (1 + k) * y).abs().max()) for x, y, k in parts))
    assert gaps[0] < 1e-2 and 9 < gaps[0] / gaps[1] < 11


def invariant(state, sigma):
    return (state.kappa_squared / sigma.square()).sum(-1) + state.noise_squared / NOISE.square()


@pytest.mark.parametrize("tau", [None, TAU])
def test_the_flow_moves_by_its_velocity_and_keeps_the_invariant(tau):
    sigma, state = problem()
    times = torch.linspace(0, 4, 9, dtype=F64)
    path = wide_flow(state, sigma, NOISE, times, tau, K)
    assert all(torch.allclose(x[0], y, rtol=1e-14) for x, y in zip(path, state, strict=True))
    assert torch.allclose(invariant(path, sigma), invariant(state, sigma).expand(9, 3), rtol=1e-8)
    h = 1e-3
    near = wide_flow(WideState(*(x[4] for x in path)), sigma, NOISE, torch.tensor([0, h, 2 * h], dtype=F64), tau, K)
    speeds = wide_velocity(WideState(*(x[1] for x in near)), sigma, NOISE, tau, K)
    assert all(torch.allclose((x[2] - x[0]) / (2 * h), v, atol=1e-5) for x, v in zip(near, speeds, strict=True))


@pytest.mark.parametrize("tau", [None, TAU])
def test_each_run_may_have_its_own_times(tau):
    sigma, state = problem()
    t = torch.tensor([0, 1, 4, 15, 45], dtype=F64).unsqueeze(-1) * torch.tensor([1, 0.6, 2], dtype=F64)
    path = wide_flow(state, sigma, NOISE, t, tau, K)
    alone = wide_flow(
        WideState(*(x[1:2] for x in state)), sigma[1:2], NOISE[1], t[:, 1], None if tau is None else tau[1], K[1]
    )
    assert all(torch.allclose(x[:, 1:2], y, rtol=1e-6) for x, y in zip(path, alone, strict=True))


def real_times(begin, sigma, thetas):
    """t at the rescaled times θ, `[time, run]`: ∫n²dθ/2 by Gauss–Legendre, n² of the exact solution."""
    nodes, weights = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(8))
    edges = torch.lerp(thetas[:-1, None], thetas[1:, None], torch.linspace(0, 1, 201, dtype=F64)[:-1]).flatten()
    edges = torch.cat([edges, thetas[-1:]])
    half = edges.diff() / 2
    inner = (edges[:-1, None] + half[:, None] * (1 + nodes)).flatten()
    at = non_contrastive_solution(begin, sigma, NOISE, inner)
    n2 = (at.kappa_squared.sum(-1) + at.noise_squared).unflatten(0, (-1, len(nodes)))
    steps = half[:, None] * (weights[:, None] * n2).sum(1) / 2
    return torch.nn.functional.pad(steps.unflatten(0, (-1, 200)).sum(1).cumsum(0), (0, 0, 1, 0))


def rest(state, tau_squared, negatives=1.0):
    """max_p |1 − T_p − a| with 1 − a = (1 − Σg) + Σg_qT_q, the remaining drive of κ_p²: 0 at rest, aligned."""
    k, k_hat, nu = state
    n2 = k.sum(-1) + nu
    slack, g = ((k - k_hat).sum(-1) + nu) / n2, k_hat / n2.unsqueeze(-1)
    t = torch.zeros_like(g) if tau_squared is None else negative_factors(g, tau_squared, negatives)[1]
    return (slack.unsqueeze(-1) + (g * t).sum(-1, keepdim=True) - t).abs().amax(-1)


def noise_signal_ratio(state):
    """‖K_ξ‖_F²/‖K‖_F²."""
    return float(state.noise_squared / state.kappa_squared.sum(-1))


def test_the_flow_without_contrast_has_an_exact_solution():
    sigma = torch.tensor([[2.0, 1.5, 1.0], [3.0, 1.0, 1.0], [1.2, 1.0, 0.8]], dtype=F64)
    start = wide_start(sigma, NOISE, torch.tensor([1e12, 1e3, 0.0], dtype=F64))
    thetas = torch.tensor([0, 0.1, 1, 3, 10, 40, 200], dtype=F64)
    noise = torch.where(start.noise_squared > 0, NOISE, 0)
    for begin in (start, WideState(*(problem()[1]))):
        exact = non_contrastive_solution(begin, sigma, NOISE, thetas)
        path = wide_flow(begin, sigma, NOISE, real_times(begin, sigma, thetas), None)
        assert all(torch.allclose(x, y, rtol=1e-6, atol=1e-30) for x, y in zip(exact, path, strict=True))
        limit = WideState(*(x[0] for x in non_contrastive_solution(begin, sigma, NOISE, INFINITY)))
        late = WideState(*(x[0] for x in non_contrastive_solution(begin, sigma, NOISE, 1e4 * thetas[-1:])))
        assert torch.allclose(limit.kappa_squared, late.kappa_squared, rtol=1e-12)
        assert torch.equal(limit.kappa_squared, limit.kappa_hat_squared) and not bool(limit.noise_squared.any())
        assert torch.allclose(invariant(limit, sigma), invariant(begin, sigma), rtol=1e-12)
        assert bool((rest(path, None).diff(dim=0) <= 0).all()) and bool((rest(limit, None) == 0).all())
    absent = non_contrastive_solution(WideState(*(x[2:] for x in start)), sigma[2:], noise[2:], thetas)
    without = WideState(*(x[:, 2:] for x in non_contrastive_solution(start, sigma, NOISE, thetas)))
    assert all(torch.allclose(x, y, rtol=1e-12, atol=0) for x, y in zip(absent, without, strict=True))


def final_condition(d, r, high, noise):
    sigma = torch.cat([torch.full_like(d, high).unsqueeze(-1), d.new_ones(len(d), r - 1)], -1)
    return wide_condition_number(non_contrastive_solution(wide_start(sigma, noise, d - r), sigma, noise, INFINITY))[0]


@pytest.mark.parametrize("high", [1.5, 2.0, 5.0])
def test_the_exponent_of_the_final_condition_number(high):
    d = 10.0 ** torch.arange(5, 14, dtype=F64)
    slope = final_condition(d, 4, high, 0.2).log10().diff()
    power = non_contrastive_exponent(high, 1.0)
    assert torch.allclose(slope, torch.full_like(slope, power), atol=2e-3)
    assert abs(float(slope[-1]) - power) < 1e-6
    assert torch.allclose(final_condition(d, 4, high, 0.2), final_condition(d, 4, high, 0.5), rtol=1e-12)
    below = final_condition(torch.full((1,), 4.0, dtype=F64), 4, high, 0.2)  # d = r: no noise
    assert float(below) < high * 5 ** ((1 - high**-2) / 2)


def test_the_exponent_where_the_rank_grows():
    for rank_power, power in ((0.5, 0.375), (0.9, 0.15)):
        d = torch.tensor([1e5, 1e6], dtype=F64)
        ends = torch.cat([final_condition(x.reshape(1), round(float(x) ** rank_power), 2.0, 0.2) for x in d])
        assert non_contrastive_exponent(2.0, 1.0, rank_power) == pytest.approx(power)
        assert abs(float(ends.log10().diff()) - power) < 0.01


def test_two_stages_align_then_balance():
    sigma, times = torch.tensor([[2.0, 1.0, 1.0, 0.8]], dtype=F64), torch.tensor([0.0, 1e6], dtype=F64)
    start = wide_start(sigma, 0.5, 1e4)
    end = WideState(*(x[-1] for x in wide_flow(start, sigma, 0.5, times, 0.01)))
    assert noise_signal_ratio(start) == pytest.approx(2500 / 6.64) and noise_signal_ratio(end) < 1e-4
    share = end.kappa_squared / end.kappa_squared.amax()
    assert float(wide_condition_number(end)) > 20 and float(share.square().sum()) < 1.01
    last = WideState(*(x[-1] for x in wide_flow(end, sigma, 0.5, 5 * times, 3.0)))
    assert float(wide_condition_number(last)) < 1.001 and noise_signal_ratio(last) < 1e-4
    assert float(rest(last, 3.0)) < 1e-4


def test_the_condition_number_is_that_of_lengths():
    k = torch.tensor([[3.0, 2.0]], dtype=F64)
    assert float(wide_condition_number(WideState(k, k, torch.tensor([8.0], dtype=F64)))) == pytest.approx(1.5**0.5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s, x, t: wide_start(-s, 0.1, 3), "> 0, ≥ 0 and ≥ 0, got -"),
        (lambda s, x, t: wide_velocity(x, s, 0.1, -1.0), "> 0, got -1, 1"),
        (lambda s, x, t: wide_flow(x, s, NOISE, t, 1.0, 0.0), "wide_flow: τ² and K must"),
        (lambda s, x, t: wide_flow(x, s, NOISE, t.flip(0), None), "increasing, got [2]"),
        (lambda s, x, t: wide_flow(x, s, 0.0, t, None), "wide_flow: σ_ξ must be > 0"),
        (lambda s, x, t: non_contrastive_solution(x, s, NOISE, -t), "thetas must be ≥ 0, got -1"),
        (lambda s, x, t: non_contrastive_exponent(1.0, 2.0), "in [0, 1), got 1, 2, 0"),
    ],
)
def test_bad_input_is_named(call, text):
    sigma, state = problem()
    with pytest.raises(ValueError) as caught:
        call(sigma, state, torch.tensor([0.0, 1.0], dtype=F64))
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_negatives_of_any_strength_take_the_same_path_at_another_pace():
    """Directions do not depend on K, and so neither do the peaks of a flow whose clock is scaled by 1 − S."""
    sigma, state = problem()

    def direction(negatives, tau_squared=TAU):
        k, k_hat, nu = wide_velocity(state, sigma, NOISE, tau_squared, negatives)
        rates = torch.cat([k, k_hat, nu.unsqueeze(-1)], -1)
        return rates / rates.norm(dim=-1, keepdim=True)

    torch.testing.assert_close(direction(0.01), direction(1e4), rtol=1e-12, atol=1e-14)
    assert (direction(1.0) - direction(1.0, 2 * TAU)).norm(dim=-1).min() > 1e-3
    times = torch.cat([torch.zeros(1, dtype=F64), torch.logspace(-1, 4, 300, dtype=F64)])
    rows = torch.tensor([[2.0, 1.0]], dtype=F64)
    peaks = [
        wide_condition_number(wide_flow(wide_start(rows, 0.5, 50.0), rows, 0.5, times, 2.0, k)).max()
        for k in (1.0, 50.0)
    ]
    assert float(peaks[0]) == pytest.approx(float(peaks[1]), rel=1e-3) and float(peaks[0]) > 1.1 * 2
