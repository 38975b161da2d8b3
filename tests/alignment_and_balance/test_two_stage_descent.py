import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.modality_scores import condition_number
from contrastive_dynamics.alignment_and_balance.model import initial_maps, model_scales, sample_signs
from contrastive_dynamics.alignment_and_balance.two_modality_descent import descend
from contrastive_dynamics.alignment_and_balance.two_stage_descent import (
    DescentStage,
    initial_maps_of_widths,
    two_stage_descent,
)
from contrastive_dynamics.numerics.random_streams import stream

STAGES = [DescentStage(3, 0.5), DescentStage(4, 2.0)]


def draw(*shape, purpose="w"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def streams(*runs, purpose="batch"):
    return [stream(0, run, purpose) for run in runs]


def start(runs=2, m=3, d=4):
    scales = model_scales(tensor(1.5, 0.9), 0.5, d).expand(runs, -1)
    return *initial_maps(scales, m, streams(*range(runs), purpose="start"), 2), scales


def loss(f_a, f_b, away_a, away_b, tau_squared, k):
    """L/τ² of outputs, or L̂."""
    s = (f_a * f_b).sum(1)
    if tau_squared is None:
        return -s.mean()
    alike = (tau_squared * s).exp()
    odds = [k * (tau_squared * f @ g.T).exp().mean(1) / alike for f, g in ((f_a, away_b), (f_b, away_a))]
    return sum((1 + x).log().mean() for x in odds) / tau_squared


@pytest.mark.parametrize("with_negatives", [True, False])
def test_both_stages_are_stochastic_gradient_descent_in_the_weights_on_data(with_negatives):
    """x = Āu in a space of 7 dimensions, W of 7 × 3, the gradient by autograd, the draws of the same stream."""
    map_a, map_b, scales = start(1)
    data = [torch.linalg.qr(draw(7, 4, purpose=side))[0] * scales[0] for side in "ab"]
    weights = [
        (x @ torch.diag(scales[0] ** -2) @ k[0].T).requires_grad_() for x, k in zip(data, (map_a, map_b), strict=True)
    ]
    (generator,) = streams(0)
    for stage in STAGES:
        for _ in range(stage.steps):
            draws = sample_signs(2, 4, 10, [generator])
            x_a, x_b = (u[0] @ part.T for u, part in zip(draws, data, strict=True))
            y_a, y_b = x_a @ weights[0], x_b @ weights[1]
            y_a, y_b = (y / y[:5].square().sum(1).mean().sqrt() for y in (y_a, y_b))  # norms of the positive pairs
            tau_squared = stage.tau_squared if with_negatives else None
            value = loss(y_a[:5], y_b[:5], y_a[5:], y_b[5:], tau_squared, 3.0)
            gradients = torch.autograd.grad(value, weights)
            weights = [(w - 0.1 * g).detach().requires_grad_() for w, g in zip(weights, gradients, strict=True)]
    how = {"step_size": 0.1, "batch": 5, "negatives": 3.0, "keep": [7]}
    ends = two_stage_descent(map_a, map_b, scales, 2, streams(0), STAGES, torch.tensor([with_negatives]), **how)
    for end, w, part in zip(ends, weights, data, strict=True):
        torch.testing.assert_close(end[0, 0], (w.T @ part).detach(), rtol=1e-10, atol=1e-12)


def test_runs_of_both_losses_and_of_several_widths_do_not_disturb_each_other():
    scales = model_scales(tensor(1.5, 0.9), 0.5, 4).expand(5, -1)
    widths, contrastive = [2, 3, 8, 2, 50], torch.tensor([True, True, False, False, True])
    generators = streams(0, 1, 2, 0, 4, purpose="start")
    map_a, map_b = initial_maps_of_widths(scales, widths, generators, 2)
    assert map_a.shape == (5, 8, 4) and torch.equal(map_a[0], map_a[3]) and not map_a[0, 2:].any()
    tau = tensor(1, 2, 3, 4, 5)
    stages = [DescentStage(2, 0.5), DescentStage(3, tau)]
    keep, eta, k = [0, 1, 2, 5], tensor(0.1, 0.2, 0.1, 0.2, 0.1), tensor(1, 2, 3, 4, 5)
    how = {"batch": 6, "keep": keep}
    draws = streams(0, 1, 2, 0, 4)
    whole = two_stage_descent(map_a, map_b, scales, 2, draws, stages, contrastive, step_size=eta, negatives=k, **how)
    assert whole[0].shape == (4, 5, 8, 4) and torch.equal(whole[0][0], map_a) and torch.equal(whole[1][0], map_b)
    for run in range(5):
        alone = initial_maps(scales[:1], widths[run], streams((0, 1, 2, 0, 4)[run], purpose="start"), 2)
        rows, generator = alone[0].shape[1], streams((0, 1, 2, 0, 4)[run])
        now, ends = alone, []
        for steps, tau_squared, marks in ((2, 0.5, [0, 1, 2]), (3, tau[run], [3])):
            path = descend(
                *now, scales[:1], 2, generator, step_size=eta[run], steps=steps, batch=6,
                tau_squared=tau_squared if contrastive[run] else None, negatives=k[run], keep=marks,
            )  # fmt: skip
            now, ends = tuple(x[-1] for x in path), [*ends, *path[0]]
        torch.testing.assert_close(whole[0][:, run, :rows], torch.cat(ends), rtol=1e-12, atol=1e-14)
        assert not whole[0][:, run, rows:].any()


def test_kept_steps_change_nothing_and_a_stage_may_be_empty():
    map_a, map_b, scales = start()
    how = {"step_size": 0.1, "batch": 4, "negatives": 3.0}
    arms = torch.tensor([True, False])
    run = [
        two_stage_descent(map_a, map_b, scales, 2, streams(0, 1), stages, arms, keep=keep, **how)[1]
        for stages, keep in ((STAGES, [3, 6]), (STAGES, [0, 1, 3, 4, 6]), ([DescentStage(0, 1.0), *STAGES], [3, 6]))
    ]
    torch.testing.assert_close(run[1][[2, 4]], run[0], rtol=1e-13, atol=0)
    torch.testing.assert_close(run[2], run[0], rtol=1e-13, atol=0)


def test_negatives_balance_and_positive_pairs_alone_do_not():
    scales = model_scales(tensor(1.6, 1.0), 0.5, 6).expand(6, -1)
    maps = initial_maps_of_widths(scales, [8] * 6, streams(0, 1, 2, 0, 1, 2, purpose="start"), 2)
    stages, arms = [DescentStage(150, 0.05), DescentStage(450, 2.0)], torch.tensor([True] * 3 + [False] * 3)
    end, _ = two_stage_descent(
        *maps, scales, 2, streams(0, 1, 2, 0, 1, 2), stages, arms, step_size=0.1, batch=32, negatives=8.0, keep=[600]
    )
    condition = condition_number(end[0], 2)
    assert (condition[:3] < 1.2).all() and (condition[3:] > 1.5).all()


def test_arguments_outside_their_range():
    map_a, map_b, scales = start()
    good = {
        "stages": STAGES,
        "contrastive": torch.tensor([True, False]),
        "step_size": 0.1,
        "batch": 4,
        "negatives": 3.0,
    }
    for change, text in (
        ({"stages": []}, r"stages must be one or more of ≥ 0 steps, got \[\]"),
        ({"stages": [DescentStage(-1, 1.0)]}, r"got \[-1\]"),
        ({"contrastive": torch.tensor([1, 0])}, r"contrastive must be torch.bool \[2\], got torch.int64 \[2\]"),
        ({"batch": None}, "batch must be ≥ 1, got None"),
        ({"keep": [3, 8]}, r"keep must be increasing numbers from 0 to 7, got \[3, 8\]"),
        ({"negatives": 0.0}, "negatives must be > 0"),
        ({"generators": streams(0)}, "one per run, got .* and 1"),
    ):
        arguments = {"generators": streams(0, 1), "keep": [7]} | good | change
        with one_line_error(ValueError, text):
            two_stage_descent(map_a, map_b, scales, 2, **arguments)
    with one_line_error(ValueError, "one per run, got 2, 1 and 2"):
        initial_maps_of_widths(scales, [3], streams(0, 1), 2)
