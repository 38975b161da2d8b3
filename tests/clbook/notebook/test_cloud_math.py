"""The arithmetic of the live picture "clouds": the library makes the test vectors, and the script meets them."""

import json
import math

import pytest
import torch
from cloud_vectors import CASES, PATH, RTOL, vectors
from cloud_vectors import film as exact_film
from script_engine import Engine, flat, truths

from contrastive_dynamics.data.half_moons import half_moons

STORED = json.loads(PATH.read_text(encoding="utf-8"))
STEP, END = 0.02, 8.0
ROUNDING = 1e-12  # relative: 16 for the largest 2|λ|t, times ε, and some operations
SETTINGS = {"negatives": 1, "size": 0.2, "angle": 0.7}
# by an implementation of its own, before there was a picture; every printed digit counts
PRINTED = {
    "A": {
        "values": "-0.815418198286 -0.178771915530",
        "start": "0.1107888390 -0.1307723693 0.1544139859 0.0343619199",
        "none": "14.76677831 -17.43033508 0.4513615624 0.1004420017",
        "layers": "0.6039958987 -0.7969861445 0.6168306328 0.4663587346",
        "start rank": "1.782331",
        "ranks": "1.002906 1.937030",
    },
    "B": {
        "values": "-0.597361373884 0.540671260068",
        "start": "-0.4766039015 -0.2723646591 0.5922282120 -0.4672600544",
        "none": "-618.4813009 -353.4432851 0.0009010783 -0.0007109386",
        "layers": "-0.8645039288 -0.5026260609 0.0000016796 -0.0000018784",
        "ranks": "1.000000 1.000000",
    },
    "C": {
        "start": "0.1886023789 -0.6022372067 0.8341555741 -0.0867408085",
        "none": "2.17741915 -6.952843514 1.42615269 -0.1483004385",
        "layers": "0.1629478779 -0.9865698131 0.9527063682 0.1550330294",
        "ranks": "1.149170 1.998748",
    },
}


@pytest.fixture(scope="module")
def call():
    engine = Engine("clouds.math.js")
    return lambda function, *given: engine(f"cloudsMath.{function}", *given)


def film(call, finer: int = 1, **given) -> dict:
    """A film in steps of 0.02 or shorter ones."""
    return call("film", SETTINGS | given, STEP / finer, round(END / STEP) * finer)


def test_the_stored_vectors_are_the_librarys():
    stored, made = flat(STORED), flat(vectors())
    assert len(stored) > 100 and stored.keys() == made.keys()
    off = {p: (v, made[p]) for p, v in stored.items() if not isinstance(v, bool)}
    assert {p: pair for p, pair in off.items() if pair[0] != pytest.approx(pair[1], rel=1e-10, abs=1e-11)} == {}


@pytest.mark.parametrize("name", PRINTED)
def test_the_library_gives_the_printed_digits(name):
    case = STORED["films"][name]
    ranks = [case["ranks"]["none"], case["ranks"]["layers"]]
    found = case | case["ends"] | {"ranks": ranks, "start rank": [case["start rank"]]}
    for what, line in PRINTED[name].items():
        for text, value in zip(line.split(), found[what], strict=True):
            half = 0.5 * 10 ** -len(text.partition(".")[2])
            assert value == pytest.approx(float(text), abs=1.01 * half), (what, text)


@pytest.mark.parametrize("case", STORED["spectra"], ids=lambda c: f"ν={c['negatives']}")
def test_eigenvalues_and_eigenvectors(call, case):
    found = call("spectrum", case["negatives"])
    assert found["values"] == pytest.approx(case["values"], abs=1e-14)
    assert found["vectors"] == pytest.approx(case["vectors"], abs=1e-14)


def test_the_second_eigenvalue_is_positive_beyond_the_turning_point(call):
    turn = call("turningPoint")
    assert turn == pytest.approx(1.93, abs=0.005)
    below, above = (call("spectrum", turn + side)["values"][1] for side in (-1e-9, 1e-9))
    assert below < 0 < above


@pytest.mark.parametrize("name", CASES)
def test_the_closed_forms_meet_the_library(call, name):
    case = STORED["films"][name]
    shot, at = film(call, **case["given"]), round(case["t"] / STEP)
    assert shot["values"] == pytest.approx(case["values"], abs=1e-14)
    assert shot["paths"]["none"][0] == pytest.approx(case["start"], abs=1e-15)
    for rule in ("none", "norm"):
        assert shot["paths"][rule][at] == pytest.approx(case["ends"][rule], rel=ROUNDING)
        assert shot["ranks"][rule][at] == pytest.approx(case["ranks"][rule], rel=ROUNDING)


@pytest.mark.parametrize("name", CASES)
def test_orthonormal_layers_are_off_by_the_error_of_runge_and_kutta(call, name):
    """The error of order four at steps of 0.02 is 16/15 of what half the step changes, and falls by 16 each time."""
    case = STORED["films"][name]
    want, ends = case["ends"]["layers"], []
    for finer in (1, 2, 4):
        shot = film(call, finer, **case["given"])
        ends.append(shot["paths"]["layers"][round(case["t"] / STEP) * finer])
    coarse, fine = (max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in (ends[:2], ends[1:]))
    error = max(abs(a - b) for a, b in zip(ends[0], want, strict=True))
    library = 100 * RTOL  # per step, and steps add up
    assert error <= 1.25 * 16 / 15 * coarse + library and coarse < 1e-8
    assert fine <= coarse / 10 + library  # 16 but for terms of order five: order three would give 8


@pytest.mark.parametrize("name", CASES)
def test_ranks_are_those_of_the_library(call, name):
    case = STORED["films"][name]
    shot = film(call, **case["given"])
    assert shot["ranks"]["none"][0] == pytest.approx(case["start rank"], abs=1e-14)
    for rule, value in case["ranks"].items():
        assert call("rank", case["ends"][rule]) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.0, 3.1])
def test_without_a_rule_and_with_the_norm_held_the_cloud_becomes_a_line(call, angle):
    shot = film(call, angle=angle)
    first, second = shot["values"]
    for rule in ("none", "norm"):
        assert shot["ranks"][rule] == pytest.approx(shot["ranks"]["none"], rel=ROUNDING)
    # p_2 is at most the squared ratio of the rows, which shrinks by e^{-4 (λ_2 - λ_1) t}; exp of its entropy follows
    q0 = shot["paths"]["none"][0]
    share = math.exp(-4 * (second - first) * END) * (q0[2] ** 2 + q0[3] ** 2) / (q0[0] ** 2 + q0[1] ** 2)
    assert shot["ranks"]["none"][-1] - 1 <= 2 * share * (1 - math.log(share))
    assert shot["ranks"]["layers"][-1] > 1.999


@pytest.mark.parametrize("negatives", [0, 1, 4])
def test_white_data_never_collapse(call, negatives):
    shot = film(call, white=True, negatives=negatives)
    assert shot["values"] == [-1, -1]
    start = shot["ranks"]["none"][0]
    assert shot["ranks"]["none"] == pytest.approx([start] * 401, rel=ROUNDING)
    layers = shot["ranks"]["layers"]
    assert min(layers) == layers[0] == start and layers[-1] == pytest.approx(2, abs=1e-6)


def test_too_many_negatives_flatten_orthonormal_layers_too(call):
    assert film(call, negatives=2.5)["ranks"]["layers"][-1] < 1.01 < 1.99 < film(call)["ranks"]["layers"][-1]


def test_a_tenth_of_the_start_delays_length_and_breadth_by_their_own_eigenvalues(call):
    wide, narrow = film(call, size=0.02), film(call)

    def reaches(shot, row):
        rows = (math.hypot(*q[2 * row : 2 * row + 2]) for q in shot["paths"]["layers"])
        return STEP * next(k for k, size in enumerate(rows) if size > 0.5)

    for row, value in enumerate(narrow["values"]):
        delay = math.log(10) / (4 * abs(value))
        # a start of 0.2 is already slowed, by terms of order 0.2² in the rate
        assert reaches(wide, row) - reaches(narrow, row) == pytest.approx(delay, abs=0.04 * delay + STEP)


def test_norms_stay_as_the_rules_say(call):
    shot = film(call, size=0.95)
    assert [math.hypot(*q) for q in shot["paths"]["norm"]] == pytest.approx([shot["norm"]] * 401, rel=ROUNDING)
    layers = torch.tensor(shot["paths"]["layers"], dtype=torch.float64).unflatten(-1, (2, 2))
    assert float(torch.linalg.matrix_norm(layers, 2).max()) <= 1 + 1e-8


def test_the_points_are_the_librarys_and_white_ones_have_unit_covariance(call):
    points = call("halfMoons", 120)
    assert torch.allclose(torch.tensor(points, dtype=torch.float64), half_moons(120), atol=1e-15)
    turned = torch.tensor(call("inEigenbasis", points, 3, False), dtype=torch.float64)
    assert torch.allclose(turned.norm(dim=-1), half_moons(120).norm(dim=-1))
    many = torch.tensor(call("inEigenbasis", call("halfMoons", 20_000), 3, True), dtype=torch.float64)
    assert torch.allclose(many.mT @ many / len(many), torch.eye(2, dtype=torch.float64), atol=2e-3)


def test_a_time_between_two_steps_lies_between_them(call):
    path = film(call)["paths"]["layers"]
    assert call("at", path, 3.0) == pytest.approx(path[150], abs=1e-12)
    assert call("at", path, 3.01) == pytest.approx([(a + b) / 2 for a, b in zip(path[150], path[151], strict=True)])
    assert call("at", path, -1) == path[0] and call("at", path, 9) == path[-1]


def test_outputs_are_those_of_the_matrix(call):
    assert call("outputs", [1, 2, 3, 4], [[1, 0], [0.5, -1]]) == [[1, 2], [-2.5, -3]]  # q'y, rows of q are u(v_j)


def test_the_answers_are_the_librarys():
    def lines(time: float, **given) -> str:
        ranks = exact_film(**SETTINGS | given, t=time)["ranks"]
        return ",".join(rule for rule in ("none", "norm", "layers") if ranks[rule] < 1.1)

    assert truths("clouds") == [lines(3), lines(END, negatives=2.5), "none" in lines(END, white=True)]
