"""The arithmetic of the live picture "overgrown" against the book, which is held to the kernels."""

import itertools
import json

import pytest
import torch
from overgrown_vectors import ACTIVE, ATOMS, CASES, DIM, LAST, NEGATIVES, PATH, STEPS, TEMPERATURE, followed, vectors
from script_engine import Engine, flat, truths

from contrastive_dynamics.feature_decoupling import (
    SparseCoding,
    contrastive_gradient,
    flat_rates,
    random_dictionary,
)
from contrastive_dynamics.numerics.random_streams import streams
from experiments.feature_decoupling.two_lengths import two_rates

STORED = json.loads(PATH.read_text(encoding="utf-8"))
each_row = pytest.mark.parametrize("row", STORED["rows"], ids=[f"noise {n}, decay {d}" for n, d in CASES])


@pytest.fixture(scope="module")
def engine():
    return Engine("overgrown.math.js")


def test_the_stored_vectors_are_the_books():
    stored, made = flat(STORED), flat(json.loads(json.dumps(vectors())))
    assert len(stored) > 180 and stored.keys() == made.keys()
    assert {p: (v, made[p]) for p, v in stored.items() if v != pytest.approx(made[p], rel=1e-8, abs=1e-12)} == {}


@each_row
def test_a_course_is_the_books(engine, row):
    """Sums over a few equidistant places against Gauss and Hermite's rule with 64."""
    found = engine("overgrownMath.course", {"noise": row["scene"]["noise"], "decay": row["scene"]["decay"] / 1000})
    for name in ("signal", "noise", "loss"):
        assert [found[name][k] for k in STEPS] == pytest.approx(row[name], rel=1e-3, abs=1e-6), name
    share = [s / (s + n) for s, n in zip(found["signal"], found["noise"], strict=True)]
    assert found["share"] == pytest.approx(share, rel=1e-12) and len(share) == LAST + 1


@pytest.mark.parametrize("noise", [0.4, 0.8, 3.2])
def test_it_begins_at_the_rates_of_the_first_stage(engine, noise):
    kappa = NEGATIVES / (NEGATIVES + 1)
    want = flat_rates(ATOMS, DIM, ACTIVE, (noise * ACTIVE) ** 0.5, "plain", kappa)
    found = engine("overgrownMath.first", {"noise": noise})
    assert [found["signal"], found["rest"]] == pytest.approx(want, rel=1e-3)


def rates_of_the_kernel(signal: float, rest: float, noise: float) -> tuple[float, float]:
    """Growth along atoms and dense directions by the library's gradient, at WᵀW = s MMᵀ + n(I - MMᵀ)."""
    runs = range(8)
    atoms = random_dictionary(DIM, ATOMS, streams(runs, 1, "dictionary"), dtype=torch.float64)
    model, inside = SparseCoding(atoms, ACTIVE, (noise * ACTIVE) ** 0.5), atoms @ atoms.mT
    w = (signal / ATOMS) ** 0.5 * inside + (rest / (DIM - ATOMS)) ** 0.5 * (
        torch.eye(DIM, dtype=torch.float64) - inside
    )
    x, others = (
        model.sample(count, streams(runs, 1, name))[1] for name, count in (("x", 8000), ("negatives", NEGATIVES))
    )
    grown = -w.mT @ contrastive_gradient(w, torch.zeros(8, DIM, dtype=torch.float64), x, x, others, TEMPERATURE).weights
    along, everywhere = (float((grown * part).sum()) / len(runs) for part in (inside, torch.eye(DIM)))
    return along / signal, (everywhere - along) / rest


@pytest.mark.parametrize("lengths", [(1.0, 1.0), (1000.0, 25.0), (2900.0, 600.0), (3100.0, 3000.0)])
def test_its_rates_are_those_of_the_gradient(lengths):
    """At points of a course, with 256 drawn negatives a seed, where the formula has the mean of infinitely many."""
    want = two_rates(ATOMS, DIM, ACTIVE, (0.8 * ACTIVE) ** 0.5, lengths, NEGATIVES, TEMPERATURE)
    assert rates_of_the_kernel(*lengths, 0.8) == pytest.approx(want[:2], rel=0.2, abs=5e-3)


def test_louder_noise_lowers_the_peak_and_decay_the_signals(engine):
    courses = {
        (n, d): engine("overgrownMath.course", {"noise": n, "decay": d})
        for n, d in itertools.product((0.4, 0.8, 1.6, 4), (0, 0.002))
    }
    peaks = [max(courses[n, 0]["share"]) for n in (0.4, 0.8, 1.6, 4)]
    assert peaks == sorted(peaks, reverse=True) and peaks[0] > 0.9 and peaks[-1] < 0.6
    kept = {key: c["signal"][-1] / max(c["signal"]) for key, c in courses.items()}
    assert all(kept[n, 0] > 0.99 and kept[n, 0.002] < 0.95 for n in (0.8, 1.6, 4))


def test_the_answers_are_the_books():
    quiet, decayed, loud = followed(0.8, 0), followed(0.8, 2.0), followed(3.2, 0)
    assert quiet.noise[-1] > quiet.signal[-1] > 0.99 * quiet.signal.max()
    assert decayed.noise[-1] > decayed.signal[-1] and decayed.signal[-1] < 0.9 * decayed.signal.max()
    assert 0.4 < float((loud.signal / (loud.signal + loud.noise)).max()) < 0.6
    assert truths("overgrown") == ["overgrown", "shrink", "half"]
