import itertools
import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.symmetrised_relu import (
    contrastive_gradient,
    contrastive_loss_value,
    features,
    logits,
    symmetrised_relu,
)
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment, enumerated_cross_moment
from contrastive_dynamics.numerics.random_streams import stream

RUN, COUNT, N, M, DIM = 3, 7, 5, 4, 6


def draw(purpose, *shape):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def data(views):
    x, mask = draw("x", RUN, COUNT, DIM), draw("mask", RUN, COUNT, DIM) > 0
    pair = (2 * mask * x, 2 * ~mask * x) if views == "masked" else (x, x)
    return *pair, draw("negatives", RUN, N, DIM)


def learner(level):
    """Weights and biases; levels of a neuron differ by their sizes, "mixed" by their signs too."""
    sizes = torch.linspace(0.2, 1.5, M, dtype=torch.float64).expand(RUN, M)
    signs = torch.tensor([1.0, -1.0, 0.0, 1.0], dtype=torch.float64) if level == "mixed" else level
    return draw("weights", RUN, M, DIM), sizes * signs


def network(x, w, b):
    """f_i(x), one neuron after another."""
    return torch.stack([(x @ w[i] - b[i]).clamp(min=0) - (-(x @ w[i]) - b[i]).clamp(min=0) for i in range(len(w))])


def plain_loss(weights, bias, first, second, negatives, temperature):
    """The mean over runs' positives, pair by pair; the similarity's second argument is detached."""
    losses = []
    for w, b, xs, ys, others in zip(weights, bias, first, second, negatives, strict=True):
        for x, y in zip(xs, ys, strict=True):
            sims = [network(x, w, b) @ network(other, w, b).detach() / temperature for other in (y, *others)]
            losses.append(-temperature * (sims[0] - torch.stack(sims).logsumexp(0)) / len(xs))
    return torch.stack(losses).view(len(weights), -1).sum(-1)


@pytest.mark.parametrize("views", ["masked", "plain"])
@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, "mixed"])
def test_the_gradient_in_closed_form_is_that_of_autograd(views, level):
    weights, bias = learner(level)
    batch = data(views)
    found = contrastive_gradient(weights, bias, *batch, 3.0)
    leaves = weights.clone().requires_grad_(), bias.clone().requires_grad_()
    loss = plain_loss(*leaves, *batch, 3.0)
    torch.testing.assert_close(found.loss, loss.detach(), rtol=1e-10, atol=0)
    for ours, theirs in zip(found[1:], torch.autograd.grad(loss.sum(), leaves), strict=True):
        assert level == 0 or theirs.abs().max() > 0.1
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    value = contrastive_loss_value(*(features(x, weights, bias) for x in batch), 3.0)
    torch.testing.assert_close(value, found.loss, rtol=1e-12, atol=0)


@pytest.mark.parametrize("level, printed_holds", [(1.0, True), (-1.0, False)])
def test_the_printed_indicator_is_that_of_biases_above_zero(level, printed_holds):
    weights, bias = learner(level)
    first, second, negatives = data("masked")
    on = [features(x, weights, bias) for x in (first, second, negatives)]
    shares = logits(*on, 3.0).exp()
    pull = (1 - shares[..., :1]) * on[1] - shares[..., 1:] @ on[2]
    printed = pull * ((first @ weights.mT).abs() >= bias.unsqueeze(-2))  # 1{|⟨w_i, x⁺⟩| ≥ b_i}
    found = contrastive_gradient(weights, bias, first, second, negatives, 3.0).weights
    off = float((printed.mT @ first / -COUNT - found).norm() / found.norm())
    assert off < 1e-12 if printed_holds else off > 0.05  # below zero both branches are open near 0


def test_without_the_stop_the_gradient_is_another():
    weights, bias = learner(1.0)
    first, second, negatives = data("masked")
    leaf = weights.clone().requires_grad_()
    value = contrastive_loss_value(*(features(x, leaf, bias) for x in (first, second, negatives)), 3.0)
    (through,) = torch.autograd.grad(value.sum(), leaf)
    found = contrastive_gradient(weights, bias, first, second, negatives, 3.0)
    assert (through - found.weights).abs().max() > 0.1


def test_the_activation_is_a_soft_threshold_and_odd():
    u = torch.linspace(-3, 3, 61, dtype=torch.float64).unsqueeze(-1)
    for b in (0.0, 0.7):
        expected = u.sign() * (u.abs() - b).clamp(min=0)
        found = symmetrised_relu(u, torch.full((1,), b, dtype=torch.float64))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-15)
    below = symmetrised_relu(u, torch.full((1,), -0.7, dtype=torch.float64))
    inner = torch.where(u.abs() < 0.7, 2 * u, u + 0.7 * u.sign())
    torch.testing.assert_close(below, inner, rtol=0, atol=1e-14)
    torch.testing.assert_close(below, -below.flip(0), rtol=0, atol=1e-14)


def test_limits_of_the_loss():
    weights, _ = learner(0.0)
    batch, tau = data("plain"), 2.5
    silent = contrastive_gradient(weights, torch.full((RUN, M), 1e3, dtype=torch.float64), *batch, tau)
    assert torch.allclose(silent.loss, torch.tensor(tau * math.log(1 + N)).double(), rtol=1e-6)
    assert not silent.weights.any() and not silent.bias.any()
    tiny = contrastive_gradient(1e-8 * weights, torch.zeros(RUN, M, dtype=torch.float64), *batch, tau)
    torch.testing.assert_close(tiny.loss, torch.full_like(tiny.loss, tau * math.log(1 + N)), rtol=1e-10, atol=0)
    # Sim grows as the square of the weights: each positive wins against negatives that are orthogonal or opposite
    first = draw("x", RUN, 1, DIM)
    apart = -first.expand(RUN, N, DIM)
    large = contrastive_gradient(100 * weights, torch.zeros(RUN, M, dtype=torch.float64), first, first, apart, tau)
    assert (large.loss < 1e-100).all() and (large.loss >= 0).all() and (large.weights.abs() < 1e-90).all()
    on = [features(x, weights, torch.zeros(RUN, M, dtype=torch.float64)) for x in batch]
    shares = logits(*on, tau).exp()
    torch.testing.assert_close(shares.sum(-1), torch.ones(RUN, COUNT, dtype=torch.float64), rtol=1e-12, atol=0)


@pytest.mark.parametrize("views", ["masked", "plain"])
def test_the_first_gradient_is_that_of_the_cross_moment(views):
    # p = 2/3 and ρ = 1/2 make all data and masks as likely, so that one batch is the population, with ξ one of
    # ±σ √d1 e_i. Negatives that come with their opposites have mean 0, as the population has.
    dim, sigma = 4, 0.6
    model = SparseCoding(random_dictionary(dim, 2, [stream(0, k, "dictionary") for k in range(2)]), 2 / 3, sigma)
    nodes = [s * sigma * 2.0 * e for e in torch.eye(dim, dtype=torch.float64) for s in (1, -1)]
    z = [torch.tensor(each, dtype=torch.float64) for each in itertools.product((-1, 0, 1), repeat=2)]
    masks = [torch.tensor(each) for each in itertools.product((0, 2), repeat=dim)]
    batches = []
    for dictionary in model.dictionary:
        x = torch.stack([dictionary @ each + node for each in z for node in nodes])
        pairs = [(d * x, (2 - d) * x) for d in masks] if views == "masked" else [(x, x)]
        batches.append([torch.cat(part) for part in zip(*pairs, strict=True)])
    first, second = (torch.stack(part) for part in zip(*batches, strict=True))
    negatives = draw("negatives", 2, 3, dim)
    negatives = torch.cat([negatives, -negatives], 1)
    weights = 1e-7 * draw("weights", 2, 5, dim)
    found = contrastive_gradient(weights, torch.zeros(2, 5, dtype=torch.float64), first, second, negatives, 4.0)
    for moment in (cross_moment(model, views), enumerated_cross_moment(model, views)):
        expected = -6 / 7 * weights @ moment
        torch.testing.assert_close(found.weights, expected, rtol=1e-10, atol=1e-20)
    on_first, on_second = (torch.einsum("rnk,rik->rni", x, weights) for x in (first, second))
    torch.testing.assert_close(found.bias, 6 / 7 * (on_second * on_first.sign()).mean(1), rtol=1e-10, atol=1e-20)


def test_a_run_is_the_same_alone_or_in_a_batch():
    weights, bias = learner("mixed")
    together = contrastive_gradient(weights, bias, *data("masked"), 3.0)
    alone = contrastive_gradient(weights[1:2], bias[1:2], *(x[1:2] for x in data("masked")), 3.0)
    for ours, single in zip(together, alone, strict=True):
        torch.testing.assert_close(ours[1:2], single, rtol=1e-12, atol=1e-14)


def test_bad_input_is_named():
    weights, bias = learner(0.0)
    first, second, negatives = data("masked")
    with pytest.raises(ValueError, match="negatives must be ≥ 1, got 0"):
        contrastive_gradient(weights, bias, first, second, negatives[:, :0], 1.0)
    of_features = (features(x, weights, bias) for x in (first, second, negatives))
    calls = {contrastive_gradient: (weights, bias, first, second, negatives)}
    calls |= dict.fromkeys((logits, contrastive_loss_value), tuple(of_features))
    for temperature in (0.0, -2.0, 1e-39, float("inf"), float("nan")):
        for call, inputs in calls.items():
            with pytest.raises(ValueError, match=f"temperature must be > 0 .*, got {temperature}"):
                call(*inputs, temperature)


def test_everything_stays_on_the_device_of_its_inputs():
    inputs = *learner("mixed"), *data("masked")
    with elsewhere():
        far = contrastive_gradient(*(x.to(ELSEWHERE) for x in inputs), 3.0)
        near = contrastive_gradient(*inputs, 3.0)
        for there, here in zip(far, near, strict=True):
            assert there.device == ELSEWHERE and float((there - here.to(ELSEWHERE)).abs().max()) < 1e-12
