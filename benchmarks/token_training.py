"""A training step of the author's configuration in torch, compiled by numba and in JAX, and the InfoNCE grid.

    python benchmarks/token_training.py --out records/benchmarks/token-training.json

"Plain modules" are those of the tests, with autograd and torch.optim, one network after the other; "torch" is the
ensemble of `ensemble_training` on one thread, and "fused" the compiled step of `fused_step`. Rows of "threads" and
"processes" train an ensemble in each. JAX is no dependency of the project; its row is measured where it is installed.

Every row draws its own minibatches, and the times include this. They are medians of interleaved repeats. Processes
train new networks at each call, and the time includes their start. The grid is trained for 250 of its 5,000
minibatches, since its cost is linear in them: by `matching_curves` as it is, and by torch in as many processes.

Takes about three minutes on 2 cores, a third of them to compile; a minute more when numba has compiled nothing yet.
"""

import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from itertools import product

import torch
from measuring import cache_bytes, machine, product_rate, rate, run, timed
from token_calls import AUTHOR, by_torch, calls_to_time, in_torch, missing, seeds

from clbook.common.environment import peak_megabytes
from contrastive_dynamics.losses.activations import TRAINED
from contrastive_dynamics.nonlinearity.networks.fused_training import compiled
from contrastive_dynamics.numerics.side_by_side import default_workers
from experiments.nonlinearity.matching_curves import matching_curves, training_blocks

REPEATS, GRID_STEPS, FULL = 7, 250, 5000
CELLS = list(product((1, 3, 5, 10), (1, 2, 5, 10)))


def _peak_mb(count: int) -> int:
    """Peak memory in MB of a process that trains that many networks by torch."""
    in_torch(seeds(count)).call()
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


def fused_bytes() -> dict[str, int]:
    """Bytes that a compiled step touches per network in float32, with the padding of its arrays."""
    t, lanes = AUTHOR, compiled().lanes
    m, j, n = (-(-size // lanes) * lanes for size in (t.filters, t.outputs, t.batch))
    weights, rows = 4 * t.places * m * (t.tokens + j), t.groups * t.tokens
    return {
        "weights": weights, "momenta": weights, "gradients": weights,
        "tables": 4 * t.places * (rows * (m + j + 1) + (t.tokens + t.groups) * m)  # c, table, shares, slope, 1/σ
        + 4 * m * (rows + t.tokens + j),  # of one place: pull, h, Vᵀ
        "outputs": 4 * (4 * t.batch + n) * j,  # of both views with their gradients, and those of the first transposed
        "importances": 4 * t.batch * n,
        "minibatch": (4 + 8) * 2 * t.batch * t.places,  # tokens and their rows of the table
    }  # fmt: skip


def cell_seconds(cell, device: str) -> dict[str, float]:
    """Seconds to train the networks of one cell, three per activation, for GRID_STEPS minibatches."""
    arms = {act: (replace(cell, activation=act), range(3)) for act in TRAINED}
    seconds = {"now": timed(lambda: matching_curves(arms, GRID_STEPS, 2, (), device=device), device)}
    if "fused" not in missing(device):
        workers = default_workers()
        programs = [block.runs for block in training_blocks(arms, device, workers)]
        seconds["by torch"] = timed(lambda: by_torch(programs, GRID_STEPS, workers), device)
    return seconds


def grid_seconds(device: str) -> dict[str, dict[str, float]]:
    """The InfoNCE grid of Figures 4 and 9 with three networks per case: seconds of 250 minibatches and of all.

    "now" is `matching_curves` as it is, "by torch" the same blocks trained by torch and not measured along the way.
    """
    cells = [cell_seconds(replace(AUTHOR, candidates=p, beta=beta), device) for p, beta in CELLS]
    networks, result = len(CELLS) * 3 * len(TRAINED), {}
    for name in cells[0]:
        seconds = sum(cell[name] for cell in cells)
        whole = seconds * FULL / GRID_STEPS
        result[name] = {
            "networks": networks, "seconds": seconds, "seconds_of_all": whole, "per_step": whole / networks / FULL
        }  # fmt: skip
    return result


def rates(device: str) -> dict[str, float]:
    """Gflop/s of a large product and of one of the step's own size."""
    large = product_rate(device, torch.float32)
    a, b = torch.randn(10, 128, 128, device=device), torch.randn(10, 128, 50, device=device)
    own = rate(2 * 100 * 10 * 128 * 128 * 50, lambda: [a @ b for _ in range(100)], device)
    return {"gflops_of_a_product": large, "gflops_of_its_own_products": own}


def measure(device: str) -> dict:
    torch.set_num_threads(1)
    if device == "cuda":  # plain modules make tensors without saying where
        torch.set_default_device(device)
    memory = peak_mb_a_network() if device == "cpu" else None  # first: a process starts with its parent's peak
    calls = calls_to_time(device)
    for timing in calls.values():
        timing.call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, timing in calls.items():
            times[name].append(timed(timing.call, device) / timing.steps)
    speed, count, absent = rates(device), flops(), missing(device)
    gflops, without_pairs = speed["gflops_of_a_product"] * 1e9, count["table"] + count["sums"]
    limits = {name: (without_pairs + timing.pairs * count["pairs"]) / gflops for name, timing in calls.items()}
    seconds = {name: statistics.median(t) for name, t in times.items()}
    about = machine(device)
    about["versions"] |= {name: metadata.version(name) for name in ("numba", "jax") if find_spec(name)}
    return {
        "what": __doc__.splitlines()[0], "workers": default_workers(), "threads": 1, "dtype": "float32",
        **about, "flops_a_step_and_network": count, **speed, "limit_seconds": limits["plain modules"],
        "fused_bytes_a_step": {} if "fused" in absent else fused_bytes(), "cache_bytes_of_a_core": cache_bytes(),
        "bytes_a_network": AUTHOR.bytes_needed(1), "peak_mb_a_network": memory,
        "seconds_a_step_and_network": {n: {"median": s, "least": min(times[n]), "most": max(times[n])}
                                       for n, s in seconds.items()},
        "not_measured": absent,
        "plain_over_this": {n: seconds["plain modules"] / s for n, s in seconds.items()},
        "cores": {n: timing.cores for n, timing in calls.items()},
        "share_of_limit": {n: limits[n] / s / calls[n].cores for n, s in seconds.items() if n != "plain modules"},
        "grid": grid_seconds(device), "peak_mb": peak_megabytes(device),
    }  # fmt: skip


def table(result: dict) -> str:
    lines = ["| | cores | µs a step and network | plain / this | share of the limit |", "|---|--:|--:|--:|--:|"]
    for name, seconds in result["seconds_a_step_and_network"].items():
        share, gain = result["share_of_limit"].get(name), result["plain_over_this"][name]
        share = f"{share:.0%}" if share else "–"
        lines.append(f"| {name} | {result['cores'][name]} | {1e6 * seconds['median']:.0f} | {gain:.1f} | {share} |")
    lines += [f"{name}: not measured: {why}" for name, why in result["not_measured"].items()]
    return "\n".join([*lines, "", _on_limit(result), *_on_grid(result["grid"]), _on_memory(result)])


def _on_limit(result: dict) -> str:
    count = result["flops_a_step_and_network"]
    ours = count["table"] + count["sums"] + count["pairs"]
    return (
        f"A step takes {ours / 1e6:.1f} Mflop on the table and {count['plain'] / 1e6:.1f} on the views one by one; "
        f"a large product runs at {result['gflops_of_a_product']:.0f} Gflop/s here, one of its own size at "
        f"{result['gflops_of_its_own_products']:.0f}, so at least {1e6 * result['limit_seconds']:.0f} µs on one core."
    )


def _on_grid(grid: dict) -> list[str]:
    return [
        f"InfoNCE grid, {g['networks']} networks, {name}: {g['seconds']:.0f} s for {GRID_STEPS} minibatches, "
        f"{g['seconds_of_all'] / 60:.1f} min for all {FULL}, {1e6 * g['per_step']:.0f} µs a step and network."
        for name, g in grid.items()
    ]


def _on_memory(result: dict) -> str:
    touched, cache = sum(result["fused_bytes_a_step"].values()), result["cache_bytes_of_a_core"]
    return (
        f"The compiled step touches {touched / 1e3:.0f} kB per network; the level-2 cache of a core holds "
        f"{f'{cache / 1e3:.0f} kB' if cache else 'an unknown number'}. In torch a network takes "
        f"{result['bytes_a_network'] / 1e6:.1f} MB by count, {result['peak_mb_a_network'] or '–'} MB measured; "
        f"the process {result['peak_mb']} MB at most."
    )


if __name__ == "__main__":
    run(__doc__.splitlines()[0], measure, table)
