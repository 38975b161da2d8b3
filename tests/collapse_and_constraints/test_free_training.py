import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.free_training import free_flow, kernel_change
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights
from contrastive_dynamics.collapse_and_constraints.pair_losses import pairing_product
from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.unconstrained_flow import kernel_flow
from contrastive_dynamics.numerics.random_streams import stream

TANH = WIDE["tanh"]


def draw(*shape, purpose="w"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def start(h, runs=2):
    return Weights(draw(runs, h, 4, purpose="first"), draw(runs, h, 3, purpose="second"))


X = draw(2, 6, 4, purpose="x")


def pull(u):
    return 2 * pairing_product(u, 2, 1, 1)


def outputs(w, scale):
    return scale * TANH.h(X @ w.w1.mT) @ w.w2


def test_the_velocity_is_that_of_the_loss_by_automatic_differentiation():
    scale, w, dt = 0.3, start(7), 1e-6

    def loss(w1, w2):
        u = outputs(Weights(w1, w2), scale)
        return (u * pairing_product(u, 2, 1, 1)).sum()

    gradients = torch.func.grad(loss, (0, 1))(*w)
    first, last = free_flow(w, X, pull, TANH, torch.tensor([0, dt]).double(), 1, scale)
    assert all(torch.equal(a, b) for a, b in zip(first, w, strict=True))
    for a, b, g in zip(first, last, gradients, strict=True):
        assert torch.allclose((b - a) / dt, -g, rtol=1e-4, atol=1e-5)


def test_the_steps_have_order_four():
    times = torch.tensor([0, 0.2]).double()
    ends = [list(free_flow(start(9), X, pull, TANH, times, k, 1 / 3))[-1].w1 for k in (4, 8, 64)]
    coarse, fine = ((end - ends[-1]).norm() for end in ends[:2])
    assert coarse / fine > 10 and fine < 1e-4


def test_a_wide_network_follows_its_kernel_machine():
    h, times = 20000, torch.tensor([0, 0.2]).double()
    w = start(h, 1)
    hidden = TANH.h(X[:1] @ w.w1.mT)
    gates = TANH.slope(X[:1] @ w.w1.mT)
    kernel = (hidden @ hidden.mT + X[:1] @ X[:1].mT * (gates @ gates.mT))[0] / h
    u = [(h**-0.5 * TANH.h(X[:1] @ v.w1.mT) @ v.w2)[0] for v in free_flow(w, X[:1], pull, TANH, times, 5, h**-0.5)]
    flow = kernel_flow(u[0], (kernel + kernel.mT) / 2, 2, 1, 1, times[1:])
    exact = flow.direction[0] * flow.log_norm[0].exp()
    assert (u[1] - exact).norm() < 0.1 * (u[1] - u[0]).norm()


def test_the_change_of_a_kernel_is_relative():
    kernel = draw(2, 3, 3, 2, 2)
    assert torch.allclose(kernel_change(1.5 * kernel, kernel), torch.full((2,), 0.5).double())
    assert torch.equal(kernel_change(kernel, kernel), torch.zeros(2).double())


def test_other_arguments_are_refused_in_one_line():
    for call, said in (
        (lambda: free_flow(start(5), X, pull, TANH, torch.tensor([1.0, 0.0]), 3), "ascend"),
        (lambda: free_flow(start(5), X, pull, TANH, torch.tensor([0.0, 1.0]), 0), "steps ≥ 1"),
        (lambda: kernel_change(draw(1, 2, 2, 2, 2), draw(2, 2, 2, 2)), "both kernels"),
    ):
        with one_line_error(ValueError, said):
            call()


def test_it_runs_on_another_device():
    with elsewhere():
        w, x = Weights(*(part.to(ELSEWHERE) for part in start(5))), X.to(ELSEWHERE)
        *_, end = free_flow(w, x, pull, TANH, torch.tensor([0, 0.1]).to(ELSEWHERE), 2)
        assert {part.device for part in end} == {ELSEWHERE}
