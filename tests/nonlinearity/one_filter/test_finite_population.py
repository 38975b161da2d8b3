"""Finite populations: the limit meets its enumeration, samples have the stated law, C_α tends to the limit."""

import pytest
import torch

from contrastive_dynamics.losses.contrastive_covariance import contrastive_covariance, uniform_contrastive_covariance
from contrastive_dynamics.losses.pairwise_importance import gaussian_features, gaussian_importance
from contrastive_dynamics.nonlinearity.one_filter.finite_population import (
    FinitePopulation,
    expansion_limit,
    jittered_population,
    sample_pairs,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
N0, VIEWS, D, TAU = 5, 8, 3, 0.6


def rand(*shape, purpose):
    return torch.rand(*shape, generator=stream(0, 0, purpose), dtype=F64)


def population():
    prob, augment = rand(N0, purpose="prob"), rand(N0, VIEWS, purpose="augment")
    return FinitePopulation(prob / prob.sum(), augment / augment.sum(-1, keepdim=True))


def case():
    """Population, values on the views, features and kernel of Gaussian importance on a plane of samples."""
    x0 = rand(N0, 2, purpose="x0")
    return population(), rand(VIEWS, D, purpose="g"), gaussian_features(x0, 24, TAU), gaussian_importance(x0, TAU)


def enumerated(g, pop, kernel):
    """The double expectation by four nested sums."""
    p, q, total = pop.prob, pop.augment, 0
    for x0 in range(N0):
        for y0 in range(N0):
            for x in range(VIEWS):
                for y in range(VIEWS):
                    between, within = torch.outer(g[x] - g[y], g[x] - g[y]), torch.outer(g[x] - g[y], g[x] - g[y])
                    law = p[x0] * p[y0] * kernel[x0, y0] / 2
                    total = total + law * (q[x0, x] * q[y0, y] * between - q[x0, x] * q[x0, y] * within)
    return total


def test_expansion_and_enumeration_meet():
    pop, g, phi, kernel = case()
    torch.testing.assert_close(expansion_limit(g, pop, phi), enumerated(g, pop, kernel), rtol=1e-12, atol=1e-14)


def test_limit_of_uniform_importance_is_the_variance_of_the_conditional_mean():
    pop, g, *_ = case()
    mean = pop.augment @ g
    expected = torch.cov(mean.mT, correction=0, aweights=pop.prob)
    torch.testing.assert_close(expansion_limit(g, pop, torch.ones(N0, 1, dtype=F64)), expected)


def test_limit_is_the_weighted_sum_of_adjusted_variances():
    pop, g, phi, _ = case()
    mean, total = pop.augment @ g, 0
    for feature in phi.mT:
        z = (pop.prob * feature).sum()
        total = total + z**2 * torch.cov(mean.mT, correction=0, aweights=pop.prob * feature / z)
    torch.testing.assert_close(expansion_limit(g, pop, phi), total)


def test_switches_are_the_nearest_mistakes():
    pop, g, phi, kernel = case()
    law_of_total_variance = expansion_limit(g, pop, phi, inner_mean=False) - expansion_limit(g, pop, phi)
    weight = pop.prob * (kernel @ pop.prob)
    mean = pop.augment @ g
    within = torch.einsum("i,ix,xd,xe->de", weight, pop.augment, g, g) - (mean * weight[:, None]).mT @ mean
    torch.testing.assert_close(law_of_total_variance, within)
    assert torch.linalg.eigvalsh(within).min() > 0
    unadjusted = expansion_limit(g, pop, phi, adjusted=False)
    z2 = (pop.prob @ kernel @ pop.prob).item()
    torch.testing.assert_close(unadjusted, z2 * torch.cov(mean.mT, correction=0, aweights=pop.prob))


def test_limit_is_positive_semidefinite_and_zero_z_is_no_trouble():
    pop, g, phi, _ = case()
    assert torch.linalg.eigvalsh(expansion_limit(g, pop, phi)).min() > -1e-15
    phi = torch.cat([phi, torch.zeros(N0, 1, dtype=F64)], -1)
    assert expansion_limit(g, pop, phi).isfinite().all()


@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_mean_over_batches_is_the_limit_with_its_exact_finite_size_terms(kind):
    """E[C] = (1 − 1/N) limit − (1/N) E[K(x0, x0) V[g | x0]]: the pairs i = j bring only view differences."""
    pop, g, phi, kernel = case()
    if kind == "uniform":
        phi, kernel = torch.ones(N0, 1, dtype=F64), torch.ones(N0, N0, dtype=F64)
    n, runs = 6, 40_000
    x0, view, other = sample_pairs(pop, n * runs, [stream(3, 0, "pairs")])
    x0, view, other = (t.view(runs, n) for t in (x0, view, other))
    covariance = contrastive_covariance(g[view], g[other], kernel[x0[:, :, None], x0[:, None, :]])
    mean = pop.augment @ g
    weight = pop.prob * kernel.diagonal()
    within = torch.einsum("i,ix,xd,xe->de", weight, pop.augment, g, g) - (mean * weight[:, None]).mT @ mean
    expected = expansion_limit(g, pop, phi) * (1 - 1 / n) - within / n
    error = (covariance.mean(0) - expected).abs() / (covariance.std(0) / runs**0.5)
    assert error.max() < 4.5  # 6 distinct entries at 4.5 standard errors: one false alarm in 24,000
    if kind == "uniform":
        torch.testing.assert_close(covariance, uniform_contrastive_covariance(g[view], g[other]))


def test_samples_have_the_stated_law_and_views_are_independent_given_the_sample():
    pop = population()
    n = 200_000
    x0, view, other = (t[0] for t in sample_pairs(pop, n, [stream(1, 0, "pairs")]))
    counts = torch.zeros(N0, VIEWS, VIEWS, dtype=F64)
    counts.index_put_((x0, view, other), torch.ones(n, dtype=F64), accumulate=True)
    law = torch.einsum("i,ix,iy->ixy", pop.prob, pop.augment, pop.augment)
    chi_square = ((counts - n * law).square() / (n * law)).sum()
    cells = law.numel() - 1
    assert abs(chi_square - cells) < 5 * (2 * cells) ** 0.5


def test_a_run_is_the_same_alone_batched_and_reordered():
    pop = population()
    batch = sample_pairs(pop, 9, [stream(0, run, "pairs") for run in (4, 0, 2)])
    alone = sample_pairs(pop, 9, [stream(0, 2, "pairs")])
    assert batch[0].shape == (3, 9)
    assert all(torch.equal(many[2], one[0]) for many, one in zip(batch, alone, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_jittered_population(dtype):
    x0, offsets = torch.eye(3, dtype=dtype), torch.tensor([[0, 0, 1], [0, 0, -1]], dtype=dtype)
    pop, views = jittered_population(x0, offsets)
    assert views.shape == (6, 3) and pop.augment.dtype == dtype
    torch.testing.assert_close(pop.augment @ views, x0)  # offsets of mean zero
    assert torch.equal(views[2:4], x0[1] + offsets)


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda p, q, g: FinitePopulation(p, q[:2]),
            r"prob and augment must be \[n0\] and \[n0, n\], got \(5,\) and \(2, 8\)",
        ),
        (
            lambda p, q, g: FinitePopulation(2 * p, q),
            "prob must be ≥ 0 with sum 1, got a least entry of .* and a sum off by 1",
        ),
        (
            lambda p, q, g: FinitePopulation(p, torch.cat([-q, 2 * q], -1)),
            "augment must be ≥ 0 with sum 1, got a least entry of -",
        ),
        (lambda p, q, g: sample_pairs(FinitePopulation(p, q), 0, [stream(0, 0, "x")]), "got n=0 and 1 generators"),
        (lambda p, q, g: sample_pairs(FinitePopulation(p, q), 3, []), "got n=3 and 0 generators"),
        (
            lambda p, q, g: expansion_limit(g[:2], FinitePopulation(p, q), p[:, None]),
            "8 views and 5 samples, got 2 and 5",
        ),
        (lambda p, q, g: expansion_limit(g, FinitePopulation(p, q), g), "8 views and 5 samples, got 8 and 8"),
    ],
)
def test_bad_input(call, text):
    pop, g, *_ = case()
    with pytest.raises(ValueError, match=text):
        call(pop.prob, pop.augment, g)
