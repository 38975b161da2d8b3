import pytest
import torch
from torch.nn import functional

from contrastive_dynamics.losses.activations import ACTIVATIONS, activation
from contrastive_dynamics.losses.pairwise_importance import infonce_importance, infonce_loss
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import (
    BACKPROPAGATED,
    batch_norm,
    batch_norm_velocity,
    batch_statistics,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
N, K, M, D, OUT = 12, 3, 2, 4, 3
close = {"rtol": 1e-10, "atol": 1e-11}


def setting(seed, runs=()):
    """Two views, filters of any length, a top layer and an importance that is not symmetric."""
    g = stream(seed, 0, "batch-norm")
    x = torch.randn(*runs, N, K, D, dtype=F64, generator=g) + 0.3
    x_view = x + 0.4 * torch.randn(*runs, N, K, D, dtype=F64, generator=g)
    w = torch.randn(*runs, K, M, D, dtype=F64, generator=g)
    v = torch.randn(*runs, OUT, K * M, dtype=F64, generator=g)
    return x, x_view, w, v, torch.rand(*runs, N, N, dtype=F64, generator=g)


def hidden(x, w, act):
    return torch.stack([act.h(x[:, k] @ w[k, m]) for k in range(K) for m in range(M)], -1)


def pair_energy(f, f_view, alpha):
    apart = (f[:, None] - f).square().sum(-1) - (f - f_view).square().sum(-1)[:, None]
    return (alpha * apart).sum() / (4 * len(f) ** 2)


def by_autograd(parts, act, name, eps=0.0, normalised=False):
    """Gradients of the energy of the network with its BatchNorm layer, in v and in w."""
    x, x_view, w, v, alpha = parts
    w, v = w.clone().requires_grad_(), v.clone().requires_grad_()
    views = [f @ v.mT for f in batch_norm(hidden(x, w, act), hidden(x_view, w, act), name, eps)]
    if normalised:
        views = [functional.normalize(f, dim=-1) for f in views]
    return torch.autograd.grad(pair_energy(*views, alpha), (v, w))


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("back", BACKPROPAGATED)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_flow_meets_autograd_with_each_statistic_backpropagated_or_not(name, back, eps):
    parts, act = setting(0), activation(name)
    *inputs, alpha = parts
    flows = batch_norm_velocity(*inputs, act, alpha, back, eps=eps)
    for flow, expected in zip(flows, by_autograd(parts, act, back, eps), strict=True):
        assert torch.allclose(flow, expected, **close)
    other = {"both": "mean", "mean": "both", "variance": "none", "none": "variance"}[back]
    wrong = batch_norm_velocity(*inputs, act, alpha, other, eps=eps)[1]
    assert (wrong - flows[1]).norm() > 0.1 * flows[1].norm()


def test_layer_is_the_framework_s_batch_norm():
    g = stream(1, 0, "layer")
    f = torch.randn(2 * N, 5, dtype=F64, generator=g, requires_grad=True)
    weight = torch.randn(2 * N, 5, dtype=F64, generator=g)
    theirs = functional.batch_norm(f, None, None, training=True, eps=1e-5)
    ours = torch.cat(batch_norm(f[:N], f[N:], "both", 1e-5))
    assert torch.allclose(ours, theirs, **close)
    (a,), (b,) = (torch.autograd.grad((weight * y).sum(), f) for y in (ours, theirs))
    assert torch.allclose(a, b, **close)


def test_flow_is_a_step_down_infonce_of_the_normalised_network():
    x, x_view, w, v, _ = setting(2)
    relu = activation("relu")
    leaf = w.clone().requires_grad_()
    views = [f @ v.mT for f in batch_norm(hidden(x, leaf, relu), hidden(x_view, leaf, relu), "mean")]
    (loss,) = torch.autograd.grad(infonce_loss(*views, 5.0, 1.0), leaf)
    alpha = infonce_importance(*views, 5.0, 1.0).detach()
    flow = batch_norm_velocity(x, x_view, w, v, relu, alpha)[1]
    assert torch.allclose(flow, loss / (-2 * N**2), **close)


def test_the_mean_matters_only_to_normalised_outputs():
    parts, relu = setting(3), activation("relu")
    for pair in (("mean", "none"), ("both", "variance")):
        a, b = (by_autograd(parts, relu, back)[1] for back in pair)
        assert (a - b).norm() < 1e-13 * a.norm()
        a, b = (by_autograd(parts, relu, back, normalised=True)[1] for back in pair)
        assert (a - b).norm() > 0.01 * a.norm()


def test_only_the_full_gradient_keeps_the_length_of_a_filter():
    *parts, alpha = setting(4)
    relu, w = activation("relu"), parts[2]
    both = batch_norm_velocity(*parts, relu, alpha, "both")[1]
    assert (both * w).sum(-1).abs().max() < 1e-13
    assert (batch_norm_velocity(*parts, relu, alpha, "mean")[1] * w).sum(-1).abs().max() > 0.01
    unit = functional.normalize(w, dim=-1)
    parts[2] = unit
    on_sphere = batch_norm_velocity(*parts, relu, alpha, "mean", projected=True)[1]
    assert (on_sphere * unit).sum(-1).abs().max() < 1e-13


def test_a_run_is_the_same_alone_and_in_a_batch():
    parts, relu = setting(5, (4,)), activation("relu")
    together = batch_norm_velocity(*parts[:4], relu, parts[4], "both")
    alone = batch_norm_velocity(*(t[2] for t in parts[:4]), relu, parts[4][2], "both")
    assert all(torch.allclose(a, b[2], **close) for a, b in zip(alone, together, strict=True))


def test_bad_input_says_what_is_allowed():
    f = torch.randn(4, 3, dtype=F64, generator=stream(6, 0, "bad"))
    with pytest.raises(ValueError, match="one shape with N ≥ 2"):
        batch_statistics(f[:1], f[:1])
    with pytest.raises(ValueError, match="f and f_view must have one shape"):
        batch_statistics(f, f[:3])
    with pytest.raises(ValueError, match="σ must be > 0 at every node .* got σ = 0"):
        batch_statistics(torch.zeros(4, 3), torch.zeros(4, 3))
    with pytest.raises(ValueError, match="eps must be ≥ 0, got -1"):
        batch_statistics(f, f, -1)
    with pytest.raises(ValueError, match="backpropagated must be one of both, mean, variance, none, got 'sigma'"):
        batch_norm(f, f, "sigma")
