"""The parts of a compiled training step, each timed alone beside its limit: token networks, and sparse codes in brief.

    python benchmarks/step_parts.py --out records/benchmarks/step-parts.json

A part is called again and again by compiled code, on the arrays of a network that has been trained a little, so that
its numbers are in the cache of the core. Operations are counted as the formulas need them, without padding; bytes are
those that a part reads and writes once. The limit is the larger of two times: operations over the rate of a large
product of torch, and bytes over the rate of a copy within the level-2 cache. An exponential counts as 20 operations,
a division or a root as one. "Rest of the loss" is what `on_outputs` takes beyond its parts: sums of rows and columns,
weights of the pairs, unit lengths and the way back through them. Single precision, one thread, the author's
configuration; medians of interleaved repeats in processor time, as other work delays a clock on the wall.
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from measuring import cache_bytes, machine, run, table
from numba import njit
from token_calls import AUTHOR

from contrastive_dynamics.compiled import (
    exponentials,
    fused_draws,
    fused_gradient,
    fused_loss,
    fused_step,
    register_tiles,
)
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.fused_stream import FusedStream
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining
from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.fused_training import _Network, _tables
from contrastive_dynamics.nonlinearity.networks.token_generators import CHUNK, draw_views
from contrastive_dynamics.numerics.random_streams import stream

DTYPE = torch.float32  # of all that is timed
REPEATS, SECONDS, EXPONENTIAL = 15, 0.01, 20  # SECONDS of a repeat; operations of an exponential
CODES = {"dim": 256, "atoms": 16, "neurons": 64, "batch": 1024, "negatives": 256}


class Part(NamedTuple):
    """A call that repeats a part so many times, operations and bytes of one time, and how often a step has it."""

    call: Callable[[int], object]
    operations: float = 0
    bytes: float = 0
    times: float = 1


def repeated(part: Callable, *given, times: int = 1, operations: float = 0, touched: float = 0) -> Part:
    """A compiled function as a part, called by compiled code."""

    @njit(nogil=True)
    def many(count, arguments):
        for _ in range(count):
            part(*arguments)

    return Part(lambda count: many(count, given), operations, touched, times)


def seconds_of(parts: dict[str, Part]) -> dict[str, float]:
    """Median seconds that a step spends in each part."""
    counts, seen = {}, {name: [] for name in parts}
    for name, part in parts.items():
        part.call(1)
        begun = time.thread_time()
        part.call(3)
        counts[name] = 1 + int(3 * SECONDS / (time.thread_time() - begun))
    for _ in range(REPEATS):
        for name, part in parts.items():
            begun = time.thread_time()
            part.call(counts[name])
            seen[name].append((time.thread_time() - begun) / counts[name] * part.times)
    return {name: statistics.median(times) for name, times in seen.items()}


@njit(nogil=True)
def rows_of_views(fill, rows, patterns, pick, tokens, table):
    """As `fused_step.steps` finds the rows of a minibatch."""
    n, places = fill.shape[1:]
    for i in range(2 * n):
        view, sample, group = i // n, i % n, i // n * tokens
        pattern, filled = patterns[pick[sample]], fill[view, sample]
        for k in range(places):
            rows[i, k] = k * table + group + (filled[k] if pattern[k] < 0 else pattern[k])


def token_parts() -> dict[str, Part]:
    """The parts of a step of the author's network, after 200 steps."""
    t = AUTHOR
    network = _Network(t, 0, *(part[0].numpy() for part in starting_weights([(t, 0)], "cpu")), None, _tables)
    size, draws = (t.generators, t.tokens, t.batch, t.places, CHUNK), stream(0, 0, "minibatches", "cpu")
    pick, fill = (x.numpy() for x in draw_views(draws, *size))
    for _ in range(-(-200 // CHUNK)):
        network.train(pick, fill)
    (w, v, speed_w, speed_v), s, norms, a = network.state, network.settings, network.norms, network.tables
    k, m, j, n, d, rows = t.places, t.filters, t.outputs, t.batch, t.tokens, t.groups * t.tokens
    table_rows, at = a.table.shape[1], np.empty((2 * n, k), np.int64)
    rows_of_views(fill[0], at, network.patterns, pick[0], d, table_rows)
    scores, table = np.full(n, -1.0, np.float32), a.table.reshape(-1, a.table.shape[2])
    inner = (a.c[0, :, :m], v[0], a.table[0], True), (a.table[0, :, :j], a.vt[:j], a.pull, True)
    outer = a.c[0, :, :m].T, a.table[0], a.on_v[0, :m], True
    z, zt, alpha, g = a.f, a.zt, a.alpha, a.g
    one, product = np.float32(1), register_tiles.add_product
    of_table, of_pairs = 2 * rows * m * j, 2 * n * n * j
    bytes_table, bytes_pairs = 4 * (rows * (m + j) + m * j), 4 * (n * n + 2 * n * j)

    def whole(count: int) -> None:
        for _ in range(count):
            network.train(pick, fill)

    def drawn(count: int) -> None:
        for _ in range(count):
            draw_views(draws, *size)

    normal = a.h, a.shares[0, :d], s, a.c[0, :d], a.inverse[0, 0]
    back = a.pull[:d], a.shares[0, :d], s, a.c[0, :d], a.inverse[0, 0], a.slope[0], norms, a.on_w[0]
    return {
        "whole step": Part(whole, CHUNK * _flops(t), 0, 1 / CHUNK),
        "draws of the minibatch": Part(drawn, 0, CHUNK * (4 + 8) * 2 * n * k, 1 / CHUNK),
        "rows of the views": repeated(rows_of_views, fill[0], at, network.patterns, pick[0], d, table_rows,
                                      touched=(4 + 8) * 2 * n * k),
        "activation": repeated(fused_step.activate, w[0], norms, s, a.h, a.slope[0], times=k,
                               operations=2 * d * m, touched=4 * 3 * d * m),
        "normalisation": repeated(fused_step.normalise, *normal, times=k * t.groups,
                                  operations=7 * d * m, touched=4 * 2 * d * m),
        "products, forward": repeated(product, *inner[0], times=k, operations=of_table, touched=bytes_table),
        "gathers": repeated(register_tiles.add_rows, table, at, a.f, operations=2 * n * k * j,
                            touched=4 * (2 * n * j + k * rows * j) + 8 * 2 * n * k),
        "products, pairs": repeated(product, z[:n, :j], zt[:j], alpha, True,
                                    operations=of_pairs, touched=bytes_pairs),
        "products, importance": repeated(product, alpha[:, :n], z[:n], g[:n], True,
                                         operations=of_pairs, touched=bytes_pairs),
        "exponentials": repeated(exponentials.exponentiate, scores, times=n, operations=EXPONENTIAL * n, touched=8 * n),
        "lengths and inner products of rows": repeated(register_tiles.row_dots, z[:n], z[n:], a.g[0, :1].repeat(n),
                                                       times=5, operations=2 * n * j, touched=8 * n * j),
        "whole loss": repeated(fused_loss.on_outputs, z, s, zt, alpha, g, operations=2 * of_pairs, touched=0),
        "scatters": repeated(register_tiles.add_to_rows, a.g, at, table, operations=2 * n * k * j,
                             touched=4 * (2 * n * j + k * rows * j) + 8 * 2 * n * k),
        "transposes of V": repeated(register_tiles.transpose, v[0], a.vt, times=k, touched=8 * m * j),
        "products, to the filters": repeated(product, *inner[1], times=k, operations=of_table, touched=bytes_table),
        "products, to the top layer": repeated(product, *outer, times=k, operations=of_table, touched=bytes_table),
        "through the statistics": repeated(fused_step.through_statistics, *back, times=k * t.groups,
                                           operations=10 * d * m, touched=4 * 5 * d * m),
        "optimiser, filters": repeated(fused_step.descend, w[0], speed_w[0], a.on_w[0], s, one, times=k,
                                       operations=6 * d * m, touched=4 * 5 * d * m),
        "optimiser, top layer": repeated(fused_step.descend, v[0], speed_v[0], a.on_v[0], s, s.pace, times=k,
                                         operations=6 * m * j, touched=4 * 5 * m * j),
    }  # fmt: skip


def _flops(t) -> float:
    table, sums = 6 * t.places * 2 * t.tokens * t.filters * t.outputs, 4 * t.batch * t.places * t.outputs
    return table + sums + 4 * t.batch**2 * t.outputs


def code_parts() -> dict[str, Part]:
    """The parts of a gradient of sparse codes, masked views."""
    dim, atoms, m, batch, negatives = CODES.values()
    model = SparseCoding(random_dictionary(dim, atoms, [stream(0, 0, "dictionary")], dtype=DTYPE), 0.3, 0.5)
    training = DecoupledTraining(batch=batch, negatives=negatives, temperature=20.0, views="masked")
    made = FusedStream(model, m, training)
    made.w[:], made.b[:] = np.random.default_rng(0).normal(size=made.w.shape) / dim, 0
    keys, t, s = np.arange(8, dtype=np.uint64).reshape(2, 4), made.tables, made.settings
    rows, blocks = fused_gradient.ROWS, batch // fused_gradient.ROWS
    scores, product = np.full(rows, -1.0, np.float32), register_tiles.add_product
    of_data, of_pairs, numbers = 2 * rows * dim * m, 2 * rows * negatives * m, rows * dim
    bytes_data, bytes_pairs = 4 * (numbers + rows * m + dim * m), 4 * (rows + negatives) * m + 4 * rows * negatives
    flops = 2 * m * dim * (3 * batch + negatives) + 4 * batch * negatives * m
    fires = 2 * blocks + negatives // rows
    return {
        "whole gradient": repeated(fused_gradient.gradient, made.w, made.b, made.atoms[0], s, keys, t,
                                   operations=flops),
        "normal numbers": repeated(fused_draws.fill_normal, t.first.reshape(-1), keys[0, 0], 0, np.float32(0.5),
                                   times=blocks + negatives // rows, touched=4 * numbers),
        "masks": repeated(fused_draws.fill_mask, t.mask, t.words, 0.5, keys[0, 0], 0, times=blocks,
                          touched=4 * numbers),
        "products with the data": repeated(product, t.first, t.wt, t.u, True, times=fires, operations=of_data,
                                           touched=bytes_data),
        "products to the weights": repeated(product, t.pull.T, t.first, t.on_w, True, times=blocks,
                                            operations=of_data, touched=bytes_data),
        "products with the negatives": repeated(product, t.others, t.ft, t.chances, True, times=2 * blocks,
                                                operations=of_pairs, touched=bytes_pairs),
        "exponentials": repeated(exponentials.exponentiate, scores, times=blocks * negatives,
                                 operations=EXPONENTIAL * rows, touched=8 * rows),
    }  # fmt: skip


def copy_rate(numbers: int = 2**17) -> float:
    """Bytes per second that a copy within the level-2 cache reads and writes."""
    a, b = np.ones(numbers, np.float32), np.empty(numbers, np.float32)

    @njit
    def copied(a, b):
        for i in range(len(a)):
            b[i] = a[i]

    part = {"copy": repeated(copied, a, b)}
    return 8 * numbers / seconds_of(part)["copy"]


def large_product_rate(side: int = 1536) -> float:
    """Operations per second of processor time of a large product of torch."""
    square = torch.randn(side, side, dtype=DTYPE)
    return 2 * side**3 / seconds_of({"product": Part(lambda count: [square @ square for _ in range(count)])})["product"]


def rows_of(parts: dict[str, Part], rest: dict[str, tuple[str, ...]], flops: float, copied: float) -> list[dict]:
    """A row for each part, and one for what a whole takes beyond its parts."""
    seconds = seconds_of(parts)
    rows = []
    for name, part in parts.items():
        limit = part.times * max(part.operations / flops, part.bytes / copied)
        rows.append({
            "part": name, "µs": 1e6 * seconds[name], "operations": part.times * part.operations,
            "bytes": part.times * part.bytes, "limit, µs": 1e6 * limit,
        })  # fmt: skip
    for name, (whole, *inside) in rest.items():
        left = seconds[whole] - sum(seconds[each] for each in inside)
        rows.append({"part": name, "µs": 1e6 * left, "operations": 0, "bytes": 0, "limit, µs": 0.0})
    return rows


IN_LOSS = "products, pairs", "products, importance", "exponentials", "lengths and inner products of rows"


def measure(device: str) -> dict:
    torch.set_num_threads(1)
    tokens, codes = token_parts(), code_parts()
    flops, copied = large_product_rate(), copy_rate()
    in_step = [name for name in tokens if name not in ("whole step", "draws of the minibatch", *IN_LOSS)]
    left = {"rest of the loss": ("whole loss", *IN_LOSS), "rest of the step": ("whole step", *in_step)}
    in_codes = {"rest of the gradient": tuple(codes)}
    return {
        "what": __doc__.splitlines()[0], "threads": 1, "dtype": str(DTYPE).removeprefix("torch."), **machine(device),
        "gflops_of_a_product": flops / 1e9, "gb_per_second_of_a_copy": copied / 1e9,
        "cache_bytes_of_a_core": cache_bytes(), "lanes": register_tiles.LANES,
        "token_step": rows_of(tokens, left, flops, copied),
        "sparse_codes": {**CODES, "rows": rows_of(codes, in_codes, flops, copied)},
    }  # fmt: skip


def shown(result: dict) -> str:
    return "\n".join([
        f"{result['gflops_of_a_product']:.0f} Gflop/s, {result['gb_per_second_of_a_copy']:.0f} GB/s",
        table("token step", result["token_step"]), table("sparse codes", result["sparse_codes"]["rows"]),
    ])  # fmt: skip


if __name__ == "__main__":
    run(__doc__.splitlines()[0], measure, shown)
