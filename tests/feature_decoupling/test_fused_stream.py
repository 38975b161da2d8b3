"""The compiled gradient against the formula in torch on the same data, and its draws against their law."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from contrastive_dynamics.feature_decoupling import fused_stream
from contrastive_dynamics.feature_decoupling.decoupled_training import gradients, stream_gradient, train
from contrastive_dynamics.feature_decoupling.decoupling_scores import span_share
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.fused_stream import FusedStream, can_be_fused
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.symmetrised_relu import contrastive_gradient
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, Learner, initial_weights
from contrastive_dynamics.numerics.random_streams import stream

pytest.importorskip("numba", reason="the compiled gradient needs numba")
D, D1, M = 3, 12, 5  # no multiples of anything, as N and B below: two blocks of negatives, three of positives
TRAINING = DecoupledTraining(batch=150, negatives=70, temperature=1.5, learning_rate=0.3)


def streams(runs, purpose="data"):
    return [stream(0, run, purpose) for run in range(runs)]


def setting(runs=2, dtype=torch.float64):
    dictionary = random_dictionary(D1, D, streams(runs, "dictionary")).to(dtype)
    model = SparseCoding(dictionary, active=0.3, noise=0.5)
    weights = torch.stack([torch.randn(M, D1, generator=g) for g in streams(runs, "weights")])
    return model, weights.to(dtype) / 2


def drawn(model, training):
    """What the compiled gradient draws for run 0: x⁺, x⁺⁺ and the negatives."""
    fused = FusedStream(model, M, training)
    step, t, s = fused_stream.compiled(), fused.tables, fused.settings
    keys = torch.empty(8, dtype=torch.int64).random_(-(2**63), None, generator=streams(1)[0])
    keys, found = keys.numpy().view(np.uint64).reshape(2, 4), ([], [], [])
    for begun in range(0, training.batch, step.rows):
        step.draw_views(fused.atoms[0], s, t, keys[1], begun)
        for into, x in zip(found, (t.first, t.first if training.views == "plain" else t.second), strict=False):
            into.append(torch.tensor(x[: training.batch - begun, :D1]))
    negative = s if training.mask_negatives else s._replace(views=step.kinds["plain"])
    for begun in range(0, training.negatives, step.rows):
        step.draw_views(fused.atoms[0], negative, t, keys[0], begun)
        found[2].append(torch.tensor(t.first[: training.negatives - begun, :D1]))
    return [torch.cat(each).unsqueeze(0) for each in found]


@pytest.mark.parametrize("how", [
    {}, {"views": "plain"}, {"views": "independent", "rate": 0.3}, {"mask_negatives": True, "rate": 0.7},
])  # fmt: skip
def test_the_compiled_gradient_is_the_formula_on_its_own_data(how):
    model, weights = setting()
    training = replace(TRAINING, **how)
    batch = drawn(model, training)
    for bias in (torch.zeros(2, M), 0.4 * torch.rand(2, M, generator=stream(0, 0, "b")) - 0.1):
        learner = Learner(weights, bias.double(), None)
        found = gradients(model, M, training)(learner, streams(2))
        expected = contrastive_gradient(weights[:1], bias[:1].double(), *batch, training.temperature)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours[:1], theirs, rtol=1e-11, atol=1e-13)


def test_three_steps_are_those_of_autograd_on_the_same_data():
    model, start = setting(1)
    training, w, data = replace(TRAINING, bias="zero"), start.clone(), streams(1)
    for _ in range(3):
        fused = FusedStream(model, M, training)
        fused.gradient(Learner(w, torch.zeros(1, M).double(), None), data)
        w = w - training.learning_rate * torch.tensor(fused.tables.on_w[:M, :D1]).unsqueeze(0)
    course = train(model, start, training, streams(1), [3])
    torch.testing.assert_close(course.weights[0], w, rtol=1e-13, atol=0)


def test_words_are_those_of_the_reference():
    fill_words = pytest.importorskip("contrastive_dynamics.compiled.fused_draws").fill_words
    known = {  # Random123's known answers for philox2x32, 10 rounds
        (0, 0): (0xFF1DAE59, 0x6CD10DF2),
        (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF): (0x2C3F628B, 0xAB4FD7AD),
        (0x243F6A88, 0x85A308D313198A2E): (0xDD7CE038, 0xF62A4C12),
    }
    for (counter, key), words in known.items():
        found = np.zeros(2, np.uint32)
        fill_words(found, np.uint64(key), counter)
        assert tuple(int(word) for word in found) == words


@pytest.mark.parametrize("rate", [0.5, 0.3])
def test_draws_have_their_law(rate):
    from scipy.stats import kstest

    model, _ = setting(1)
    count, training = 30_000, replace(TRAINING, batch=30_000, rate=rate)
    first, second, _ = drawn(model, training)
    kept = (first != 0).double()
    assert ((first != 0) != (second != 0)).all()
    assert abs(float(kept.mean()) - rate) < 4 * (rate * (1 - rate) / kept.numel()) ** 0.5
    overlap = kept[0].T @ kept[0] / count - rate**2  # of two coordinates, and so of two bits of a word
    overlap.fill_diagonal_(0)
    assert float(overlap.abs().max()) < 4.5 * rate / count**0.5
    x = (rate * first + (1 - rate) * second)[0]
    inside = x @ model.dictionary[0]
    dense = torch.linalg.qr(model.dictionary[0], mode="complete").Q[:, D:]
    noise = (x @ dense).flatten().numpy() / model.noise
    assert kstest(noise, "norm").pvalue > 1e-3 and abs(noise).max() > 4
    second_moment = x.T @ x / count - model.noise**2 * torch.eye(D1).double()
    signal = model.active * model.dictionary[0] @ model.dictionary[0].T
    assert float((second_moment - signal).abs().max()) < 4.5 * 0.6 * (2 / count) ** 0.5
    fourth = float((inside**4).mean())  # of z + ξ: p + 6pσ² + 3σ⁴, which tells a sparse code from a Gaussian one
    assert abs(fourth / (0.3 + 6 * 0.3 * 0.25 + 3 * 0.0625) - 1) < 0.03
    assert float((x[:-1] * x[1:]).mean().abs()) < 4 * 0.33 / (count * D1) ** 0.5  # rows do not repeat


def test_single_precision_follows_double_on_the_same_draws():
    course = {}
    for dtype in (torch.float32, torch.float64):
        model, weights = setting(2, dtype)
        got = train(model, 0.1 * weights, TRAINING, streams(2), [0, 40])
        course[dtype] = span_share(got.weights, model.dictionary).mean(-1).double()
    apart = (course[torch.float32] - course[torch.float64]).abs().max()
    assert float(apart) < 2e-5 < 1e-3 * float(course[torch.float64][1].std())  # far below the spread of runs


def test_the_mean_loss_is_that_of_the_stream_in_torch_and_of_untouched_weights():
    model, weights = setting(2)
    many, learner = replace(TRAINING, batch=20_000, negatives=400), Learner(weights, torch.zeros(2, M).double(), None)
    ours, theirs = gradients(model, M, many)(learner, streams(2)), stream_gradient(model, learner, many, streams(2))
    assert ((ours.loss / theirs.loss - 1).abs() < 0.03).all()
    assert float((ours.weights - theirs.weights).norm() / theirs.weights.norm()) < 0.2


def test_what_cannot_be_compiled_goes_to_torch():
    class Other(SparseCoding):
        pass

    model, weights = setting(1)
    assert can_be_fused(model) and not can_be_fused(Other(model.dictionary, 0.3, 0.5))
    plain = train(model, weights, TRAINING, streams(1), [2], fused=False)
    other = train(Other(model.dictionary, 0.3, 0.5), weights, TRAINING, streams(1), [2])
    for ours, theirs in zip(other, plain, strict=True):
        assert torch.equal(ours, theirs)


def test_initial_weights_are_not_written_over():
    model, _ = setting(2)
    weights = initial_weights(model, M, 0.5, streams(2, "start"))
    before = weights.clone()
    course = train(model, weights, TRAINING, streams(2), [0, 1])
    assert torch.equal(weights, before) and torch.equal(course.weights[0], before)
