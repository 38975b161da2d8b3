"""The arithmetic of the live picture "vessel": the library makes the test vectors, and the script meets them."""

import json

import pytest
from checkout import ROOT
from script_engine import Engine, flat, truths
from vessel_vectors import PATH, SPECTRA, vectors

STORED = json.loads(PATH.read_text(encoding="utf-8"))
FRACTIONS = json.loads((ROOT / "tests" / "testbed" / "soft_threshold.vectors.json").read_text(encoding="utf-8"))
ONE_ENCODER = [row for row in FRACTIONS if row["tied"]]
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def call():
    engine = Engine("vessel.math.js")
    return lambda function, *given: engine(f"vesselMath.{function}", *given)


def close(value, tolerance=ROUNDING):
    return pytest.approx(value, rel=tolerance, abs=tolerance)


def test_the_stored_vectors_are_the_librarys():
    stored, made = flat(STORED), flat(json.loads(json.dumps(vectors())))
    assert len(stored) > 300 and stored.keys() == made.keys()
    assert {p: (v, made[p]) for p, v in stored.items() if v != close(made[p])} == {}


def test_shares_and_level_are_the_librarys(call):
    for row in STORED["water"]:
        found = call("waterFilling", row["rho"], row["tau"], row["z"])
        assert found == {"level": close(row["level"]), "shares": close(row["shares"])}
        assert call("rank", found["shares"]) == close(row["rank"])
        assert call("learnedTau", row["rho"], row["z"]) == close(row["learned"])


def test_shares_and_level_are_those_of_fractions(call):
    assert len(ONE_ENCODER) > 50
    for row in ONE_ENCODER:
        found = call("waterFilling", row["rho"], row["tau_squared"], row["outputs"])
        assert found == {"level": close(row["level"]), "shares": close(row["shares"])}
        assert call("learnedTau", row["rho"], row["outputs"]) == close(row["learned_temperature"])


def test_the_network_follows_the_gradient(call):
    for row in STORED["flow"]:
        found = call("velocity", row["u"], row["rho"], row["tau"])
        assert sum(found["turn"], []) == close(row["turn"]) and found["warming"] == close(row["warming"])
        assert call("loss", row["u"], row["rho"], row["tau"]) == close(row["loss"])


def test_a_step_on_pairs_follows_the_gradient_of_the_loss_itself(call):
    for row in STORED["sampled"]:
        pairs = {"first": row["first"], "second": row["second"]}
        found = call("sampledVelocity", row["u"], row["tau"], pairs, row["distance"])
        assert sum(found["turn"], []) == close(row["turn"]) and found["warming"] == close(row["warming"])


def test_distances_have_the_law_of_the_library(call):
    for row in STORED["apart"]:
        assert call("distanceFilling", row["rho"], row["tau"])["shares"] == close(row["shares"], 1e-9)
        assert call("learnedDistanceTau", row["rho"]) == close(row["learned"])


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("tau", [0.5, 1.0, 4.0])
def test_the_network_ends_at_the_law(tau, learn):
    engine, rho = Engine("vessel.math.js"), SPECTRA["usual"]
    start = f"{{u: explorables.vesselMath.begin(8, {len(rho)}, 1), tau: {tau}}}"
    steps = (
        f"Array.from({{length: 6000}}).reduce(s => explorables.vesselMath.step(s, {rho}, {json.dumps(learn)}), {start})"
    )
    end = engine.value(f"(({{u, tau}}) => ({{shares: explorables.vesselMath.sharesOf(u), tau}}))({steps})")
    settled = engine("vesselMath.learnedTau", rho) if learn else tau
    assert end["tau"] == close(settled, 5e-3)
    assert end["shares"] == close(engine("vesselMath.waterFilling", rho, settled)["shares"], 2e-3)


def test_a_start_repeats_and_depends_on_the_seed(call):
    first = call("begin", 4, 6, 1)
    assert first == call("begin", 4, 6, 1) != call("begin", 4, 6, 2)
    assert sum(x * x for row in first for x in row) == close(1)


def test_a_scene_has_its_correlations(call):
    assert call("spectrum", {"shared": [0.9, 0.2], "priv": 3, "coupled": 0.5}) == [0.9, 0.2, 0.5, 0.5, 0.5]


def test_the_answers_are_the_librarys():
    wet = [row for row in STORED["water"] if row["rho"] == SPECTRA["usual"] and row["z"] == 16]
    kept = next(sum(g > 0 for g in row["shares"]) for row in wet if row["tau"] == 1)
    floods = next(row["shares"][-1] > 0 for row in wet if row["tau"] == 6)
    assert truths("vessel") == [kept, "sum", "private" if floods else "shared", "private"]
