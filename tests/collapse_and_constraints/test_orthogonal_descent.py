import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import (
    Weights,
    descend,
    descent_step,
    draw_weights,
    gradients,
    outputs,
    require_sizes,
    trace_loss,
)
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar

SIZES = [(1, 1, 1), (4, 4, 1), (5, 4, 2), (9, 3, 3)]
WAYS = [("polar", False), ("polar", True), ("qr", False), ("qr", True)]


def streams(run, purpose):
    return [stream(0, k, purpose) for k in range(run)]


def draw(run, h, d, z, dtype=torch.float64):
    return draw_weights(streams(run, "w1"), streams(run, "w2"), h, d, z, dtype)


def symmetric(d, run=None, purpose="c"):
    shape = (d, d) if run is None else (run, d, d)
    c = torch.randn(shape, generator=stream(0, 0, purpose), dtype=torch.float64)
    return (c + c.mT) / 2


def is_semi_orthogonal(w):
    excess = w.mT @ w - torch.eye(w.shape[-1], dtype=w.dtype)
    return float(excess.abs().max()) <= torch.finfo(w.dtype).eps ** 0.75


def printed_loss(w, c):
    product = w.w2.mT @ w.w1 @ c @ w.w1.mT @ w.w2
    return product.diagonal(dim1=-2, dim2=-1).sum(-1)


@pytest.mark.parametrize(("h", "d", "z"), SIZES)
def test_gradients_are_those_of_autograd(h, d, z):
    for c in (symmetric(d), symmetric(d, run=3)):
        w = Weights(*(x + 0.1 for x in draw(3, h, d, z)))  # off the constraint too
        w = Weights(*(x.detach().requires_grad_() for x in w))
        loss = printed_loss(w, c)
        expected = torch.autograd.grad(loss.sum(), w)
        for ours, theirs in zip(gradients(w, c), expected, strict=True):
            assert torch.allclose(ours, theirs, atol=1e-11)
        assert torch.allclose(trace_loss(outputs(w), c), loss, atol=1e-11)


def test_outputs_are_the_network_on_the_unit_vectors():
    w = draw(3, 6, 4, 2)
    x = torch.randn(4, 1, generator=stream(0, 0, "x"), dtype=torch.float64)
    assert torch.allclose(outputs(w).mT @ x, w.w2.mT @ (w.w1 @ x), atol=1e-13)


@pytest.mark.parametrize(("retraction", "project"), WAYS)
@pytest.mark.parametrize(("h", "d", "z"), SIZES)
def test_a_step_keeps_the_constraints_and_lowers_the_loss(h, d, z, retraction, project):
    c, w = symmetric(d), draw(8, h, d, z)
    after = descent_step(w, c, 1e-3, retraction, project)
    assert all(is_semi_orthogonal(x) for x in after)
    assert (printed_loss(after, c) <= printed_loss(w, c) + 1e-12).all()
    up = descent_step(w, c, -1e-3, retraction, project)  # as (11) is printed
    assert (printed_loss(up, c) >= printed_loss(w, c) - 1e-12).all()


def test_the_printed_sign_of_the_step_raises_the_loss():
    c, w = symmetric(4), draw(8, 7, 4, 2)
    assert (printed_loss(descent_step(w, c, 0.01), c) < printed_loss(w, c) - 1e-3).all()
    assert (printed_loss(descent_step(w, c, -0.01), c) > printed_loss(w, c) + 1e-3).all()


@pytest.mark.parametrize(("retraction", "project"), WAYS)
def test_only_unprojected_qr_depends_on_the_basis_of_c(retraction, project):
    c, w, o = symmetric(4), draw(3, 6, 4, 2), haar(streams(1, "o"), 4, 4)[0]
    turned = descent_step(Weights(w.w1 @ o, w.w2), o.mT @ c @ o, 0.01, retraction, project)
    there = outputs(turned)
    here = o.mT @ outputs(descent_step(w, c, 0.01, retraction, project))
    gap = float((there @ there.mT - here @ here.mT).abs().max())
    if (retraction, project) == ("qr", False):
        assert gap > 1e-3
    elif retraction == "polar":
        assert gap < 1e-12
    else:  # the two Q differ at second order in the rate
        assert 1e-12 < gap < 1e-3


@pytest.mark.parametrize(("retraction", "project"), [("polar", False), ("polar", True), ("qr", True)])
@pytest.mark.parametrize("h", [5, 12])
def test_descent_ends_at_the_sum_of_the_most_negative_eigenvalues(h, retraction, project):
    lam, z = torch.tensor([-2.0, -1.0, 0.5, 1.5], dtype=torch.float64), 3
    v = haar(streams(1, "v"), 4, 4)[0]
    c = v @ torch.diag(lam) @ v.mT
    end = descend(draw(6, h, 4, z), c, 0.05, 600, retraction, project).weights
    # h ≥ d + z − k = 5 leaves room for the optimum of Prop. 3, −3
    assert torch.allclose(printed_loss(end, c), torch.full((6,), -3.0, dtype=torch.float64), atol=1e-6)


def test_too_narrow_a_layer_misses_that_sum():
    c = torch.diag(torch.tensor([-2.0, -1.0, 0.5, 1.5], dtype=torch.float64))
    end = descend(draw(6, 4, 4, 3), c, 0.05, 600).weights  # h = d: three unit singular values
    assert torch.allclose(printed_loss(end, c), torch.full((6,), -2.5, dtype=torch.float64), atol=1e-6)


def test_a_path_keeps_what_its_steps_give():
    c, w = symmetric(4), draw(3, 6, 4, 2)
    path = descend(w, c, 0.02, 6, keep_every=2)
    assert path.outputs.shape == (4, 3, 4, 2)
    for k in range(7):
        if k % 2 == 0:
            assert torch.equal(path.outputs[k // 2], outputs(w))
        w = descent_step(w, c, 0.02) if k < 6 else w
    assert torch.equal(path.weights.w1, w.w1) and torch.equal(path.weights.w2, w.w2)
    assert descend(w, c, 0.02, 3).outputs.shape == (0, 3, 4, 2)
    assert torch.equal(descend(w, c, 0.02, 0, keep_every=1).outputs[0], outputs(w))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_run_is_the_same_alone_and_in_a_batch(dtype):
    c, w = symmetric(4, run=5).to(dtype), draw(5, 6, 4, 2, dtype)
    together = descend(w, c, 0.02, 20, keep_every=10)
    alone = descend(Weights(w.w1[2:3], w.w2[2:3]), c[2:3], 0.02, 20, keep_every=10)
    assert together.outputs.dtype == dtype
    assert torch.allclose(alone.outputs, together.outputs[:, 2:3], atol=1e3 * torch.finfo(dtype).eps)


@pytest.mark.parametrize(("h", "d", "z"), [(3, 5, 2), (5, 3, 4), (5, 3, 0)])
def test_bad_sizes_are_named(h, d, z):
    text = rf"sizes must satisfy 1 ≤ z ≤ d and h ≥ max\(d, z\), got h = {h}, d = {d}, z = {z}"
    with pytest.raises(ValueError, match=text):
        require_sizes(h, d, z)
    with pytest.raises(ValueError, match=text):
        draw_weights(streams(1, "w1"), streams(1, "w2"), h, d, z)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"c": symmetric(4) + torch.ones(4, 4).triu(1)}, "c must be symmetric, got |C − Cᵀ| up to 1"),
        ({"c": symmetric(4) * float("nan")}, "c must be finite, got an entry that is not finite"),
        ({"c": symmetric(3)}, "w1, w2, c must be [run, h, d], [run, h, z], [d, d] or [run, d, d], got"),
        ({"rate": 0.0}, "rate must be finite and > 0, got 0.0"),
        ({"rate": float("nan")}, "rate must be finite and > 0, got nan"),
        ({"steps": -1}, "steps must be ≥ 0 and keep_every 0 or a divisor of steps, got steps = -1"),
        ({"keep_every": 3}, "got steps = 4, keep_every = 3"),
        ({"retraction": "svd"}, "retraction must be one of polar, qr, got 'svd'"),
    ],
)
def test_bad_input_is_named(change, text):
    arguments = {"weights": draw(1, 6, 4, 2), "c": symmetric(4), "rate": 0.1, "steps": 4} | change
    with pytest.raises(ValueError) as caught:
        descend(**arguments)
    assert text in str(caught.value) and "\n" not in str(caught.value)
