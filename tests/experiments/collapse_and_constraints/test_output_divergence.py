"""A step goes along the gradient and changes the outputs by a given share; every run stops where it is large enough."""

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.free_training import free_flow
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights
from contrastive_dynamics.collapse_and_constraints.pair_losses import pairing_product
from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.tangent_kernel import gaussian_weights
from contrastive_dynamics.numerics.random_streams import stream, streams
from experiments.collapse_and_constraints.output_divergence import grow_outputs

N, D, Z, H = 4, 3, 2, 20
SCALE = H**-0.5


def draw(purpose="points", runs=3):
    return torch.randn(runs, 3 * N, D, generator=stream(0, 0, purpose), dtype=torch.float64)


def start(runs=3):
    return Weights(*gaussian_weights(streams([0], runs, "w1"), streams([0], runs, "w2"), H, D, Z, 1.0, 1.0))


def pull(u):
    return 2 * pairing_product(u, N, 1, 1) / N


def outputs(w, x, act):
    return SCALE * act.h(x @ w.w1.mT) @ w.w2


def rms(u):
    return u.square().sum(-1).mean(-1).sqrt()


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_one_step_is_a_multiple_of_the_gradient_and_moves_the_outputs_by_the_share(name):
    x, act = draw(runs=1), WIDE[name]
    w = grow_outputs(start(1), x, pull, act, 5.0, scale=SCALE)  # from here on the outputs grow at every step
    u = outputs(w, x, act)
    now = grow_outputs(w, x, pull, act, float(rms(u)) * 1.0001, share=1e-3, scale=SCALE)
    leaves = Weights(*(layer.clone().requires_grad_() for layer in w))
    out = outputs(leaves, x, act)
    loss = (out * pairing_product(out, N, 1, 1)).sum() / N
    for layer, moved, g in zip(w, now, torch.autograd.grad(loss, leaves), strict=True):
        step = moved - layer
        assert float((step / step.norm() + g / g.norm()).norm()) < 1e-10
    assert float((outputs(now, x, act) - u).norm() / u.norm()) == pytest.approx(1e-3, rel=0.01)


def test_small_steps_follow_the_flow():
    x, act = draw(runs=1), WIDE["tanh"]
    w = grow_outputs(start(1), x, pull, act, 5.0, scale=SCALE)
    times = torch.tensor([0.0, 0.3], dtype=torch.float64)
    end = outputs(list(free_flow(w, x, pull, act, times, 400, SCALE))[-1], x, act)
    errors = []
    for share in (0.02, 0.01, 0.005):
        now = outputs(grow_outputs(w, x, pull, act, float(rms(end)), share, SCALE), x, act)
        errors.append(float((now / now.norm() - end / end.norm()).norm()))
    assert errors[2] < 0.6 * errors[0] and errors[2] < 0.01


def test_a_run_stops_by_itself():
    x, w, act = draw(), start(), WIDE["relu"]
    alone = grow_outputs(Weights(w.w1[1:2], w.w2[1:2]), x[1:2], pull, act, 50.0, scale=SCALE)
    together = grow_outputs(w, x, pull, act, 50.0, scale=SCALE)
    torch.testing.assert_close(together.w1[1:2], alone.w1)
    size = rms(outputs(together, x, act))
    assert bool((size >= 50).all()) and bool((size < 53).all())


@pytest.mark.parametrize("wrong", [{"size": 0.0}, {"share": 0.6}, {"scale": 0.0}, {"max_steps": 0}])
def test_another_argument_is_refused(wrong):
    with one_line_error(ValueError, "size and scale must be > 0"):
        grow_outputs(start(), draw(), pull, WIDE["tanh"], **{"size": 9.0} | wrong)


def test_too_few_steps_are_an_error():
    with one_line_error(RuntimeError, "within 2 steps"):
        grow_outputs(start(), draw(), pull, WIDE["tanh"], 1e6, max_steps=2)
