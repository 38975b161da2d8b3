"""The arithmetic of the live picture "circle": the library makes the test vectors, and the script meets them."""

import json
import math
import statistics

import pytest
from circle_vectors import PATH, vectors
from script_engine import Engine, flat, truths

from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import FIGURE_8_POINTS

STORED = json.loads(PATH.read_text(encoding="utf-8"))
POINTS = [x * math.pi for x in FIGURE_8_POINTS]
ROUNDING = 1e-12
SUMS = 1e-11  # the library sums over many points of each arc
DIFFERENCES = 1e-8  # and the slope over arcs is a difference quotient, of step 1e-3, of such sums


def world(leak: float, spread: float = 0, vote: float = 0, token: int = 0) -> dict:
    return {"points": POINTS, "leak": leak, "spread": spread, "vote": vote, "token": token}


@pytest.fixture(scope="module")
def call():
    engine = Engine("circle.math.js")
    return lambda function, *given: engine(f"circleMath.{function}", *given)


def test_the_stored_vectors_are_the_librarys():
    stored, made = flat(STORED), flat(vectors())
    assert len(stored) > 100 and stored.keys() == made.keys()
    assert {p: (v, made[p]) for p, v in stored.items() if v != pytest.approx(made[p], abs=1e-11)} == {}


@pytest.mark.parametrize("case", STORED["points"], ids=lambda c: f"{c['t']}-{c['leak']}")
def test_energy_and_slope_of_points(call, case):
    here = call("landscape", case["t"], world(case["leak"]))
    assert (here["energy"], here["slope"]) == pytest.approx((case["energy"], case["slope"]), abs=ROUNDING)


@pytest.mark.parametrize("case", STORED["arcs"], ids=lambda c: f"{c['t']}-{c['leak']}-{c['spread']}")
def test_energy_and_slope_of_arcs(call, case):
    here = call("landscape", case["t"], world(case["leak"], case["spread"]))
    assert here["energy"] == pytest.approx(case["energy"], abs=SUMS)
    assert here["slope"] == pytest.approx(case["slope"], abs=DIFFERENCES)


@pytest.mark.parametrize("case", STORED["hills"], ids=lambda c: f"leak {c['leak']}")
def test_hills_and_their_basins(call, case):
    hills = call("survey", world(case["leak"]))["hills"]
    assert [hill["t"] for hill in hills] == pytest.approx(case["angles"], abs=1e-8)
    assert [hill["share"] for hill in hills] == pytest.approx(case["shares"], abs=1e-8)


@pytest.mark.parametrize("case", STORED["votes"], ids=lambda c: f"{c['t']}-{c['leak']}-{c['vote']}")
def test_energy_and_slope_under_a_vote(call, case):
    here = call("landscape", case["t"], world(case["leak"], 0, case["vote"], case["token"]))
    kept = [here[name] for name in ("energy", "slope", "b")]
    assert kept == pytest.approx([case[name] for name in ("energy", "slope", "b")], abs=ROUNDING)


@pytest.mark.parametrize("case", STORED["voted hills"], ids=lambda c: f"leak {c['leak']} vote {c['vote']}")
def test_hills_and_their_basins_under_a_vote(call, case):
    hills = call("survey", world(case["leak"], 0, case["vote"], case["token"]))["hills"]
    assert [hill["t"] for hill in hills] == pytest.approx(case["angles"], abs=1e-8)
    assert [hill["share"] for hill in hills] == pytest.approx(case["shares"], abs=1e-8)


def test_a_vote_over_arcs_climbs_its_energy(call):
    here, step = world(0.1, 0.4, 0.6, 4), 1e-4
    up, down = (call("landscape", t, here)["energy"] for t in (0.7 + step, 0.7 - step))
    assert call("landscape", 0.7, here)["slope"] == pytest.approx((up - down) / (2 * step), abs=DIFFERENCES)
    narrow = call("landscape", 0.7, world(0.1, 1e-6, 0.6, 4))  # almost points
    assert narrow["b"] == pytest.approx(call("landscape", 0.7, world(0.1, 0, 0.6, 4))["b"], abs=1e-9)


@pytest.mark.parametrize("case", STORED["points"], ids=lambda c: f"{c['t']}-{c['leak']}")
def test_the_height_is_the_variance_of_the_outputs(call, case):
    said = call("outputs", case["t"], world(case["leak"]))
    assert statistics.pvariance([s["low"] for s in said]) / 2 == pytest.approx(case["energy"], abs=ROUNDING)
    assert all(s["low"] == s["high"] for s in said)


def test_outputs_of_arcs_reach_from_the_least_to_the_most(call):
    said = call("outputs", 0.3, world(0.2, 0.5))
    for phi, found in zip(POINTS, said, strict=True):
        z = [math.cos(0.3 - phi + 0.5 * k / 1000) for k in range(-1000, 1001)]
        h = [v if v > 0 else 0.2 * v for v in z]
        assert (found["low"], found["high"]) == pytest.approx((min(h), max(h)), abs=1e-6)


def test_gates_open_and_close_a_quarter_turn_from_the_points(call):
    for t in call("kinks", world(0)):
        assert min(abs(math.cos(t - phi)) for phi in POINTS) == pytest.approx(0, abs=1e-12)
    assert [len(call("kinks", world(0, spread))) for spread in (0, 0.2)] == [18, 36]


def test_no_hill_at_a_kink_is_missed(call):
    assert [len(call("survey", world(leak))["hills"]) for leak in (0.28, 0.27, 0.26)] == [6, 7, 7]


def test_few_points_make_more_hills_than_a_density(call):
    counts = [len(call("survey", world(0, spread))["hills"]) for spread in (0, 0.1, 0.2, 0.3)]
    assert counts == [9, 7, 5, 3]


def test_expected_finds(call):
    shares = STORED["hills"][-1]["shares"]
    found = {filters: call("expectedFinds", shares, int(filters)) for filters in STORED["finds"]}
    assert found == pytest.approx(STORED["finds"], abs=ROUNDING)


@pytest.mark.parametrize("leak", [0.0, 0.05, 0.4, 1.0])
def test_a_filter_parks_on_the_hill_of_its_basin(call, leak):
    land = call("survey", world(leak))
    for start in call("starts", 12, 3):
        goal, end = call("hillOf", start, land["hills"]), call("settle", start, world(leak), land["steepest"])
        assert end == {"t": pytest.approx(land["hills"][goal]["t"], abs=1e-8), "parked": True}


def test_nothing_climbs_where_nothing_rises(call):
    square = world(1) | {"points": [k * math.pi / 2 for k in range(4)]}  # linear: the same variance in every direction
    land = call("survey", square)
    assert land["hills"] == [] and call("climb", 0.3, square, land["steepest"]) == {"t": 0.3, "parked": True}
    assert call("hillOf", 0.3, land["hills"]) == -1


def test_starts_repeat_and_fill_the_circle(call):
    starts = call("starts", 4000, 5)
    assert starts == call("starts", 4000, 5) != call("starts", 4000, 6)
    assert min(starts) >= -math.pi and max(starts) < math.pi
    assert statistics.mean(starts) == pytest.approx(0, abs=0.15)
    assert statistics.pstdev(starts) == pytest.approx(math.pi / math.sqrt(3), rel=0.05)


def test_the_script_has_the_papers_points():
    engine = Engine("circle.math.js")
    assert engine("circleMath.POINTS.slice") == pytest.approx(POINTS, abs=1e-15)


def test_the_answers_are_the_librarys():
    (raised,) = (case for case in STORED["voted hills"] if (case["leak"], case["vote"], case["token"]) == (0, 0.3, 4))
    hills = [len(found["angles"]) for found in (STORED["hills"][-1], raised)]
    assert truths("circle") == [hills[0], round(STORED["finds"]["8"]), hills[1]]
