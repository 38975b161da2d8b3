"""Correlations of a user's own features: two encoders, one, and what tells them apart."""

import math
import warnings

import pytest
import torch

from contrastive_dynamics.testbed.canonical_correlations import canonical_correlations
from contrastive_dynamics.testbed.feature_correlations import feature_correlations, unrelated_correlation
from contrastive_dynamics.testbed.pairs import Moments

RHO = torch.linspace(0.95, 0.3, 8, dtype=torch.float64)


def two_towers(n=20_000, sizes=(40, 40), seed=0, equal=False):
    """Features of two towers with eight canonical correlations, each in coordinates of its own unless `equal`."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    shared, mixing = draw(n, 8), draw(sizes[0], sizes[0])
    views = []
    for size in sizes:
        own = torch.cat([RHO.sqrt() * shared + (1 - RHO).sqrt() * draw(n, 8), draw(n, size - 8)], 1)
        views.append(own @ (mixing if equal else draw(size, size)))
    return views


@pytest.mark.parametrize("sizes", [(40, 40), (40, 24)])
def test_two_towers_have_their_own_correlations(sizes):
    rho = feature_correlations(*two_towers(sizes=sizes), tied=False)
    assert len(rho) == min(sizes) and (rho[:8] - RHO).abs().max() < 0.03 and rho[8:].abs().max() < 0.05


def test_two_towers_taken_for_one_encoder_are_noticed():
    views = two_towers()
    with pytest.warns(UserWarning, match="tied=False"):
        rho = feature_correlations(*views, tied=True)
    assert rho[0] < 0.8
    with pytest.raises(ValueError, match=r"equal numbers of features.*tied=False"):
        feature_correlations(*two_towers(sizes=(40, 24)), tied=True)


def test_whether_the_encoder_is_one_has_to_be_said():
    with pytest.raises(TypeError, match="tied"):
        feature_correlations(*two_towers(2000))


def test_one_encoder_raises_no_warning_and_has_the_same_correlations():
    views = two_towers(equal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = feature_correlations(*views, tied=True)
    assert (one[:8] - RHO).abs().max() < 0.03
    assert (feature_correlations(*views, tied=False)[:8] - RHO).abs().max() < 0.03


def test_one_encoder_with_opposite_views_has_negative_correlations_and_no_warning():
    first, second = two_towers(equal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert feature_correlations(first, -second, tied=True)[-1] == pytest.approx(-0.95, abs=0.03)


def test_units_do_not_matter_and_single_precision_is_enough():
    first, second = two_towers(5000)
    rho = feature_correlations(first, second, tied=False)
    units = 10.0 ** torch.linspace(-6, 6, 40, dtype=torch.float64)
    assert torch.allclose(feature_correlations(first * units, second, tied=False), rho, atol=1e-9)
    found = feature_correlations((first * units).float(), second.float(), tied=False)
    assert found.dtype == torch.float64 and torch.allclose(found, rho, atol=1e-3)
    repeated = torch.cat([first, first[:, :3], torch.ones(5000, 1)], 1)
    assert torch.allclose(feature_correlations(repeated, second, tied=False), rho, atol=1e-9)


@pytest.mark.parametrize("tied", [True, False])
def test_it_agrees_with_exact_moments(tied):
    """Views of one datum by one encoder: the eigenvalues, not the singular values, of what they share."""
    generator = torch.Generator().manual_seed(3)
    turn = torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64)).Q
    cross = turn @ torch.diag(torch.tensor([0.8, 0.5, 0.2, -0.6], dtype=torch.float64)) @ turn.mT
    joint = torch.eye(8, dtype=torch.float64)
    joint[:4, 4:], joint[4:, :4] = cross, cross.mT
    x = torch.randn(200_000, 8, generator=generator, dtype=torch.float64) @ torch.linalg.cholesky(joint).mT
    exact = canonical_correlations(Moments(joint[:4, :4], joint[4:, 4:], cross), tied=tied)
    assert torch.allclose(feature_correlations(x[:, :4], x[:, 4:], tied=tied), exact, atol=0.01)


def test_nothing_shared_gives_nothing_on_average():
    generator = torch.Generator().manual_seed(1)
    rho = [feature_correlations(*torch.randn(2, 2000, 10, generator=generator), tied=False) for _ in range(8)]
    assert torch.stack(rho).mean().abs() < 0.01


@pytest.mark.parametrize(
    "first, second, words",
    [
        (torch.zeros(100, 3), torch.zeros(99, 3), "of the same n data, got"),
        (torch.zeros(100), torch.zeros(100), "must be"),
        (torch.zeros(10, 3), torch.zeros(10, 3), "four pairs per feature"),
        (torch.full((100, 3), torch.nan), torch.zeros(100, 3), "finite"),
    ],
)
def test_features_that_do_not_fit_are_refused(first, second, words):
    with pytest.raises(ValueError, match=words):
        feature_correlations(first, second, tied=False)


@pytest.mark.parametrize("shared", [0, 8])
def test_what_counts_as_shared_is_what_is_shared(shared):
    """The largest ρ of one shuffle lets up to four directions of these pass that share nothing."""
    counts, level = [], []
    for seed in range(10):
        first, second = two_towers(n=4_000, sizes=(64, 48), seed=seed)
        generator = torch.Generator().manual_seed(seed)
        if not shared:
            second = second[torch.randperm(len(second), generator=generator)]
        level.append(unrelated_correlation(first, second, tied=False, generator=generator))
        counts.append(int((feature_correlations(first, second, tied=False) > level[-1]).sum()))
    assert min(counts) == shared and max(counts) <= shared + 1 and sum(counts) <= 10 * shared + 2
    assert torch.tensor(level).mean() == pytest.approx(3.5 / 4_000**0.5, rel=0.1)


def test_one_direction_has_a_level_as_well():
    """The two halves then agree in sign: their mean is (|a| + |b|)/2, of mean square (1 + 2/π)/n."""
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.randn(1_000, 1, generator=generator, dtype=torch.float64) for _ in range(2))
    level = unrelated_correlation(first, second, tied=False, generator=generator)
    assert level == pytest.approx(3.5 * ((1 + 2 / math.pi) / 1_000) ** 0.5, rel=0.15)
