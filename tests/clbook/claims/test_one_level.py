"""One level: how often a true claim is called missed, and whether few seeds meet a rule more easily than many."""

import math
import random

import pytest

from clbook.claims.rules import MET, MISSED, Rule
from clbook.claims.statistics import LEVEL, Sample

# a rule, and a mean on its border: a claim that is just true
BORDERS = [
    ({"at_most": 1.0}, 1.0),
    ({"at_least": 1.0}, 1.0),
    ({"between": [-0.6, -0.4]}, -0.4),
    ({"between": [-0.6, -0.4]}, -0.6),
    ({"equals": 2}, 2.0),
]
SPREAD = 0.1


def draw(source: random.Random, mean: float, seeds: int) -> Sample:
    return Sample.of([source.gauss(mean, SPREAD) for _ in range(seeds)])


@pytest.mark.parametrize("cases", [1, 5, 20])
@pytest.mark.parametrize(("spec", "mean"), BORDERS)
def test_a_true_claim_is_seldom_called_missed(spec, mean, cases):
    """In at most LEVEL of runs, whatever the number of cases, up to three standard errors of this count."""
    source, rule, runs = random.Random(cases), Rule.parse(spec, "here"), 6000 // cases
    outcomes = [rule.outcome_of_all({str(k): draw(source, mean, 6) for k in range(cases)}) for _ in range(runs)]
    assert outcomes.count(MISSED) / runs <= LEVEL + 3 * math.sqrt(LEVEL / runs)


@pytest.mark.parametrize("cases", [1, 5, 20])
def test_nor_is_one_that_is_measured_by_shares(cases):
    source, rule, runs = random.Random(cases), Rule.parse({"at_least": 0.7}, "here"), 3000 // cases

    def share() -> Sample:
        return Sample.of({"hits": sum(source.random() < 0.7 for _ in range(60)), "trials": 60})

    outcomes = [rule.outcome_of_all({str(k): share() for k in range(cases)}) for _ in range(runs)]
    assert outcomes.count(MISSED) / runs <= LEVEL + 3 * math.sqrt(LEVEL / runs)


@pytest.mark.parametrize(("spec", "mean"), BORDERS)
def test_no_rule_is_met_more_often_with_five_seeds_than_with_fifty(spec, mean):
    """On its border, beyond it, and inside; nor is one met by luck in more than LEVEL of runs on its border."""
    rule, runs = Rule.parse(spec, "here"), 2000

    def share(seeds: int, at: float) -> float:
        source = random.Random(seeds)
        return sum(rule.outcome(draw(source, at, seeds)) == MET for _ in range(runs)) / runs

    noise = 3 * math.sqrt(LEVEL / runs)
    for at in (mean, mean + 0.02, mean - 0.02, sum(rule.numbers) / len(rule.numbers)):
        few, many = share(5, at), share(50, at)
        assert few <= many + LEVEL + noise, (at, few, many)
    assert share(5, mean) <= LEVEL + noise
