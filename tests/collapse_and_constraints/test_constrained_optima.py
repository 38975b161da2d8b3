"""Constrained optima against enumeration, searches that climb, and weights that take the value."""

from itertools import combinations

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.constrained_optima import (
    frobenius_optimum,
    operator_optimum,
    orthogonal_optimum,
)
from contrastive_dynamics.numerics.bound_search import climb
from contrastive_dynamics.numerics.random_streams import stream

SPECTRA = {
    "both signs": [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0],
    "one negative": [-3.0, 0.5, 1.0, 1.5, 2.0, 4.0],
    "all negative": [-5.0, -3.0, -2.0, -1.0, -0.5, -0.1],
    "none negative": [0.1, 0.5, 1.0, 1.5, 2.0, 4.0],
}


def normal(*shape, of="normal", dtype=torch.float64):
    return torch.randn(*shape, generator=stream(3, 0, of), dtype=dtype)


def matrix(spectrum, dtype=torch.float64):
    values = torch.tensor(spectrum, dtype=torch.float64)
    v = torch.linalg.qr(normal(len(spectrum), len(spectrum), of="basis")).Q
    c = v @ values.diag() @ v.mT
    return ((c + c.mT) / 2).to(dtype)


def loss(w1, w2, c):
    """The loss as the paper writes it."""
    inner = w2.mT @ w1 @ c @ w1.mT @ w2
    return inner.diagonal(dim1=-2, dim2=-1).sum(-1)


def frames(w, d):
    return torch.linalg.qr(w[..., :d]).Q, torch.linalg.qr(w[..., d:]).Q


def sums(spectrum, least, most):
    """Every sum of `least` to `most` of the eigenvalues."""
    return [sum(part) for k in range(least, most + 1) for part in combinations(spectrum, k)]


@pytest.mark.parametrize("z", [1, 2, 3, 6, 8])
@pytest.mark.parametrize("name", SPECTRA)
def test_operator_optimum_is_the_least_of_all_projectors(name, z):
    c, spectrum = matrix(SPECTRA[name]), SPECTRA[name]
    best = operator_optimum(c, z)
    assert best.value.item() == pytest.approx(min(sums(spectrum, 0, min(6, z))), abs=1e-12)
    assert best.rank == min(z, sum(v < 0 for v in spectrum))
    torch.testing.assert_close(best.projector @ best.projector, best.projector)
    assert best.projector.trace().item() == pytest.approx(best.rank.item())
    assert (c @ best.projector).trace().item() == pytest.approx(best.value.item(), abs=1e-12)


@pytest.mark.parametrize("name", SPECTRA)
def test_no_weights_of_norm_one_go_below_the_operator_optimum(name):
    c, z, h, run = matrix(SPECTRA[name]), 3, 8, 24

    def gain(w):  # problem 1, the ratio
        norms = torch.linalg.matrix_norm(w[..., :6], 2) * torch.linalg.matrix_norm(w[..., 6:], 2)
        return -loss(w[..., :6], w[..., 6:], c) / norms.square()

    w = climb(gain, normal(run, h, 6 + z), steps=150, rate=0.05)
    best = operator_optimum(c, z).value
    assert (-gain(w) >= best - 1e-9).all()
    assert (-gain(w)).min() <= best + 0.02 * c.norm()  # and come near it, crude as the climb is at ties


@pytest.mark.parametrize(("z", "h"), [(1, 6), (3, 6), (3, 7), (4, 7), (6, 8), (3, 9), (8, 8), (8, 20)])
@pytest.mark.parametrize("name", SPECTRA)
def test_orthogonal_optimum_is_the_least_of_all_projectors(name, z, h):
    c, spectrum = matrix(SPECTRA[name]), SPECTRA[name]
    best, free = orthogonal_optimum(c, z, h), operator_optimum(c, z)
    forced = max(0, 6 + z - h)
    assert best.value.item() == pytest.approx(min(sums(spectrum, forced, min(6, z))), abs=1e-12)
    assert best.rank >= forced
    # the operator optimum exactly from h = d + z − k on, as no eigenvalue is 0
    assert (best.value > free.value + 1e-9) == (h < 6 + z - free.rank)


@pytest.mark.parametrize(("z", "h"), [(3, 6), (3, 7), (3, 9), (6, 8), (4, 6), (8, 9)])
@pytest.mark.parametrize("name", ["both signs", "one negative"])
def test_orthonormal_weights_reach_the_orthogonal_optimum_and_no_less(name, z, h):
    c = matrix(SPECTRA[name])

    def gain(w):
        return -loss(*frames(w, 6), c)

    reached = -gain(climb(gain, normal(12, h, 6 + z), steps=300, rate=0.05))
    best = orthogonal_optimum(c, z, h).value
    assert (reached >= best - 1e-9).all()
    assert reached.min() <= best + 1e-3


@pytest.mark.parametrize(("z", "h"), [(3, 6), (3, 7), (6, 8), (8, 9), (2, 12)])
def test_orthonormal_frames_meet_in_the_dimensions_that_they_must(z, h):
    w1, w2 = frames(normal(20, h, 6 + z), 6)
    sigma = torch.linalg.svdvals(w1.mT @ w2)
    forced = max(0, 6 + z - h)
    assert ((sigma > 1 - 1e-9).sum(-1) == forced).all()
    assert sigma.max() <= 1 + 1e-12


def test_padding_with_zero_rows_is_not_orthonormal():
    # the proof's W1: k orthonormal rows in ℝ^d, the rest 0. W1ᵀW1 is a projector of rank k, not I
    c, h = matrix(SPECTRA["both signs"]), 7
    best = operator_optimum(c, 2)
    rows = torch.linalg.eigh(c).eigenvectors[:, :2].mT
    w1 = torch.cat([rows, rows.new_zeros(h - 2, 6)])
    w2 = torch.cat([torch.eye(2, dtype=c.dtype), c.new_zeros(h - 2, 2)])
    torch.testing.assert_close(loss(w1, w2, c), best.value)
    assert torch.linalg.matrix_rank(w1.mT @ w1) == 2 < 6


@pytest.mark.parametrize("name", SPECTRA)
def test_frobenius_optimum_is_a_bound_that_rank_one_takes(name):
    c, c1, c2 = matrix(SPECTRA[name]), 2.0, 0.5
    best = frobenius_optimum(c, c1, c2)

    def gain(w):
        w1, w2 = w[..., :6], w[..., 6:]
        return -loss(w1, w2, c) * (c1 * c2) ** 2 / (w1.norm(dim=(-2, -1)) * w2.norm(dim=(-2, -1))).square()

    w = climb(gain, normal(16, 5, 9), steps=200, rate=0.05)
    assert (-gain(w) >= best - 1e-9).all()
    if name == "none negative":
        assert best == 0
        return
    assert -gain(w).max() <= best + 1e-3
    top = torch.linalg.eigh(c).eigenvectors[:, :1]
    v = torch.nn.functional.normalize(normal(5, 1, of="v"), dim=0)
    w1, w2 = c1 * v @ top.mT, c2 * v @ torch.eye(1, 3, dtype=c.dtype)
    torch.testing.assert_close(loss(w1, w2, c), best)


def test_leading_axes_are_batch_axes():
    c = torch.stack([matrix(spectrum) for spectrum in SPECTRA.values()]).view(2, 2, 6, 6)
    for call in (lambda a: operator_optimum(a, 2), lambda a: orthogonal_optimum(a, 3, 7)):
        together = call(c)
        assert together.value.shape == together.rank.shape == (2, 2) and together.projector.shape == (2, 2, 6, 6)
        for i, j in ((0, 1), (1, 0), (1, 1)):
            for whole, part in zip(together, call(c[i, j]), strict=True):
                torch.testing.assert_close(whole[i, j], part)
    bounds = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=c.dtype)
    torch.testing.assert_close(frobenius_optimum(c, bounds, 1.0), frobenius_optimum(c, 1.0, 1.0) * bounds**2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_follows_and_rounding_is_no_negative_eigenvalue(dtype):
    c = matrix([-2.0, -1.0, 0.0, 0.0, 0.0, 3.0], dtype)
    best = operator_optimum(c, 4)
    assert best.rank == 2 and best.value.dtype == best.projector.dtype == dtype
    assert best.value.item() == pytest.approx(-3, rel=1e-5)
    assert operator_optimum(torch.zeros(3, 3, dtype=dtype), 2).rank == 0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: operator_optimum(c, 0), "z must be ≥ 1, got 0"),
        (
            lambda c: orthogonal_optimum(c, 3, 5),
            r"z must be ≥ 1 and h ≥ max\(d, z\), got d=6, z=3, h=5",
        ),
        (lambda c: orthogonal_optimum(c, 0, 8), "got d=6, z=0"),
        (lambda c: frobenius_optimum(c, -1.0, 1.0), "c1 and c2 must be ≥ 0, got c1=-1.0, c2=1.0"),
        (
            lambda c: frobenius_optimum(c.triu(), 1.0, 1.0),
            "frobenius_optimum: the matrix must be symmetric, got a difference of .* of its largest entry",
        ),
        (lambda c: operator_optimum(c[:, :2], 1), "operator_optimum: the matrix must be square"),
        (lambda c: orthogonal_optimum(c[0], 1, 8), "orthogonal_optimum: the matrix must be square"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call(matrix(SPECTRA["both signs"]))
