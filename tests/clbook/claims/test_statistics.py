"""Intervals against textbook values, scipy and simulation, seeds to decide."""

import math
import random
import warnings

import pytest
from scipy import stats

from clbook.claims.statistics import LEVEL, Sample, seeds_to_decide


def test_a_number_has_no_spread():
    sample = Sample.of(0.25)
    assert not sample.by_chance and sample.interval() == (0.25, 0.25) and sample.standard_error == 0.0


def test_a_mean_is_rounded_once_on_every_python():
    """`sum` gives 0.9999999999999999 for ten tenths before 3.12; infinities and what overflows go on as before."""
    assert Sample((0.1,) * 10).estimate == 0.1
    assert Sample((1e16, 1.0, 1.0, -1e16)).estimate == 0.5
    assert Sample((math.inf, 1.0)).estimate == math.inf
    assert math.isnan(Sample((math.inf, -math.inf)).estimate)
    assert Sample((1e308, 1e308)).estimate == math.inf


def test_the_t_interval_is_the_textbook_s():
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    low, high = Sample.of(values).interval(0.05)
    half = 2.7764451 * math.sqrt(2.5 / 5)
    assert (low, high) == pytest.approx((3 - half, 3 + half))


def test_the_wilson_interval_is_the_textbook_s():
    z, n, p = stats.norm.ppf(0.975), 20, 0.9
    middle, half = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = ((middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n))
    assert Sample.of({"hits": 18, "trials": 20}).interval(0.05) == pytest.approx(expected)


def test_a_share_of_all_or_none_still_has_an_interval():
    low, high = Sample.of({"hits": 10, "trials": 10}).interval(0.05)
    assert 0.7 < low < 0.75 and high == pytest.approx(1.0)
    assert Sample.of({"hits": 0, "trials": 10}).interval(0.05)[1] == pytest.approx(1 - low)


@pytest.mark.parametrize("given", [0.5, [1.0, 2.0, 4.0], {"hits": 3.0, "trials": 7}])
def test_a_sample_survives_being_stored(given):
    assert Sample.of(Sample.of(given).to_json()) == Sample.of(given)
    assert Sample.of(Sample.of(given)) == Sample.of(given)


@pytest.mark.parametrize(
    "given",
    [
        [],
        math.nan,
        [1.0, math.nan],
        {"hits": 3, "trials": 2},
        {"hits": -1, "trials": 2},
        {"hits": 0, "trials": 0},
    ],
)
def test_what_is_no_statistic_is_refused(given):
    with pytest.raises(ValueError):
        Sample.of(given)


@pytest.mark.parametrize("given", [[1.0, 2.0, 4.0, 3.0], {"hits": 30, "trials": 100}])
def test_a_stricter_level_widens_the_interval(given):
    sample = Sample.of(given)
    (low, high), (lower, higher) = sample.interval(0.05), sample.interval(0.01)
    assert lower < low < sample.estimate < high < higher


@pytest.mark.parametrize("level", [0.05, LEVEL, LEVEL / 20])
def test_intervals_are_those_of_scipy(level):
    for values in ([1.0, 2.0, 4.0, 3.0], [1e-9, 3e-9, 2.5e-9], [-5.0, 1.0, 0.5, 0.25, 8.0]):
        expected = stats.t.interval(1 - level, len(values) - 1, sum(values) / len(values), stats.sem(values))
        assert Sample.of(values).interval(level) == pytest.approx(expected, rel=1e-12)
    for hits, trials in ((30, 100), (0, 7), (7, 7), (1, 1000)):
        expected = stats.binomtest(hits, trials).proportion_ci(1 - level, method="wilson")
        found = Sample.of({"hits": hits, "trials": trials}).interval(level)
        assert found == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-15)


def test_equal_values_are_a_point():
    assert Sample.of([0.1, 0.1, 0.1]).standard_error == 0.0
    assert Sample.of([2.0, 2.0, 2.0]).interval() == (2.0, 2.0)


def test_the_interval_holds_the_mean_as_often_as_it_says():
    draw = random.Random(0)
    samples = [Sample.of([draw.gauss(1.0, 2.0) for _ in range(8)]) for _ in range(400)]
    share = sum(low <= 1.0 <= high for low, high in (s.interval(0.2) for s in samples)) / 400
    assert abs(share - 0.8) < 4 * math.sqrt(0.16 / 400)


def test_trials_to_decide_follow_the_square_of_spread_over_distance():
    share = Sample.of({"hits": 600, "trials": 1000})
    near, far = seeds_to_decide(share, 0.55, 0.05), seeds_to_decide(share, 0.5, 0.05)
    assert near == pytest.approx(4 * far, abs=4)
    assert far == math.ceil((stats.norm.ppf(0.975) * math.sqrt(0.6 * 0.4) / 0.1) ** 2)


def test_seeds_to_decide_are_the_fewest_whose_t_interval_leaves_the_threshold():
    values = [0.0, 2.0] * 5
    for distance in (0.1, 0.2, 0.5, 1.5):
        count = seeds_to_decide(Sample.of(values), 1 + distance, 0.05)
        half = {n: stats.t.ppf(0.975, n - 1) * stats.tstd(values) / math.sqrt(n) for n in (count - 1, count)}
        assert half[count] <= distance < half[count - 1]
        assert count >= math.ceil((stats.norm.ppf(0.975) * stats.tstd(values) / distance) ** 2)


def test_more_seeds_are_asked_for_than_left_it_open():
    values = [0.815, 0.887, 0.927, 0.962, 0.954]
    for level in (0.05, 0.01, 0.002, 0.0005):
        sample = Sample.of(values)
        low, _ = sample.interval(level)
        assert (seeds_to_decide(sample, 0.8, level) > len(values)) == (low <= 0.8)


def test_no_number_of_seeds_decides_what_lies_on_the_threshold_or_is_no_chance():
    assert seeds_to_decide(Sample.of([0.0, 2.0]), 1.0, 0.05) is None
    assert seeds_to_decide(Sample.of(3.0), 1.0, 0.05) is None
    assert seeds_to_decide(Sample.of([0.0, 2.0]), 1.0 + 1e-12, 0.05) is None


def test_values_without_bounds_leave_it_open_without_a_word():
    """A seed that diverged has no finite statistic; nor have values near the largest float."""
    for values in ([1.0, math.inf, 2.0], [math.inf, -math.inf], [1e308, -1e308, 1e308]):
        sample = Sample.of(values)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert sample.interval() == (-math.inf, math.inf)
        assert seeds_to_decide(sample, 0.5, 0.05) is None
