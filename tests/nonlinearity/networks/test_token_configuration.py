"""The ensemble of token networks against one plain run, alone and inside a batch; bad configurations."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from plain_network import H, plain_training

from contrastive_dynamics.losses.named_losses import LOSSES, contrastive_loss
from contrastive_dynamics.nonlinearity.networks import token_batch, token_generators
from contrastive_dynamics.nonlinearity.networks.ensemble_training import ensemble_network, sgd_steps, train
from contrastive_dynamics.nonlinearity.networks.field_network import initial_weights
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import BATCH_NORM
from contrastive_dynamics.numerics.random_streams import stream

SMALL = TokenTraining(candidates=2, beta=2, places=4, tokens=6, generators=7, length=2, outputs=5, batch=12)
CASES = (
    [replace(SMALL, activation=name) for name in H]
    + [replace(SMALL, batch_norm=name) for name in BATCH_NORM]
    + [replace(SMALL, batch_norm=name, views_apart=False) for name in BATCH_NORM]
    + [replace(SMALL, loss=name) for name in LOSSES]
    + [replace(SMALL, zeta=3.0, momentum=0.0), replace(SMALL, weight_decay=0.0, rate=0.2)]
)


def ensemble(training, seeds, steps=200):
    """Filters and top layer of every run after the steps, and what a plain run needs to repeat one."""
    for weights in train([(training, seed) for seed in seeds], steps, dtype=torch.float64):  # noqa: B007
        pass
    return weights


def plain(training, seed, steps=200):
    start = initial_weights(
        [stream(seed, 0, "weights")],
        training.places,
        training.filters,
        training.tokens,
        training.outputs,
        torch.float64,
    )
    pool, draw, tokens = training.pool([seed]), [stream(seed, 0, "minibatches")], []
    while len(tokens) < steps:
        tokens.extend(pool.views(draw, training.batch, token_generators.CHUNK)[:, 0])
    return plain_training(training, type(start)(start.w[0], start.v[0]), tokens, steps=steps)


def distance(a, b):
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize("training", CASES, ids=range(len(CASES)))
def test_a_run_is_that_of_the_plain_module_alone_and_in_a_batch(training):
    w, v = plain(training, 6)
    alone, beside = ensemble(training, [6]), ensemble(training, [9, 5, 6])
    assert w.isfinite().all() and distance(w, initial_filters(training)) > 1e-3  # it has learned something
    assert distance(alone.w[0], w) < 1e-9 and distance(alone.v[0], v) < 1e-9
    assert distance(beside.w[2], w) < 1e-9 and distance(beside.v[2], v) < 1e-9


def initial_filters(training):
    size = training.places, training.filters, training.tokens, training.outputs
    return initial_weights([stream(6, 0, "weights")], *size, torch.float64).w[0]


def test_the_authors_size_for_200_steps():
    w, v = plain(TokenTraining(), 3)
    beside = ensemble(TokenTraining(), [4, 3])
    assert distance(beside.w[1], w) < 1e-9 and distance(beside.v[1], v) < 1e-9


def test_outputs_that_are_not_unit_vectors():
    training = replace(SMALL, loss="triplet", rate=1e-3)  # of distances, which inner products are not here
    network = replace(ensemble_network([training], "cpu", torch.float64), unit=False)
    size = training.places, training.filters, training.tokens, training.outputs
    start = initial_weights([stream(1, 0, "weights")], *size, torch.float64)
    pool = training.pool([1])
    tokens = pool.views([stream(1, 0, "minibatches")], training.batch, 200)
    first = type(start)(start.w[0].clone(), start.v[0].clone())
    w, v = plain_training(training, first, tokens[:, 0], unit=False)
    batches = token_batch.token_batches(tokens, training.tokens, 2, torch.float64)
    steps = sgd_steps(network, start, batches, contrastive_loss("triplet"), rate=1e-3, momentum=0.9, weight_decay=5e-3)
    assert len(list(steps)) == 200
    assert distance(start.w[0], w) < 1e-9 and distance(start.v[0], v) < 1e-9


def test_single_precision_stays_near_double():
    single = list(islice(train([(SMALL, 2)], 60), 60))[-1]
    double = ensemble(SMALL, [2], 60)
    assert distance(single.w.double(), double.w) < 1e-3


def test_the_same_seed_gives_the_same_numbers():
    first, second = ensemble(SMALL, [8], 40), ensemble(SMALL, [8], 40)
    assert torch.equal(first.w, second.w) and torch.equal(first.v, second.v)


@pytest.mark.parametrize(
    "given, says",
    [
        ({"activation": "gelu"}, "activation: must be one of linear, relu"),
        ({"loss": "hinge"}, "contrastive_loss: must be one of infonce"),
        ({"batch_norm": "half"}, "batch_norm must be one of off, both, mean, variance, none, got 'half'"),
        ({"batch": 1}, "batch must be ≥ 2, since a loss needs a negative pair, got 1"),
        ({"candidates": 21}, "got p=21 and d=20"),
        ({"length": 11}, "length=11, places=10"),
        ({"generators": 0}, "got count=0"),
        ({"beta": 0}, "beta and outputs must be ≥ 1, got 0 and 50"),
        ({"rate": 0.0}, "rate must be > 0, momentum in [0, 1) and weight_decay ≥ 0, got rate=0.0"),
        ({"momentum": 1.0}, "got rate=0.02, momentum=1.0"),
        ({"zeta": 0.5}, "d must be ≥ 2 and zeta ≥ 1, got d=20, zeta=0.5"),
        ({"beta": 1.5}, "beta must be int, got 1.5"),
        ({"beta": "3"}, "beta must be int, got '3'"),
        ({"rate": "0.1"}, "rate must be float, got '0.1'"),
        ({"rate": float("inf")}, "rate must be finite, got inf"),
        ({"views_apart": "no"}, "views_apart must be bool, got 'no'"),
    ],
)
def test_a_bad_configuration_is_one_line_before_any_work(given, says):
    with pytest.raises(ValueError) as error:
        TokenTraining(**given)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_too_many_filters_for_the_memory_are_refused_before_any_work():
    huge = TokenTraining(beta=10**8)
    with pytest.raises(
        ValueError, match=r"at most .* GB on cpu, 16 networks of K·M = 10·500000000 filters need .* GB"
    ) as error:
        next(train([(huge, seed) for seed in range(16)], 5000))
    assert "\n" not in str(error.value)


def test_the_memory_estimate_counts_weights_and_runs():
    needed = TokenTraining().bytes_needed(1)
    size = 10 * 25 * (20 + 50) * 4
    assert needed > 4 * size  # weights, gradients and momentum
    assert TokenTraining().bytes_needed(7) == 7 * needed


def test_views_that_no_filter_answers_leave_the_network_finite():
    dead = TokenTraining(batch_norm="off", candidates=1, beta=1, places=2, length=1, batch=8)
    for weights in train([(dead, seed) for seed in range(6)], 60):
        assert weights.w.isfinite().all() and weights.v.isfinite().all()
