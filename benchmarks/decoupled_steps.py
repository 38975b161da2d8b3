"""A training step of the decoupled learner: plain autograd, the closed form in torch, and compiled; and a whole record.

    python benchmarks/decoupled_steps.py --out records/benchmarks/decoupled-steps.json

A step draws its data and masks and computes the gradient. Plain: data by torch, the whole batch by autograd, as anyone
would write it. Torch: `stream_gradient`, in chunks. Compiled: `FusedStream`. Beside them the share of the rate of a
large product that the compiled step reaches, by its count of flops. Below, the processor seconds that the map of the
chapter's paper profile takes: all of its sizes, steps, seeds and arms. Single precision, one thread, one run of m = 64
neurons, d = 16, N = 256. It is processor time, the least of interleaved repeats, as other work delays a clock on the
wall. Takes 20 s of an idle core.
"""

import time
from itertools import product

import torch
from measuring import Calls, machine, run, table

from contrastive_dynamics.feature_decoupling.decoupled_training import gradients
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding, paper_scales
from contrastive_dynamics.feature_decoupling.symmetrised_relu import contrastive_loss_value, features
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, Learner, initial_weights
from contrastive_dynamics.numerics.memory import keep_freed_memory
from contrastive_dynamics.numerics.random_streams import streams

ATOMS, NEURONS, NEGATIVES, TAU = 16, 64, 256, 20.0
DIMS, BATCHES, VIEWS = (64, 128, 256, 512), (128, 512, 2048), ("masked", "plain")
MAP_RUNS = 3 * 300 * 12  # noises, steps and seeds of a ratio, a batch and an arm
REPEATS, SHORTEST = 5, 0.02
SIDE = 1536  # of a large product


def calls(dim: int, batch: int, views: str) -> Calls:
    """Three ways to take the gradient of a fresh batch."""
    dictionary = random_dictionary(dim, ATOMS, streams([0], 1, "dictionary"), dtype=torch.float32)
    model, g = SparseCoding(dictionary, *paper_scales(ATOMS, 0.5, 1.0)), streams([0], 1, "step")
    weights = initial_weights(model, NEURONS, 1.0, streams([0], 1, "start"))
    learner = Learner(weights, 0.3 * weights.norm(dim=-1), None)
    training = DecoupledTraining(views=views, batch=batch, negatives=NEGATIVES, temperature=TAU)

    def plain() -> None:
        leaf = weights.clone().requires_grad_()
        pair, others = model.views(model.sample(batch, g)[1], g, views), model.sample(NEGATIVES, g)[1]
        first, second, negatives = (features(x, leaf, learner.bias) for x in (*pair, others))
        loss = contrastive_loss_value(first, second.detach(), negatives.detach(), TAU)
        torch.autograd.grad(loss.sum(), leaf)

    by_torch, compiled = (gradients(model, NEURONS, training, fused) for fused in (False, True))
    return {"plain": plain, "torch": lambda: by_torch(learner, g), "compiled": lambda: compiled(learner, g)}


def least_processor_seconds(found: Calls) -> dict[str, float]:
    """Least processor seconds of one call each, the calls taking turns."""
    many, least = {}, dict.fromkeys(found, float("inf"))
    for name, call in found.items():
        call()
        begun = time.process_time()
        call()
        many[name] = 1 + int(SHORTEST / (time.process_time() - begun))
    for _ in range(REPEATS):
        for name, call in found.items():
            begun = time.process_time()
            for _ in range(many[name]):
                call()
            least[name] = min(least[name], (time.process_time() - begun) / many[name])
    return least


def flops(dim: int, batch: int, views: str) -> float:
    """Flops of the products of one gradient."""
    passes = (3 if views == "masked" else 2) * batch + NEGATIVES
    return 2.0 * NEURONS * dim * passes + 4.0 * batch * NEGATIVES * NEURONS


def measure(device: str) -> dict:
    if device != "cpu":
        raise ValueError(f"device must be cpu, where the compiled step runs, got {device}")
    torch.set_num_threads(1)
    keep_freed_memory()
    square, rows = torch.randn(SIDE, SIDE), []
    limit = 2e-9 * SIDE**3 / least_processor_seconds({"product": lambda: square @ square})["product"]
    for dim, batch, views in product(DIMS, BATCHES, VIEWS):
        seconds = least_processor_seconds(calls(dim, batch, views))
        share = flops(dim, batch, views) / seconds["compiled"] / 1e9 / limit
        rows.append({"d1": dim, "batch": batch, "views": views, **seconds, "share of product rate": share})
    whole = {name: MAP_RUNS * sum(row[name] for row in rows) for name in ("plain", "torch", "compiled")}
    return {"product_rate": limit, "steps": rows, "map": [whole], **machine(device)}


def shown(result: dict) -> str:
    steps, whole = table("a step, s", result["steps"]), table("the paper record's map, s", result["map"])
    return f"product rate {result['product_rate']:.0f} GFLOP/s\n{steps}\n{whole}"


if __name__ == "__main__":
    run(__doc__, measure, shown)
