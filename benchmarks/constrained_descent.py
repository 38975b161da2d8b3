"""One update of (12) and one of (11) for several widths, and 64 seeds in one batch beside a loop over the seeds.

    python benchmarks/constrained_descent.py --out records/benchmarks/constrained-descent.json

An update is that of one run on one thread. Training uses one thread, and then one per core. A loop trains one seed
after the other, by the kernel on one seed or in plain PyTorch, by autograd and an SVD. Times are the least of
interleaved repeats in alternating order. Takes two minutes on 2 idle cores.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial

import torch
from measuring import Calls, least_seconds, machine, product_rate, rate, run
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from contrastive_dynamics.collapse_and_constraints.constrained_flow import flow_map, polar_map
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import (
    Weights,
    descend,
    descent_step,
    draw_weights,
    gradients,
)
from contrastive_dynamics.collapse_and_constraints.smooth_activations import TANH
from contrastive_dynamics.collapse_and_constraints.update_cost import WORD, Cost, descent_step_cost, flow_step_cost
from contrastive_dynamics.collapse_and_constraints.wide_training import Pairs, train
from contrastive_dynamics.numerics.memory import keep_freed_memory
from contrastive_dynamics.numerics.random_streams import stream

WIDTHS = {10: [10, 30, 100, 300, 1000, 3000, 10000], 784: [784, 1000, 3000, 10000]}  # over d
SEEDS, HS, NS, Z, ETA = 64, [10, 100, 1000, 10000], [32, 128, 512], 2, 0.01  # HS, NS: h and n of the trained networks
D, HIDDEN = 10, 100  # d of the trained networks; units of the tanh networks
CACHED = 2**18  # bytes of an array that fits the cache


class Operations(TorchDispatchMode):
    """Counts the operations that are not views."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += not func.is_view
        return func(*args, **(kwargs or {}))


def operations(call: Callable[[], object]) -> int:
    with Operations() as counted:
        call()
    return counted.count


def rates(device: str) -> dict[str, float]:
    """Rates of this process: large products, copies in cache and in memory, an operation on one number."""
    large, small, one = (torch.randn(n, device=device, dtype=torch.float64) for n in (2**25, CACHED // WORD, 1))
    into, within = torch.empty_like(large), torch.empty_like(small)
    return {
        "gflops": product_rate(device, torch.float64),
        "gbytes_cached": rate(1000 * 2 * CACHED, lambda: [within.copy_(small) for _ in range(1000)], device),
        "gbytes": rate(2 * large.nbytes, lambda: into.copy_(large), device),
        "operation_seconds": 1e-9 / rate(1000, lambda: [one + one for _ in range(1000)], device),
    }


def predicted(cost: Cost, given: dict[str, float], largest: int) -> float:
    """Seconds by count, without the cost of each call: flops at the rate of products, bytes at that of copies."""
    bandwidth = given["gbytes_cached" if WORD * largest <= CACHED else "gbytes"]
    return cost.flops / given["gflops"] / 1e9 + cost.bytes / bandwidth / 1e9


def problem(seeds: int, h: int, d: int, device: str) -> tuple[Weights, Tensor]:
    """Weights `[seeds, h, ·]` and a C of norm 1."""
    generators = ([stream(0, k, layer, device) for k in range(seeds)] for layer in ("w1", "w2"))
    c = torch.randn(d, d, generator=stream(0, d, "c", device), dtype=torch.float64, device=device)
    return draw_weights(*generators, h, d, Z), (c + c.mT) / torch.linalg.matrix_norm(c + c.mT, 2)


def update(d: int, h: int, given: dict[str, float], device: str) -> dict:
    w, c = problem(1, h, d, device)
    w = Weights(*(x[0] for x in w))
    lam, v = torch.linalg.eigh(c)
    q = v.mT @ w.w1.mT @ w.w2
    calls = {
        "flow": partial(flow_map, q, lam, ETA),
        "polar_map": partial(polar_map, q, lam, ETA),
        "descent": partial(descent_step, w, c, ETA),
        "descent_qr": partial(descent_step, w, c, ETA, "qr"),
    }
    seconds = least_seconds(calls, device)
    row = {"d": d, "h": h, "seconds": seconds}
    for name, cost, largest in (("flow", flow_step_cost(d, Z), d * Z), ("descent", descent_step_cost(h, d, Z), h * d)):
        count = operations(calls[name])
        whole = predicted(cost, given, largest) + count * given["operation_seconds"]
        row[name] = {**cost._asdict(), "operations": count, "predicted_seconds": whole}
    return row


def plain(weights: Weights, loss: Callable[[Tensor, Tensor], Tensor], steps: int) -> list[Tensor]:
    """Projected descent of one seed by autograd and SVD."""
    w = [x.clone().requires_grad_() for x in weights]
    for _ in range(steps):
        slopes = torch.autograd.grad(loss(*w), w)
        with torch.no_grad():
            factors = [torch.linalg.svd(x - ETA * g, full_matrices=False) for x, g in zip(w, slopes, strict=True)]
            w = [(u @ vt).requires_grad_() for u, _, vt in factors]
    return w


def linear_training(h: int, steps: int, device: str) -> Calls:
    """(11) on the trace loss (8)."""
    w, c = problem(SEEDS, h, D, device)
    each = [Weights(*layers) for layers in zip(*w, strict=True)]

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return torch.trace(b.mT @ a @ c @ a.mT @ b)

    return {
        "batch": lambda: descend(w, c, ETA, steps).weights,
        "loop": lambda: [descend(one, c, ETA, steps).weights for one in each],
        "plain": lambda: [plain(one, loss, steps) for one in each],
    }


def tanh_training(n: int, steps: int, device: str) -> Calls:
    """(11) on the contrastive loss (1) of tanh networks of HIDDEN units, mean over n anchors."""
    w, _ = problem(SEEDS, HIDDEN, D, device)
    points = [torch.randn(3 * n, D, generator=stream(0, k, "x", device), dtype=w.w1.dtype) for k in range(SEEDS)]
    pairs = Pairs(torch.stack(points).to(device), n, scale=1 / n)
    split = (x.split(1) for x in (*w, pairs.points))
    each = [(Weights(w1, w2), pairs._replace(points=x)) for w1, w2, x in zip(*split, strict=True)]

    def loss(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        anchors, positives, negatives = (torch.tanh(x @ a.mT) @ b).split(n)
        return (anchors * (negatives - positives)).sum() / n

    return {
        "batch": lambda: last(train(w, pairs, TANH, ETA, steps)),
        "loop": lambda: [last(train(*one, TANH, ETA, steps)) for one in each],
        "plain": lambda: [plain(Weights(*(t[0] for t in v)), partial(loss, x.points[0]), steps) for v, x in each],
    }


def last(steps: Iterable[Weights]) -> Weights:
    *_, weights = steps
    return weights


def training(make: Callable[[int, int, str], Calls], size: int, device: str) -> dict:
    """Seconds per step of all seeds, and how many times longer than the batch the loops take."""
    steps = max(1, min(20, 2000 // size))
    calls = make(size, steps, device)
    batch, *loops = (call() for call in calls.values())
    for ends in loops:
        off = [float((w1.detach() - w[0].detach()).abs().max()) for w1, w in zip(batch.w1, ends, strict=True)]
        assert max(off) < 1e-10, (size, max(off))
    seconds = {name: s / steps for name, s in least_seconds(calls, device).items()}
    return {"size": size, "seconds": seconds, "over_batch": {name: s / seconds["batch"] for name, s in seconds.items()}}


def batch_predicted(row: dict, given: dict[str, float]) -> float:
    """How many times longer than the batch the loop would take, as it alone repeats the cost of each call."""
    w = row["descent"]
    alone = w["operations"] * given["operation_seconds"]
    return w["predicted_seconds"] / (w["predicted_seconds"] - alone + alone / SEEDS)


def eigenproblems(h: int, device: str) -> dict[str, float]:
    """Seconds of the eigenproblems in one step of all seeds, batch and loop, for the Gram matrices of both layers."""
    w, c = problem(SEEDS, h, D, device)
    grams = [x.mT @ x for x in (a - ETA * g for a, g in zip(w, gradients(w, c), strict=True))]
    calls = {
        "batch": lambda: [torch.linalg.eigh(g) for g in grams],
        "loop": lambda: [torch.linalg.eigh(one) for g in grams for one in g],
    }
    return least_seconds(calls, device)


def measure(device: str) -> dict:
    keep_freed_memory()
    torch.set_num_threads(1)
    given = rates(device)
    updates = [update(d, h, given, device) for d, widths in WIDTHS.items() for h in widths]
    small = {row["h"]: batch_predicted(row, given) for row in updates if row["d"] == D}
    linear, tanh = [], []
    for threads in sorted({1, os.cpu_count()}):
        torch.set_num_threads(threads)
        linear += [training(linear_training, h, device) | {"threads": threads, "predicted": small[h]} for h in HS]
        tanh += [training(tanh_training, n, device) | {"threads": threads} for n in NS]
    torch.set_num_threads(1)
    return {
        "what": __doc__.splitlines()[0], "z": Z, "d_of_training": D, "hidden_of_tanh": HIDDEN, "seeds": SEEDS,
        "dtype": "float64", **machine(device), "rates_of_a_thread": given, "updates": updates, "linear": linear,
        "tanh": tanh, "eigenproblems_at_h_10": eigenproblems(10, device), "load": os.getloadavg()[0],
    }  # fmt: skip


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f}"


def table(result: dict) -> str:
    """The result as Markdown, in µs."""
    lines = ["| d | h | (12), count | (12) | polar map | (11), count | (11) | (11), QR |", "|--:|--:|" + 6 * "--:|"]
    for row in result["updates"]:
        s, flow, descent = row["seconds"], row["flow"], row["descent"]
        cells = flow["predicted_seconds"], s["flow"], s["polar_map"], descent["predicted_seconds"], s["descent"]
        lines.append(f"| {row['d']} | {row['h']} | " + " | ".join(map(micro, (*cells, s["descent_qr"]))) + " |")
    lines += ["", "| training | threads | batch | loop | plain | loop / batch, count | loop / batch | plain / batch |"]
    lines += ["|---|" + 7 * "--:|"]
    for kind, name in (("linear", "h"), ("tanh", "n")):
        for row in result[kind]:
            s, over = row["seconds"], row["over_batch"]
            count = f"{row['predicted']:.1f}" if "predicted" in row else "–"
            cells = [*map(micro, s.values()), count, f"{over['loop']:.1f}", f"{over['plain']:.1f}"]
            lines.append(f"| {kind}, {name} = {row['size']} | {row['threads']} | " + " | ".join(cells) + " |")
    r, few = result["rates_of_a_thread"], result["eigenproblems_at_h_10"]
    return "\n".join(lines) + (
        f"\n\nOne thread: {r['gflops']:.0f} Gflop/s in products, {r['gbytes_cached']:.0f} GB/s in copies in cache, "
        f"{r['gbytes']:.1f} in memory, {1e6 * r['operation_seconds']:.2f} µs an operation. Eigenproblems of a step of "
        f"{SEEDS} seeds at h = 10: {micro(few['batch'])} µs in the batch, {micro(few['loop'])} in the loop. "
        f"Load: {result['load']:.1f}."
    )


if __name__ == "__main__":
    run(__doc__.splitlines()[0], measure, table)
