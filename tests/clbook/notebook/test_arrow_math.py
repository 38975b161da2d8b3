"""The arithmetic of the live picture "arrows": the library makes the test vectors, and the script meets them."""

import json
import math

import pytest
from arrow_vectors import CASES, CHAPTER, PATH, seen, state, vectors
from script_engine import Engine, flat, truths

STORED = json.loads(PATH.read_text(encoding="utf-8"))
THREE = "explorables.arrowsMath.frameOf(3)"
# by an implementation of its own, before there was a picture; every printed digit counts
PRINTED = {
    "A": {
        "per_d": "1.711112478 .547944991 .238086641 .101491419",
        "noise": ".02773105",
        "condition": "4.10605363",
        "agree": ".9999999995 .9999985875 .9998260797 .9921192298",
    },
    "B": {
        "per_d": ".512474405 .524903585 .539247731 .325755924",
        "noise": ".00734804",
        "condition": "1.28661320",
    },
    "C": {"per_d": ".471507921 .469160594 .451243113", "noise": ".00239953", "condition": "1.02220783"},
}


@pytest.fixture(scope="module")
def engine():
    return Engine("arrows.math.js")


def moved(engine, given: dict, phases: list, longest: float = 0.01) -> dict:
    """What the script sees after the phases, in steps of this length or shorter ones."""
    script = f"""((settings, phases) => {{
      const {{ begin, advance, look }} = explorables.arrowsMath, y = begin(settings);
      let last = null;
      for (const [tau2, length] of phases) advance(y, settings, (last = tau2), length, {longest});
      return look(y, settings, last);
    }})({json.dumps(given)}, {json.dumps(phases)})"""
    return engine.value(script)


def film(engine, key: str, script: str = "{}") -> list:
    """One thing that is seen at every frame of a film."""
    return engine.value(f"explorables.arrowsMath.film({script}).map(shot => shot.{key})")


def test_the_stored_vectors_are_the_librarys():
    stored, made = flat(STORED), flat(json.loads(json.dumps(vectors())))
    assert len(stored) > 80 and stored.keys() == made.keys()
    numbers = {p: (v, made[p]) for p, v in stored.items() if isinstance(v, int | float)}
    assert {p: pair for p, pair in numbers.items() if pair[0] != pytest.approx(pair[1], rel=1e-8, abs=1e-11)} == {}


@pytest.mark.parametrize("name", PRINTED)
def test_the_library_gives_the_printed_digits(name):
    for what, line in PRINTED[name].items():
        found = STORED["flows"][name][what]
        for text, value in zip(line.split(), found if isinstance(found, list) else [found], strict=True):
            half = 0.5 * 10 ** -len(text.partition(".")[2])
            assert value == pytest.approx(float(text), abs=1.01 * half), (what, text)


@pytest.mark.parametrize("name", CASES)
def test_the_flow_meets_the_library(engine, name):
    case = STORED["flows"][name]
    shot = moved(engine, case["given"], case["phases"], 0.0025)
    for what in ("shares", "noise", "agree", "condition"):
        assert shot[what] == pytest.approx(case[what], rel=2e-7, abs=1e-11), what
    net = [pull - push for pull, push in zip(shot["pull"], shot["push"], strict=True)]
    assert net == pytest.approx(case["net"], rel=1e-6, abs=1e-8)
    assert shot["off"] < 1e-7


def test_the_error_of_a_step_falls_by_sixteen(engine):
    """Order four: a half step divides the error by 16, but for terms of order five; order three would give 8."""
    case = STORED["flows"]["A"]
    errors = []
    for longest in (0.04, 0.02):
        shot = moved(engine, case["given"], case["phases"], longest)
        errors.append(abs(math.log(shot["condition"] / case["condition"])))
    assert 11 < errors[0] / errors[1] < 24


@pytest.mark.parametrize(
    "settings",
    [
        "{}",
        "{dim: 8, on: 0, tau2: 16}",
        "{dim: 1e9, sigma: explorables.arrowsMath.spread(3), on: 0, tau2: 0.125}",
        f"{{dim: 1e9, sigma: explorables.arrowsMath.spread(3), on: {THREE}}}",
    ],
)
def test_a_film_is_as_exact_at_the_corners_of_its_sliders(engine, settings):
    finer = f"{{...{settings}, longest: 0.01}}"
    coarse, fine = (film(engine, "condition", one) for one in (settings, finer))
    assert max(abs(math.log(a / b)) for a, b in zip(coarse, fine, strict=True)) < 1e-5
    assert max(film(engine, "off", settings)) < 1e-6


def test_frames_are_those_of_the_library(engine):
    shots = engine.value(f"explorables.arrowsMath.film({{on: {THREE}}})")
    times = engine.value("explorables.arrowsMath.TIMES")
    assert times[0] == 0 and times[1] == 0.01 and times[-1] == 100 and 3 in times
    for at in (times.index(3), len(times) - 60):
        phases = [(None, min(times[at], 3)), *([(2, times[at] - 3)] if times[at] > 3 else [])]
        want = seen(state(**CHAPTER, phases=phases))
        for what in ("shares", "noise", "agree", "condition"):
            assert shots[at][what] == pytest.approx(want[what], rel=1e-6, abs=1e-9), (what, times[at])


@pytest.mark.parametrize("case", STORED["race"], ids=lambda c: f"τ²={c['tau2']} after {c['alone']}")
def test_the_time_to_balance_is_the_librarys(engine, case):
    on = f"explorables.arrowsMath.frameOf({case['alone']})"
    found = engine.value(
        f"explorables.arrowsMath.balancedAt(explorables.arrowsMath.film({{tau2: {case['tau2']}, on: {on}}}))"
    )
    assert found == pytest.approx(case["at"], abs=2e-3)


def test_the_race_has_the_printed_times():
    assert [round(case["at"], 1) for case in STORED["race"]] == [28.5, 15.3, 9.5, 8.1, 12.3, 33.4, 13.7]


def test_equal_lengths_are_the_end_and_pull_and_push_cancel_there(engine):
    shot = engine.value(f"explorables.arrowsMath.film({{on: {THREE}}})")[-1]
    assert shot["shares"] == pytest.approx([0.25] * 4, abs=1e-12) and shot["balance"] == pytest.approx(4)
    assert shot["pull"] == pytest.approx(shot["push"], rel=1e-9) and min(shot["push"]) > 0.1


def test_positive_pairs_alone_end_where_their_clock_says(engine):
    """Σe^(σ²Θ) = 2d gives the end, whatever the scale of the noise is."""
    sigma, d = CHAPTER["sigma"], CHAPTER["dim"]
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(math.exp(s * s * middle) for s in sigma) < 2 * d else (low, middle)
    want = 2 * math.exp((4 - 1) * low / 2)
    for noise in (0.5, 0.8, 1.5):
        assert film(engine, "condition", f"{{noise: {noise}}}")[-1] == pytest.approx(want, rel=1e-5)


def test_without_negatives_a_balanced_state_stays(engine):
    later = "explorables.arrowsMath.frameOf(20)"
    number = film(engine, "condition", f"{{on: {THREE}, off: {later}}}")
    assert number[-1] == pytest.approx(number[engine.value(later)], abs=1e-4) and number[-1] < 1.01


def test_the_answers_are_the_librarys():
    alone = seen(state(**CHAPTER, phases=[(None, 100)]))
    both = seen(state(**CHAPTER, phases=[(None, 3), (2, 97)]))
    times = {case["tau2"]: case["at"] for case in STORED["race"] if not case["alone"]}
    assert alone["shares"][0] > 0.9 and both["condition"] < 1.05 and min(times, key=times.get) == 4
    assert truths("arrows") == ["one", "level", 4]
