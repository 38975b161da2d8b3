import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from contrastive_dynamics.collapse_and_constraints.constrained_flow import flow_map
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights, descent_step, draw_weights
from contrastive_dynamics.collapse_and_constraints.update_cost import descent_step_cost, flow_step_cost, polar_cost
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import polar

SIZES = [(1, 1, 1), (5, 4, 1), (10, 4, 3), (50, 8, 8), (200, 20, 2)]
PRODUCTS = {"mm", "bmm"}
SOLVERS = {"_linalg_eigh"}


class Meter(TorchDispatchMode):
    """Counts what really runs: words read and written by every operation that is no view, flops of those on entries."""

    def __init__(self):
        super().__init__()
        self.words, self.entries, self.solved, self.names = 0, 0, 0, set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.is_view:
            return result
        name = func._schema.name.removeprefix("aten::")
        operands = [x for x in tree_leaves(args) if isinstance(x, torch.Tensor)]
        results = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        self.names.add(name)
        self.words += sum(x.numel() for x in operands + results)
        if name in SOLVERS:
            self.solved += 9 * operands[0].shape[-1] ** 3
        elif name not in PRODUCTS:
            self.entries += results[0].numel() * (2 if "alpha" in (kwargs or {}) else 1)
        return result


def problem(h, d, z):
    """One run without its batch axis, so that no product is a batched one."""
    w = draw_weights([stream(0, 0, "w1")], [stream(0, 0, "w2")], h, d, z)
    c = torch.randn(d, d, generator=stream(0, 0, "c"), dtype=torch.float64)
    return Weights(w.w1[0], w.w2[0]), (c + c.mT) / 2


def updates(h, d, z):
    w, c = problem(h, d, z)
    lam, q = torch.linalg.eigvalsh(c), w.w1.mT @ w.w2
    return [
        (lambda: descent_step(w, c, 0.01), descent_step_cost(h, d, z)),
        (lambda: flow_map(q, lam, 0.01), flow_step_cost(d, z)),
    ]


@pytest.mark.parametrize(("h", "d", "z"), SIZES)
def test_costs_are_those_of_the_operations_that_run(h, d, z):
    for update, cost in updates(h, d, z):
        with FlopCounterMode(display=False) as products:
            update()
        with Meter() as meter:
            update()
        assert products.get_total_flops() == cost.product_flops
        assert products.get_total_flops() + meter.entries + meter.solved == cost.flops
        assert 8 * meter.words == cost.bytes
        assert meter.names <= PRODUCTS | SOLVERS | {"mul", "add", "sub", "rsqrt"}


def test_a_batch_costs_its_runs():
    w = draw_weights([stream(0, k, "w1") for k in range(3)], [stream(0, k, "w2") for k in range(3)], 10, 4, 2)
    c = torch.eye(4, dtype=torch.float64)
    with FlopCounterMode(display=False) as products:
        descent_step(w, c, 0.01)
    assert products.get_total_flops() == 3 * descent_step_cost(10, 4, 2).product_flops
    with FlopCounterMode(display=False) as products:
        flow_map(w.w2.new_zeros(3, 4, 2), c.diagonal(), 0.01)
    assert products.get_total_flops() == 3 * flow_step_cost(4, 2).product_flops


def test_the_cost_of_descent_is_affine_in_the_width_and_that_of_the_flow_is_less():
    for d, z in ((4, 1), (4, 4), (20, 2)):
        costs = torch.tensor([descent_step_cost(h, d, z) for h in range(d, d + 50)])
        assert (costs.diff(dim=0) == costs[1] - costs[0]).all() and (costs[1] > costs[0]).all()
        assert (torch.tensor(flow_step_cost(d, z)) < costs[0]).all()
        slope = costs[1, 2] - costs[0, 2]
        assert int(slope) == 6 * d * z + 4 * d**2 + 4 * z**2


def test_the_projection_is_a_part_of_the_cost():
    with FlopCounterMode(display=False) as products:
        polar(problem(30, 5, 2)[0].w1)
    assert products.get_total_flops() == polar_cost(30, 5).product_flops


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: flow_step_cost(3, 0), "flow_step_cost: sizes must be ≥ 1, got d = 3, z = 0"),
        (lambda: descent_step_cost(0, 3, 1), "descent_step_cost: sizes must be ≥ 1, got h = 0, d = 3, z = 1"),
    ],
)
def test_bad_sizes_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()
