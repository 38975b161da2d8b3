from math import sqrt

import pytest
import torch

from contrastive_dynamics.feature_decoupling.decoupling_scores import neurons_won, span_share
from contrastive_dynamics.feature_decoupling.linear_probes import draw_w_star
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.supervised_codes import supervised_gradient, train_supervised
from contrastive_dynamics.feature_decoupling.symmetrised_relu import features
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, initial_weights
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar

RUNS, DIM, ATOMS, NEURONS, TASKS, ACTIVE, NOISE = 2, 48, 6, 12, 24, 0.15, 0.25


def streams(purpose, runs=RUNS):
    return [stream(0, k, purpose) for k in range(runs)]


def normal(*shape, purpose="normal"):
    return torch.stack([torch.randn(*shape, generator=g, dtype=torch.float64) for g in streams(purpose)])


def start():
    """Model, weights and tasks."""
    model = SparseCoding(haar(streams("dictionary"), DIM, ATOMS), ACTIVE, NOISE)
    return model, initial_weights(model, NEURONS, 0.05, streams("weights")), draw_w_star(streams("tasks"), ATOMS, TASKS)


@pytest.mark.parametrize("level", [0.0, 0.8, -0.5])
def test_the_gradient_is_that_of_autograd(level):
    parameters = [normal(5, 9), level * normal(5, purpose="bias").abs(), normal(4, 5, purpose="readout")]
    weights, bias, readout = (p.requires_grad_() for p in parameters)
    x, y = normal(30, 9, purpose="x"), normal(30, 4, purpose="y")
    loss = 0.5 * (y - features(x, weights, bias) @ readout.mT).square().sum(-1).mean(-1)
    expected = torch.autograd.grad(loss.sum(), (weights, bias, readout))
    with torch.no_grad():
        found = supervised_gradient(weights, bias, readout, x, y)
    torch.testing.assert_close(found.layer.loss, loss.detach(), rtol=1e-10, atol=0)
    for ours, theirs in zip((*found.layer[1:], found.readout), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-13)


def test_the_wiener_filter_of_the_code_is_where_a_linear_layer_rests():
    model, _, tasks = start()
    count, scaled = 100_000, tasks / sqrt(TASKS)
    z, x = model.sample(count, streams("many"))
    best = scaled * (ACTIVE / (ACTIVE + NOISE**2))
    found = supervised_gradient(model.dictionary.mT, torch.zeros(RUNS, ATOMS).double(), best, x, z @ scaled.mT)
    rest = ACTIVE * NOISE**2 / (ACTIVE + NOISE**2) * scaled.square().sum((-2, -1)) / 2
    assert (found.layer.loss / rest - 1).abs().max() < 0.02
    assert max(found.layer.weights.abs().max(), found.readout.abs().max()) < 6 / sqrt(count)


def test_a_first_step_moves_the_readout_along_the_cross_moment():
    model, weights, tasks = start()
    training = DecoupledTraining(views="plain", batch=50_000, learning_rate=2.0)
    course, readout = train_supervised(model, 20 * weights, tasks, training, streams("data"), [0, 1])
    assert not readout[0].any() and torch.equal(course.weights[1], course.weights[0])  # as V = 0
    expected = 2 * ACTIVE * tasks @ (20 * weights @ model.dictionary).mT / sqrt(TASKS)
    assert (readout[1] - expected).abs().max() < 0.02
    torch.testing.assert_close(course.loss[0], ACTIVE / 2 * tasks.square().mean(-2).sum(-1), rtol=0.02, atol=0)


def test_labels_of_the_code_make_singletons_once_the_bias_is_raised():
    model, weights, tasks = start()
    rates = dict(views="plain", batch=512, learning_rate=1.0, grown=0.3)
    raised, flat = (
        train_supervised(model, weights, tasks, DecoupledTraining(**rates, bias=b), streams("data"), [0, 200]).course
        for b in ("max", "zero")
    )
    assert (raised.grown_at > 0).all() and torch.equal(raised.grown_at, flat.grown_at)
    torch.testing.assert_close(raised.bias[1], 0.65 * raised.weights[1].norm(dim=-1))
    won, without = (neurons_won(course.weights[1], model.dictionary) for course in (raised, flat))
    assert (won > 0).all() and (won.sum(-1) > 8).all() and ((without > 0).sum(-1) < ATOMS).all()
    assert (span_share(raised.weights[1], model.dictionary).mean(-1) > 0.95).all()
    assert (raised.loss[1] < 0.6 * raised.loss[0]).all()


def test_a_run_is_the_same_alone_or_in_a_batch_with_masked_data_too():
    model, weights, tasks = start()
    training = DecoupledTraining(views="masked", batch=700, learning_rate=2.0, grown=0.06, weight_decay=0.01)
    both = train_supervised(model, weights, tasks, training, streams("data"), [0, 5, 12])
    one = slice(1, 2)
    watched = []

    def watch(steps):
        watched.extend(steps)
        return watched

    alone = train_supervised(
        model.part(one), weights[one], tasks[one], training, streams("data")[one], [0, 5, 12], watch
    )
    assert watched == list(range(13)) and int(both.course.grown_at.min()) > 0
    torch.testing.assert_close(alone.readout, both.readout[:, one], rtol=1e-10, atol=1e-14)
    for name in ("weights", "bias", "loss"):
        torch.testing.assert_close(
            getattr(alone.course, name), getattr(both.course, name)[:, one], rtol=1e-10, atol=1e-14
        )


def test_bad_input_is_refused_in_one_line():
    model, weights, tasks = start()
    training = DecoupledTraining()
    with pytest.raises(ValueError, match=r"train_supervised: record_at must be increasing steps, from 0, got \[5, 5\]"):
        train_supervised(model, weights, tasks, training, streams("data"), [5, 5])
    with pytest.raises(ValueError, match="tasks must be K ≥ d = 6, got 5"):
        train_supervised(model, weights, tasks[:, :5], training, streams("data"), [5])
    with pytest.raises(ValueError, match=r"tasks and generators must be one per run, got \[2, 2, 2, 3\]"):
        train_supervised(model, weights, tasks, training, streams("data", 3), [5])
    with pytest.raises(ValueError, match="x must be ≥ 1 samples, got 0"):
        supervised_gradient(weights, weights[..., 0], tasks.new_zeros(2, 3, 12), weights[:, :0], tasks[:, :0])
