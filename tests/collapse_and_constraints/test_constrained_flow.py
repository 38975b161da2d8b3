import itertools

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.constrained_flow import (
    flow_map,
    iterate,
    new_point,
    output_end,
    output_flow,
    output_velocity,
    polar_map,
    polar_velocity,
    projected_map,
    projector_velocity,
    vector_velocity,
)
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import (
    Weights,
    descend,
    descent_step,
    draw_weights,
    outputs,
    trace_loss,
)
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar

MIXED = torch.tensor([-2.0, -1.0, 0.5, 1.5], dtype=torch.float64)
SIZES = [(h, d, z) for d in (1, 2, 4) for z in range(1, d + 1) for h in (d, d + 1, 3 * d)]
VELOCITIES = [output_velocity, polar_velocity]


def streams(run, purpose):
    return [stream(0, k, purpose) for k in range(run)]


def draw(run, h, d, z, dtype=torch.float64):
    return draw_weights(streams(run, "w1"), streams(run, "w2"), h, d, z, dtype)


def starts(run, d, z, h=40):
    return outputs(draw(run, h, d, z))


def problem(run, d):
    """A C for each run: its eigenvalues and eigenvectors."""
    lam = torch.stack([torch.randn(d, generator=g, dtype=torch.float64) for g in streams(run, "lam")])
    v = haar(streams(run, "v"), d, d)
    return lam, v, v @ (lam.unsqueeze(-1) * v.mT)


def gram(q):
    return q @ q.mT


def along(function, q, lam, velocity):
    return torch.func.jvp(function, (q,), (velocity(q, lam),))[1]


@pytest.mark.parametrize(("h", "d", "z"), SIZES)
@pytest.mark.parametrize("velocity", VELOCITIES)
def test_theorem_2_and_its_polar_form_hold_at_any_width(h, d, z, velocity):
    lam, v, c = problem(3, d)
    w = Weights(*(x.requires_grad_() for x in draw(3, h, d, z)))
    loss = (w.w2.mT @ w.w1 @ c @ w.w1.mT @ w.w2).diagonal(dim1=-2, dim2=-1).sum()
    moved = []
    for x, g in zip(w, torch.autograd.grad(loss, w), strict=True):
        inside = x.mT @ g if velocity is output_velocity else (x.mT @ g + g.mT @ x) / 2
        moved.append(-(g - x @ inside))
    expected = v.mT @ (moved[0].mT @ w.w2 + w.w1.mT @ moved[1])
    assert torch.allclose(velocity(v.mT @ outputs(w), lam), expected, atol=1e-12)


@pytest.mark.parametrize(("h", "d", "z"), SIZES)
@pytest.mark.parametrize(("step", "project"), [(polar_map, False), (projected_map, True)])
def test_outputs_of_a_step_are_closed_at_any_width(h, d, z, step, project):
    lam, v, c = problem(4, d)
    w = draw(4, h, d, z)
    for rate in (0.01, 0.15):
        after = v.mT @ outputs(descent_step(w, c, rate, "polar", project))
        assert torch.allclose(step(v.mT @ outputs(w), lam, rate), after, atol=1e-12)


def off_the_span(step, q, lam, rate):
    """The step by eigenproblems of size d: further outputs q = 0 make 2z ≥ d and change none of the others."""
    more = (q.shape[-2] + 1) // 2 - q.shape[-1]
    return step(torch.nn.functional.pad(q, (0, more)), lam, rate)[..., : -more or None]


def places(d, z):
    """Starts where [q, Λq] has full rank, has it up to rounding, or has not: at a rest point, of one column, at 0."""
    unit, rest = haar(streams(2, "unit"), d, z), torch.eye(d, dtype=torch.float64)[:, :z].expand(2, d, z)
    apart = {"random": starts(2, d, z, 2 * d), "unit": unit, "near": rest + 1e-9 * unit, "nearer": rest + 1e-15 * unit}
    return apart | {"rest": rest, "twice": unit[..., :1].expand(2, d, z) / 2, "zero": 0 * unit}


@pytest.mark.parametrize("place", ["random", "unit", "near", "nearer", "rest", "twice", "zero"])
@pytest.mark.parametrize(("d", "z"), [(3, 1), (5, 2), (40, 3)])
@pytest.mark.parametrize("step", [polar_map, projected_map])
def test_a_step_of_few_outputs_stays_in_their_span(step, d, z, place):
    lam, q = problem(2, d)[0], places(d, z)[place]
    for rate in (0.01, 0.15):
        assert torch.allclose(step(q, lam, rate), off_the_span(step, q, lam, rate), rtol=0, atol=1e-12)
        assert torch.allclose(step(q[0], lam, rate), step(q[:1].expand_as(q), lam, rate), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("step", "place"), [(polar_map, "random"), (polar_map, "nearer"), (projected_map, "random")])
def test_a_step_of_two_outputs_of_784_features(step, place):
    lam = torch.randn(784, generator=stream(0, 0, "lam"), dtype=torch.float64)
    q = haar(streams(1, "q"), 784, 2)
    q = q / 2 if place == "random" else torch.eye(784, 2, dtype=q.dtype) + 1e-15 * q
    assert torch.allclose(step(q, lam, 0.05), off_the_span(step, q, lam, 0.05), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("step", "velocity"), [(flow_map, output_velocity), (projected_map, output_velocity), (polar_map, polar_velocity)]
)
def test_a_small_step_is_the_velocity(step, velocity):
    q = starts(5, 4, 2)
    slope = (step(q, MIXED, 1e-5) - step(q, MIXED, -1e-5)) / 2e-5
    assert torch.allclose(slope, velocity(q, MIXED), atol=1e-8)


def test_the_form_for_one_output():
    q = starts(6, 4, 1)
    assert torch.allclose(vector_velocity(q.squeeze(-1), MIXED), output_velocity(q, MIXED).squeeze(-1), atol=1e-14)


@pytest.mark.parametrize("z", [1, 2, 4])
def test_the_projector_form_follows_the_outputs(z):
    q = starts(5, 4, z)
    p = gram(q)
    assert torch.allclose(along(gram, q, MIXED, output_velocity), projector_velocity(p, MIXED), atol=1e-13)
    dual = projector_velocity(torch.eye(4, dtype=p.dtype) - p, -MIXED)
    assert torch.allclose(-projector_velocity(p, MIXED), dual, atol=1e-13)


@pytest.mark.parametrize("velocity", VELOCITIES)
def test_singular_values_and_loss_along_the_flow(velocity):
    q, c = starts(5, 4, 3), torch.diag(MIXED)
    u, s, _ = torch.linalg.svd(q, full_matrices=False)
    squares = along(lambda x: torch.linalg.svdvals(x).square(), q, MIXED, velocity)
    form = (u.square() * MIXED.unsqueeze(-1)).sum(-2)
    assert torch.allclose(squares, -8 * s.square() * (1 - s.square()) * form, atol=1e-12)
    p, eye = gram(q), torch.eye(4, dtype=q.dtype)
    bracket = p @ c - c @ p
    fall = c @ c @ p @ (eye - p) + c @ p @ c @ (eye - p)
    expected = -4 * fall.diagonal(dim1=-2, dim2=-1).sum(-1)
    expected = expected - bracket.square().sum((-2, -1)) * (velocity is polar_velocity)
    assert torch.allclose(along(lambda x: trace_loss(x, c), q, MIXED, velocity), expected, atol=1e-12)
    assert (expected < 0).all()


def test_the_polar_flow_turns_the_left_singular_vectors():
    q, c = starts(5, 4, 2), torch.diag(MIXED)
    turn = (gram(q) @ c - c @ gram(q)) @ q
    assert torch.allclose(polar_velocity(q, MIXED) - output_velocity(q, MIXED), turn, atol=1e-13)


def test_the_euler_step_leaves_the_unit_sphere_outwards():
    q, lam, rate = starts(6, 4, 1, h=4), MIXED.abs(), 0.01
    form = (q * lam.unsqueeze(-1) * q).sum(-2, keepdim=True)
    out = 1 + 4 * rate**2 * (lam.unsqueeze(-1) * q - form * q).square().sum((-2, -1))
    assert torch.allclose(flow_map(q, lam, rate).square().sum((-2, -1)), out, atol=1e-13)
    assert not bool(iterate(flow_map, q, lam, rate, 1000, 1000)[-1].isfinite().any())
    weights = descend(draw(6, 4, 4, 1), torch.diag(lam), rate, 1000, project=True).weights
    assert (outputs(weights).norm(dim=(-2, -1)) - 1).abs().max() < 1e-12


def test_the_flow_is_what_small_projected_steps_follow():
    w, (lam, v, c) = draw(4, 7, 4, 2), problem(4, 4)
    q0 = v.mT @ outputs(w)
    times = torch.linspace(0, 0.5, 6, dtype=q0.dtype)
    paths = {velocity: output_flow(q0, lam, times, velocity) for velocity in VELOCITIES}
    for project, velocity, other in ((True, *VELOCITIES), (False, *VELOCITIES[::-1])):
        gaps, apart = [], []
        for steps in (25, 50, 100):
            path = v.mT @ descend(w, c, 0.5 / steps, steps, project=project, keep_every=steps // 5).outputs
            gaps.append(float((path - paths[velocity]).abs().max()))
            apart.append(float((path - paths[other]).abs().max()))
        assert all(1.8 < a / b < 2.2 for a, b in itertools.pairwise(gaps)) and gaps[-1] < 0.02
        assert apart[-1] > 0.05 and apart[-1] > 0.8 * apart[0]


def test_a_run_of_the_flow_is_the_same_alone_and_in_a_batch():
    q, times = starts(5, 4, 2), torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64)
    together, alone = output_flow(q, MIXED, times), output_flow(q[2:3], MIXED, times)
    assert together.shape == (3, 5, 4, 2) and torch.equal(together[0], q)
    assert torch.allclose(together[:, 2:3], alone, atol=1e-7)
    # runs at rest do not hide the error of one that moves
    crowd = torch.cat((q[2:3], q.new_zeros(500, 4, 2)))
    rough = [output_flow(x, MIXED, times, rtol=1e-3, atol=1e-3)[:, 0] for x in (crowd, q[2:3])]
    assert torch.allclose(*rough, atol=1e-12)
    each = output_flow(q, MIXED.expand(5, 4), times)
    assert torch.allclose(each, together, atol=1e-12)
    for step in (flow_map, polar_map, projected_map):
        runs = iterate(step, q, MIXED, 0.05, 10, 5)
        assert runs.shape == (3, 5, 4, 2)
        assert torch.allclose(iterate(step, q[2:3], MIXED, 0.05, 10, 5), runs[:, 2:3], atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_follows_the_input(dtype):
    q, lam = starts(3, 4, 2).to(dtype), MIXED.to(dtype)
    for result in (
        *(velocity(q, lam) for velocity in VELOCITIES),
        *(step(q, lam, 0.1) for step in (flow_map, polar_map, projected_map)),
        output_flow(q, lam, torch.tensor([0.0, 1.0], dtype=dtype), rtol=1e-5, atol=1e-5),
    ):
        assert result.dtype == dtype and bool(result.isfinite().all())


def test_new_points_along_a_training():
    w, (_, v, c) = draw(3, 6, 4, 2), problem(3, 4)
    x = torch.randn(3, 5, 4, generator=stream(0, 0, "x"), dtype=torch.float64)
    for _ in range(5):
        w = descend(w, c, 0.05, 10).weights
        network = (w.w2.mT @ (w.w1 @ x.mT)).mT
        assert torch.allclose(new_point(v.mT @ outputs(w), v, x), network, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda q, t: output_flow(q, MIXED, t.flip(0)), "times must be [t], t ≥ 2, and increase, got [1.0, 0.0]"),
        (lambda q, t: output_flow(q, MIXED, t[:1]), "times must be [t], t ≥ 2, and increase, got [0.0]"),
        (lambda q, t: output_flow(3 * q / q.norm(), MIXED, t), "must have norm ≤ 1, got norm 3"),
        (lambda q, t: output_flow(q * float("nan"), MIXED, t), "must have norm ≤ 1, got norm nan"),
        (lambda q, t: iterate(flow_map, q, MIXED, 0.1, 4, 3), "a divisor of it, got steps = 4, keep_every = 3"),
        (
            lambda q, t: iterate(flow_map, q, MIXED, 0.1, -1),
            "steps must be ≥ 0 and keep_every ≥ 1 a divisor of it, got steps = -1",
        ),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError) as caught:
        call(starts(1, 4, 1), torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_the_late_end_is_the_lowest_eigenvector_of_one_output():
    lam = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
    end = output_end(torch.full((1, 3, 1), 0.3, dtype=torch.float64), lam)
    torch.testing.assert_close(end[0, :, 0], torch.tensor([1.0, 0, 0], dtype=torch.float64), atol=1e-5, rtol=0)
