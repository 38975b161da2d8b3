"""Contrastive covariance: every path against the double sum written out, the one-layer flow against autograd."""

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.contrastive_covariance import (
    contrastive_covariance,
    contrastive_energy,
    gated_contrastive_covariance,
    kernel_contrastive_covariance,
    one_layer_velocity,
    uniform_contrastive_covariance,
)
from contrastive_dynamics.losses.gated_covariance import gated_covariance
from contrastive_dynamics.losses.pairwise_importance import gaussian_importance, infonce_importance
from contrastive_dynamics.numerics.random_streams import stream

N, D, E = 11, 4, 3


def normal(*shape, purpose="a", dtype=torch.float64):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=dtype)


def batch(lead=(), dtype=torch.float64):
    a, b = normal(*lead, N, D, dtype=dtype), normal(*lead, N, E, purpose="b", dtype=dtype)
    a_view = a + normal(*lead, N, D, purpose="noise", dtype=dtype)
    b_view = b + normal(*lead, N, E, purpose="noise of b", dtype=dtype)
    alpha = torch.rand(*lead, N, N, generator=stream(0, 0, "alpha"), dtype=dtype)  # not symmetric
    return a, a_view, b, b_view, alpha


def double_sum(a, a_view, b, b_view, alpha):
    n, total = len(a), 0
    for i in range(n):
        for j in range(n):
            between = torch.outer(a[i] - a[j], b[i] - b[j])
            within = torch.outer(a[i] - a_view[i], b[i] - b_view[i])
            total = total + alpha[i, j] * (between - within)
    return total / (2 * n * n)


def close(got, expected, tolerance=1e-12):
    assert (got - expected).norm() <= tolerance * expected.norm()


@pytest.mark.parametrize("block", [None, 1, 4, N, 100])
def test_arbitrary_importance_is_the_double_sum(block):
    a, a_view, b, b_view, alpha = batch()
    close(contrastive_covariance(a, a_view, alpha, b=b, b_view=b_view, block=block), double_sum(*batch()))
    close(contrastive_covariance(a, a_view, alpha, block=block), double_sum(a, a_view, a, a_view, alpha))


def test_uniform_importance_is_the_double_sum():
    a, a_view, b, b_view, alpha = batch()
    ones = torch.ones_like(alpha)
    close(uniform_contrastive_covariance(a, a_view, b=b, b_view=b_view), double_sum(a, a_view, b, b_view, ones))
    close(contrastive_covariance(a, a_view, ones), uniform_contrastive_covariance(a, a_view))


def test_without_augmentation_and_with_uniform_importance_it_is_the_covariance():
    a = batch()[0]
    close(uniform_contrastive_covariance(a, a), torch.cov(a.mT, correction=0))


@pytest.mark.parametrize("block", [1, 3, 512])
def test_importance_from_representations_block_by_block(block):
    a, a_view, b, b_view, _ = batch()
    functions = [
        lambda rows: infonce_importance(b, b_view, 0.7, 1.0, rows),
        lambda rows: gaussian_importance(b, 0.7, rows),
    ]
    for importance in functions:
        expected = double_sum(a, a_view, a, a_view, importance(slice(None)))
        close(contrastive_covariance(a, a_view, importance, block=block), expected)


def test_never_more_rows_than_a_block():
    a, a_view, *_, alpha = batch()
    seen = []
    contrastive_covariance(a, a_view, lambda rows: (seen.append(rows), alpha[rows])[1], block=4)
    assert [(s.start, s.stop) for s in seen] == [(0, 4), (4, 8), (8, 11)]


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_a_run_is_the_same_alone_batched_and_reordered(dtype, tolerance):
    a, a_view, b, b_view, alpha = batch((5,), dtype)
    whole = contrastive_covariance(a, a_view, alpha, b=b, b_view=b_view)
    assert whole.dtype == dtype and whole.shape == (5, D, E)
    close(contrastive_covariance(a[2], a_view[2], alpha[2], b=b[2], b_view=b_view[2]), whole[2], tolerance)
    square = contrastive_covariance(a, a_view, alpha)
    close(contrastive_covariance(a.flip(0), a_view.flip(0), alpha.flip(0)), square.flip(0), tolerance)
    close(whole[3], double_sum(a[3], a_view[3], b[3], b_view[3], alpha[3]), tolerance)
    close(uniform_contrastive_covariance(a, a_view)[1], uniform_contrastive_covariance(a[1], a_view[1]), tolerance)


def test_means_do_not_matter():
    a, a_view, *_, alpha = batch()
    close(contrastive_covariance(a + 1e4, a_view + 1e4, alpha), contrastive_covariance(a, a_view, alpha), 1e-10)
    close(uniform_contrastive_covariance(a + 1e4, a_view + 1e4), uniform_contrastive_covariance(a, a_view), 1e-10)


def test_energy_is_half_the_trace_and_bilinear():
    a, a_view, b, b_view, alpha = batch()
    close(contrastive_energy(a, a_view, alpha), double_sum(a, a_view, a, a_view, alpha).trace() / 2)
    u, v = normal(2, D, purpose="u"), normal(2, E, purpose="v")
    mapped = contrastive_covariance(a @ u.mT, a_view @ u.mT, alpha, b=b @ v.mT, b_view=b_view @ v.mT)
    close(mapped, u @ contrastive_covariance(a, a_view, alpha, b=b, b_view=b_view) @ v.mT)


@pytest.mark.parametrize("name", ["linear", "relu", "leaky_relu", "quadratic"])
@pytest.mark.parametrize("kind", ["uniform", "gaussian", "infonce", "arbitrary"])
def test_flow_is_the_gradient_on_the_sphere(name, kind):
    x, x_view, b, b_view, arbitrary = batch()
    act, w = activation(name), torch.nn.functional.normalize(normal(D, purpose="w"), dim=0).requires_grad_()
    alpha = {
        "uniform": torch.ones(N, N, dtype=x.dtype),
        "gaussian": gaussian_importance(b, 0.5),
        "infonce": infonce_importance(b, b_view, 0.5),
        "arbitrary": arbitrary,
    }[kind]
    unit = w / w.norm()
    energy = contrastive_energy(act.h(x @ unit)[:, None], act.h(x_view @ unit)[:, None], alpha)
    (gradient,) = torch.autograd.grad(energy, w)
    close(one_layer_velocity(x, x_view, w.detach(), act, alpha), gradient, 1e-11)
    unprojected = one_layer_velocity(x, x_view, w.detach(), act, alpha, projected=False)
    assert (unprojected - gradient).norm() > 1e-3 * gradient.norm()


def test_gated_covariance_of_many_filters_without_augmentation():
    x, act = batch()[0], activation("relu")
    w = normal(6, D, purpose="w")
    got = gated_contrastive_covariance(x, x, w, act, torch.ones(N, N, dtype=x.dtype))
    close(got, gated_covariance(x, w, act))
    alone = gated_contrastive_covariance(x, x, w[4], act, torch.ones(N, N, dtype=x.dtype))
    close(alone, got[4])


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda a, b, al: contrastive_covariance(a, a[:3], al), r"a and a_view must be .*, got \(11, 4\), \(3, 4\)"),
        (lambda a, b, al: contrastive_covariance(a, a, al, b=b), "b and b_view must be given together"),
        (lambda a, b, al: contrastive_covariance(a, a, al[:3]), r"alpha must be \[..., 11, 11\], got \(3, 11\)"),
        (lambda a, b, al: contrastive_covariance(a, a, al, block=0), "block must be ≥ 1, got 0"),
        (
            lambda a, b, al: uniform_contrastive_covariance(a, a, b=b[:5], b_view=b[:5]),
            r"b and b_view \[..., N, e\], got",
        ),
    ],
)
def test_bad_input(call, text):
    a, _, b, _, alpha = batch()
    with pytest.raises(ValueError, match=text):
        call(a, b, alpha)


def test_features_give_the_covariance_of_their_kernel():
    draw = stream(0, 0, "kernel covariance")
    a, a_view = torch.randn(2, 3, 20, 4, generator=draw, dtype=torch.float64)
    phi = torch.rand(3, 20, 2, generator=draw, dtype=torch.float64)
    torch.testing.assert_close(
        kernel_contrastive_covariance(a, a_view, phi), contrastive_covariance(a, a_view, phi @ phi.mT)
    )
    uniform = kernel_contrastive_covariance(a, a_view, torch.ones(3, 20, 1, dtype=torch.float64))
    torch.testing.assert_close(uniform, uniform_contrastive_covariance(a, a_view))
    with pytest.raises(ValueError, match="phi must be"):
        kernel_contrastive_covariance(a, a_view, phi[:, :5])
