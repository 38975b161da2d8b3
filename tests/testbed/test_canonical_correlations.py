"""Canonical correlations of samples, by three other ways; units, ranks and what never exceeds 1."""

import numpy as np
import pytest
import torch
from sklearn.cross_decomposition import CCA

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.testbed.canonical_correlations import (
    canonical_axes,
    canonical_correlations,
    held_out_correlations,
    moment_axes,
    moment_correlations,
    ranks,
)
from contrastive_dynamics.testbed.pairs import Moments, sample_moments
from contrastive_dynamics.testbed.sampling_bias import split_correlations, total_correlation

N, D = 400, 5
UNITS = torch.tensor([1, 1e-4, 1, 1e9, 1e-12], dtype=torch.float64)


def views(*, count=N, sizes=(D, D), dtype=torch.float64, run="views"):
    """Two views that share a factor, mixed, `[n, D]` each."""
    g = stream(0, 0, run)
    shared = torch.randn(count, 1, generator=g, dtype=torch.float64)
    mixed = [torch.randn(d, d, generator=g, dtype=torch.float64) for d in sizes]
    return tuple((shared + torch.randn(count, len(m), generator=g, dtype=torch.float64)) @ m for m in mixed)


def close(found, expected, within=1e-9):
    assert found.shape == expected.shape and float((found - expected).abs().max()) < within


def whitened_by_hand(first, second):
    """Cholesky factors of the moments in extended precision where numpy has it: the definition, without QR or SVD."""
    a, b = (np.asarray(x - x.mean(0), dtype=np.longdouble) for x in (first, second))
    roots = [np.linalg.inv(np.linalg.cholesky((x.T @ x).astype(float))) for x in (a, b)]
    return torch.tensor(np.linalg.svd(roots[0] @ (a.T @ b).astype(float) @ roots[1].T, compute_uv=False))


def by_sklearn(first, second):
    k = min(first.shape[1], second.shape[1])
    scores = CCA(k, max_iter=20_000, tol=1e-12).fit_transform(first.numpy(), second.numpy())
    return torch.tensor([np.corrcoef(*(s[:, j] for s in scores))[0, 1] for j in range(k)])


def by_statsmodels(first, second):
    module = pytest.importorskip("statsmodels.multivariate.cancorr", reason="compared where statsmodels is installed")
    return torch.tensor(module.CanCorr(second.numpy(), first.numpy()).cancorr)


def by_cca_zoo(first, second):
    linear = pytest.importorskip("cca_zoo.linear", reason="compared where cca-zoo is installed")
    given = [x.numpy() - x.numpy().mean(0) for x in (first, second)]
    k = min(x.shape[1] for x in given)
    scores = linear.CCA(n_components=k).fit(given).transform(given)
    return torch.tensor([np.corrcoef(*(s[:, j] for s in scores))[0, 1] for j in range(k)]).sort(descending=True).values


@pytest.mark.parametrize("other", [whitened_by_hand, by_sklearn, by_statsmodels, by_cca_zoo])
@pytest.mark.parametrize("sizes", [(5, 5), (4, 6)])
def test_they_are_those_of_others(other, sizes):
    close(canonical_correlations(views(sizes=sizes)), other(*views(sizes=sizes)).sort(descending=True).values, 1e-6)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_unit_of_an_input_changes_them(tied, dtype):
    """In single precision a column in units of 1e-4 lost its direction, and Σρ fell from 3.3 to 2.6."""
    first, second = views()
    plain = canonical_correlations((first, second), tied=tied)
    units = UNITS if tied else torch.stack([UNITS, UNITS.flip(0)])
    scaled = tuple((x * u).to(dtype) for x, u in zip((first, second), units.expand(2, D), strict=True))
    within = 1e-9 if dtype == torch.float64 else 1e-5
    close(canonical_correlations(scaled, tied=tied), plain, within)
    halves = [tuple(x[part] for x in (first, second)) for part in (slice(0, 200), slice(200, 400))]
    parts = [tuple(x[part] for x in scaled) for part in (slice(0, 200), slice(200, 400))]
    close(held_out_correlations(*parts, tied=tied), held_out_correlations(*halves, tied=tied), within)
    close(split_correlations(*scaled, tied=tied), split_correlations(first, second, tied=tied), within)
    if tied:
        close(total_correlation(*scaled), total_correlation(first, second), within)


@pytest.mark.parametrize("tied", [True, False])
def test_no_unit_of_an_input_changes_those_of_moments(tied):
    moments, u = sample_moments(views()), UNITS.unsqueeze(-1)
    scaled = Moments(*(m * u * u.mT for m in moments))
    close(moment_correlations(scaled, tied=tied), moment_correlations(moments, tied=tied), 1e-6)
    axes = moment_axes(scaled, tied=tied)
    kept = axes.first.mT @ ((scaled.first + scaled.second) / 2 if tied else scaled.first) @ axes.first
    close(kept, torch.eye(D, dtype=torch.float64), 1e-6)


@pytest.mark.parametrize("tied", [True, False])
def test_samples_and_their_moments_agree(tied):
    first, second = views()
    axes, exact = canonical_axes((first, second), tied=tied), moment_axes(sample_moments((first, second)), tied=tied)
    close(axes.rho, exact.rho)
    a, b = ((x - x.mean(0)) @ axis for x, axis in zip((first, second), axes[1:], strict=True))
    close((a * b).sum(0) / (N - 1), axes.rho)
    variance = (a.square() + b.square()).sum(0) / 2 if tied else a.square().sum(0)
    close(variance / (N - 1), torch.ones(D, dtype=torch.float64))


@pytest.mark.parametrize("count", [2, 3, 6, 50])
def test_none_exceeds_one_however_few_the_pairs(count):
    rho = canonical_correlations(views(count=count))
    assert float(rho.max()) <= 1 and len(rho) == min(count - 1, D)
    same = views(count=count)[0]
    assert bool((canonical_correlations((same, 3 * same)) <= 1).all())
    tied = canonical_correlations(views(count=count), tied=True)
    assert float(tied.abs().max()) <= 1


def test_ranks_are_said_and_directions_without_variance_add_nothing():
    first, second = (x.expand(3, -1, -1).clone() for x in views())
    for x in (first, second):
        x[1, :, 0], x[2, :, 1:3] = 0.1, x[2, :, :1]  # a column that is constant, and two that repeat the first
    for tied in (True, False):
        axes = canonical_axes((first, second), tied=tied)
        assert ranks(axes).tolist() == [5, 4, 3] and axes.rho.shape == (3, 5)
        assert axes.rho[1, 4:].tolist() == [-1.0 if tied else 0.0]
        held = held_out_correlations((first, second), (first, second), tied=tied)
        assert held.isfinite().all() and held[1, 4] == held[2, 3] == 0
    alone = [
        total_correlation(first[k, :, kept], second[k, :, kept]) for k, kept in ((1, [1, 2, 3, 4]), (2, [0, 3, 4]))
    ]
    close(total_correlation(first, second)[1:], torch.stack(alone))


@pytest.mark.parametrize("value", [0.1, 1e300, 1e-300])
def test_constants_and_extreme_sizes_are_no_variance_and_no_overflow(value):
    constant = torch.full((N, 2), value, dtype=torch.float64)
    assert canonical_correlations((constant, views()[1])).shape == (0,)
    first, second = views()
    close(canonical_correlations((first * value, second)), canonical_correlations((first, second)))


def test_moments_of_no_two_views_are_refused():
    one = torch.eye(2, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"moments must be those of two views, got a ρ of 1\.5"):
        canonical_correlations(Moments(one, one, 1.5 * one))
    for bad in ((torch.zeros(1, 2), torch.zeros(1, 2)), (torch.zeros(4, 2), torch.zeros(5, 2))):
        with pytest.raises(ValueError, match=r"n ≥ 2, got \["):
            canonical_correlations(bad)
    with pytest.raises(ValueError, match="one encoder makes views of one size"):
        canonical_correlations(views(sizes=(4, 6)), tied=True)
    with pytest.raises(ValueError, match="finite"):
        canonical_correlations((torch.full((4, 2), torch.nan), torch.zeros(4, 2)))
