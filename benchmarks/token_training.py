"""A training step of the author's configuration: the ensemble on its token table against one plain module a network.

    python benchmarks/token_training.py --out records/benchmarks/token-training.json

Plain is the nn.Module with autograd and torch.optim of the tests, one network after the other; both sides make their
own minibatches, which are left out of neither. Times are medians of interleaved repeats in one process, one thread; the
last column adds the threads of `matching_curves`. About a minute on 2 cores.
"""

import os
import statistics
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import torch
from measuring import arguments, command_line, machine, product_rate, report, timed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from plain_network import PlainNetwork, plain_loss

from contrastive_dynamics.random_streams import stream
from contrastive_dynamics.token_generators import CHUNK
from contrastive_dynamics.token_network import initial_weights
from contrastive_dynamics.token_training import TokenTraining

RUNS = [1, 2, 4, 8, 16, 32, 64]
STEPS, REPEATS = 2 * CHUNK, 5
AUTHOR = TokenTraining()


def ensemble(runs: int, device: str) -> Callable[[], None]:
    steps = AUTHOR.train(range(runs), 10**9, device)

    def call() -> None:
        for _ in islice(steps, STEPS):
            pass

    return call


def plain(device: str) -> Callable[[], None]:
    t, draw = AUTHOR, [stream(0, 0, "minibatches", device)]
    start = initial_weights([stream(0, 0, "weights", device)], t.places, t.filters, t.tokens, t.outputs)
    net = PlainNetwork(start.w[0], start.v[0], t.activation, t.batch_norm, t.views_apart, True).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=t.rate, momentum=t.momentum, weight_decay=t.weight_decay)
    embedding, pool = torch.eye(t.tokens, device=device), t.pool([0], device)

    def call() -> None:
        for tokens in pool.views(draw, t.batch, STEPS)[:, 0]:
            optimizer.zero_grad()
            plain_loss(t.loss, *net(*embedding[tokens.long()].chunk(2))).backward()
            optimizer.step()

    return call


def side_by_side(runs: int, workers: int) -> Callable[[], None]:
    calls = [ensemble(runs, "cpu") for _ in range(workers)]
    pool = ThreadPoolExecutor(workers)
    return lambda: list(pool.map(lambda call: call(), calls))


def flops() -> dict[str, float]:
    """Of one step and network, by count: products on the table, with its gradients, and on the N × N similarities."""
    t = AUTHOR
    table = 6 * t.places * 2 * t.tokens * t.filters * t.outputs  # forward and two gradients, two groups of views
    sums = 2 * 2 * t.batch * t.places * t.outputs  # over places and over views, additions
    pairs = 4 * t.batch**2 * t.outputs
    dense = 6 * 2 * t.batch * t.places * t.filters * (t.outputs + t.tokens)  # what the views one by one would cost
    return {"table": table, "sums": sums, "pairs": pairs, "plain": dense + pairs}


def measure(device: str) -> dict:
    torch.set_num_threads(1)
    workers = min(4, os.cpu_count() or 1)
    calls = {"plain": (plain(device), 1)} | {f"ensemble of {r}": (ensemble(r, device), r) for r in RUNS}
    if device == "cpu":
        calls[f"{workers} threads of 8"] = side_by_side(8, workers), 8 * workers
    for call, _ in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, (call, runs) in calls.items():
            times[name].append(timed(call, device) / STEPS / runs)
    gflops, count = product_rate(device, torch.float32), flops()
    seconds = {name: statistics.median(t) for name, t in times.items()}
    limit = (count["table"] + count["sums"] + count["pairs"]) / gflops / 1e9
    return {
        "what": __doc__.splitlines()[0], "cores": os.cpu_count(), "threads": 1, "dtype": "float32", **machine(device),
        "flops_a_step_and_network": count, "gflops_of_a_product": gflops, "limit_seconds": limit,
        "seconds_a_step_and_network": {n: {"median": s, "least": min(times[n]), "most": max(times[n])}
                                       for n, s in seconds.items()},
        "plain_over_ensemble": {n: seconds["plain"] / s for n, s in seconds.items()},
        "share_of_limit": {n: limit / s for n, s in seconds.items() if n != "plain"},
    }  # fmt: skip


def table(result: dict) -> str:
    lines = ["| | µs a step and network | plain / this | share of the limit |", "|---|--:|--:|--:|"]
    for name, seconds in result["seconds_a_step_and_network"].items():
        share = result["share_of_limit"].get(name)
        cells = f"{1e6 * seconds['median']:.0f}", f"{result['plain_over_ensemble'][name]:.1f}", f"{share or 0:.0%}"
        lines.append(f"| {name} | {' | '.join(cells if share else (*cells[:2], '–'))} |")
    count = result["flops_a_step_and_network"]
    ours = count["table"] + count["sums"] + count["pairs"]
    return "\n".join(lines) + (
        f"\n\nA step takes {ours / 1e6:.1f} Mflop on the table and {count['plain'] / 1e6:.1f} on the views one by one; "
        f"a product runs at {result['gflops_of_a_product']:.0f} Gflop/s here, so at least "
        f"{1e6 * result['limit_seconds']:.0f} µs."
    )


def main() -> None:
    args = arguments(command_line(__doc__.splitlines()[0]))
    result = measure(args.device)
    report(table(result), result, args.out)


if __name__ == "__main__":
    main()
