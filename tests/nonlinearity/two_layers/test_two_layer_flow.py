import pytest
import torch
from torch.nn.functional import normalize

from contrastive_dynamics.losses.activations import ACTIVATIONS, activation
from contrastive_dynamics.losses.pairwise_importance import infonce_importance, infonce_loss
from contrastive_dynamics.nonlinearity.two_layers.two_layer_flow import (
    field_gram,
    hadamard_gradient,
    hidden_layer,
    top_layer_after,
    two_layer_velocity,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
N, K, M, D, OUT = 12, 3, 2, 4, 3
close = {"rtol": 1e-10, "atol": 1e-11}


def setting(seed, runs=()):
    """Two views, unit filters, a top layer and an importance that is not symmetric."""
    g = stream(seed, 0, "two-layer-flow")
    x = torch.randn(*runs, N, K, D, dtype=F64, generator=g)
    x_view = x + 0.4 * torch.randn(*runs, N, K, D, dtype=F64, generator=g)
    w = normalize(torch.randn(*runs, K, M, D, dtype=F64, generator=g), dim=-1)
    v = torch.randn(*runs, OUT, K * M, dtype=F64, generator=g)
    return x, x_view, w, v, torch.rand(*runs, N, N, dtype=F64, generator=g)


def outputs(x, w, v, act):
    """The network itself, one filter after the other."""
    hidden = [act.h(x[:, k] @ w[k, m]) for k in range(w.shape[0]) for m in range(w.shape[1])]
    return torch.stack(hidden, -1) @ v.mT


def pair_energy(f, f_view, alpha):
    """½ tr C_α[f] of eq. (3), pair by pair."""
    apart = (f[:, None] - f).square().sum(-1) - (f - f_view).square().sum(-1)[:, None]
    return (alpha * apart).sum() / (4 * len(f) ** 2)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_flow_meets_autograd_of_the_energy_on_the_sphere(name):
    x, x_view, w, v, alpha = setting(0)
    act = activation(name)
    leaf, top = w.clone().requires_grad_(), v.clone().requires_grad_()
    unit = leaf / leaf.norm(dim=-1, keepdim=True)
    energy = pair_energy(outputs(x, unit, top, act), outputs(x_view, unit, top, act), alpha)
    expected_w, expected_v = torch.autograd.grad(energy, (leaf, top))
    top_flow, flow = two_layer_velocity(x, x_view, w, v, act, alpha)
    assert torch.allclose(flow, expected_w, **close) and torch.allclose(top_flow, expected_v, **close)
    unprojected = two_layer_velocity(x, x_view, w, v, act, alpha, projected=False)[1]
    assert (unprojected - expected_w).norm() > 0.1 * expected_w.norm()


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_flow_is_a_step_down_infonce(name):
    x, x_view, w, v, _ = setting(1)
    act = activation(name)
    leaf, top = w.clone().requires_grad_(), v.clone().requires_grad_()
    f, f_view = outputs(x, leaf, top, act), outputs(x_view, leaf, top, act)
    loss = torch.autograd.grad(infonce_loss(f, f_view, 5.0, 1.0), (leaf, top))
    alpha = infonce_importance(f, f_view, 5.0, 1.0).detach()
    top_flow, flow = two_layer_velocity(x, x_view, w, v, act, alpha, projected=False)
    assert torch.allclose(flow, loss[0] / (-2 * N**2), **close)
    assert torch.allclose(top_flow, loss[1] / (-2 * N**2), **close)


def test_printed_matrix_is_the_kronecker_and_hadamard_product():
    x, x_view, w, v, alpha = setting(2)
    relu = activation("relu")
    (gated, _), (gated_view, _) = hidden_layer(x, w, relu), hidden_layer(x_view, w, relu)
    flat, flat_view = gated.flatten(1), gated_view.flatten(1)
    pairs, views = flat[:, None] - flat, flat - flat_view
    c = torch.einsum("ij,ija,ijb->ab", alpha, pairs, pairs) - torch.einsum("ij,ia,ib->ab", alpha, views, views)
    ones = torch.ones(D, D, dtype=F64)
    expected = (torch.kron(v.mT @ v, ones) * c / (2 * N**2)) @ w.flatten()
    got = hadamard_gradient(gated, gated_view, w, field_gram(v, w), alpha)
    assert torch.allclose(got.flatten(), expected, **close)
    swapped = (torch.kron(ones, v.mT @ v) * c / (2 * N**2)) @ w.flatten()
    assert (swapped - expected).norm() > 0.1 * expected.norm()


def test_top_layer_follows_its_flow_ends_at_the_top_eigenvector_and_rests_at_others():
    g = stream(5, 0, "top")
    a, v = torch.randn(20, 6, dtype=F64, generator=g), torch.randn(3, 6, dtype=F64, generator=g)
    c = torch.cov(a.mT, correction=0)
    values, vectors = torch.linalg.eigh(c)
    v = v / v.norm()
    h = 1e-4  # V̇ less its part along V, which normalisation takes out
    slope = (top_layer_after(v, c, h) - top_layer_after(v, c, 0)) / h
    flow = v @ c / values[-1]
    assert torch.allclose(slope, flow - v * (flow * v).sum(), atol=1e-3)
    end = top_layer_after(v, c, 1000)
    assert torch.allclose(end.mT @ end, torch.outer(vectors[:, -1], vectors[:, -1]), atol=1e-10)
    saddle = torch.outer(torch.tensor([0.6, 0.0, 0.8], dtype=F64), vectors[:, -2])
    assert torch.allclose(top_layer_after(saddle, c, 5), saddle, atol=1e-10)
    with pytest.raises(ValueError, match="time must be ≥ 0, got -1"):
        top_layer_after(v, c, -1)


def test_a_run_is_the_same_alone_and_in_a_batch():
    parts, relu = setting(3, (4,)), activation("relu")
    together = two_layer_velocity(*parts[:4], relu, parts[4])
    alone = two_layer_velocity(*(t[2] for t in parts[:4]), relu, parts[4][2])
    assert all(torch.allclose(a, b[2], **close) for a, b in zip(alone, together, strict=True))


def test_bad_shapes_say_what_is_allowed():
    x, _, w, v, _ = setting(4)
    with pytest.raises(ValueError, match=r"x and w must be \[..., N, K, d\]"):
        hidden_layer(x[:, :2], w, activation("relu"))
    with pytest.raises(ValueError, match="v must have K·M = 6 columns, got 5"):
        field_gram(v[:, :5], w)
