"""Coverage and its null against enumeration of every throw, in float64."""

from itertools import product

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.token_coverage import (
    coupon_coverage,
    coverage,
    independent_throws,
    relative_dispersion,
)

CANDIDATES = torch.tensor([[True, True, False, True], [False, True, True, False], [False, False, False, False]])
THROWN = torch.tensor([4, 3, 2])


def every_outcome():
    """All ways of throwing 4 filters on the three candidates of place 0 and 3 on the two of place 1."""
    n = CANDIDATES.sum(-1).tolist()
    ways = list(product(*[range(n[k]) for k in (0, 1) for _ in range(int(THROWN[k]))]))
    shown = torch.zeros(len(ways), 3, 4, 4, dtype=torch.bool)
    at = [CANDIDATES[k].nonzero()[:, 0].tolist() for k in (0, 1)]
    for i, way in enumerate(ways):
        for m, choice in enumerate(way):
            k, m = (0, m) if m < 4 else (1, m - 4)
            shown[i, k, m, at[k][choice]] = True
    return shown


def test_the_null_is_the_mean_over_every_outcome():
    found = coverage(every_outcome(), CANDIDATES.expand(81 * 8, -1, -1))
    assert float(found.mean()) == pytest.approx(float(coupon_coverage(THROWN, CANDIDATES)), rel=1e-12)


def test_the_null_of_equal_places_is_the_printed_formula():
    equal = torch.ones(10, 5, dtype=torch.bool)
    assert float(coupon_coverage(10, equal)) == pytest.approx(1 - (1 - 1 / 5) ** 10, rel=1e-12)


def test_no_independent_filters_cover_more():
    """For random odds of the candidates and of showing nothing, and equal odds as the case of equality."""
    g = torch.Generator().manual_seed(1)
    for n, thrown in product((2, 3, 8), (1, 4, 20)):
        best = float(coupon_coverage(thrown, torch.ones(1, n, dtype=torch.bool)))
        odds = torch.rand(200, n + 1, generator=g, dtype=torch.float64) ** 3
        odds = (odds / odds.sum(-1, keepdim=True))[:, :n]  # the last entry: shows nothing
        assert float((1 - (1 - odds) ** thrown).mean(-1).max()) <= best + 1e-12


def test_throws_keep_what_each_filter_is_and_meet_the_null():
    shown = every_outcome()[:1].expand(20_000, -1, -1, -1).clone()
    shown[:, 0, 3] = False  # shows nothing any more
    candidates = CANDIDATES.expand(20_000, -1, -1)
    drawn = independent_throws(shown, candidates, torch.Generator().manual_seed(2))
    assert torch.equal(drawn.any(-1), shown.any(-1)) and not bool((drawn & ~candidates.unsqueeze(-2)).any())
    null = coupon_coverage(torch.tensor([3, 3, 0]), CANDIDATES)
    assert float(coverage(drawn, candidates).mean()) == pytest.approx(float(null), abs=0.005)
    assert float(relative_dispersion(drawn, candidates).mean()) == pytest.approx(1, abs=0.03)


def test_independent_throws_have_dispersion_one():
    """Exactly, over every outcome; the filters that are shared out have none."""
    shown = every_outcome()
    found = relative_dispersion(shown, CANDIDATES.expand(len(shown), -1, -1))
    assert float(found.mean()) == pytest.approx(1, rel=1e-12)
    apart = torch.zeros(1, 5, 5, dtype=torch.bool)
    apart[0, range(5), range(5)] = True
    assert float(relative_dispersion(apart, torch.ones(1, 5, dtype=torch.bool))) == 0
    assert float(coverage(apart, torch.ones(1, 5, dtype=torch.bool))) == 1


def test_no_filter_shows_anything():
    shown = torch.zeros(3, 4, 4, dtype=torch.bool)
    assert float(coverage(shown, CANDIDATES)) == 0 and float(relative_dispersion(shown, CANDIDATES)) == 1
