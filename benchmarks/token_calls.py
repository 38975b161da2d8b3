"""What `token_training` times: ways to train networks of the author's configuration, each as a call that goes on.

All make their own minibatches. Networks have seeds of their own; "the same minibatches" is one network several times.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "tools"))
from plain_network import PlainNetwork, plain_loss

from contrastive_dynamics.nonlinearity.networks.ensemble_training import Run, starting_weights, train
from contrastive_dynamics.nonlinearity.networks.fused_training import compiled, fused_weights
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.token_generators import CHUNK
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.side_by_side import default_workers
from experiments.nonlinearity.matching_curves import Block, train_blocks

STEPS = 2 * CHUNK  # minibatches of a call
LONG = 10 * STEPS  # those of a call of processes, which start new networks each time
CALLS = 100  # how often a call of the compiled step can go on
AUTHOR = TokenTraining()
QUADRATIC = replace(AUTHOR, loss="quadratic_over_tau")


class Timed(NamedTuple):
    """A call and what it does.

    Args:
        call: what to time.
        steps: how many steps it takes, summed over its networks.
        cores: how many cores it keeps busy.
        pairs: whether its loss compares all pairs of samples.
    """

    call: Callable[[], object]
    steps: int
    cores: int = 1
    pairs: bool = True


def seeds(count: int, first: int = 0, training: TokenTraining = AUTHOR) -> list[Run]:
    return [(training, first + s) for s in range(count)]


def same(first: int = 0) -> list[Run]:
    return [(AUTHOR, first)] * 10


def plain(device: str) -> Timed:
    """One network as anyone would write it, in modules, with autograd and torch.optim."""
    t, draw = AUTHOR, [stream(0, 0, "minibatches", device)]
    start = starting_weights(seeds(1), device)
    net = PlainNetwork(start.w[0], start.v[0], t.activation, t.batch_norm, t.views_apart, True).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=t.rate, momentum=t.momentum, weight_decay=t.weight_decay)
    embedding, pool = torch.eye(t.tokens, device=device), t.pool([0], device)

    def call() -> None:
        for tokens in pool.views(draw, t.batch, STEPS)[:, 0]:
            optimizer.zero_grad()
            plain_loss(t.loss, *net(*embedding[tokens.long()].chunk(2))).backward()
            optimizer.step()

    return Timed(call, STEPS)


def in_torch(runs: list[Run], device: str = "cpu", **options) -> Timed:
    """An ensemble as one program of torch."""
    steps = train(runs, 10**9, device, **options)

    def call() -> None:
        for _ in islice(steps, STEPS):
            pass

    return Timed(call, STEPS * len(runs))


def fused(runs: list[Run]) -> Timed:
    """An ensemble by the compiled step, network after network; at least ten networks' worth of steps a call."""
    steps = STEPS * max(1, 10 // len(runs))
    weights = fused_weights(runs, starting_weights(runs, "cpu"), range(steps, CALLS * steps + 1, steps))
    return Timed(lambda: next(weights), steps * len(runs), pairs=runs[0][0].loss == "infonce")


def in_threads(parts: list[Timed]) -> Timed:
    """Several calls at once, each in a thread of its own."""
    for part in parts:
        part.call()  # torch.compile compiles here, one after the other
    pool = ThreadPoolExecutor(len(parts))
    return Timed(lambda: list(pool.map(lambda part: part.call(), parts)), sum(part.steps for part in parts), len(parts))


def by_torch(programs: list[list[Run]], steps: int, workers: int) -> None:
    """Train by torch in processes of one thread, as `train_blocks` does where it cannot use the compiled step.

    The options are those of `train_blocks`: with others, joblib would end its processes and start new ones.
    """
    Parallel(workers, batch_size=1, max_nbytes=None)(delayed(_train_by_torch)(runs, steps) for runs in programs)


def _train_by_torch(runs: list[Run], steps: int) -> None:
    torch.set_num_threads(1)
    for _ in train(runs, steps, "cpu"):
        pass


def in_processes(programs: list[list[Run]], fused: bool) -> Timed:
    """New networks, an ensemble for each process: by `train_blocks`, which uses the compiled step, or by torch."""
    workers, steps = len(programs), LONG * sum(map(len, programs))
    if not fused:
        return Timed(lambda: by_torch(programs, LONG, workers), steps, workers)
    blocks = [Block(runs, [("", i) for i in range(len(runs))]) for runs in programs]
    return Timed(lambda: train_blocks(blocks, LONG, 2, "cpu", workers), steps, workers)


def in_jax(runs: list[Run], few: int = 3, allowed: float = 1e-4) -> Timed:
    """An ensemble by `jax_token_step`; ends the program if a few steps lead elsewhere than those of torch."""
    os.environ |= {"NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}  # one thread; read by jax
    from jax_token_step import starting_state, training_in_jax, weights_of

    first, pool, draws = runs[0][0], runs[0][0].pool([seed for _, seed in runs], "cpu"), _draws(runs)
    step = training_in_jax(first)
    tokens = pool.views(draws, first.batch, CHUNK)[:few].transpose(0, 1).numpy()
    found = weights_of(step(starting_state(starting_weights(runs, "cpu")), tokens))
    (wanted,) = islice(train(runs, few, "cpu"), few - 1, few)
    error = float(torch.cat([(a - b).flatten() for a, b in zip(found, wanted, strict=True)]).abs().max())
    if not error <= allowed:
        raise SystemExit(f"JAX must agree with torch to {allowed:g} after {few} steps, got a difference of {error:.1e}")
    state = starting_state(starting_weights(runs, "cpu"))

    def call() -> None:
        nonlocal state
        tokens = pool.views(draws, first.batch, STEPS).transpose(0, 1).numpy()
        state = step(state, tokens)

    return Timed(call, STEPS * len(runs))


def _draws(runs: list[Run]) -> list[torch.Generator]:
    return [stream(seed, 0, "minibatches", "cpu") for _, seed in runs]


def missing(device: str) -> dict[str, str]:
    """Ways that cannot be timed here, and why."""
    if device != "cpu":
        return dict.fromkeys(("fused", "JAX"), "timed on a CPU only")
    absent = {} if compiled() else {"fused": "numba cannot be used"}
    return absent if importlib.util.find_spec("jax") else absent | {"JAX": "jax is not installed"}


def calls_to_time(device: str) -> dict[str, Timed]:
    """Name → what to time; on the CPU, one core first, then all cores that are used for training."""
    sizes, absent = [1, 10, 40] + ([160, 640, 2560] if device == "cuda" else []), missing(device)
    calls = {"plain modules": plain(device)} | {f"torch, {r}": in_torch(seeds(r), device) for r in sizes}
    calls["torch, 10 with the same minibatches"] = in_torch(same(), device)
    if device != "cpu":
        return calls
    calls["torch.compile, 10"] = in_torch(seeds(10), compiled=True)
    if "fused" not in absent:
        calls |= {f"fused, {r}": fused(seeds(r)) for r in sizes}
        calls["fused, 10 with the same minibatches"] = fused(same())
        calls["fused, 10 with the quadratic loss"] = fused(seeds(10, training=QUADRATIC))
    if "JAX" not in absent:
        calls["JAX, 10"] = in_jax(seeds(10))
    return calls | _on_all_cores("fused" not in absent)


def _on_all_cores(with_fused: bool) -> dict[str, Timed]:
    workers = default_workers()
    tens = [seeds(10, 100 * k) for k in range(workers)]
    calls = {
        f"torch, {workers} threads of 10": in_threads([in_torch(runs) for runs in tens]),
        f"torch, {workers} processes of 10": in_processes(tens, fused=False),
        f"torch.compile, {workers} threads of 10": in_threads([in_torch(runs, compiled=True) for runs in tens]),
    }
    if with_fused:
        for r in (1, 10, 20):
            calls[f"fused, {workers} threads of {r}"] = in_threads([fused(seeds(r, 100 * k)) for k in range(workers)])
        calls[f"fused, {workers} processes of 10"] = in_processes(tens, fused=True)
        programs = [same(100 * k) for k in range(workers)]
        calls[f"fused, {workers} processes of 10 with the same minibatches"] = in_processes(programs, fused=True)
    return calls
