"""The compiled step against the ensemble in torch, in float64, over everything that it can be asked to do."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from contrastive_dynamics.losses.activations import TRAINED
from contrastive_dynamics.nonlinearity.networks import fused_training
from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights, train
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.fused_training import AS_MIXTURE, fused_weights
from contrastive_dynamics.nonlinearity.networks.importance_mixture import Variation
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import BATCH_NORM

pytest.importorskip("numba", reason="the compiled step needs numba")
# sizes that are no multiples of anything: three filters, seven outputs, an odd number of places, thirteen samples
ODD = TokenTraining(candidates=3, beta=1, places=5, tokens=6, generators=7, length=2, outputs=7, batch=13)


def start_of(runs, dtype=torch.float64):
    return starting_weights(runs, "cpu", dtype)


def copied(weights):
    return Weights(*(part.clone() for part in weights))


def off(found, expected):
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(found, expected, strict=True))


def both(runs, steps, variations=None):
    """What the compiled step and torch make of the same start."""
    start = start_of(runs)
    (fused,) = fused_weights(runs, start, [steps], variations)
    *_, plain = train(runs, steps, "cpu", torch.float64, start=copied(start), variations=variations)
    return fused, plain


@pytest.mark.parametrize("batch_norm", BATCH_NORM)
def test_steps_are_those_of_torch(batch_norm):
    """After one minibatch, and after three, where momentum and weight decay count."""
    for act, loss, apart, zeta in product(TRAINED, AS_MIXTURE, (True, False), (1.0, 3.0)):
        one = replace(ODD, activation=act, loss=loss, views_apart=apart, zeta=zeta, batch_norm=batch_norm)
        for steps in (1, 3):
            assert off(*both([(one, 3)], steps)) < 1e-10, (act, loss, apart, zeta, steps)


def test_steps_of_the_author():
    runs = [(TokenTraining(), 3), (TokenTraining(), 4)]
    assert off(*both(runs, 2)) < 1e-10


def test_variations_are_those_of_torch():
    variations = [Variation(*each) for each in product((0.0, 0.3, 1.0), (0.0, 1.0), (1.0, 5.0))]
    fused, plain = both([(ODD, 2)] * len(variations), 4, variations)
    assert off(fused, plain) < 1e-10
    ends = fused.w.flatten(1)
    apart = torch.cdist(ends, ends) > 1e-6
    # with s = 1 the positive pair has no say; all other pairs of variations differ
    assert int((~apart).sum()) == len(variations) + 4


def test_outputs_that_are_zero_have_no_gradient():
    """A start at which every gate is closed: only weight decay acts."""
    one = replace(ODD, batch_norm="off")
    start = start_of([(one, 1)])
    start.w.abs_().neg_()
    (fused,) = fused_weights([(one, 1)], start, [1])
    assert torch.allclose(fused.w, start.w * (1 - one.rate * one.weight_decay), rtol=1e-14)
    *_, plain = train([(one, 1)], 1, "cpu", torch.float64, start=copied(start))
    assert off(fused, plain) < 1e-14


def test_filters_that_die_stay_with_torch():
    dead = replace(ODD, batch_norm="off", candidates=1, places=3, length=1, rate=0.5)
    assert off(*both([(dead, seed) for seed in range(4)], 30)) < 1e-8


def test_marks_are_moments_of_one_training():
    runs = [(ODD, 1), (replace(ODD, activation="linear"), 1), (ODD, 2)]
    marks = [1, 2, 25, 26, 49, 50, 60]
    start = start_of(runs, torch.float32)
    for mark, weights in zip(marks, fused_weights(runs, start, marks), strict=True):
        for row, run in enumerate(runs):
            (alone,) = fused_weights([run], Weights(*(part[row : row + 1] for part in start)), [mark])
            assert torch.equal(weights.w[row], alone.w[0]) and torch.equal(weights.v[row], alone.v[0])


def test_the_start_stays_as_it_was():
    start = start_of([(ODD, 1)])
    kept = copied(start)
    list(fused_weights([(ODD, 1)], start, [3]))
    assert torch.equal(start.w, kept.w) and torch.equal(start.v, kept.v)


@pytest.mark.parametrize("marks", [[], [0, 3], [3, 3], [4, 2]])
def test_marks_must_ascend(marks):
    with pytest.raises(ValueError, match="marks must be ≥ 1 and ascend"):
        list(weights_at(marks, [(ODD, 1)], "cpu"))


def test_other_losses_are_left_to_torch():
    triplet = replace(ODD, loss="triplet")
    assert not fused_training.can_be_fused([triplet], torch.device("cpu"))
    assert fused_training.can_be_fused([triplet], torch.device("cpu"), varied=True)
    assert not fused_training.can_be_fused([ODD], torch.device("meta"))
    *_, plain = train([(triplet, 1)], 3, "cpu")
    (found,) = weights_at([3], [(triplet, 1)], "cpu")
    assert torch.equal(found.w, plain.w)


def test_the_exponential():
    from contrastive_dynamics.compiled.exponentials import exponentiate

    x = np.linspace(-80, 80, 20001)
    narrow, wide = x.astype(np.float32), x.copy()
    exact = np.exp(narrow.astype(float))
    exponentiate(narrow)
    exponentiate(wide)
    assert abs(narrow / exact - 1).max() < 2e-7 and abs(wide / np.exp(x) - 1).max() < 1e-15
    ends = np.array([-1e4, 1e4], np.float32)
    exponentiate(ends)
    assert np.isfinite(ends).all()
