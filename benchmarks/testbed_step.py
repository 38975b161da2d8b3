"""A step of the testbed's training loop beside its matrix products alone, and its gradient beside plain autograd.

    python benchmarks/testbed_step.py --out records/benchmarks/testbed-step.json

A step of `train`: InfoNCE at one temperature per arm, a linear network of 32 outputs, 128 pairs of D inputs, with the
draws and the optimiser. Products: views to outputs, similarities, and both again for the gradient, as torch computes
them for all runs at once; by count 8nDz + 6n²z flops per run. Arms of a seed share its pairs. Plain: logarithms of sums
and normalisation by torch's own functions, differentiated by autograd. Single precision, one thread; times are the
least of interleaved repeats. Takes a minute on an idle core.
"""

import torch
from measuring import Calls, cache_bytes, least_seconds, machine, product_rate, run, tables
from torch import Tensor

from contrastive_dynamics.numerics.memory import keep_freed_memory
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.losses import InfoNCE
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations

PAIRS, OUTPUTS, STEPS = 128, 32, 20
SIZES = [(8, 1), (32, 1), (8, 4)]  # seeds and arms
INPUTS = [16, 32, 128]  # D


def world_of(inputs: int) -> GivenCorrelations:
    rho = torch.linspace(0.9, 0.1, inputs // 4, dtype=torch.float64)
    return GivenCorrelations(rho, inputs, dtype=torch.float32)


def plain_loss(f: Tensor, g: Tensor, tau: float) -> Tensor:
    """InfoNCE of mean norm, as anyone would write it."""
    f, g = (y / y.square().sum(-1, keepdim=True).mean(-2, keepdim=True).sqrt() for y in (f, g))
    logits = tau * f @ g.mT
    own = logits.diagonal(dim1=-2, dim2=-1)
    return (logits.logsumexp(-1) + logits.logsumexp(-2) - 2 * own).mean(-1)


def calls(seeds: int, arms: int, inputs: int) -> Calls:
    """Trainings of few and of more steps, the draws of a step, two ways to its gradient, and its products."""
    world, network, views = world_of(inputs), Linear(OUTPUTS), Apart()
    taus = [0.5 + k for k in range(arms)]
    losses, block = [InfoNCE(tau) for tau in taus], list(range(seeds))
    generators = streams(block, 1, "data")
    first, second = views(world, PAIRS, generators)[:2]
    start = network.start(inputs, streams(block, 1, "start"))["w"].float().requires_grad_()
    whole = [x.repeat(arms, 1, 1) for x in (first, second, start.detach())]
    outputs = torch.randn(2, seeds * arms, PAIRS, OUTPUTS, dtype=torch.float32, device=first.device)

    def training(steps: int) -> None:
        train(world, views, network, losses, seeds=block, steps=steps, batch=PAIRS, dtype=torch.float32)

    def gradient(of: list) -> Tensor:
        values = [loss(first @ start.mT, second @ start.mT).sum() for loss in of]
        return torch.autograd.grad(sum(values), start)[0]

    def products() -> None:
        x, y, w = whole
        f, g = x @ w.mT, y @ w.mT
        similarities = f @ g.mT
        slopes = similarities @ outputs[1], similarities.mT @ outputs[0]
        for slope, view in zip(slopes, (x, y), strict=True):
            slope.mT @ view

    plain = [lambda f, g, tau=tau: plain_loss(f, g, tau) for tau in taus]
    assert torch.allclose(gradient(losses), gradient(plain), rtol=1e-3, atol=1e-5)
    return {
        "one step": lambda: training(1),
        "steps": lambda: training(1 + STEPS),
        "draws": lambda: views(world, PAIRS, generators),
        "gradient": lambda: gradient(losses),
        "plain gradient": lambda: gradient(plain),
        "products": products,
    }


def row(seeds: int, arms: int, inputs: int, limit: float, device: str) -> dict:
    """Milliseconds of a step and its parts; the share of products in it, measured and at the rate of a large one."""
    found = {name: 1000 * s for name, s in least_seconds(calls(seeds, arms, inputs), device).items()}
    step = (found.pop("steps") - found.pop("one step")) / STEPS
    runs, words = seeds * arms, PAIRS * (2 * inputs + 2 * OUTPUTS + PAIRS)
    flops = runs * PAIRS * OUTPUTS * (8.0 * inputs + 6.0 * PAIRS)
    size = {"seeds": seeds, "arms": arms, "D": inputs, "Mflop": flops / 1e6, "MB": 4e-6 * runs * words}
    shares = {"products over step": found["products"] / step, "count over step": flops / 1e6 / limit / step}
    return size | {"step": step} | found | shares


def measure(device: str) -> dict:
    torch.set_default_device(device)
    torch.set_num_threads(1)
    keep_freed_memory()
    limit = product_rate(device, torch.float32)
    rows = [row(*size, inputs, limit, device) for inputs in INPUTS for size in SIZES]
    return machine(device) | {"product_gflops": limit, "cache_bytes": cache_bytes(), "steps": rows}


def table(result: dict) -> str:
    return tables(result, ("steps",), "ms; MB: views, outputs and similarities")


if __name__ == "__main__":
    run(__doc__, measure, table)
