import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.contrastive_force import force, non_contrastive_force
from contrastive_dynamics.alignment_and_balance.model import Signs, all_signs, correlation, sample_signs
from contrastive_dynamics.alignment_and_balance.two_modality_descent import batch_force, batch_velocity, descend
from contrastive_dynamics.alignment_and_balance.two_modality_flow import (
    contrastive_flow,
    non_contrastive_flow,
    velocity,
)
from contrastive_dynamics.numerics.random_streams import stream


def draw(*shape, purpose="w"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def streams(*runs):
    return [stream(0, run, "batch") for run in runs]


def start(run=2, m=4, d=3):
    scales = tensor(1.5, 0.8, *[0.5] * (d - 2)).repeat(run, 1)
    map_a, map_b = (draw(run, m, d, purpose=name) * scales.unsqueeze(1) / m**0.5 for name in "AB")
    return map_a, map_b, scales


def batch_loss(w_a, w_b, x_a, x_b, away_a, away_b, tau_squared, negatives):
    """The loss of data, one run: batch norm over the positive pairs, plain means."""
    n_a, n_b = ((x @ w).square().sum(1).mean().sqrt() for x, w in ((x_a, w_a), (x_b, w_b)))
    f_a, f_b, away_a, away_b = x_a @ w_a / n_a, x_b @ w_b / n_b, away_a @ w_a / n_a, away_b @ w_b / n_b
    if tau_squared is None:
        return -(f_a * f_b).sum(1).mean()
    alike = torch.exp(tau_squared * (f_a * f_b).sum(1))
    unlike_a = torch.exp(tau_squared * (f_a @ away_b.T)).mean(1)
    unlike_b = torch.exp(tau_squared * (f_b @ away_a.T)).mean(1)
    s_a, s_b = alike / (alike + negatives * unlike_a), alike / (alike + negatives * unlike_b)
    return -s_a.log().mean() - s_b.log().mean()


@pytest.mark.parametrize("tau_squared", [None, tensor(0.6, 3)])
def test_a_step_is_minus_the_gradient_of_the_batch_loss_in_the_weights(tau_squared):
    _, _, scales = start()
    data_a, data_b = (torch.linalg.qr(draw(2, 6, 3, purpose=name))[0] * scales.unsqueeze(1) for name in ("a", "b"))
    w_a, w_b, negatives = draw(2, 6, 4, purpose="w_a"), draw(2, 6, 4, purpose="w_b"), tensor(1.5, 4)
    positive, negative = Signs(*sample_signs(2, 3, 5, streams(0, 1))), Signs(*sample_signs(2, 3, 7, streams(2, 3)))
    moves = batch_velocity(w_a.mT @ data_a, w_b.mT @ data_b, scales, positive, negative, tau_squared, negatives)
    for run in range(2):
        weights = w_a[run].clone().requires_grad_(), w_b[run].clone().requires_grad_()
        a, b = data_a[run], data_b[run]
        x = [(u[run] @ part.T) for u, part in zip((*positive, *negative), (a, b, a, b), strict=True)]
        tau = None if tau_squared is None else tau_squared[run]
        gradients = torch.autograd.grad(batch_loss(*weights, *x, tau, negatives[run]), weights)
        for move, gradient, part in zip(moves, gradients, (a, b), strict=True):
            assert torch.allclose(move[run], -gradient.T @ part / (tau or 1), rtol=1e-10, atol=1e-14)


def test_the_population_as_a_batch_gives_the_velocity_of_the_flow():
    map_a, map_b, scales = start(2, 4, 4)
    states = all_signs(2, 4)
    whole = Signs(*(torch.cat([u, -u]).expand(2, -1, -1) for u in states))
    g, tau_squared, negatives = correlation(map_a, map_b), tensor(0.6, 3), tensor(1.5, 4)
    m = force(g, states, tau_squared, negatives)
    assert torch.allclose(batch_force(g, whole, whole, tau_squared, negatives), m, rtol=1e-10, atol=1e-14)
    for tau, pull in ((tau_squared, m), (None, non_contrastive_force(2, 4))):
        exact = velocity(map_a, map_b, scales, pull)
        for got, part in zip(batch_velocity(map_a, map_b, scales, whole, whole, tau, negatives), exact, strict=True):
            assert torch.allclose(got, part, rtol=1e-10, atol=1e-14)
    # A large exponent overflows nowhere.
    assert batch_force(1e5 * g, whole, whole, tau_squared, negatives).isfinite().all()


def test_a_batch_of_n_is_off_by_its_inverse_root():
    map_a, map_b, scales = start(1)
    exact = velocity(map_a, map_b, scales, force(correlation(map_a, map_b), all_signs(2, 3), 2.0, 3.0))[0]
    maps, gaps = [part.expand(400, -1, -1) for part in (map_a, map_b)], []
    for n in (16, 64):
        drawn = sample_signs(2, 3, 2 * n, [stream(n, run, "batch") for run in range(400)])
        halves = [Signs(*(u[:, part] for u in drawn)) for part in (slice(n), slice(n, None))]
        gaps.append((batch_velocity(*maps, scales, *halves, 2.0, 3.0)[0] - exact).square().mean())
    assert (gaps[0] / gaps[1]).item() == pytest.approx(4, rel=0.2)


@pytest.mark.parametrize("tau_squared", [None, 2.0])
def test_plain_gradient_descent_follows_the_flow_up_to_its_step(tau_squared):
    map_a, map_b, scales = start()
    signs, gaps, how = all_signs(2, 3), [], {"batch": None, "tau_squared": tau_squared, "negatives": 3.0}
    if tau_squared is None:
        flow = non_contrastive_flow(map_a, map_b, scales, 2, tensor(0, 1, 2), rtol=1e-9)
    else:
        flow = contrastive_flow(map_a, map_b, scales, signs, tensor(0, 1, 2), tau_squared, 3.0, rtol=1e-9)
    for steps in (20, 40, 80):
        keep = [0, steps // 2, steps]
        path = descend(map_a, map_b, scales, 2, [], step_size=2 / steps, steps=steps, keep=keep, signs=signs, **how)
        assert path[0].shape == (3, 2, 4, 3) and torch.equal(path[1][0], map_b)
        gaps.append(torch.stack([(x - y)[1:].norm() for x, y in zip(path, flow[:2], strict=True)]).norm())
    assert gaps[0] < 0.2
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.1) and gaps[1] / gaps[2] == pytest.approx(2, rel=0.05)


def test_large_batches_come_near_the_flow_and_norms_grow_by_the_squares_of_the_steps():
    map_a, map_b, scales = start(4)
    how = {"step_size": 0.05, "steps": 40, "tau_squared": 2.0, "negatives": 3.0, "keep": list(range(41))}
    exact = descend(map_a, map_b, scales, 2, [], batch=None, signs=all_signs(2, 3), **how)[0]
    gaps = []
    for n in (8, 128):
        path = descend(map_a, map_b, scales, 2, streams(*range(4)), batch=n, **how)
        gaps.append((path[0][-1] - exact[-1]).norm())
        for part in path:
            scaled = part / scales.unsqueeze(1)
            squares, moves = scaled.square().sum((-2, -1)), scaled.diff(dim=0).square().sum((-2, -1))
            assert torch.allclose(squares.diff(dim=0), moves, rtol=1e-8, atol=1e-13)
    assert gaps[1] < 0.5 and 2 < gaps[0] / gaps[1] < 8  # √16 in the mean


def test_a_run_is_the_same_alone_or_in_a_batch_and_rates_differ_by_run():
    map_a, map_b, scales = start(3)
    how = {"steps": 6, "batch": 8, "keep": [2, 6]}
    tau_squared, negatives, rates = tensor(1, 2, 3), tensor(3, 2, 1), tensor(0.1, 0.2, 0.3)
    together = descend(
        map_a, map_b, scales, 2, streams(0, 1, 2), step_size=rates, tau_squared=tau_squared, negatives=negatives, **how
    )
    rest = map_a[1:2], map_b[1:2], scales[1]
    alone = descend(*rest, 2, streams(1), step_size=0.2, tau_squared=2.0, negatives=2.0, **how)
    for part, whole in zip(alone, together, strict=True):
        assert part.shape == (2, 1, 4, 3) and torch.allclose(part, whole[:, 1:2], rtol=1e-12, atol=1e-15)


GOOD = {"step_size": 0.1, "steps": 2, "batch": 4, "tau_squared": 1.0, "negatives": 1.0, "keep": [0, 2]}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"step_size": 0.0}, "step_size and steps must be > 0, .*, and ≥ 0, got 0.0 and 2"),
        ({"steps": -1}, "got 0.1 and -1"),
        ({"batch": 0}, "batch must be ≥ 1 or None, got 0"),
        ({"keep": []}, r"keep must be .*, got \[\]"),
        ({"keep": [2, 1]}, r"keep must be increasing numbers from 0 to 2, got \[2, 1\]"),
        ({"keep": [3]}, r"keep must be .*, got \[3\]"),
        ({"tau_squared": -1.0}, "tau_squared must be > 0, .*, got -1.0"),
        ({"negatives": None}, "negatives must be > 0, .*, got None"),
        ({"batch": None}, "signs must be .* if batch is None, got None"),
        ({"rank": 4}, "rank must be 1 to d = 3, got 4"),
        ({"scales": tensor(1, 1)}, r"got \[2, 4, 3\], \[2, 4, 3\], \[2\]"),
        ({"generators": []}, "generators must be one per run, 2, got 0"),
    ],
)
def test_bad_input_is_named(changed, text):
    map_a, map_b, scales = start()
    given = {"scales": scales, "rank": 2, "generators": streams(0, 1), **GOOD, **changed}
    with one_line_error(ValueError, text):
        descend(map_a, map_b, given.pop("scales"), given.pop("rank"), given.pop("generators"), **given)


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        maps = [part.to(ELSEWHERE) for part in start()]
        u_a, u_b = (part.to(ELSEWHERE) for part in sample_signs(2, 3, 4, streams(0, 1)))
        states = Signs(*(part.to(ELSEWHERE) for part in all_signs(2, 3)))
        both = Signs(u_a, u_b)
        results = [*batch_velocity(*maps, both, both, 1.0, 2.0), *batch_velocity(*maps, both, both, None)]
        for how in ({"signs": states}, {"tau_squared": None}):
            results += descend(*maps, 2, [], **{**GOOD, "batch": None, **how})
        assert {part.device for part in results} == {ELSEWHERE}
