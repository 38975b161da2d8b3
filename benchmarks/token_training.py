"""A training step of the author's configuration, and the InfoNCE grid: the ensemble against plain modules, one by one.

    python benchmarks/token_training.py --out records/benchmarks/token-training.json

"Plain" is the nn.Module of the tests, with autograd and torch.optim, one network after the other. Both sides make their
own minibatches, and the times include this. Times are medians of interleaved repeats with one torch thread. Workers are
processes; at each call they train new blocks, and the time includes their start. The grid is trained for 250 of its
5,000 minibatches, since its cost is linear in them. Takes about a minute and a half on 2 cores.
"""

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import torch
from measuring import machine, product_rate, rate, run, timed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "tools"))
from plain_network import PlainNetwork, plain_loss

from clbook.common.environment import peak_megabytes
from contrastive_dynamics.losses.activations import TRAINED
from contrastive_dynamics.nonlinearity.networks.ensemble_training import train
from contrastive_dynamics.nonlinearity.networks.field_network import initial_weights
from contrastive_dynamics.nonlinearity.networks.matching_curves import (
    Block,
    default_workers,
    matching_curves,
    train_blocks,
)
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.token_generators import CHUNK
from contrastive_dynamics.numerics.random_streams import stream

STEPS, LONG, REPEATS, GRID_STEPS, FULL = 2 * CHUNK, 10, 5, 250, 5000
AUTHOR = TokenTraining()
CELLS = list(product((1, 3, 5, 10), (1, 2, 5, 10)))


def seeds(count: int, first: int = 0) -> list:
    return [(AUTHOR, first + s) for s in range(count)]


def mixed(first: int = 0) -> list:
    """Ten networks that see the same minibatches: five activations, two losses."""
    losses = ("infonce", "quadratic_over_tau")
    return [(replace(AUTHOR, activation=act, loss=loss), first) for loss in losses for act in TRAINED]


def ensemble(runs: list, device: str, **options) -> Callable[[], None]:
    steps = train(runs, 10**9, device, **options)

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


def in_threads(make: Callable[[int], list], workers: int) -> Callable[[], None]:
    calls, pool = [ensemble(make(100 * k), "cpu") for k in range(workers)], ThreadPoolExecutor(workers)
    return lambda: list(pool.map(lambda call: call(), calls))


def in_processes(make: Callable[[int], list], workers: int) -> Callable[[], None]:
    """Blocks of `LONG` times the minibatches, so that the start of training hardly matters."""
    blocks = [Block(runs, [("", i) for i in range(len(runs))]) for runs in (make(100 * k) for k in range(workers))]
    return lambda: list(train_blocks(blocks, LONG * STEPS, 2, "cpu", workers))


def _peak_mb(count: int) -> int:
    """Peak memory in MB of a process that trains that many networks."""
    ensemble(seeds(count), "cpu")()
    return peak_megabytes("cpu")


def peak_mb_a_network(few: int = 10, many: int = 110) -> float:
    """How much each further network adds to the peak memory of a process."""
    spawn = multiprocessing.get_context("spawn")
    peaks = []
    for count in (few, many):
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            peaks.append(pool.submit(_peak_mb, count).result())
    return (peaks[1] - peaks[0]) / (many - few)


def flops() -> dict[str, float]:
    """Flops per step and network, by count: products on the table, its gradients, and the N × N similarities."""
    t = AUTHOR
    table = 6 * t.places * 2 * t.tokens * t.filters * t.outputs  # forward and two gradients, two groups of views
    sums = 2 * 2 * t.batch * t.places * t.outputs  # over places and over views, additions
    pairs = 4 * t.batch**2 * t.outputs
    dense = 6 * 2 * t.batch * t.places * t.filters * (t.outputs + t.tokens)  # what the views one by one would cost
    return {"table": table, "sums": sums, "pairs": pairs, "plain": dense + pairs}


def calls_to_time(device: str) -> dict[str, tuple[Callable[[], None], int, int]]:
    """Name → what to time, how many networks times STEPS minibatches it trains, how many cores it keeps busy."""
    sizes = [1, 5, 10, 20, 40] + ([160, 640, 2560] if device == "cuda" else [])
    calls = {"plain": (plain(device), 1, 1)} | {f"ensemble of {r}": (ensemble(seeds(r), device), r, 1) for r in sizes}
    calls["10 with the same minibatches"] = ensemble(mixed(), device), 10, 1
    if device == "cpu":
        workers = default_workers()
        calls["ensemble of 10, compiled"] = ensemble(seeds(10), device, compiled=True), 10, 1
        calls[f"{workers} threads of 10"] = in_threads(lambda k: seeds(10, k), workers), 10 * workers, workers
        for name, make in (("", lambda k: seeds(10, k)), (" with the same minibatches", mixed)):
            calls[f"{workers} workers of 10{name}"] = in_processes(make, workers), LONG * 10 * workers, workers
    return calls


def grid_seconds(device: str) -> dict[str, float]:
    """The InfoNCE grid of Figures 4 and 9 with three networks per case: seconds of 250 minibatches and of all."""
    begun, networks = time.perf_counter(), 0
    for p, beta in CELLS:
        cell = replace(AUTHOR, candidates=p, beta=beta)
        arms = {act: (replace(cell, activation=act), range(3)) for act in TRAINED}
        matching_curves(arms, GRID_STEPS, 2, (), device=device)
        networks += 3 * len(arms)
    seconds = time.perf_counter() - begun
    whole = seconds * FULL / GRID_STEPS
    return {"networks": networks, "seconds": seconds, "seconds_of_all": whole, "per_step": whole / networks / FULL}


def measure(device: str) -> dict:
    torch.set_num_threads(1)
    memory = peak_mb_a_network() if device == "cpu" else None  # first: a process starts with its parent's peak
    calls = calls_to_time(device)
    for call, *_ in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, (call, runs, _) in calls.items():
            times[name].append(timed(call, device) / STEPS / runs)
    gflops, count = product_rate(device, torch.float32), flops()
    pairs = torch.randn(10, 128, 128, device=device), torch.randn(10, 128, 50, device=device)
    small = rate(2 * 100 * 10 * 128 * 128 * 50, lambda: [pairs[0] @ pairs[1] for _ in range(100)], device)
    seconds = {name: statistics.median(t) for name, t in times.items()}
    limit = (count["table"] + count["sums"] + count["pairs"]) / gflops / 1e9
    return {
        "what": __doc__.splitlines()[0], "workers": default_workers(), "threads": 1, "dtype": "float32",
        **machine(device), "flops_a_step_and_network": count, "gflops_of_a_product": gflops,
        "gflops_of_its_own_products": small, "limit_seconds": limit,
        "bytes_a_network": AUTHOR.bytes_needed(1), "peak_mb_a_network": memory,
        "seconds_a_step_and_network": {n: {"median": s, "least": min(times[n]), "most": max(times[n])}
                                       for n, s in seconds.items()},
        "plain_over_ensemble": {n: seconds["plain"] / s for n, s in seconds.items()},
        "share_of_limit": {n: limit / s / calls[n][2] for n, s in seconds.items() if n != "plain"},
        "grid": grid_seconds(device), "peak_mb": peak_megabytes(device),
    }  # fmt: skip


def table(result: dict) -> str:
    lines = ["| | µs a step and network | plain / this | share of the limit |", "|---|--:|--:|--:|"]
    for name, seconds in result["seconds_a_step_and_network"].items():
        share = result["share_of_limit"].get(name)
        cells = f"{1e6 * seconds['median']:.0f}", f"{result['plain_over_ensemble'][name]:.1f}", f"{share or 0:.0%}"
        lines.append(f"| {name} | {' | '.join(cells if share else (*cells[:2], '–'))} |")
    count, grid = result["flops_a_step_and_network"], result["grid"]
    ours = count["table"] + count["sums"] + count["pairs"]
    return "\n".join(lines) + (
        f"\n\nA step takes {ours / 1e6:.1f} Mflop on the table and {count['plain'] / 1e6:.1f} on the views one by one; "
        f"a large product runs at {result['gflops_of_a_product']:.0f} Gflop/s here, one of its own size at "
        f"{result['gflops_of_its_own_products']:.0f}, so at least {1e6 * result['limit_seconds']:.0f} µs on one core.\n"
        f"InfoNCE grid, {grid['networks']} networks: {grid['seconds']:.0f} s for {GRID_STEPS} minibatches, "
        f"{grid['seconds_of_all'] / 60:.1f} min for all {FULL}, {1e6 * grid['per_step']:.0f} µs a step and network. "
        f"A network takes {result['bytes_a_network'] / 1e6:.1f} MB by count, {result['peak_mb_a_network'] or '–'} MB "
        f"measured; the process {result['peak_mb']} MB at most."
    )


if __name__ == "__main__":
    run(__doc__.splitlines()[0], measure, table)
