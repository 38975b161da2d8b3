"""A step of the decoupled learner in closed form beside autograd, and a stream beside a data set in memory.

    python benchmarks/sparse_codes.py --out records/benchmarks/sparse-codes.json

A gradient over given views, in closed form and by autograd of the loss with the second argument held fixed, beside the
flops by count and the rate of a large product. A step of the population, with its draws of data and masks and the
gradient, for growing d1, m and batch. R runs in one batch beside the same runs one after the other. Single precision,
one thread; times are the least of interleaved repeats. Takes ten seconds on an idle core.
"""

import torch
from measuring import Calls, least_seconds, machine, product_rate, run, tables
from torch import Tensor

from contrastive_dynamics.feature_decoupling.decoupled_training import stream_gradient
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding, paper_scales
from contrastive_dynamics.feature_decoupling.symmetrised_relu import (
    contrastive_gradient,
    contrastive_loss_value,
    features,
)
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, Learner, initial_weights
from contrastive_dynamics.numerics.random_streams import streams

ATOMS, NEGATIVES, TAU = 16, 256, 20.0
BASE = {"d1": 256, "m": 64, "batch": 1024}
GROWTH = {"d1": [128, 256, 512, 1024], "m": [16, 64, 256], "batch": [256, 1024, 4096, 32768]}
RUNS = [1, 6]


def started(runs: int, dim: int, neurons: int) -> tuple[SparseCoding, Learner]:
    dictionary = random_dictionary(dim, ATOMS, streams([0], runs, "dictionary"), dtype=torch.float32)
    model = SparseCoding(dictionary, *paper_scales(ATOMS, 0.5, 1.0))
    weights = initial_weights(model, neurons, 1.0, streams([0], runs, "start"))
    return model, Learner(weights, 0.5 * weights.norm(dim=-1), None)


def flops(d1: int, m: int, batch: int) -> float:
    """Flops of one gradient of one run, products alone."""
    return 2.0 * m * d1 * (3 * batch + NEGATIVES) + 4.0 * batch * NEGATIVES * m


def gradients(d1: int, m: int, batch: int) -> Calls:
    """Two ways to compute one gradient over the same views."""
    model, learner = started(1, d1, m)
    pair = model.views(model.sample(batch, streams([0], 1, "x"))[1], streams([0], 1, "masks"))
    others = model.sample(NEGATIVES, streams([0], 1, "negatives"))[1]

    def by_autograd() -> Tensor:
        leaf = learner.weights.clone().requires_grad_()
        outputs = [features(x, leaf, learner.bias) for x in (*pair, others)]
        loss = contrastive_loss_value(outputs[0], *(f.detach() for f in outputs[1:]), TAU)
        return torch.autograd.grad(loss.sum(), leaf)[0]

    def closed() -> Tensor:
        return contrastive_gradient(learner.weights, learner.bias, *pair, others, TAU).weights

    assert torch.allclose(closed(), by_autograd(), rtol=1e-3, atol=1e-5)
    return {"closed form": closed, "autograd": by_autograd}


def steps(d1: int, m: int, batch: int) -> Calls:
    """A step of the stream with its draws, and the draws alone."""
    model, learner = started(1, d1, m)
    training, g = DecoupledTraining(batch=batch, negatives=NEGATIVES, temperature=TAU), streams([0], 1, "step")

    def draws() -> None:
        for _ in range(max(1, batch // 512)):
            model.views(model.sample(min(batch, 512), g)[1], g)

    return {"step": lambda: stream_gradient(model, learner, training, g), "its draws": draws}


def batches(runs: int) -> Calls:
    """A step of R runs, in one batch and one after the other."""
    training = DecoupledTraining(batch=BASE["batch"], negatives=NEGATIVES, temperature=TAU)
    model, learner = started(runs, BASE["d1"], BASE["m"])
    g = streams([0], runs, "step")
    alone = [(model.part(slice(k, k + 1)), Learner(*(x[k : k + 1] for x in learner[:2]), None)) for k in range(runs)]
    return {
        "one batch": lambda: stream_gradient(model, learner, training, g),
        "a loop": lambda: [stream_gradient(*one, training, g[k : k + 1]) for k, one in enumerate(alone)],
    }


def measure(device: str) -> dict:
    torch.set_default_device(device)
    torch.set_num_threads(1)
    limit, rows = product_rate(device, torch.float32), {"gradient": [], "step": [], "runs": []}
    for what, sizes in GROWTH.items():
        for size in sizes:
            at = BASE | {what: size}
            if at["batch"] <= 4096:  # autograd holds the whole batch
                seconds = least_seconds(gradients(**at), device)
                share = flops(**at) / seconds["closed form"] / 1e9 / limit
                rows["gradient"].append({**at, **seconds, "share of product rate": share})
            rows["step"].append({**at, **least_seconds(steps(**at), device)})
    rows["runs"] = [{"runs": runs, **least_seconds(batches(runs), device)} for runs in RUNS]
    return {"product_rate": limit, **rows, **machine(device)}


def table(result: dict) -> str:
    return f"product rate {result['product_rate']:.0f} GFLOP/s\n{tables(result, ('gradient', 'step', 'runs'), 's')}"


if __name__ == "__main__":
    run(__doc__, measure, table)
