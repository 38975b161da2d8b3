"""What live pictures say of trainings, held to trainings: the vessel's own on pairs, and the book's of sparse codes."""

import json

import pytest
from overgrown_vectors import ACTIVE, ATOMS, DIM, LAST, NEGATIVES, TEMPERATURE, followed
from script_engine import Engine
from vessel_vectors import SPECTRA

from contrastive_dynamics.feature_decoupling import DecoupledTraining, SparseCoding, span_share, train
from experiments.feature_decoupling import Setting


@pytest.mark.parametrize("distance", [False, True])
def test_the_vessels_training_on_pairs_ends_near_its_law_and_not_at_it(distance):
    engine, rho = Engine("vessel.math.js"), SPECTRA["usual"]
    how = f"{{n: 64, draw, distance: {json.dumps(distance)}, slower: 1 - k / 2500}}"
    start = f"{{u: explorables.vesselMath.begin(8, {len(rho)}, 1), tau: 1}}"
    end = engine.value(
        f"((draw) => explorables.vesselMath.sharesOf(Array.from({{length: 2500}}).reduce((s, _, k) =>"
        f" explorables.vesselMath.sampledStep(s, {rho}, false, {how}), {start}).u))(explorables.vesselMath.normals(3))"
    )
    law = engine(f"vesselMath.{'distanceFilling' if distance else 'waterFilling'}", rho, 1)["shares"]
    assert 1e-4 < max(abs(a - b) for a, b in zip(end, law, strict=True)) < 0.02


def test_a_training_follows_the_overgrown_course():
    """λ = 0 and 0.002: where the share peaks, and how far it falls, within a tenth of the whole."""
    for decay in (0.0, 2.0):
        training = DecoupledTraining(
            batch=384, negatives=NEGATIVES, learning_rate=1.0, temperature=TEMPERATURE, weight_decay=decay / 1000,
            cap=0.65, grown=0.7, views="plain", bias="zero",
        )  # fmt: skip
        setting = Setting(range(2), ATOMS, DIM, 64, 0.5, 0.8 * ACTIVE, 0.05, training)
        model, *begun = setting.begin(DIM, training)
        model = SparseCoding(model.dictionary, ACTIVE, (0.8 * ACTIVE) ** 0.5)
        course = train(model, *begun, list(range(0, LAST + 1, 20)))
        square, share = course.weights.square().sum(-1), span_share(course.weights, model.dictionary)
        inside, outside = (square * share).sum(-1).mean(-1), (square * (1 - share)).sum(-1).mean(-1)
        theory = followed(0.8, decay)
        found, want = inside / (inside + outside), theory.signal[::20] / (theory.signal + theory.noise)[::20]
        assert float(found.max()) == pytest.approx(float(want.max()), abs=0.02)
        assert float(found[-1]) == pytest.approx(float(want[-1]), abs=0.1)
        assert float(inside[-1] / inside.max()) == pytest.approx(
            float(theory.signal[-1] / theory.signal.max()), abs=0.1
        )
