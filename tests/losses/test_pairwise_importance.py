"""Pairwise importance: against the definitions written out, InfoNCE's gradient by autograd, the kernel expansion."""

import math

import pytest
import torch
from scipy.stats import poisson

from contrastive_dynamics.losses.contrastive_covariance import contrastive_energy
from contrastive_dynamics.losses.pairwise_importance import (
    gaussian_features,
    gaussian_importance,
    half_squared_distances,
    infonce_importance,
    infonce_loss,
    multi_indices,
    uniform_importance,
)
from contrastive_dynamics.numerics.random_streams import stream


def views(n=7, d=3, lead=(), dtype=torch.float64, seed=0):
    draws = torch.randn(2, *lead, n, d, generator=stream(seed, 0, "views"), dtype=dtype)
    return draws[0], draws[0] + 0.5 * draws[1]


def half_square(u, v):
    return sum((a - b) ** 2 for a, b in zip(u.tolist(), v.tolist(), strict=True)) / 2


def infonce_by_hand(f, f_view, tau, eps):
    n, loss, alpha = len(f), 0.0, torch.zeros(len(f), len(f), dtype=f.dtype)
    for i in range(n):
        positive = math.exp(-half_square(f[i], f_view[i]) / tau)
        negatives = [0.0 if j == i else math.exp(-half_square(f[i], f[j]) / tau) for j in range(n)]
        denominator = eps * positive + sum(negatives)
        loss -= tau * math.log(positive / denominator)
        alpha[i] = torch.tensor(negatives, dtype=f.dtype) / denominator
    return loss, alpha


@pytest.mark.parametrize("eps", [0.0, 1.0, 3.5])
@pytest.mark.parametrize("tau", [0.3, 2.0])
def test_infonce_is_its_definition(tau, eps):
    f, f_view = views()
    loss, alpha = infonce_by_hand(f, f_view, tau, eps)
    assert infonce_loss(f, f_view, tau, eps).item() == pytest.approx(loss, rel=1e-12)
    torch.testing.assert_close(infonce_importance(f, f_view, tau, eps), alpha, rtol=1e-11, atol=1e-14)
    assert (infonce_importance(f, f_view, tau, eps).diagonal() == 0).all()


def test_infonce_rows_sum_to_one_without_the_positive():
    f, f_view = views()
    ones = torch.ones(7, dtype=f.dtype)
    torch.testing.assert_close(infonce_importance(f, f_view, 0.5).sum(-1), ones)
    assert (infonce_importance(f, f_view, 0.5, 1.0).sum(-1) < 1).all()
    uniform = infonce_importance(f, f_view, 1e9)
    torch.testing.assert_close(uniform, (1 - torch.eye(7, dtype=f.dtype)) / 6)  # the limit of high temperature


def test_infonce_does_not_overflow_at_a_low_temperature():
    f, f_view = views()
    alpha = infonce_importance(1e3 * f, 1e3 * f_view, 1e-3, 0.0)
    torch.testing.assert_close(alpha.sum(-1), torch.ones(7, dtype=f.dtype))
    assert infonce_loss(1e3 * f, 1e3 * f_view, 1e-3, 1.0).isfinite()


@pytest.mark.parametrize("eps", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("tau", [0.2, 1.0])
@pytest.mark.parametrize("n", [2, 9])
def test_infonce_gradient_is_that_of_the_energy(n, tau, eps):
    f, f_view = (v.requires_grad_() for v in views(n))
    loss = torch.autograd.grad(infonce_loss(f, f_view, tau, eps), (f, f_view))
    for stop, close in ((True, True), (False, False)):
        alpha = infonce_importance(f, f_view, tau, eps, stop_gradient=stop)
        energy = torch.autograd.grad(contrastive_energy(f, f_view, alpha), (f, f_view))
        error = max((a + 2 * n**2 * b).norm() / a.norm() for a, b in zip(loss, energy, strict=True))
        if n > 2 or eps > 0:  # at n = 2, ε = 0 every α_ij with j ≠ i is 1 and has no gradient
            assert (error < 1e-12) == close


def test_gaussian_is_its_definition():
    g, _ = views()
    expected = torch.tensor([[math.exp(-half_square(a, b) / 0.7) for b in g] for a in g], dtype=g.dtype)
    torch.testing.assert_close(gaussian_importance(g, 0.7), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_batches_and_dtypes_agree_with_the_whole(dtype):
    f, f_view = views(lead=(4,), dtype=dtype)
    for importance in (
        lambda a, b, rows: infonce_importance(a, b, 0.5, 1.0, rows),
        lambda a, b, rows: gaussian_importance(a, 0.5, rows),
        lambda a, b, rows: uniform_importance(a, rows),
        lambda a, b, rows: half_squared_distances(a, rows),
    ):
        whole = importance(f, f_view, slice(None))
        assert whole.dtype == dtype and whole.shape == (4, 7, 7)
        torch.testing.assert_close(importance(f, f_view, slice(2, 5)), whole[:, 2:5])
        torch.testing.assert_close(importance(f[1], f_view[1], slice(None)), whole[1])
        torch.testing.assert_close(importance(f.flip(0), f_view.flip(0), slice(None)), whole.flip(0))


def test_distances_survive_a_large_mean():
    f, _ = views()
    torch.testing.assert_close(half_squared_distances(f + 1e6), half_squared_distances(f), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dim, order", [(1, 0), (1, 5), (2, 4), (3, 3), (4, 2)])
def test_multi_indices_are_all_and_by_total(dim, order):
    found = multi_indices(dim, order)
    grid = torch.cartesian_prod(*[torch.arange(order + 1)] * dim).reshape(-1, dim)
    expected = {tuple(row) for row in grid.tolist() if sum(row) <= order}
    assert len(found) == math.comb(dim + order, order) and {tuple(row) for row in found.tolist()} == expected
    assert (found.sum(-1).diff() >= 0).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_expansion_meets_the_kernel_within_the_poisson_tail(dim):
    g, tau = torch.rand(20, dim, generator=stream(0, dim, "g"), dtype=torch.float64) * 2 - 1, 0.5
    phi = gaussian_features(g, 32, tau)
    alpha = gaussian_importance(g, tau)
    reach = (g - g.amin(0)).square().sum(-1).max().item() / tau
    for order in range(0, 33, 4):
        head = phi[:, : math.comb(dim + order, order)]
        error = (head @ head.mT - alpha).abs().max().item()
        assert error <= poisson.sf(order, reach) + 1e-13
    assert error < 1e-4 and phi.min() >= 0
    unshifted = gaussian_features(g, 32, tau, shift=0.0)
    torch.testing.assert_close(unshifted @ unshifted.mT, alpha, rtol=0, atol=1e-10)
    assert unshifted.min() < -0.1  # the kernel is the same, the sign is not: what the shift is for


def test_features_are_all_choose_with_equal_products_merged():
    g, tau, order = views(n=5, d=2)[0], 0.9, 3
    y = g - g.amin(0)
    features = [torch.ones(5, 1, dtype=g.dtype)]
    for k in range(1, order + 1):
        products = torch.cartesian_prod(*[torch.arange(2)] * k).reshape(-1, k)
        features.append(y[:, products].prod(-1) / (math.factorial(k) * tau**k) ** 0.5)
    printed = torch.cat(features, -1) * torch.exp(-y.square().sum(-1, keepdim=True) / (2 * tau))
    phi = gaussian_features(g, order, tau)
    torch.testing.assert_close(phi @ phi.mT, printed @ printed.mT)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda f: infonce_loss(f, f, 0.0), r"tau must be > 0 .* and finite, got 0.0"),
        (lambda f: infonce_loss(f, f, math.inf), r"tau must be > 0 .* and finite, got inf"),
        (lambda f: infonce_loss(f, f, 1e-39), r"tau must be > 0 .* and finite, got 1e-39"),
        (lambda f: infonce_importance(f, f, 1.0, -1.0), "eps must be ≥ 0 and finite, got -1.0"),
        (lambda f: infonce_loss(f, f[:3], 1.0), r"f and f_view must have one shape .*, got \(7, 3\) and \(3, 3\)"),
        (lambda f: infonce_loss(f[:1], f[:1], 1.0), "N ≥ 2"),
        (lambda f: gaussian_importance(f, -1.0), "gaussian_importance: tau must be > 0 .*, got -1.0"),
        (lambda f: gaussian_features(f, 2, math.nan), "gaussian_features: tau must be > 0 .*, got nan"),
        (lambda f: gaussian_features(f, -1, 1.0), "dim must be ≥ 1 and order ≥ 0, got dim=3, order=-1"),
    ],
)
def test_bad_input(call, text):
    with pytest.raises(ValueError, match=text):
        call(views()[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_rounding_brings_the_gaussian_importance_above_one(dtype):
    g = torch.randn(40, 8, generator=stream(0, 0, "far"), dtype=torch.float64).to(dtype)
    g, eps = torch.cat([g, g]), torch.finfo(dtype).eps  # each sample twice
    for tau in (1.0, 100 * eps, 4 * eps, eps):
        alpha = gaussian_importance(g, tau)
        assert 0 <= alpha.min() and alpha.max() <= 1
        error = eps * (g - g.mean(0)).square().sum(-1).max() / tau
        assert (alpha.diagonal().log().abs() <= 16 * error).all()
    assert (half_squared_distances(g) >= 0).all()
    leaf = (3 * g).requires_grad_()  # the gradient of a distance that was cut is 0, as that of a distance of 0
    half_squared_distances(leaf).diagonal().sum().backward()
    assert leaf.grad.abs().max() < 1e3 * eps
