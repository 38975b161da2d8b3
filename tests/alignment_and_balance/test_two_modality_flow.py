import itertools
import math
from typing import NamedTuple

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error
from torch import Tensor
from torchdiffeq import odeint

from contrastive_dynamics.alignment_and_balance.contrastive_force import force, non_contrastive_force
from contrastive_dynamics.alignment_and_balance.model import Signs, all_signs, correlation
from contrastive_dynamics.alignment_and_balance.two_modality_flow import (
    column_rates,
    contrastive_flow,
    non_contrastive_flow,
    velocity,
)
from contrastive_dynamics.numerics.random_streams import stream

TAU_SQUARED, K, RANK = 1.7, 2.5, 2
WHOLE = {"rtol": 1e-10, "atol": 1e-12}


def draw(*shape, purpose="w"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def sign_vectors(n, d):
    return torch.stack([tensor(*signs) / math.sqrt(d) for signs in itertools.product((-1, 1), repeat=n)])


class Paper(NamedTuple):
    """Data, weights and losses as the paper writes them: every positive pair and every negative, no latent algebra."""

    scales: Tensor
    a: Tensor  # [6, d], dense with orthogonal columns, signal and noise
    b: Tensor
    x_a: Tensor  # [pair, 6]
    x_b: Tensor
    all_a: Tensor  # [2^d, 6] the negatives, and the data that N_A is a mean over
    all_b: Tensor

    def outputs(self, w_a, w_b):
        """f_A⁺, f_B⁺ of the pairs and f_A⁻, f_B⁻."""
        n_a, n_b = ((x @ w).square().sum(1).mean().sqrt() for x, w in ((self.all_a, w_a), (self.all_b, w_b)))
        return self.x_a @ w_a / n_a, self.x_b @ w_b / n_b, self.all_a @ w_a / n_a, self.all_b @ w_b / n_b

    def log_s(self, w_a, w_b):
        f_a, f_b, away_a, away_b = self.outputs(w_a, w_b)
        alike = torch.exp(TAU_SQUARED * (f_a * f_b).sum(1))
        unlike_a = torch.exp(TAU_SQUARED * (f_a @ away_b.T)).mean(1)
        unlike_b = torch.exp(TAU_SQUARED * (f_b @ away_a.T)).mean(1)
        return (alike / (alike + K * unlike_a)).log(), (alike / (alike + K * unlike_b)).log()

    def loss(self, w_a, w_b):
        return -sum(part.mean() for part in self.log_s(w_a, w_b))

    def non_contrastive_loss(self, w_a, w_b):
        f_a, f_b, _, _ = self.outputs(w_a, w_b)
        return -(f_a * f_b).sum(1).mean()

    def maps(self, w_a, w_b):
        return (w_a.T @ self.a).unsqueeze(0), (w_b.T @ self.b).unsqueeze(0)

    def descent(self, loss, w_a, w_b, scale):
        """The velocities of the maps along −∂loss/∂W/scale, by autograd."""
        weights = [w.detach().clone().requires_grad_() for w in (w_a, w_b)]
        moves = [-part / scale for part in torch.autograd.grad(loss(*weights), weights)]
        return self.maps(*moves)


def paper(d, m=3):
    scales = tensor(1.6, 0.9, *[0.5] * (d - RANK))
    a, b = (torch.linalg.qr(draw(6, d, purpose=name))[0] * scales for name in "AB")
    z, noise = sign_vectors(RANK, d), sign_vectors(d - RANK, d)
    pairs = list(itertools.product(z, noise, noise))
    x_a = torch.stack([a @ torch.cat([z, noise]) for z, noise, _ in pairs])
    x_b = torch.stack([b @ torch.cat([z, noise]) for z, _, noise in pairs])
    data = Paper(scales, a, b, x_a, x_b, sign_vectors(d, d) @ a.T, sign_vectors(d, d) @ b.T)
    return data, draw(6, m, purpose="w_a"), draw(6, m, purpose="w_b")


def kernel_force(map_a, map_b, states):
    return force(correlation(map_a, map_b), states, TAU_SQUARED, K)


@pytest.mark.parametrize("d", [3, 4])
def test_the_gradients_of_one_pair_and_of_the_loss(d):
    data, w_a, w_b = paper(d)
    w = w_a.clone().requires_grad_()
    log_s_a, log_s_b = data.log_s(w, w_b)
    f_a, f_b, away_a, away_b = (part.detach() for part in data.outputs(w, w_b))
    n_a = (data.all_a @ w_a).square().sum(1).mean().sqrt()
    cov = data.a @ data.a.T / d

    def of_inner_product(x, f, partner):  # ∇⟨f_A, f_B⟩ in W_A
        return torch.outer(x, partner) / n_a - (f @ partner) * (cov @ w_a) / n_a**2

    parts = []
    for i in range(len(f_a)):
        alike, own = f_a[i] @ f_b[i], of_inner_product(data.x_a[i], f_a[i], f_b[i])
        s_a, s_b = log_s_a[i].detach().exp(), log_s_b[i].detach().exp()
        pull_a, pull_b = (1 - s_a) * own, (1 - s_b) * own
        for away in away_b:
            share = K * s_a * torch.exp(TAU_SQUARED * (f_a[i] @ away - alike)) / len(away_b)
            pull_a = pull_a - share * of_inner_product(data.x_a[i], f_a[i], away)
        for x, away in zip(data.all_a, away_a, strict=True):
            share = K * s_b * torch.exp(TAU_SQUARED * (away @ f_b[i] - alike)) / len(away_a)
            pull_b = pull_b - share * of_inner_product(x, away, f_b[i])
        parts.append(pull_a + pull_b)
        if i % 7 == 0:  # Lemma A.1, and its mirror
            (slope_a,) = torch.autograd.grad(log_s_a[i], w, retain_graph=True)
            (slope_b,) = torch.autograd.grad(log_s_b[i], w, retain_graph=True)
            assert torch.allclose(slope_a, TAU_SQUARED * pull_a, **WHOLE)
            assert torch.allclose(slope_b, TAU_SQUARED * pull_b, **WHOLE)
            # The force of a single state is that of this pair.
            u_a, u_b = data.x_a[i] @ data.a / data.scales**2, data.x_b[i] @ data.b / data.scales**2
            maps = data.maps(w_a, w_b)
            one = velocity(*maps, data.scales, kernel_force(*maps, Signs(u_a[None], u_b[None])))[0][0]
            assert torch.allclose(one, (pull_a + pull_b).T @ data.a, **WHOLE)
    # Lemma A.2
    (slope,) = torch.autograd.grad(data.loss(w, w_b), w)
    assert torch.allclose(slope, -TAU_SQUARED * torch.stack(parts).mean(0), **WHOLE)


@pytest.mark.parametrize("d", [3, 4])
def test_the_velocity_is_that_of_gradient_descent_on_the_weights(d):
    data, w_a, w_b = paper(d)
    maps = data.maps(w_a, w_b)
    m = kernel_force(*maps, all_signs(RANK, d))
    # Lemma A.3, signal and noise; Lemma A.6 and eq. (6)
    for loss, scale, pull in (
        (data.loss, TAU_SQUARED, m),
        (data.non_contrastive_loss, 1, non_contrastive_force(RANK, d)),
    ):
        exact = data.descent(loss, w_a, w_b, scale)
        for got, move in zip(velocity(*maps, data.scales, pull), exact, strict=True):
            assert torch.allclose(got, move, **WHOLE)
    # Lemma A.5
    moved_a, moved_b = data.descent(data.loss, w_a, w_b, TAU_SQUARED)
    for k, other, move, pull in ((*maps, moved_a, m), (*maps[::-1], moved_b, m.mT)):
        square, unit = torch.func.jvp(lambda k: (k.square().sum(1), k / k.norm(dim=1, keepdim=True)), (k,), (move,))[1]
        radial, tangential = column_rates(k, other, data.scales, pull)
        assert torch.allclose(radial, square, **WHOLE) and torch.allclose(tangential, unit, **WHOLE)


def test_the_printed_equation_of_the_flow():
    # Eq. (5) for the signal columns, expectations over z⁺, ξ⁺ and z⁻, ξ⁻ by enumeration.
    d = 3
    data, w_a, w_b = paper(d)
    map_a, map_b = data.maps(w_a, w_b)
    f_a, f_b, away_a, away_b = data.outputs(w_a, w_b)
    s_a, s_b = (part.exp() for part in data.log_s(w_a, w_b))
    n_a, k_a = math.sqrt(map_a.square().sum() / d), map_a[0, :, :RANK]
    latent, away_latent = (x @ data.a[:, :RANK] / data.scales[:RANK] ** 2 for x in (data.x_a, data.all_a))

    def term(weight, f, partner, z):
        along = (weight * (f * partner).sum(-1)).mean()
        return (weight.unsqueeze(-1) * partner).flatten(0, -2).T @ z.flatten(0, -2) / weight.numel() / n_a - (
            along * k_a / (n_a**2 * d)
        )

    alike = (f_a * f_b).sum(1)
    pairs, strangers = len(f_a), len(away_a)
    f_a2, f_b2 = (f.unsqueeze(1).expand(-1, strangers, -1) for f in (f_a, f_b))
    weight_a = s_a[:, None] * torch.exp(TAU_SQUARED * (f_a @ away_b.T - alike[:, None]))
    weight_b = s_b[:, None] * torch.exp(TAU_SQUARED * (f_b @ away_a.T - alike[:, None]))
    printed = term(2 - s_a - s_b, f_a, f_b, latent)
    printed = printed - K * term(
        weight_a, f_a2, away_b.expand(pairs, -1, -1), latent.unsqueeze(1).expand(-1, strangers, -1)
    )
    printed = printed - K * term(weight_b, away_a.expand(pairs, -1, -1), f_b2, away_latent.expand(pairs, -1, -1))
    got = velocity(map_a, map_b, data.scales, kernel_force(map_a, map_b, all_signs(RANK, d)))[0]
    assert torch.allclose(got[0, :, :RANK], printed * data.scales[:RANK] ** 2, **WHOLE)


def test_the_flow_is_that_of_the_weights_in_their_own_time():
    data, w_a, w_b = paper(3)
    maps, times = data.maps(w_a, w_b), tensor(0, 1, 4)

    def weights_move(loss, scale):
        def field(_, w):
            w = w.detach().requires_grad_()
            return -torch.autograd.grad(loss(*w), w)[0] / scale

        return odeint(field, torch.stack([w_a, w_b]), times, rtol=1e-9, atol=1e-10)

    for loss, scale, flow in (
        (data.loss, TAU_SQUARED, contrastive_flow(*maps, data.scales, all_signs(2, 3), times, TAU_SQUARED, K)),
        (data.non_contrastive_loss, 1, non_contrastive_flow(*maps, data.scales, RANK, times)),
    ):
        path = weights_move(loss, scale)
        assert (flow.map_a[-1] - flow.map_a[0]).norm() > 0.3
        assert torch.allclose(flow.map_a[:, 0], path[:, 0].mT @ data.a, atol=1e-6)
        assert torch.allclose(flow.map_b[:, 0], path[:, 1].mT @ data.b, atol=1e-6)
        assert flow.error < 1e-6


def start(run, m, d, purpose="start"):
    scales = torch.linspace(0.4, 1.5, run * d, dtype=torch.float64).reshape(d, run).T.flip(1)
    map_a, map_b = (draw(run, m, d, purpose=purpose + name) * scales.unsqueeze(1) / m**0.5 for name in "AB")
    return map_a, map_b, scales


def test_the_width_enters_through_the_gram_matrices_of_the_start_only():
    map_a, map_b, scales = start(2, 50, 4)
    factor = torch.linalg.qr(torch.cat([map_a, map_b], -1))[1]
    assert factor.shape == (2, 8, 8)
    grams, times, signs = [], tensor(0, 2), all_signs(2, 4)
    for a, b in ((map_a, map_b), factor.split(4, -1)):
        flow = contrastive_flow(a, b, scales, signs, times, 2.0, 3.0, rtol=1e-8)
        grams.append([x.mT @ y for x, y in itertools.product(flow[:2], repeat=2)])
    for wide, narrow in zip(*grams, strict=True):
        assert torch.allclose(wide, narrow, atol=1e-7)


def test_a_run_is_the_same_alone_or_in_a_batch_and_keeps_what_it_keeps():
    map_a, map_b, scales = start(3, 6, 3)
    tau_squared, negatives, times = tensor(0.1, 1, 6), tensor(1, 2, 3), tensor(0, 1, 10)
    together = contrastive_flow(map_a, map_b, scales, all_signs(2, 3), times, tau_squared, negatives, rtol=1e-8)
    assert together.map_b.shape == (3, 3, 6, 3) and torch.equal(together.map_a[0], map_a)
    for part in together[:2]:
        norms = (part / scales.unsqueeze(1)).norm(dim=(-2, -1))
        assert torch.allclose(norms, norms[0].expand_as(norms), rtol=1e-6)
        assert (norms / norms[0] - 1).abs().amax(0).le(together.error + 1e-15).all()
    assert (together.error < 1e-6).all()
    rest = map_a[2:], map_b[2:], scales[2:]
    alone = contrastive_flow(*rest, all_signs(2, 3), times, 6.0, 3.0, rtol=1e-8)
    one_scale = contrastive_flow(*rest[:2], scales[2], all_signs(2, 3), times, 6.0, 3.0, rtol=1e-8)
    assert torch.equal(alone.map_a, one_scale.map_a)
    assert torch.allclose(alone.map_a, together.map_a[:, 2:], atol=1e-6)
    # The flow has no unit: c·map at time c²t is c times map at time t, and the steps are the same ones.
    large = contrastive_flow(1e4 * rest[0], 1e4 * rest[1], scales[2], all_signs(2, 3), 1e8 * times, 6.0, 3.0, rtol=1e-8)
    assert torch.allclose(large.map_a, 1e4 * alone.map_a, rtol=1e-6)
    # A loose tolerance shows in the error.
    loose = contrastive_flow(*rest, all_signs(2, 3), times, 6.0, 3.0, rtol=1e-3)
    assert 100 * alone.error < loose.error < 0.1


def test_columns_of_scale_zero_stay_away():
    map_a, map_b, scales = start(1, 4, 3)
    scales[:, 2] = map_a[..., 2] = map_b[..., 2] = 0
    flow = contrastive_flow(map_a, map_b, scales, all_signs(2, 3), tensor(0, 3), 1.0, 1.0)
    assert (flow.map_a[..., 2] == 0).all() and flow.map_a.isfinite().all() and flow.error < 1e-5


MAPS = start(1, 4, 3)
TWO = all_signs(2, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: non_contrastive_flow(MAPS[0], MAPS[1][0], MAPS[2], 2, tensor(0, 1)), r"got \[1, 4, 3\], \[4, 3\]"),
        (lambda: non_contrastive_flow(*MAPS[:2], tensor(1, 1), 2, tensor(0, 1)), r"and \[run, d\] or \[d\], got"),
        (lambda: non_contrastive_flow(*MAPS, 4, tensor(0, 1)), "rank must be 1 to dim, got rank=4"),
        (
            lambda: non_contrastive_flow(0 * MAPS[0], *MAPS[1:], 2, tensor(0, 1)),
            "non_contrastive_flow: every run .* got 0",
        ),
        (lambda: contrastive_flow(*MAPS, TWO, tensor(1, 2), 1.0, 1.0), r"times must be .* got \[1.0, 2.0\]"),
        (lambda: contrastive_flow(*MAPS, TWO, tensor(0, 2, 1), 1.0, 1.0), "increasing from 0"),
        (lambda: contrastive_flow(*MAPS, TWO, tensor(0, 1), 0.0, 1.0), "force: tau_squared must be > 0"),
        (lambda: contrastive_flow(*MAPS, TWO, tensor(0, 1), 1.0, 1.0, rtol=1e-15), "rtol must be > 100·ε, got 1e-15"),
    ],
)
def test_bad_input_is_named(call, text):
    with one_line_error(ValueError, text):
        call()


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        maps, signs = [part.to(ELSEWHERE) for part in MAPS], Signs(*(part.to(ELSEWHERE) for part in TWO))
        times = tensor(0, 0.1).to(ELSEWHERE)
        flow = contrastive_flow(*maps, signs, times, 1.0, 1.0, rtol=1e-3)
        plain = non_contrastive_flow(*maps, 2, times, rtol=1e-3)
        rates = column_rates(*maps, non_contrastive_force(2, 3, ELSEWHERE))
        assert {part.device for part in (*flow, *plain, *rates)} == {ELSEWHERE}
