"""One program for many configurations: what it refuses, compiled steps, steps replayed as a graph."""

import shutil
from collections import Counter
from dataclasses import replace

import pytest
import torch
from host_syncs import HostSyncs

from contrastive_dynamics.compiled.cuda_graphs import WARM_STEPS
from contrastive_dynamics.nonlinearity.networks import ensemble_training
from contrastive_dynamics.nonlinearity.networks.ensemble_training import train
from contrastive_dynamics.nonlinearity.networks.importance_mixture import Variation
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining

SMALL = TokenTraining(candidates=2, beta=2, places=4, tokens=6, generators=7, length=2, outputs=5, batch=12)
RUNS = [
    (SMALL, 3),
    (replace(SMALL, activation="sigmoid", loss="quadratic_over_tau", batch_norm="both"), 3),
    (replace(SMALL, candidates=1, beta=4, zeta=2.0, batch_norm="off"), 5),
]


def last(runs, steps=20, **options):
    for weights in train(runs, steps, dtype=torch.float64, **options):  # noqa: B007
        pass
    return weights


def distance(a, b):
    return float((a - b).abs().max() / b.abs().max())


def test_sizes_and_optimisers_that_differ_are_refused():
    with pytest.raises(ValueError, match="runs must share one program .* got 2 programs") as error:
        next(train([(SMALL, 0), (replace(SMALL, beta=3), 0)], 5))
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="got 0 programs"):
        next(train([], 5))


@pytest.mark.parametrize("steps", [0, -1])
def test_no_steps_are_refused(steps):
    with pytest.raises(ValueError, match=f"steps must be ≥ 1, got {steps}"):
        next(train(RUNS, steps))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here, which torch.compile needs")
def test_a_compiled_step_is_the_eager_one():
    eager, compiled = last(RUNS), last(RUNS, compiled=True)
    assert distance(compiled.w, eager.w) < 1e-9 and distance(compiled.v, eager.v) < 1e-9


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here, which graphs need")
def test_a_replayed_step_is_the_eager_one(monkeypatch):
    replayed = last(RUNS, device="cuda")
    monkeypatch.setattr(ensemble_training, "replayed", lambda step: step)
    eager = last(RUNS, device="cuda")
    assert distance(replayed.w, eager.w) < 1e-9 and distance(replayed.v, eager.v) < 1e-9


def test_operations_that_wait_for_a_device_are_noticed():
    x = torch.arange(3.0)
    for wait in (lambda: x.sum().item(), lambda: bool(x[0] > 1), lambda: x[x > 1], lambda: x.nonzero(), x.unique):
        with HostSyncs() as syncs:
            wait()
        assert syncs.found.total() >= 1
    with HostSyncs() as syncs:
        torch.where(x > 1, x, 0 * x).sum() + x[torch.tensor([0, 2])].sum()
    assert not syncs.found


VARIED = [Variation(uniform=0.5, pace=2.0)]  # of InfoNCE


@pytest.mark.parametrize(("run", "variations"), [*((run, None) for run in RUNS), (RUNS[0], VARIED)])
def test_a_step_that_is_replayed_as_a_graph_never_waits_for_the_device(monkeypatch, run, variations):
    """A CUDA graph cannot hold such a step; here it runs on the CPU, and nothing may wait after the warm steps."""
    counts = Counter()

    def traced(call):
        def inner(*arguments):
            with HostSyncs() as syncs:
                result = call(*arguments)
            counts[call.__name__] += 1
            assert counts[call.__name__] <= WARM_STEPS or not syncs.found, syncs.found
            return result

        return inner

    for network in (ensemble_training.FieldNetwork, ensemble_training.PacedNetwork):
        monkeypatch.setattr(network, "gradients", traced(network.gradients))
    monkeypatch.setattr(torch.optim.SGD, "step", traced(torch.optim.SGD.step))
    last([run], steps=WARM_STEPS + 2, variations=variations)
    assert min(counts.values()) >= WARM_STEPS + 2 and len(counts) == 2
