import itertools

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.collapse_and_constraints import orthogonal_descent, pair_losses, wide_training
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights, draw_weights
from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.wide_training import (
    Pairs,
    linear_gap,
    network,
    network_gradients,
    train,
)
from contrastive_dynamics.numerics.random_streams import stream

COUNTS = [(4, 1, 1), (3, 2, 5), (2, 3, 1), (5, 2, 0)]
D, Z = 3, 2


def is_semi_orthogonal(w):
    excess = w.mT @ w - torch.eye(w.shape[-1], dtype=w.dtype)
    return float(excess.abs().max()) <= torch.finfo(w.dtype).eps ** 0.75


def draw(run, h=7):
    return draw_weights([stream(0, k, "w1") for k in range(run)], [stream(0, k, "w2") for k in range(run)], h, D, Z)


def parts(run, n, p, q, dtype=torch.float64):
    shapes = [(n, D), (n, p, D), (n, q, D)]
    drawn = [
        torch.stack([torch.randn(*s, generator=stream(0, k, f"{i}"), dtype=torch.float64) for k in range(run)])
        for i, s in enumerate(shapes)
    ]
    return [x.to(dtype) for x in drawn[: 3 if q else 2]]


def pairs(run, n=4, p=1, q=1, scale=1.0, dtype=torch.float64):
    return Pairs(pair_losses.stacked(*parts(run, n, p, q, dtype)), n, p, q, scale)


def loss(w, points, act):
    """The paper's (1) or (2) of every run, from its own shapes: no stacking, no pairing."""

    def u(x):
        flat = x.flatten(1, -2)
        return (act.h(flat @ w.w1.mT) @ w.w2).reshape(*x.shape[:-1], Z)

    return pair_losses.pair_loss(*(u(x) for x in points))


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("act", WIDE.values(), ids=WIDE)
def test_gradients_are_those_of_the_loss(act, counts):
    w = Weights(*(x.requires_grad_() for x in draw(3)))
    expected = torch.autograd.grad(0.3 * loss(w, parts(3, *counts), act).sum(), w)
    for context in (torch.enable_grad, torch.no_grad):
        with context():
            gradients = network_gradients(draw(3), pairs(3, *counts, scale=0.3), act)
        for ours, theirs in zip(gradients, expected, strict=True):
            assert not ours.requires_grad and torch.allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("act", WIDE.values(), ids=WIDE)
def test_a_network_is_a_sum_over_hidden_units(act):
    w, x = draw(2), parts(2, 5, 1, 1)[0]
    u = torch.zeros(2, 5, Z, dtype=torch.float64)
    for run, k in itertools.product(range(2), range(7)):
        u[run] += torch.outer(act.h(x[run] @ w.w1[run, k]), w.w2[run, k])
    assert torch.allclose(network(w, x, act), u, atol=1e-14)


@pytest.mark.parametrize("counts", COUNTS)
def test_linear_networks_have_a_trace_matrix(counts):
    c = pairs(3, *counts, scale=0.3).trace_matrix
    assert torch.allclose(c, 0.3 * pair_losses.trace_matrix(*parts(3, *counts)), atol=1e-14)
    w = draw(3)
    ours, theirs = (
        network_gradients(w, pairs(3, *counts, scale=0.3), WIDE["linear"]),
        orthogonal_descent.gradients(w, c),
    )
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("h", [3, 4, 7, 50])
@pytest.mark.parametrize("counts", COUNTS)
def test_the_twin_is_the_linear_network_that_is_trained(counts, h):
    w, given, keep = draw(3, h), pairs(3, *counts, scale=0.1), [0, 1, 5, 20]
    gap = linear_gap(w, given, WIDE["linear"], 0.05, keep)
    assert gap.epochs == keep and gap.difference.shape == (4, 3)
    assert gap.difference.max() < 1e-12 < 1e-2 < gap.linear.min()
    for epoch, size in zip(keep, gap.linear, strict=True):
        m = orthogonal_descent.outputs(orthogonal_descent.descend(w, given.trace_matrix, 0.05, epoch).weights)
        expected = (given.points[:, : given.n] @ m).square().sum(-1).mean(-1).sqrt()
        assert torch.allclose(size, expected, rtol=1e-12)


@pytest.mark.parametrize("act", WIDE.values(), ids=WIDE)
def test_the_gap_is_that_of_two_trained_networks(act):
    w, given, keep = draw(3), pairs(3, 3, 2, 5, scale=0.1), [0, 2, 9]
    gap = linear_gap(w, given, act, 0.05, keep)
    both = [list(train(w, given, a, 0.05, 9)) for a in (act, WIDE["linear"])]
    for k, epoch in enumerate(keep):
        anchors = parts(3, 3, 2, 5)[0]
        u, linear = network(both[0][epoch], anchors, act), network(both[1][epoch], anchors, WIDE["linear"])
        lengths = (torch.linalg.vector_norm(u - linear, dim=-1), torch.linalg.vector_norm(linear, dim=-1))
        for ours, length in zip((gap.difference[k], gap.linear[k]), lengths, strict=True):
            assert torch.allclose(ours, (length**2).mean(-1) ** 0.5, atol=1e-12)


def test_the_gap_of_small_points_is_of_the_order_of_the_activation():
    w, given = draw(4), pairs(4, 6)
    for name, order in {"tanh": 3, "soft": 2, "relu": 1, "half": 1, "sigmoid": 0}.items():
        gaps = [
            linear_gap(w, given._replace(points=size * given.points), WIDE[name], 0.1, [0]).difference
            for size in (1e-3, 1e-4)
        ]
        assert torch.allclose((gaps[0] / gaps[1]).log10(), torch.full_like(gaps[0], order), atol=0.02)
    half = linear_gap(w, given, WIDE["half"], 0.1, [0])
    assert torch.allclose(half.difference, half.linear / 2, rtol=1e-12)


@pytest.mark.parametrize("act", WIDE.values(), ids=WIDE)
def test_constraints_hold_and_the_loss_falls(act):
    w, given = draw(5), pairs(5, 6, 2, 3, scale=1 / 6)
    path = list(train(w, given, act, 0.005, 40))
    assert len(path) == 41 and all(torch.equal(a, b) for a, b in zip(path[0], w, strict=True))
    assert all(is_semi_orthogonal(x) for step in path for x in step)
    losses = torch.stack([loss(step, parts(5, 6, 2, 3), act) for step in path])
    assert (losses.diff(dim=0) < 0).all()


def test_a_scale_of_the_loss_is_one_of_the_rate():
    act = WIDE["tanh"]
    ends = [list(train(draw(2), pairs(2, scale=s), act, r, 10))[-1] for s, r in ((1.0, 0.02), (0.25, 0.08))]
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(*ends, strict=True))
    gaps = [linear_gap(draw(2), pairs(2, scale=s), act, r, [0, 10]) for s, r in ((1.0, 0.02), (0.25, 0.08))]
    assert torch.allclose(gaps[0].difference, gaps[1].difference, atol=1e-13)


@pytest.mark.parametrize("entries", [1, 400, 10**9])
def test_a_run_is_the_same_alone_and_in_blocks_of_any_size(entries, monkeypatch):
    w, given, act, keep = draw(5), pairs(5, 3, 2, 5), WIDE["soft"], [0, 3, 10]
    alone = [
        linear_gap(
            Weights(w.w1[k : k + 1], w.w2[k : k + 1]), given._replace(points=given.points[k : k + 1]), act, 0.02, keep
        )
        for k in range(5)
    ]
    monkeypatch.setattr(wide_training, "_ENTRIES", entries)
    together = linear_gap(w, given, act, 0.02, keep)
    for k, one in enumerate(alone):
        assert torch.allclose(together.difference[:, k], one.difference[:, 0], rtol=1e-12)
        assert torch.allclose(together.linear[:, k], one.linear[:, 0], rtol=1e-12)


def test_the_epochs_that_are_kept_do_not_change_the_training():
    every, few = (linear_gap(draw(2), pairs(2), WIDE["tanh"], 0.05, keep) for keep in (list(range(11)), [0, 4, 10]))
    assert torch.equal(every.difference[[0, 4, 10]], few.difference)
    assert torch.equal(every.linear[[0, 4, 10]], few.linear)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_follows_the_input(dtype):
    w, given = Weights(*(x.to(dtype) for x in draw(2))), pairs(2, dtype=dtype)
    gap = linear_gap(w, given, WIDE["relu"], 0.02, [0, 5])
    exact = linear_gap(draw(2), pairs(2), WIDE["relu"], 0.02, [0, 5])
    assert gap.difference.dtype == gap.linear.dtype == given.trace_matrix.dtype == dtype
    assert torch.allclose(gap.difference.double(), exact.difference, rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w, x: train(w, x, WIDE["tanh"], 0.0, 3), "rate must be > 0 and epochs ≥ 0, got rate = 0.0, epochs = 3"),
        (lambda w, x: train(w, x, WIDE["tanh"], float("nan"), 3), "rate must be > 0 and epochs ≥ 0, got rate = nan"),
        (
            lambda w, x: train(w, x, WIDE["tanh"], 0.1, -1),
            "rate must be > 0 and epochs ≥ 0, got rate = 0.1, epochs = -1",
        ),
        (lambda w, x: linear_gap(w, x, WIDE["tanh"], -0.1, [0, 1]), "got rate = -0.1"),
        (lambda w, x: linear_gap(w, x, WIDE["tanh"], 0.1, []), "keep must begin with 0 and ascend, got []"),
        (lambda w, x: linear_gap(w, x, WIDE["tanh"], 0.1, [1, 2]), "ascend, got [1, 2]"),
        (lambda w, x: linear_gap(w, x, WIDE["tanh"], 0.1, [0, 3, 2]), "ascend, got [0, 3, 2]"),
        (lambda w, x: linear_gap(w, x, WIDE["tanh"], 0.1, [0, 3, 3]), "ascend, got [0, 3, 3]"),
        (lambda w, x: network_gradients(w, x._replace(p=2), WIDE["tanh"]), "z], got (1, 12, 2)"),
        (lambda w, x: linear_gap(w, x._replace(q=0), WIDE["tanh"], 0.1, [0]), "z], got (1, 12, 3)"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError) as caught:
        call(draw(1), pairs(1))
    assert text in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("act", WIDE.values(), ids=WIDE)
def test_everything_stays_on_the_device_of_its_inputs(act):
    w, given, keep = draw(2), pairs(2), [0, 3]
    here = linear_gap(w, given, act, 0.02, keep)
    with elsewhere():
        far = Weights(*(x.to(ELSEWHERE) for x in w))
        gap = linear_gap(far, given._replace(points=given.points.to(ELSEWHERE)), act, 0.02, keep)
        assert gap.difference.device == gap.linear.device == ELSEWHERE
        assert (gap.difference - here.difference.to(ELSEWHERE)).abs().max().item() < 1e-12
