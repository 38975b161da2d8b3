"""Mixed importance against autograd of the mixed losses, and a paced top layer against an optimiser with two rates."""

from itertools import islice

import pytest
import torch
from plain_network import plain_loss

from contrastive_dynamics.losses.named_losses import contrastive_loss, infonce
from contrastive_dynamics.losses.pairwise_importance import infonce_importance
from contrastive_dynamics.nonlinearity.networks.ensemble_training import ensemble_network, starting_weights, train
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.importance_mixture import ImportanceMixture, Variation
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.numerics.random_streams import stream

SMALL = TokenTraining(
    activation="linear", candidates=2, beta=3, places=4, tokens=6, generators=7, length=2, outputs=5, batch=12
)
S = torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64).view(3, 1, 1)
ONE = torch.ones_like(S)


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
    found = torch.stack(ImportanceMixture(S, ONE).unit_gradient(*z.detach()))
    found = found - z.detach() * (z.detach() * found).sum(-1, keepdim=True)  # the normalisation's part
    assert off(found, expected) < 1e-12


def test_it_is_the_gradient_of_the_mixed_importance():
    """With the weight of InfoNCE, and s/N for the uniform part; the factor 1/N left out would be seen."""
    f, f_view = unit_views()
    n = f.shape[-2]
    alpha = (1 - S) * infonce_importance(f, f_view, 0.1, 1.0) + S / n
    mixed = contrastive_loss("quadratic").__class__("mixed", lambda *_: alpha, infonce(0.1).weight)
    for found, expected in zip(ImportanceMixture(S, ONE).gradient(f, f_view), mixed.gradient(f, f_view), strict=True):
        assert off(found, expected) < 1e-12
    rows = alpha.sum(-1)
    assert float(rows.min()) > 0 and float(rows.max()) <= 1 + 1e-12 and float((rows[2] - 1).abs().max()) < 1e-12


def test_without_the_positive_pair_rows_sum_to_one():
    """ε = 0 for one run of three; its importance is that of InfoNCE over its row sums."""
    f, f_view = unit_views()
    positive = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64).view(3, 1, 1)
    alpha = infonce_importance(f, f_view, 0.1, 1.0)
    alpha = torch.where(positive > 0, alpha, alpha / alpha.sum(-1, keepdim=True))
    fixed = contrastive_loss("quadratic").__class__("fixed", lambda *_: alpha, infonce(0.1).weight)
    found = ImportanceMixture(0 * S, positive).gradient(f, f_view)
    for part, expected in zip(found, fixed.gradient(f, f_view), strict=True):
        assert off(part, expected) < 1e-12
    assert off(found[0][1], ImportanceMixture(0 * S, ONE).gradient(f, f_view)[0][1]) > 0.01


def test_variations_outside_their_range():
    for wrong in (Variation(1.5), Variation(0, 0.5), Variation(0, 1, 0.0)):
        with pytest.raises(ValueError, match="must be"):
            next(train([(SMALL, 0)], 1, variations=[wrong]))


def test_a_paced_top_layer_is_an_optimiser_with_two_rates():
    seeds, paces, steps = [3, 3, 4], [1.0, 10.0, 3.0], 60
    runs = [(SMALL, seed) for seed in seeds]
    network = ensemble_network([SMALL] * 3, "cpu", torch.float64)
    pool, draws = SMALL.pool(seeds), [stream(seed, 0, "minibatches") for seed in seeds]
    batches = pool.batches(draws, SMALL.batch, SMALL.groups, torch.float64)
    start = starting_weights(runs, "cpu", torch.float64)
    w, v = start.w.clone(), [each.clone() for each in start.v]
    rates = [{"params": [w]}] + [{"params": [each], "lr": SMALL.rate * c} for each, c in zip(v, paces, strict=True)]
    slow = torch.optim.SGD(rates, lr=SMALL.rate, momentum=SMALL.momentum, weight_decay=SMALL.weight_decay)
    loss = infonce(0.1)
    for batch in islice(batches, steps):
        found = network.gradients(Weights(w, torch.stack(v)), batch, loss)
        w.grad = found.w
        for each, grad in zip(v, found.v, strict=True):
            each.grad = grad
        slow.step()
    paced = [Variation(pace=pace) for pace in paces]
    *_, ends = train(runs, steps, "cpu", torch.float64, start=start, variations=paced)
    assert off(ends.w, w) < 1e-10 and off(ends.v, torch.stack(v)) < 1e-10
    assert off(ends.v[0], ends.v[1]) > 0.01  # the pace matters


def test_a_variation_that_changes_nothing():
    runs = [(SMALL, 3), (SMALL, 4)]
    *_, varied = train(runs, 40, variations=[Variation()] * 2)
    *_, plain = train(runs, 40)
    assert off(varied.w, plain.w) < 1e-5
