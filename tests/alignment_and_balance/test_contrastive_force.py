import itertools
import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.contrastive_force import force, non_contrastive_force, population_loss
from contrastive_dynamics.alignment_and_balance.model import Signs, all_signs, correlation
from contrastive_dynamics.numerics.random_streams import stream


def draw(*shape, purpose="g"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def sign_vectors(n, d):
    return [tensor(*signs) / math.sqrt(d) for signs in itertools.product((-1, 1), repeat=n)]


def loss_one_by_one(g, rank, tau_squared, negatives):
    """Every positive pair in a loop, and for each of them every negative: no cosh, no half of the states."""
    d = g.shape[-1]
    strangers, total = torch.stack(sign_vectors(d, d)), []
    for z in sign_vectors(rank, d):
        for noise_a, noise_b in itertools.product(sign_vectors(d - rank, d), repeat=2):
            u_a, u_b = torch.cat([z, noise_a]), torch.cat([z, noise_b])
            alike = torch.exp(tau_squared * (u_a @ g @ u_b))
            for unlike in (u_a @ g @ strangers.mT, strangers @ g @ u_b):
                total.append(-(alike / (alike + negatives * torch.exp(tau_squared * unlike).mean())).log())
    return 2 * torch.stack(total).mean()


@pytest.mark.parametrize(("rank", "d"), [(2, 3), (2, 4), (3, 3)])
def test_loss_and_force_are_those_of_positives_and_negatives_enumerated(rank, d):
    g, tau_squared, negatives = 2 * draw(2, d, d), tensor(0.7, 2.5), tensor(0.5, 4)
    losses, forces = [], []
    for run in range(2):
        part = g[run].clone().requires_grad_()
        losses.append(loss_one_by_one(part, rank, tau_squared[run], negatives[run]))
        forces.append(-torch.autograd.grad(losses[-1], part)[0] / tau_squared[run])
    given = (g, all_signs(rank, d), tau_squared, negatives)
    assert torch.allclose(population_loss(*given), torch.stack(losses).detach(), rtol=1e-10)
    assert torch.allclose(force(*given), torch.stack(forces), rtol=1e-10, atol=1e-14)
    # The modalities exchanged; and one run alone, with plain numbers.
    mirrored = Signs(given[1].u_b, given[1].u_a)
    assert torch.allclose(force(g.mT, mirrored, tau_squared, negatives).mT, force(*given), rtol=1e-12, atol=1e-15)
    alone = (g[1:], given[1], 2.5, 4.0)
    assert torch.allclose(force(*alone), force(*given)[1:], rtol=1e-12, atol=1e-15)
    assert torch.allclose(population_loss(*alone), population_loss(*given)[1:], rtol=1e-12)


def test_some_states_are_enough_and_blocks_do_not_matter(monkeypatch):
    g, exact = draw(2, 4, 4), all_signs(2, 4)
    order = torch.randperm(32, generator=stream(0, 0, "states"))
    some, mixed = (Signs(*(u[order[:k]] for u in exact)) for k in (8, 32))
    part = g.clone().requires_grad_()
    (slope,) = torch.autograd.grad(population_loss(part, some, 2.0, 3.0).sum(), part)
    assert torch.allclose(force(g, some, 2.0, 3.0), -slope / 2, rtol=1e-10, atol=1e-14)  # its own loss, exactly
    gaps = [(force(g, part, 2.0, 3.0) - force(g, exact, 2.0, 3.0)).norm() for part in (some, mixed)]
    assert gaps[0] > 1e-3 and gaps[1] < 1e-13
    whole = force(g, exact, 2.0, 3.0), population_loss(g, exact, 2.0, 3.0)
    for block in (1, 8 * 5):
        monkeypatch.setitem(force.__globals__, "_BLOCK", block)
        assert torch.allclose(force(g, exact, 2.0, 3.0), whole[0], rtol=1e-12, atol=1e-15)
        assert torch.allclose(population_loss(g, exact, 2.0, 3.0), whole[1], rtol=1e-12)


def test_at_a_high_temperature_the_force_is_a_multiple_of_the_non_contrastive_one():
    g, k = draw(1, 4, 4), 3.0
    limit = 2 * k / (1 + k) * non_contrastive_force(2, 4)
    assert torch.equal(non_contrastive_force(2, 4), torch.diag(tensor(0.25, 0.25, 0, 0)))
    states = all_signs(2, 4)
    assert torch.allclose(non_contrastive_force(2, 4), states.u_a.mT @ states.u_b / len(states.u_a), atol=1e-15)
    gaps = [(force(g, states, tau_squared, k) - limit).norm() for tau_squared in (2e-4, 1e-4)]
    assert gaps[0] < 1e-3 and gaps[0] / gaps[1] == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_a_low_temperature_nothing_overflows(dtype):
    # f_A = f_B = u·√c: e^{τ²s}/Z → 2^d, so S → 1/(1 + K 2^{-d}), and tanh(τ²c u√d)/√d → u leaves no force.
    eye, k = torch.eye(3, dtype=dtype).unsqueeze(0), 5.0
    states = all_signs(3, 3, dtype=dtype)
    rtol = 1e-2 if dtype == torch.float32 else 1e-10  # ε·τ²|G|
    loss = population_loss(1e3 * eye, states, 1e2, k)
    assert loss.dtype == dtype and loss.item() == pytest.approx(2 * math.log1p(k / 8), rel=rtol)
    assert force(1e3 * eye, states, 1e2, k).abs().max() < 1e-6
    # Opposite embeddings: the loss is linear in τ²c, and every pair pulls with all its force.
    loss = population_loss(-1e3 * eye, states, 1e2, k)
    assert loss.item() == pytest.approx(2 * (2e5 + math.log(k / 8)), rel=rtol)
    assert torch.allclose(force(-1e3 * eye, states, 1e2, k), 4 * eye / 3, rtol=rtol, atol=1e-6)
    assert torch.equal(force(0 * eye, states, 1e-30, k).isfinite(), eye.isfinite())


TWO = all_signs(2, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: force(draw(3, 3), TWO, 1.0, 1.0),
            r"force: g and both signs must be .*, got \[3, 3\], \[8, 3\], \[8, 3\]$",
        ),
        (lambda: force(draw(1, 4, 4), TWO, 1.0, 1.0), r"force: g .* must be .*, got \[1, 4, 4\]"),
        (
            lambda: population_loss(draw(1, 3, 3), TWO, 0.0, 1.0),
            "population_loss: tau_squared must be > 0 .* got .* 0 to 0",
        ),
        (lambda: force(draw(1, 3, 3), TWO, math.nan, 1.0), "force: tau_squared must be > 0"),
        (
            lambda: force(draw(2, 3, 3), TWO, tensor(1, -1), 1.0),
            "force: tau_squared must .* got tau_squared .2. of -1 to 1",
        ),
        (lambda: force(draw(1, 3, 3), TWO, 1.0, -2.0), "force: negatives must .* got negatives .. of -2 to -2"),
        (
            lambda: force(draw(1, 3, 3), TWO, 1.0, tensor(1, 1, 1)),
            r"force: negatives must be > 0 and finite, one number or \[run\], got negatives \[3\]",
        ),
        (
            lambda: force(torch.zeros(1, 200, 200), Signs(*[torch.zeros(1, 200)] * 2), 1.0, 1.0),
            "force: d must be < 128, got 200",
        ),
        (lambda: non_contrastive_force(4, 3), "rank must be 1 to dim, got rank=4, dim=3"),
    ],
)
def test_bad_input_is_named(call, text):
    with one_line_error(ValueError, text):
        call()


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        states, g = Signs(*(part.to(ELSEWHERE) for part in TWO)), draw(2, 3, 3).to(ELSEWHERE)
        results = force(g, states, 1.0, tensor(1, 2)), population_loss(g, states, 2.0, 1.0)
        assert {part.device for part in (*results, non_contrastive_force(1, 2, device=ELSEWHERE))} == {ELSEWHERE}


def invariants(rank, d):
    """Signed permutations P, Q with L(PᵀGQ) = L(G): of signals alike in both modalities, signs of noises in each."""
    noises = d - rank
    for order in itertools.permutations(range(rank)):
        for flips in itertools.product((1.0, -1.0), repeat=rank + 2 * noises):
            signal = torch.eye(rank, dtype=torch.float64)[list(order)] * tensor(*flips[:rank])
            own = [torch.diag(tensor(*part)) for part in (flips[rank : rank + noises], flips[rank + noises :])]
            yield tuple(torch.block_diag(signal, noise) for noise in own)


def balanced_loss(rank, tau_squared, negatives, share=1.0):
    """2 log(1 + K[(1 + e^{−2τ²c/d})/2]^r) for G = c·diag(1, …, 1, 0, …), c = share·d/r."""
    return 2 * math.log1p(negatives * ((1 + math.exp(-2 * tau_squared * share / rank)) / 2) ** rank)


@pytest.mark.parametrize(("tau_squared", "negatives"), [(0.5, 8.0), (4.0, 1.0)])
def test_the_steps_of_the_proof_that_a_balanced_map_has_the_least_loss(tau_squared, negatives):
    """Convex in G; signs and orders do not matter; their mean is c·diag(1, …, 1, 0, …), c ≤ d/r; loss falls in c."""
    rank, d = 2, 4
    signs = all_signs(rank, d)

    def loss(g):
        return population_loss(g, signs, tau_squared, negatives)

    g, h = (3 * draw(20, d, d, purpose=what) for what in "gh")
    assert (loss((g + h) / 2) <= (loss(g) + loss(h)) / 2 + 1e-12).all()
    moved = torch.stack([p.T @ g @ q for p, q in invariants(rank, d)])
    for k in range(0, len(moved), 7):
        torch.testing.assert_close(loss(moved[k]), loss(g))
    mean, wanted = moved.mean(0), torch.diag(tensor(*[1.0] * rank, *[0.0] * (d - rank)))
    c = g[:, :rank, :rank].diagonal(dim1=-2, dim2=-1).mean(-1)
    torch.testing.assert_close(mean, c[:, None, None] * wanted)
    assert (c.abs() <= torch.linalg.matrix_norm(g, "nuc") / rank).all() and (loss(mean) <= loss(g) + 1e-12).all()
    shares = [-1.0, 0.0, 0.5, 1.0]
    of_shares = [float(loss((x * d / rank) * wanted[None])) for x in shares]
    assert of_shares == pytest.approx([balanced_loss(rank, tau_squared, negatives, x) for x in shares])
    assert of_shares == sorted(of_shares, reverse=True)


def test_no_map_of_any_width_has_less_loss_than_a_balanced_one():
    for width in (2, 3, 9):
        a, b = (draw(50, width, 4, purpose=f"{side}{width}") for side in "ab")
        b[:25] = a[:25] * (1 + 0.1 * b[:25])  # half of them nearly aligned
        g = correlation(a, b)
        assert (torch.linalg.matrix_norm(g, "nuc") <= 4 * (1 + 1e-12)).all()
        for tau_squared, negatives in ((0.5, 8.0), (2.0, 127.0)):
            least = balanced_loss(2, tau_squared, negatives)
            assert (population_loss(g, all_signs(2, 4), tau_squared, negatives) > least).all()
