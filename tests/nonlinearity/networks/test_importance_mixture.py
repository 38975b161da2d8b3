"""Mixed importance against autograd of the mixed losses, and a paced top layer against an optimiser with two rates."""

from itertools import islice

import pytest
import torch
from plain_network import plain_loss

from contrastive_dynamics.losses.named_losses import contrastive_loss, infonce
from contrastive_dynamics.losses.pairwise_importance import infonce_importance
from contrastive_dynamics.nonlinearity.networks.ensemble_training import ensemble_network, sgd_steps
from contrastive_dynamics.nonlinearity.networks.given_starts import starts, trained_from
from contrastive_dynamics.nonlinearity.networks.importance_mixture import ImportanceMixture, PacedNetwork
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.numerics.random_streams import stream

SMALL = TokenTraining(
    activation="linear", candidates=2, beta=3, places=4, tokens=6, generators=7, length=2, outputs=5, batch=12
)
S = torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64).view(3, 1, 1)


def unit_views(runs=3, n=12, j=5):
    g = stream(1, 0, "outputs")
    f = torch.randn(2, runs, n, j, generator=g, dtype=torch.float64)
    return torch.nn.functional.normalize(f, dim=-1)


def off(a, b):
    return float((a - b).abs().max() / b.abs().max())


def test_gradient_is_that_of_the_mixed_losses():
    f = unit_views().requires_grad_()
    z = torch.nn.functional.normalize(f, dim=-1)
    parts = [
        (1 - s) * plain_loss("infonce", *one) + s * plain_loss("quadratic_over_tau", *one)
        for s, one in zip(S.flatten(), z.transpose(0, 1), strict=True)
    ]
    (expected,) = torch.autograd.grad(sum(parts), f)
    found = torch.stack(ImportanceMixture(S).unit_gradient(*z.detach()))
    found = found - z.detach() * (z.detach() * found).sum(-1, keepdim=True)  # the normalisation's part
    assert off(found, expected) < 1e-12


def test_it_is_the_gradient_of_the_mixed_importance():
    """With the weight of InfoNCE, and s/N for the uniform part; the factor 1/N left out would be seen."""
    f, f_view = unit_views()
    n = f.shape[-2]
    alpha = (1 - S) * infonce_importance(f, f_view, 0.1, 1.0) + S / n
    mixed = contrastive_loss("quadratic").__class__("mixed", lambda *_: alpha, infonce(0.1).weight)
    for found, expected in zip(ImportanceMixture(S).gradient(f, f_view), mixed.gradient(f, f_view), strict=True):
        assert off(found, expected) < 1e-12
    rows = alpha.sum(-1)
    assert float(rows.min()) > 0 and float(rows.max()) <= 1 + 1e-12 and float((rows[2] - 1).abs().max()) < 1e-12


def test_s_outside_its_range():
    with pytest.raises(ValueError, match="s must be"):
        ImportanceMixture(torch.tensor([1.5]))


def test_a_paced_top_layer_is_an_optimiser_with_two_rates():
    seeds, pace, steps = [3, 3, 4], torch.tensor([1.0, 10.0, 3.0]).view(-1, 1, 1, 1), 60
    network = ensemble_network([SMALL] * 3, "cpu", torch.float64)
    pool, draws = SMALL.pool(seeds), [stream(seed, 0, "minibatches") for seed in seeds]
    batches = pool.batches(draws, SMALL.batch, SMALL.groups, torch.float64)
    start = type(starts(SMALL, seeds, "cpu"))(*(part.double() for part in starts(SMALL, seeds, "cpu")))
    w, v = start.w.clone(), [each.clone() for each in start.v]
    rates = [{"params": [w]}] + [
        {"params": [each], "lr": SMALL.rate * float(c)} for each, c in zip(v, pace, strict=True)
    ]
    slow = torch.optim.SGD(rates, lr=SMALL.rate, momentum=SMALL.momentum, weight_decay=SMALL.weight_decay)
    loss = infonce(0.1)
    for batch in islice(batches, steps):
        found = network.gradients(type(start)(w, torch.stack(v)), batch, loss)
        w.grad = found.w
        for each, grad in zip(v, found.v, strict=True):
            each.grad = grad
        slow.step()
    paced = PacedNetwork(network, pace.double(), SMALL.weight_decay)
    ends = trained_from(SMALL, seeds, start, paced, ImportanceMixture(0 * S), steps)
    assert off(ends.w, w) < 1e-10 and off(ends.v, torch.stack(v)) < 1e-10
    assert off(ends.v[0], ends.v[1]) > 0.01  # the pace matters


def test_at_pace_one_it_is_the_training_of_the_ensemble():
    seeds = [3, 4]
    network = ensemble_network([SMALL] * 2, "cpu", torch.float32)
    paced = PacedNetwork(network, torch.ones(2, 1, 1, 1), SMALL.weight_decay)
    ends = trained_from(SMALL, seeds, starts(SMALL, seeds, "cpu"), paced, infonce(0.1), 40)
    batches = SMALL.pool(seeds).batches([stream(s, 0, "minibatches") for s in seeds], SMALL.batch, SMALL.groups)
    settings = {"rate": SMALL.rate, "momentum": SMALL.momentum, "weight_decay": SMALL.weight_decay}
    *_, weights = sgd_steps(network, starts(SMALL, seeds, "cpu"), islice(batches, 40), infonce(0.1), **settings)
    assert off(ends.w, weights.w) < 1e-5
