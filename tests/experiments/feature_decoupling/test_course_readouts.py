from dataclasses import replace

import pytest
import torch

from contrastive_dynamics.feature_decoupling.decoupled_training import train
from contrastive_dynamics.feature_decoupling.decoupling_scores import (
    atom_shares,
    neurons_won,
    noise_dominance,
    span_share,
)
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, initial_weights
from contrastive_dynamics.numerics.random_streams import stream
from experiments.feature_decoupling.course_readouts import follow, follow_multiples

RUNS, TIMES = 3, [0, 4, 9]
TRAINING = DecoupledTraining(batch=64, negatives=16, temperature=2.0, learning_rate=0.5, grown=1.0)


def streams(purpose, runs=slice(0, RUNS)):
    return [stream(0, run, purpose) for run in range(RUNS)[runs]]


def setting():
    model = SparseCoding(random_dictionary(12, 3, streams("dictionary")), active=0.4, noise=0.4)
    return model, initial_weights(model, 5, 0.8, streams("start"))


@pytest.mark.parametrize("fused", [True, False])
def test_read_outs_are_the_scores_of_the_recorded_course(fused):
    model, start = setting()
    given = model, start, TRAINING
    course = train(*given, streams("data"), TIMES, fused=fused)
    found = follow(*given, streams("data"), TIMES, lambda runs: streams("probe", runs), 200, workers=2, fused=fused)
    w, b = course.weights, course.bias
    inside = (w @ model.dictionary).square().sum((-2, -1))
    whole = w.square().sum((-2, -1))
    expected = {
        "loss": course.loss, "share": span_share(w, model.dictionary).mean(-1), "sparse": inside,
        "dense": whole - inside, "best": atom_shares(w, model.dictionary).amax(-1).mean(-1),
        "won": (neurons_won(w, model.dictionary) > 0).double().mean(-1), "bias_ratio": (b / w.norm(dim=-1)).mean(-1),
    }  # fmt: skip
    for name, value in expected.items():
        torch.testing.assert_close(getattr(found, name), value, rtol=1e-9, atol=1e-11)
    assert found.steps.tolist() == TIMES and torch.equal(found.grown_at, course.grown_at)
    signal = model.latents(200, streams("probe")).any(-1)
    for k in range(len(TIMES)):
        seen = noise_dominance(model, *course.learner(k), 200, streams("probe"))
        mean = torch.stack([c[s].nan_to_num(0.0).mean() for c, s in zip(seen.cosine, signal, strict=True)])
        torch.testing.assert_close(found.cosine[k], mean, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(found.silent[k], seen.silent.double().mean(-1))
    assert follow(*given, streams("data"), [0], fused=fused).cosine.isnan().all()


def test_multiples_are_those_of_each_runs_own_t1():
    model, start = setting()
    start = start * torch.tensor([1.0, 0.5, 0.8]).view(-1, 1, 1)
    training = replace(TRAINING, views="plain", bias="zero")
    found = follow_multiples(model, start, training, streams("data"), [1, 1.5], 200)
    course = train(model, start, training, streams("data"), range(int(found.steps.max()) + 1))
    assert torch.equal(found.grown_at, course.grown_at) and len(set(found.grown_at.tolist())) > 1
    assert torch.equal(found.steps[0], course.grown_at)
    assert torch.equal(found.steps[1], (1.5 * course.grown_at.double()).round().long())
    for run in range(RUNS):
        for k, step in enumerate(found.steps[:, run].tolist()):
            for name in ("weights", "bias", "loss"):
                torch.testing.assert_close(getattr(found, name)[k, run], getattr(course, name)[step, run])
    early = follow_multiples(model, start, training, streams("data"), [1, 50], int(found.grown_at.max()))
    assert torch.equal(early.steps[0], found.steps[0]) and early.steps[1].tolist() == [-1] * RUNS
    assert early.weights[1].isnan().all() and not early.weights[0].isnan().any()


def test_bad_input_is_named():
    model, start = setting()
    for multiples in ([], [0.5, 1], [2, 1]):
        with pytest.raises(ValueError, match=r"^multiples and most_steps must increase from 1 or later and ≥ 1, got"):
            follow_multiples(model, start, TRAINING, streams("data"), multiples, 5)
    with pytest.raises(ValueError, match="^probe_count must be ≥ 1, got 0$"):
        follow(model, start, TRAINING, streams("data"), [1], probe_count=0)
    with pytest.raises(ValueError, match="^follow: record_at must be increasing steps"):
        follow(model, start, TRAINING, streams("data"), [])
