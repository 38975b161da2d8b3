import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error
from torchdiffeq import odeint

from contrastive_dynamics.collapse_and_constraints.pair_losses import pair_loss, pairing, stacked, trace_matrix
from contrastive_dynamics.collapse_and_constraints.unconstrained_flow import (
    blow_up,
    kernel_flow,
    linear_flow,
    output_velocity_by_kernel,
    projected_flow,
    spectral_contrastive_loss,
    spectral_flow,
    spectral_gradient,
)
from contrastive_dynamics.data.half_moons import half_moon_pairs
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank, stable_rank


def draw(*shape, purpose="theta", dtype=torch.float64):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64).to(dtype)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def symmetric(values, dtype=torch.float64):
    """A matrix with these eigenvalues and its eigenvectors, in the same order."""
    vectors = torch.linalg.qr(draw(len(values), len(values), purpose="vectors"))[0]
    return (vectors * tensor(*values) @ vectors.mT).to(dtype), vectors.to(dtype)


def pairs(n=4, p=1, q=1, d=3, run=()):
    noise = draw(*run, n, p, d, purpose="+")
    x = draw(*run, n, d, purpose="x")
    return x, x.unsqueeze(-2) + 0.3 * noise, draw(*run, n, q, d, purpose="-")


def as_matrix(flow):
    return flow.direction * flow.log_norm[..., None, None].exp()


def moons(run, n=40):
    return half_moon_pairs([stream(0, k, "pairs") for k in range(run)], n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_linear_flow_is_the_matrix_exponential(dtype):
    c, _ = symmetric([-1.5, -0.5, 0.2, 2.0], dtype)
    theta0, times = draw(2, 3, 4, dtype=dtype), torch.tensor([0.7, 0, 2, -1], dtype=dtype)
    flow = linear_flow(theta0, c, times)
    assert flow.direction.dtype == flow.log_norm.dtype == dtype and flow.direction.shape == (4, 2, 3, 4)
    exact = theta0 @ torch.linalg.matrix_exp(-2 * c * times[:, None, None]).unsqueeze(1)
    assert torch.allclose(as_matrix(flow), exact, rtol=1e-9 if dtype == torch.float64 else 1e-3)
    assert torch.allclose(flow.direction.norm(dim=(-2, -1)), torch.ones(4, 2, dtype=dtype))


def test_the_linear_flow_descends_the_loss_on_pairs():
    points, theta = pairs(5, 2, 3), draw(2, 3).requires_grad_()
    (gradient,) = torch.autograd.grad(pair_loss(*(part @ theta.mT for part in points)), theta)
    c, h = trace_matrix(*points), 1e-5
    after, before = as_matrix(linear_flow(theta.detach(), c, tensor(h, -h)))
    assert torch.allclose((after - before) / (2 * h), -gradient, rtol=1e-7)


def test_a_diverging_flow_keeps_its_direction_and_rate():
    c, vectors = symmetric([-2.0, -0.3, 1.0])
    theta0 = draw(2, 3)
    flow = linear_flow(theta0, c, tensor(1e3, 1e6))
    end = theta0 @ torch.outer(vectors[:, 0], vectors[:, 0])
    assert torch.allclose(flow.direction[1], end / end.norm(), atol=1e-12)
    assert (flow.log_norm.diff() / (1e6 - 1e3)).item() == pytest.approx(2 * 2.0)
    assert effective_rank(flow.direction[1]).item() == pytest.approx(1)


def test_the_rank_at_the_end_is_one_only_for_a_simple_lowest_eigenvalue():
    theta0, late = draw(3, 3), tensor(0, 50)
    for values, rank in (([-1.0, -0.2, 0.5], 1), ([-1.0, -1.0, 0.5], 2), ([-1.0, -1.0, -1.0], 3), ([0.5, 1.0, 2.0], 1)):
        flow = linear_flow(theta0, symmetric(values)[0], late)
        sigma = torch.linalg.svdvals(flow.direction[1])
        assert (sigma > 1e-8).sum() == rank
        assert (flow.log_norm[1] > flow.log_norm[0]) == (values[0] < 0)  # it collapses as well where it vanishes
    kept = linear_flow(theta0, -torch.eye(3, dtype=torch.float64), late).direction
    assert torch.allclose(kept[1], kept[0])


def test_a_start_off_the_growing_direction_stays_finite():
    c = torch.diag(tensor(-5.0, -1.0, 2.0))
    theta0 = torch.zeros(2, 3, dtype=torch.float64)
    theta0[:, 1:] = draw(2, 2)
    flow = linear_flow(theta0, c, tensor(1e4))
    assert flow.log_norm.item() == pytest.approx(2e4 + theta0[:, 1].norm().log().item())
    assert torch.allclose(flow.direction[0, :, 1], theta0[:, 1] / theta0[:, 1].norm())


def test_a_fixed_projector_is_the_exponential_of_a_kronecker_product():
    points, a = pairs(d=2), draw(4, 3, purpose="a")
    c, theta = trace_matrix(*points), draw(3, 2).requires_grad_()
    (gradient,) = torch.autograd.grad(pair_loss(*(part @ theta.mT @ a.mT for part in points)), theta)
    generator = torch.kron(a.mT @ a, c)  # on the rows of Θ, one after the other
    theta0 = theta.detach()
    assert torch.allclose(2 * (generator @ theta0.flatten()).reshape(3, 2), gradient)
    times = tensor(0, 0.05, 0.2)
    exact = [a @ (torch.linalg.matrix_exp(-2 * t * generator) @ theta0.flatten()).reshape(3, 2) for t in times]
    assert torch.allclose(as_matrix(projected_flow(theta0, a, c, times)), torch.stack(exact), rtol=1e-9)


def test_outputs_behind_a_projector_have_one_dynamics_only_for_equal_singular_values():
    c, vectors = symmetric([-1.0, 0.3, 0.8])
    left = torch.linalg.qr(draw(2, 2, purpose="left"))[0]
    right = torch.linalg.qr(draw(4, 2, purpose="right"))[0].mT
    theta0, times = draw(4, 3), tensor(3, 4)
    equal = projected_flow(theta0, 1.5 * left @ right, c, times)
    linear = linear_flow(1.5 * left @ right @ theta0, c, 1.5**2 * times)
    assert torch.allclose(equal.direction, linear.direction)
    unequal = projected_flow(theta0, left * tensor(2.0, 1.0) @ right, c, times)
    along = (left.mT @ as_matrix(unequal)).norm(dim=-1)  # [t, output p_i]
    assert torch.allclose(along.log().diff(dim=0)[0], tensor(8.0, 2.0), atol=1e-4)  # 2 μ_i |λ_1|
    assert effective_rank(unequal.direction[1]).item() == pytest.approx(1)  # collapsed all the same
    assert (left[:, 0] @ unequal.direction[1] @ vectors[:, 0]).abs().item() == pytest.approx(1)


@pytest.mark.parametrize(("n", "p", "q"), [(3, 1, 1), (2, 2, 3), (4, 1, 0)])
def test_a_kernel_machine_follows_the_exponential_and_diverges(n, p, q):
    x, times = draw(n * (1 + p + q), 2, purpose="x"), tensor(0, 0.3, 2)
    kernel = torch.exp(-torch.cdist(x, x).square() / 2)
    u0 = draw(len(x), 3, purpose="u")
    ks = kernel @ pairing(n, p, q)
    exact = torch.stack([torch.linalg.matrix_exp(-2 * t * ks) @ u0 for t in times])
    assert torch.allclose(as_matrix(kernel_flow(u0, kernel, n, p, q, times)), exact, rtol=1e-6, atol=1e-8)
    assert (torch.linalg.eigvals(ks).real < -1e-12).sum() == n  # Sylvester's law, as for S
    late = kernel_flow(u0, kernel, n, p, q, tensor(1e5, 2e5))
    assert (late.log_norm.diff() / 1e5).item() == pytest.approx(-2 * torch.linalg.eigvals(ks).real.min().item())
    assert effective_rank(late.direction[1]).item() == pytest.approx(1)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 3)])
def test_a_linear_kernel_is_the_linear_model_though_singular(p, q):
    points, theta0, times = pairs(4, p, q, run=(2,)), draw(2, 5, 3), tensor(0, 0.2, 30)
    x = stacked(*points)
    by_kernel = kernel_flow(x @ theta0.mT, x @ x.mT, 4, p, q, times)
    outputs = x @ linear_flow(theta0, trace_matrix(*points), times).direction.mT
    assert torch.allclose(by_kernel.direction, outputs / outputs.norm(dim=(-2, -1), keepdim=True), atol=1e-9)
    direct = linear_flow(theta0, trace_matrix(*points), times).log_norm + outputs.norm(dim=(-2, -1)).log()
    assert torch.allclose(by_kernel.log_norm, direct)
    left = torch.linalg.svd(x)[0]  # the last columns are orthogonal to the range of K
    dirty = kernel_flow(x @ theta0.mT + 1e-9 * left[..., -5:], x @ x.mT, 4, p, q, times).direction
    assert (left[..., 3:].mT @ dirty).abs().max() < 1e-13 and torch.allclose(dirty, by_kernel.direction, atol=1e-8)


def test_points_that_repeat_have_the_same_outputs():
    points = [part[0] for part in moons(1, 10)]
    x = stacked(*points)
    kernel = torch.exp(-2 * torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").square())
    assert torch.linalg.matrix_rank(kernel) < len(kernel)
    flow = kernel_flow(kernel @ draw(30, 2, purpose="a"), kernel, 10, 1, 1, tensor(0, 5))
    same = (x.unsqueeze(0) == x.unsqueeze(1)).all(-1)
    gaps = (flow.direction.unsqueeze(1) - flow.direction.unsqueeze(2)).norm(dim=-1)
    assert same.sum() > 30 and gaps[:, same].max() < 1e-7 < gaps[:, ~same].max()


def features(x):
    return torch.cat([x, x.square(), x[..., :1] * x[..., 1:2]], -1)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 3), (2, 0)])
@pytest.mark.parametrize("feature_map", [lambda x: x, features])
def test_the_velocity_of_an_output_is_that_of_its_parameters(p, q, feature_map):
    x, positives, negatives = pairs(4, p, max(q, 1))
    points = [feature_map(part) for part in (x, positives, negatives)[: 3 if q else 2]]
    theta = draw(2, points[0].shape[-1]).requires_grad_()
    (gradient,) = torch.autograd.grad(pair_loss(*(part @ theta.mT for part in points)), theta)
    new, train = feature_map(draw(6, 3, purpose="new")), stacked(*points)
    velocity = output_velocity_by_kernel(new @ train.mT, train @ theta.detach().mT, 4, p, q)
    assert torch.allclose(velocity, -new @ gradient.mT)


def test_the_velocity_is_the_printed_sum():
    x, positives, negatives = (part.squeeze(-2) if part.ndim == 3 else part for part in pairs(4))
    theta, new = draw(2, 3), draw(3, purpose="new")
    for others in (None, negatives):
        printed = torch.zeros(2, dtype=torch.float64)
        for i in range(4):
            for ell in range(2):
                u = theta[ell]
                printed[ell] += (new @ x[i]) * (u @ positives[i]) + (new @ positives[i]) * (u @ x[i])
                if others is not None:
                    printed[ell] -= (new @ x[i]) * (u @ others[i]) + (new @ others[i]) * (u @ x[i])
        train = torch.cat([x, positives] if others is None else [x, positives, others])
        q = 0 if others is None else 1
        assert torch.allclose(output_velocity_by_kernel((train @ new).unsqueeze(0), train @ theta.mT, 4, 1, q), printed)


def test_the_spectral_loss_and_its_gradient():
    points, theta = pairs(4, 2, 3, run=(2,)), draw(2, 5, 3).requires_grad_()
    outputs = [part @ (theta.mT if part.ndim == 3 else theta.mT.unsqueeze(1)) for part in points]
    loss = spectral_contrastive_loss(*outputs)
    u, plus, minus = (part[1].detach() for part in outputs)
    alike = sum(u[i] @ plus[i, j] for i in range(4) for j in range(2)) / 8
    unlike = sum((u[i] @ minus[i, j]) ** 2 for i in range(4) for j in range(3)) / 12
    assert torch.allclose(loss[1].detach(), unlike - 2 * alike)
    (gradient,) = torch.autograd.grad(loss.sum(), theta)
    assert torch.allclose(spectral_gradient(theta.detach(), *points), gradient)


def test_the_spectral_flow_of_one_point_is_logistic():
    # x = x⁺ = x⁻ = 1: L = θ⁴ − 2θ², so y = θ² follows ẏ = 8y(1 − y)
    one, y0, times = torch.ones(3, 1, 1, dtype=torch.float64), tensor(0.1, 0.9, 4.0), tensor(0.1, 0.3, 1)
    theta = spectral_flow(y0.sqrt().reshape(3, 1, 1), one, one.unsqueeze(-1), one.unsqueeze(-1), times)
    exact = 1 / (1 + (1 / y0 - 1) * torch.exp(-8 * times.unsqueeze(-1)))
    assert torch.allclose(theta.squeeze((-2, -1)).square(), exact, atol=1e-8)
    # Runs at rest do not loosen the tolerance of the one that moves.
    rest = torch.ones(40_000, 1, 1, dtype=torch.float64)
    crowd, ones = torch.cat([one[:1] * 0.1**0.5, rest]), torch.cat([one[:1], rest])
    theta = spectral_flow(crowd, ones, ones.unsqueeze(-1), ones.unsqueeze(-1), times, tol=1e-6)
    assert torch.allclose(theta[:, 0].flatten().square(), exact[:, 0], atol=1e-5)
    at_zero = spectral_flow(y0.reshape(3, 1, 1), one, one.unsqueeze(-1), one.unsqueeze(-1), tensor(0))
    assert torch.equal(at_zero[0], y0.reshape(3, 1, 1))


def test_the_spectral_flow_keeps_two_dimensions_where_the_naive_one_collapses():
    points, theta0 = moons(4), draw(4, 3, 2)
    path = spectral_flow(theta0, *points, tensor(0, 5, 40, 45), tol=1e-8)
    assert (stable_rank(points[0] @ path[-1].mT) > 1.3).all()
    assert spectral_gradient(path[-1], *points).abs().max() < 1e-5  # at rest
    naive = linear_flow(theta0, trace_matrix(*points), tensor(2)).direction[0]
    assert (effective_rank(points[0] @ naive.mT) < 1 + 1e-6).all()
    alone = spectral_flow(theta0[1:2], *(part[1:2] for part in points), tensor(0, 5), tol=1e-8)
    assert torch.allclose(alone, path[:2, 1:2], atol=1e-6)


def scalars(*values):
    return tensor(*values).reshape(-1, 1, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_balanced_rank_one_layers_blow_up_at_the_exact_time(dtype):
    # W1 = a e v_1ᵀ, W2 = a e fᵀ: 1/a² falls at 4|λ_1|
    c, vectors = symmetric([-0.7, 0.4, 2.0])
    e, f = (torch.nn.functional.normalize(draw(k, purpose="unit"), dim=0) for k in (5, 2))
    a = scalars(0.01, 0.5, 3)
    flow = blow_up(*((a * part).to(dtype) for part in (torch.outer(e, vectors[:, 0]), torch.outer(e, f))), c.to(dtype))
    rtol = 1e-3 if dtype == torch.float32 else 1e-7
    assert flow.time.dtype == dtype
    exact = (1 / (4 * 0.7 * a.flatten() ** 2)).to(dtype)
    assert torch.allclose(flow.time, exact, rtol=rtol)
    assert (flow.gap <= rtol * flow.time_left[-1]).all()
    assert torch.allclose(4 * 0.7 * flow.time_left * flow.log_norm.exp(), torch.ones((), dtype=dtype), rtol=rtol)
    assert torch.allclose(flow.elapsed + flow.time_left, exact.expand_as(flow.elapsed), rtol=rtol)
    assert (flow.log_norm[-1] >= math.log(1e6)).all() and (flow.log_norm[-1] < math.log(1.2e6)).all()


def test_unbalanced_scalar_layers_blow_up_at_the_exact_time():
    # a² − b² = κ stays, (a²)˙ = 4|λ|a²(a² − κ), so t* = log(a²/b²)/(4|λ|κ)
    a, b, size = tensor(0.5, 0.2, 3), tensor(0.2, 0.5, -0.1), 3.0
    errors = []
    for step in (0.08, 0.04, 0.02):
        flow = blow_up(scalars(*a), scalars(*b), tensor(-size).reshape(1, 1), step=step, largest=1e12)
        exact = (a**2 / b**2).log() / (4 * size * (a**2 - b**2))
        errors.append((flow.time / exact - 1).abs().max())
    assert errors[-1] < 1e-7 and errors[0] / errors[1] > 12 and errors[1] / errors[2] > 12


def test_the_path_is_that_of_the_flow_in_physical_time():
    c, _ = symmetric([-1.0, -0.4, 0.7])
    w1, w2 = draw(1, 4, 3, purpose="w1"), draw(1, 4, 2, purpose="w2")
    flow = blow_up(w1, w2, c)

    def descend(_, state):
        state = [part.detach().requires_grad_() for part in state]
        product = state[1].mT @ state[0]
        loss = (product @ c * product).sum()
        return tuple(-part for part in torch.autograd.grad(loss, state))

    kept = flow.elapsed[:, 0][flow.time_left[:, 0] > 0.02 * flow.time][::20]
    steps = torch.searchsorted(flow.elapsed[:, 0].contiguous(), kept.contiguous())
    path1, path2 = odeint(descend, (w1, w2), kept, rtol=1e-10, atol=1e-10)
    product = (path2.mT @ path1)[:, 0]
    reached = flow.direction[steps, 0] * flow.log_norm[steps].exp().unsqueeze(-1)
    assert len(kept) > 5 and product[-1].norm() > 8 * product[0].norm()
    assert torch.allclose(reached, product, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("a", "first"), [((0.5, 0.3), 0), ((0.3, 0.5), 1)])
def test_layers_along_the_eigenvectors_blow_up_one_by_one(a, first):
    # Each mode follows ȧ_i = 2|λ_i|a_i³ on its own, and the first to go need not be that of λ_1.
    values = (-1.0, -0.6)
    w = torch.diag(tensor(*a)).unsqueeze(0)
    flow = blow_up(w, w, torch.diag(tensor(*values)))
    exact = min(1 / (4 * abs(value) * part**2) for value, part in zip(values, a, strict=True))
    assert flow.time.item() == pytest.approx(exact, rel=1e-6)
    rate = flow.time_left[-1] * 4 * flow.log_norm[-1].exp()
    assert rate.item() == pytest.approx(1 / abs(values[first]), rel=1e-4)
    # A part of mode 1 on the same hidden unit wins, but as slowly as R^(λ_1/λ_2 − 1).
    w1 = w.clone()
    w1[0, 1, 0] = 1e-8
    for largest, power in ((1e4, 1e8),) if first else ():
        share = [abs(blow_up(w1, w, torch.diag(tensor(*values)), x).direction[-1, 0, 1, 0]) for x in (largest, power)]
        assert (share[1] / share[0]).log().item() == pytest.approx(math.log(1e2) * (1 / 0.6 - 1), rel=0.05)


def test_generic_layers_end_as_rank_one_and_the_bracket_holds():
    points = moons(16)
    c = trace_matrix(*points) / 40
    w1, w2 = 0.3 * draw(16, 6, 2, purpose="w1"), 0.3 * draw(16, 6, 3, purpose="w2")
    early, late = blow_up(w1, w2, c, largest=10.0), blow_up(w1, w2, c, largest=1e9)
    assert (early.gap > 0).all()
    assert (late.time <= early.time + 1e-7).all() and (late.time >= early.time - early.gap - 1e-7).all()
    lowest = torch.linalg.eigvalsh(c)[:, 0]
    assert torch.allclose(late.time_left[-1] * 4 * -lowest * late.log_norm[-1].exp(), tensor(1.0), rtol=1e-3)
    assert (stable_rank(late.direction[-1]) < 1.001).all()


def test_few_hidden_units_may_settle_instead():
    # h = 1 < d: at W2 = 0 with W1CW1ᵀ > 0 the flow rests, and starts near it come there.
    c = torch.diag(tensor(-1.0, 0.5, 1.0))
    w1 = torch.tensor([[[0.1, 1, 1]], [[1, 0.1, 0.1]]], dtype=torch.float64)
    flow = blow_up(w1, torch.full((2, 1, 2), 0.1, dtype=torch.float64), c, step=0.05, max_steps=600)
    assert flow.time.isnan().tolist() == flow.gap.isnan().tolist() == [True, False]
    assert flow.log_norm[-1, 0] < -20 and flow.elapsed.isfinite().all()


def test_a_large_start_of_positive_loss_first_shrinks():
    c = torch.diag(tensor(-1.0, 1.0))
    w1, w2 = tensor(0.1, 5, 1, 0.1).reshape(1, 2, 2), tensor(5, 0.5).reshape(1, 2, 1)
    flow = blow_up(w1, w2, c, largest=2.0)
    assert flow.log_norm[0] > math.log(2) and len(flow.elapsed) > 10 and flow.log_norm[-1] > math.log(2)
    late = blow_up(w1, w2, c)
    assert flow.time - flow.gap - 1e-8 < late.time < flow.time + 1e-8


def test_a_run_of_the_blow_up_is_the_same_alone_or_in_a_batch_and_scales():
    c = trace_matrix(*moons(5)) / 40
    w1, w2 = draw(5, 4, 2, purpose="w1"), draw(5, 4, 3, purpose="w2")
    together, alone = blow_up(w1, w2, c), blow_up(w1[2:3], w2[2:3], c[2:3])
    assert torch.allclose(alone.time, together.time[2:3], rtol=1e-12)
    assert torch.allclose(alone.log_norm, together.log_norm[: len(alone.log_norm), 2:3], rtol=1e-12)
    assert torch.allclose(together.log_norm[len(alone.log_norm) - 1 :, 2], together.log_norm[-1, 2])
    scaled = blow_up(3 * w1, 3 * w2, 2 * c, largest=9e6)
    assert torch.allclose(scaled.time * 18, together.time, rtol=1e-10)


def test_the_exact_flows_are_the_same_alone_or_in_a_batch():
    points, theta0, times = pairs(3, 1, 1, run=(4,)), draw(4, 2, 3), tensor(0, 1)
    c, x = trace_matrix(*points), stacked(*points)
    a = draw(2, 2, purpose="a")
    u0, kernel = x @ theta0.mT, x @ x.mT
    for together, alone in (
        (linear_flow(theta0, c, times), linear_flow(theta0[1], c[1], times)),
        (projected_flow(theta0, a, c, times), projected_flow(theta0[1], a, c[1], times)),
        (kernel_flow(u0, kernel, 3, 1, 1, times), kernel_flow(u0[1], kernel[1], 3, 1, 1, times)),
    ):
        assert torch.allclose(together.direction[:, 1], alone.direction, atol=1e-10)
        assert torch.allclose(together.log_norm[:, 1], alone.log_norm)


EYE, NOW = torch.eye(3, dtype=torch.float64), tensor(0, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: linear_flow(draw(2, 3), torch.ones(3, 2), NOW),
            r"linear_flow: the matrix must be square and of floats, got \(3, 2\)",
        ),
        (lambda: linear_flow(draw(2, 4), EYE, NOW), r"linear_flow: the start must be .*, got shape \(2, 4\)"),
        (lambda: linear_flow(0 * draw(2, 3), EYE, NOW), "the start must be finite, not 0"),
        (lambda: linear_flow(math.nan * draw(2, 3), EYE, NOW), "the start must be finite, not 0"),
        (
            lambda: linear_flow(draw(2, 3), EYE, tensor()),
            r"linear_flow: times must be finite and \[t\], t ≥ 1, got shape \(0,\)",
        ),
        (lambda: linear_flow(draw(2, 3), EYE, tensor(math.inf)), "times must be finite"),
        (lambda: projected_flow(draw(2, 3), draw(2, 4), EYE, NOW), r"a must be .*, got \(2, 4\)"),
        (lambda: projected_flow(draw(2, 3), torch.zeros(2, 2).double(), EYE, NOW), "projected_flow: the start must be"),
        (
            lambda: kernel_flow(draw(3, 2), -EYE, 1, 1, 1, NOW),
            "kernel must be positive semidefinite, got a negative eigenvalue",
        ),
        (lambda: kernel_flow(draw(3, 2), EYE, 2, 1, 1, NOW), "kernel_flow: the start must be"),
        (
            lambda: kernel_flow(draw(3, 2), torch.ones(3, 3).double(), 1, 1, 1, NOW),
            "u0 must be in the range of the kernel",
        ),
        (
            lambda: output_velocity_by_kernel(draw(2, 4), draw(3, 2), 1, 1, 1),
            r"k_xm must be \[..., k, 3\], got \(2, 4\)",
        ),
        (
            lambda: spectral_contrastive_loss(draw(4, 2), draw(4, 1, 2), draw(4, 1, 3)),
            "spectral_contrastive_loss: the parts must be",
        ),
        (lambda: spectral_flow(draw(2, 3), *pairs(), tensor(1, 1)), "times must ascend, all ≥ 0, .*, got times from 1"),
        (
            lambda: spectral_flow(draw(2, 3), *pairs(), tensor(-1, 1)),
            "times must ascend, all ≥ 0, .*, got times from -1",
        ),
        (lambda: spectral_flow(draw(2, 3), *pairs(), NOW, tol=1e-16), "tol=1e-16"),
        (lambda: spectral_flow(draw(5, 2, 3), *pairs(), NOW), "spectral_flow: the start must be"),
        (lambda: blow_up(draw(1, 2, 3), draw(1, 2, 2), EYE), "c must have λ_1 < 0, .*, got λ_1 ≥ 0"),
        (lambda: blow_up(0 * draw(1, 2, 3), 0 * draw(1, 2, 2), -EYE), "a start of 0"),
        (
            lambda: blow_up(draw(1, 2, 3), draw(1, 3, 2), -EYE),
            r"w1_0, w2_0, c must be .*, got \(1, 2, 3\), \(1, 3, 2\), \(3, 3\)",
        ),
        (lambda: blow_up(draw(2, 2, 3), draw(2, 2, 2), -EYE.expand(3, 3, 3)), r"\[d, d\] or \[run, d, d\]"),
        (
            lambda: blow_up(draw(1, 2, 3), draw(1, 2, 2), -EYE, step=0.5),
            "step above 0 up to 0.2, .*, got .* step=0.5, max_steps=5000",
        ),
        (lambda: blow_up(draw(1, 2, 3), draw(1, 2, 2), -EYE, largest=0), "largest=0"),
    ],
)
def test_bad_input_is_named(call, text):
    with one_line_error(ValueError, text):
        call()


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        points = [part.to(ELSEWHERE) for part in moons(2, 6)]
        theta0, times, a = draw(2, 2, 2).to(ELSEWHERE), NOW.to(ELSEWHERE), draw(2, 2).to(ELSEWHERE)
        c, x = trace_matrix(*points), stacked(*points)
        results = [
            *linear_flow(theta0, c, times),
            *projected_flow(theta0, a, c, times),
            *kernel_flow(x @ theta0.mT, x @ x.mT, 6, 1, 1, times),
            output_velocity_by_kernel(x @ x.mT, x @ theta0.mT, 6, 1, 1),
            spectral_flow(theta0, *points, times, tol=1e-4),
            *blow_up(theta0, theta0, c, largest=10.0, step=0.2),
        ]
        assert {part.device for part in results} == {ELSEWHERE}
