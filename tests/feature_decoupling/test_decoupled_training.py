import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.decoupled_training import CHUNK, stream_gradient, train
from contrastive_dynamics.feature_decoupling.dictionaries import flat_dictionary, random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.symmetrised_relu import Gradient, contrastive_gradient
from contrastive_dynamics.feature_decoupling.training_schedule import (
    DecoupledTraining,
    Learner,
    initial_weights,
    sgd_step,
)
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment, growth_rates, linear_share
from contrastive_dynamics.numerics.random_streams import stream

D, D1, M = 4, 12, 5


def streams(runs, purpose="data", device=None):
    return [stream(0, run, purpose, device) for run in range(runs)]


def setting(runs, device=None):
    model = SparseCoding(random_dictionary(D1, D, streams(runs, "dictionary", device)), active=0.3, noise=0.5)
    return model, initial_weights(model, M, 0.9, streams(runs, "weights", device))


def small(**how):
    return DecoupledTraining(**{"batch": 40, "negatives": 6, "temperature": 2.0, "learning_rate": 0.3} | how)


@pytest.mark.parametrize("how", [{}, {"views": "independent", "bias": "trained"}, {"views": "plain", "bias": "min"}])
def test_a_run_is_the_same_alone_and_in_a_batch_and_with_other_records(how):
    model, weights = setting(3)
    training = small(weight_decay=0.05, **how)
    together = train(model, weights, training, streams(3), range(9), workers=1)
    assert together.weights.shape == (9, 3, M, D1) and together.loss.shape == (9, 3)
    assert torch.equal(together.weights[0], weights) and not together.bias[0].any()
    torch.testing.assert_close(together.learner(4), (together.weights[4], together.bias[4]))
    apart = train(model, weights, training, streams(3), [2, 8], workers=3)
    alone = train(model.part(slice(1, 2)), weights[1:2], training, streams(3)[1:2], [8], workers=1)
    for name in ("weights", "bias", "loss"):
        whole = getattr(together, name)
        torch.testing.assert_close(getattr(apart, name), whole[2::6], rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(getattr(alone, name), whole[8:9, 1:2], rtol=1e-11, atol=1e-13)
    assert torch.equal(apart.grown_at, together.grown_at) and torch.equal(alone.grown_at, together.grown_at[1:2])


@pytest.mark.parametrize("batch", [2 * CHUNK, CHUNK + 88])
def test_a_batch_is_the_mean_over_its_positives_whatever_the_chunks(batch):
    model, weights = setting(2)
    learner = Learner(weights, torch.full((2, M), 0.3).double(), torch.ones(2, dtype=torch.bool))
    found = stream_gradient(model, learner, small(batch=batch), streams(2))
    again, parts = streams(2), []
    negatives = model.sample(6, again)[1]
    for count in (CHUNK, batch - CHUNK):
        parts.append(model.views(model.sample(count, again)[1], again))
    whole = (torch.cat(each, 1) for each in zip(*parts, strict=True))
    expected = contrastive_gradient(weights, learner.bias, *whole, negatives, 2.0)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-14)


def test_biases_of_three_steps_by_hand():
    # one neuron in one dimension: ‖w‖ goes 0.8, 1, 1.5, 1.56, 10; T1 at 1; g = 1 + 0.5·0.4/4 = 1.05
    norms, reset = (0.8, 1.0, 1.5, 1.56, 10.0), math.sqrt(2 * math.log(4) / 4)
    cap, eta = 0.9, 0.5
    expected = {
        "max": (0, reset, 1.5 * reset, 1.5 * 1.05 * reset, 1.5 * 1.05 * 10 / 1.56 * reset),
        "min": (0, reset, 1.05 * reset, 1.04 * 1.05 * reset, 1.04 * 1.05**2 * reset),
        "zero": (0, 0, 0, 0, 0),
        "trained": (0, -0.1, -0.2, -0.3, -0.4),
    }
    for bias, values in expected.items():
        training = DecoupledTraining(learning_rate=eta, raise_rate=0.4, cap=cap, bias=bias)
        weights = torch.tensor([[[-0.8]]], dtype=torch.float64)
        learner = Learner(weights, torch.zeros_like(weights[..., 0]), torch.tensor([False]))
        for norm, before, value in zip(norms[1:], norms, values[1:], strict=False):
            parts = 0.0, (norm - before) / eta, 0.2
            loss, by_weights, by_bias = (torch.tensor([part], dtype=torch.float64) for part in parts)
            gradient = Gradient(loss, by_weights.view(1, 1, 1), by_bias.view(1, 1))
            learner = sgd_step(learner, gradient, training, 4)
            assert learner.weights.item() == pytest.approx(-norm, rel=1e-12)
            assert learner.bias.item() == pytest.approx(min(value, cap * norm), rel=1e-12)
            assert learner.grown.item()


def test_t1_waits_for_every_neuron_and_the_cap_holds():
    training = DecoupledTraining(learning_rate=1.0, weight_decay=0.25, cap=0.5)
    weights = torch.tensor([[[1.0], [2.0]], [[1.5], [2.0]]], dtype=torch.float64)
    learner = Learner(weights, torch.zeros(2, 2).double(), torch.zeros(2, dtype=torch.bool))
    still = Gradient(torch.zeros(2), torch.zeros(2, 2, 1).double(), torch.zeros(2, 2).double())
    learner = sgd_step(learner, still, training, 3)
    torch.testing.assert_close(learner.weights, 0.75 * weights)
    assert learner.grown.tolist() == [False, True]
    assert learner.bias.flatten().tolist() == pytest.approx([0, 0, 0.5 * 1.125, 0.5 * 1.5])  # √(2 log 3/3) > 1/2
    later = sgd_step(learner, still, training, 3)
    assert later.grown.tolist() == [False, True]  # T1 stays behind, though the norms fell
    assert (later.bias <= 0.5 * later.weights.norm(dim=-1) + 1e-15).all()


def test_the_step_of_t1_is_recorded():
    model, weights = setting(3)
    course = train(model, weights, small(views="plain", grown=1.1, batch=200), streams(3), range(16))
    norms = course.weights.norm(dim=-1).amin(-1)
    for run in range(3):
        reached = [step for step in range(16) if norms[step, run] >= 1.1]
        assert course.grown_at[run].item() == reached[0] > 0
        assert (course.bias[: reached[0], run] == 0).all() and (course.bias[reached[0] :, run] > 0).all()
    never = train(model, weights, small(grown=1e3), streams(3), [0, 2])
    assert never.grown_at.tolist() == [-1] * 3 and not never.bias.any()
    at_once = train(model, 2 * weights, small(), streams(3), [0])
    assert at_once.grown_at.tolist() == [-1] * 3  # no step is taken


@pytest.mark.parametrize("views", ["masked", "plain"])
def test_the_first_stage_is_the_linear_flow_in_the_mean_over_batches(views):
    runs, steps, eta, n = 40, 6, 0.8, 7
    one = SparseCoding(flat_dictionary(16, D, streams(1, "dictionary")), active=0.3, noise=0.6)
    start = initial_weights(one, 6, 1e-5, streams(1, "weights"))
    model = SparseCoding(one.dictionary.expand(runs, -1, -1), 0.3, 0.6)
    training = DecoupledTraining(views=views, batch=400, negatives=n, learning_rate=eta, bias="zero")
    weights = start.expand(runs, -1, -1)
    end = train(model, weights, training, streams(runs), [steps], workers=1).weights[0] / 1e-5
    step = torch.eye(16, dtype=torch.float64) + eta * n / (n + 1) * cross_moment(one, views)
    exact = start @ torch.linalg.matrix_power(step, steps) / 1e-5
    score = (end.mean(0) - exact[0]) / (end.std(0) / math.sqrt(runs))
    assert 0.5 < float(score.square().mean()) < 1.9  # each N(0, 1), 96 of them, some dependent: over seeds 0.6 to 1.6
    other = torch.eye(16, dtype=torch.float64) + eta * cross_moment(one, views)  # without N/(N + 1)
    missed = (end.mean(0) - (start @ torch.linalg.matrix_power(other, steps) / 1e-5)[0]) / (
        end.std(0) / math.sqrt(runs)
    )
    assert float(missed.square().mean()) > 5
    # and of isotropic starts the share in span(M) is the closed form
    rates = [growth_rates(one, v, views).mean() * n / (n + 1) for v in (one.dictionary, _dense(one))]
    share = linear_share(D, 16, *rates, torch.tensor([float(steps)]).double(), eta).item()
    map_ = torch.linalg.matrix_power(step, steps)
    assert share == pytest.approx(float((one.dictionary.mT @ map_).square().sum() / map_.square().sum()), rel=1e-10)


def _dense(model):
    return torch.linalg.qr(model.dictionary, mode="complete").Q[..., D:]


def test_initial_weights_have_the_norm_that_is_asked():
    model, _ = setting(2)
    weights = initial_weights(model, 2000, 0.01, streams(2, "weights"))
    assert abs(float(weights.square().sum(-1).mean()) / 1e-4 - 1) < 0.03
    assert torch.equal(initial_weights(model, 2000, 0.01, streams(2, "weights")[1:]), weights[1:])


@pytest.mark.parametrize(
    ("how", "allowed", "got"),
    [
        ({"views": "crop"}, "masked, independent, plain", "'crop'"),
        ({"rate": 1.0}, r"the open interval \(0, 1\)", "1.0"),
        ({"batch": 0}, "1 or more", "0"),
        ({"negatives": 0}, "1 or more", "0"),
        ({"learning_rate": 0.0}, "any above 0", "0.0"),
        ({"temperature": float("nan")}, "any above 0", "nan"),
        ({"weight_decay": 4.0}, "0 to below 1/learning_rate", "4.0"),
        ({"bias": "mean"}, "max, min, zero, trained", "'mean'"),
        ({"grown": 0.0}, "any above 0", "0.0"),
        ({"raise_rate": -1.0}, "any above 0", "-1.0"),
        ({"cap": 1.0}, r"the open interval \(0, 1\)", "1.0"),
    ],
)
def test_bad_settings_are_named(how, allowed, got):
    (name,) = how
    with pytest.raises(ValueError, match=rf"^{name} must be one of the allowed values \({allowed}\), got {got}$"):
        small(**how)


def test_bad_input_is_named():
    model, weights = setting(2)
    for record in ([], [-1, 2], [3, 3]):
        with pytest.raises(ValueError, match=r"train: record_at must be increasing steps, from 0, got \["):
            train(model, weights, small(), streams(2), record)
    with pytest.raises(ValueError, match="must be one per run of weights, 2, got 3 and 2"):
        train(model, weights, small(), streams(3), [1])
    with pytest.raises(ValueError, match="must be one per run of weights, 1, got 2 and 2"):
        train(model, weights[:1], small(), streams(2), [1])
    for neurons, norm in ((0, 1.0), (3, 0.0)):
        with pytest.raises(ValueError, match=f"neurons and norm must be ≥ 1 and > 0, got {neurons} and {norm}"):
            initial_weights(model, neurons, norm, streams(2))


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        courses = [
            train(
                *setting(2, device), small(batch=CHUNK + 8), streams(2, device=device), [0, 3], workers=1, fused=False
            )
            for device in (ELSEWHERE, None)
        ]
        for far, near in zip(*courses, strict=True):
            assert far.device == ELSEWHERE and float((far - near.to(ELSEWHERE)).abs().max()) < 1e-10
