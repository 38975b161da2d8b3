"""The force of two modalities beside autograd of the enumerated loss, their flow, and heads in one batch or one by one.

    python benchmarks/two_modalities.py --out records/benchmarks/two-modalities.json

The force in closed form, by autograd of the loss whose negatives are summed in closed form, and by autograd of the loss
with every negative enumerated, as in (3). A velocity in 2d rows by that force, and in the weights of m neurons by
autograd, as in a plain program. Heads: R runs in one batch beside R single runs. One thread; times are the least of
interleaved repeats. Takes two minutes on an idle core.
"""

import math

import torch
from measuring import Calls, least_seconds, machine, product_rate, run, tables
from torch import Tensor

from contrastive_dynamics.alignment_and_balance.contrastive_force import force, population_loss
from contrastive_dynamics.alignment_and_balance.head_training import Recipe, train_heads
from contrastive_dynamics.alignment_and_balance.model import (
    Signs,
    all_signs,
    correlation,
    initial_maps,
    model_scales,
    sign_vectors,
)
from contrastive_dynamics.alignment_and_balance.projection_heads import init_heads
from contrastive_dynamics.alignment_and_balance.two_modality_flow import velocity
from contrastive_dynamics.numerics.random_streams import stream

TAU, K, RANK = 2.0, 8.0, 4
DIMS, RUNS = [5, 6, 8], [1, 10, 30]  # d of the force at ten runs; runs at d = 8
WIDTHS = [16, 100, 1000, 10000]  # m of the velocity in weights
HEADS, STEPS, PAIRS, FEATURES, WIDTH = [1, 4, 16], 20, 512, 192, 64


def start(runs: int, dim: int, width: int = 100) -> tuple[Tensor, Tensor, Tensor]:
    scales = model_scales(torch.linspace(2, 1, RANK, dtype=torch.float64), 0.8, dim).expand(runs, -1)
    return *initial_maps(scales, width, [stream(0, k, "benchmark") for k in range(runs)], RANK), scales


def enumerated_loss(g: Tensor, signs: Signs) -> Tensor:
    """The loss of every run with a sum over all negatives."""
    every = sign_vectors(g.shape[-1], g.device, g.dtype) / math.sqrt(g.shape[-1])
    total = 0
    for u, v, gram in ((signs.u_a, signs.u_b, g), (signs.u_b, signs.u_a, g.mT)):
        h = TAU * (u @ gram)
        negatives = (h @ every.mT).logsumexp(-1) - math.log(len(every))
        total = total + torch.nn.functional.softplus(math.log(K) + negatives - (h * v).sum(-1)).mean(-1)
    return total


def by_autograd(loss, g: Tensor) -> Tensor:
    leaf = g.clone().requires_grad_()
    return -torch.autograd.grad(loss(leaf).sum(), leaf)[0] / TAU


def forces(runs: int, dim: int) -> tuple[Calls, float]:
    """Three ways to compute one force, and the flops of the first."""
    a, b, _ = start(runs, dim)
    g, signs = correlation(a, b), all_signs(RANK, dim)
    calls = {
        "closed form": lambda: force(g, signs, TAU, K),
        "autograd, negatives summed": lambda: by_autograd(lambda x: population_loss(x, signs, TAU, K), g),
        "autograd, negatives enumerated": lambda: by_autograd(lambda x: enumerated_loss(x, signs), g),
    }
    found = [call() for call in calls.values()]
    assert all(torch.allclose(found[0], other, rtol=1e-9, atol=1e-12) for other in found[1:])
    return calls, 8.0 * runs * len(signs.u_a) * dim**2


def velocities(width: int, dim: int = 8) -> Calls:
    """One run, in maps of 2d rows, whatever the width, and in the weights of `width` neurons."""
    a, b, scales = start(1, dim, width)
    signs, generator = all_signs(RANK, dim), stream(0, width, "weights")
    weights = torch.randn(2, dim, width, generator=generator, dtype=torch.float64) / math.sqrt(width)

    def in_maps() -> tuple[Tensor, Tensor]:
        return velocity(a, b, scales, force(correlation(a, b), signs, TAU, K))

    def in_weights() -> tuple[Tensor, ...]:
        leaves = [w.clone().requires_grad_() for w in weights]
        g = correlation(*((leaf * scales.mT).mT[None] for leaf in leaves))
        return torch.autograd.grad(population_loss(g, signs, TAU, K).sum(), leaves)

    return {"maps of 2d rows": in_maps, "weights, by autograd": in_weights}


def trainings(runs: int) -> Calls:
    """Heads of `runs` starts, in one batch and one after the other."""
    images, captions = torch.randn(2, PAIRS, FEATURES, generator=stream(0, 0, "features"))

    def train(members: range) -> None:
        g = [[stream(0, k, what) for k in members] for what in ("image", "text", "order")]
        heads = [init_heads(x, FEATURES, WIDTH, WIDTH, torch.float32) for x in g[:2]]
        ones = torch.ones(len(members))
        recipe = Recipe(ones.bool(), 10 * ones, 127 * ones)
        for _ in train_heads(*heads, images, captions[:, None], g[2], recipe, [STEPS]):
            pass

    return {
        "one batch": lambda: train(range(runs)),
        "a loop": lambda: [train(range(k, k + 1)) for k in range(runs)],
    }


def measure(device: str) -> dict:
    torch.set_default_device(device)
    torch.set_num_threads(1)
    limit, rows = product_rate(device, torch.float64), {"force": [], "velocity": [], "heads": []}
    for runs, dim in [(10, d) for d in DIMS] + [(n, 8) for n in RUNS if n != 10]:
        calls, flops = forces(runs, dim)
        seconds = least_seconds(calls, device)
        share = flops / seconds["closed form"] / 1e9 / limit
        rows["force"].append({"runs": runs, "d": dim, **seconds, "share of product rate": share})
    for width in WIDTHS:
        rows["velocity"].append({"m": width, **least_seconds(velocities(width), device)})
    for runs in HEADS:
        rows["heads"].append({"runs": runs, **least_seconds(trainings(runs), device)})
    return machine(device) | {"product_gflops": limit} | rows


def table(result: dict) -> str:
    return tables(result, ("force", "velocity", "heads"), "seconds")


if __name__ == "__main__":
    run(__doc__, measure, table)
