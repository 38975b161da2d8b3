"""InfoNCE gradient of a linear layer by C_α in blocks, by the plain double sum, and by autograd through the loss.

    python benchmarks/contrastive_covariance.py --out records/benchmarks/contrastive-covariance.json

For f = Wx all three give ∇_W E = W C_α[x] (tian-2023, eqs. (1)-(3)); autograd gives −∇_W L / 2N². A fourth column,
uniform α, shows the cost of a closed form in means. Times are medians of interleaved repeats in one process; the peak
memory of each method is measured in a separate process. Takes less than 3 minutes on 2 cores.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import measuring
import torch
from measuring import product_rate, rate, timed
from scipy.stats import linregress
from torch import Tensor

from contrastive_dynamics.losses.contrastive_covariance import contrastive_covariance, uniform_contrastive_covariance
from contrastive_dynamics.losses.pairwise_importance import infonce_importance, infonce_loss
from contrastive_dynamics.numerics.random_streams import stream

SIZES = [256, 512, 1024, 2048, 4096, 8192]
D, OUT, TAU, EPS = 20, 20, 0.5, 1.0
MEMORY = 4e9  # most bytes that one method may hold
REPEATS, SECONDS = 7, 12.0  # repeats per point, seconds after which a method gets fewer


def problem(n: int, device: str, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    draw = stream(0, n, "benchmark")
    x, noise = torch.randn(2, n, D, generator=draw, dtype=dtype).to(device)
    w = torch.randn(OUT, D, generator=draw, dtype=dtype).to(device) / D**0.5
    return x, x + 0.3 * noise, w


def blocks(x: Tensor, x_view: Tensor, w: Tensor) -> Tensor:
    f, f_view = x @ w.mT, x_view @ w.mT
    return w @ contrastive_covariance(x, x_view, lambda rows: infonce_importance(f, f_view, TAU, EPS, rows))


def double_sum(x: Tensor, x_view: Tensor, w: Tensor) -> Tensor:
    f, f_view = x @ w.mT, x_view @ w.mT
    near = torch.exp((f[:, None] - f).square().sum(-1) / (-2 * TAU)).fill_diagonal_(0)
    alpha = near / (EPS * torch.exp((f - f_view).square().sum(-1) / (-2 * TAU)) + near.sum(-1))[:, None]
    gap, within = x[:, None] - x, x - x_view
    between = torch.einsum("ij,ijd,ije->de", alpha, gap, gap)
    return w @ (between - torch.einsum("i,id,ie->de", alpha.sum(-1), within, within)) / (2 * len(x) ** 2)


def autograd(x: Tensor, x_view: Tensor, w: Tensor) -> Tensor:
    w = w.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(infonce_loss(x @ w.mT, x_view @ w.mT, TAU, EPS), w)
    return gradient / (-2 * len(x) ** 2)


def uniform(x: Tensor, x_view: Tensor, w: Tensor) -> Tensor:
    return w @ uniform_contrastive_covariance(x, x_view)


METHODS: dict[str, Callable] = {"blocks": blocks, "double sum": double_sum, "autograd": autograd, "uniform": uniform}


def expected_bytes(name: str, n: int, item: int) -> float:
    """What a method holds at its peak, by count: a little over two arrays of N²·d, or four of N²."""
    return {"double sum": 2.2 * n * n * D * item, "autograd": 4 * n * n * item}.get(name, 1e8)


def flops(n: int) -> float:
    """Flops of the InfoNCE gradient in blocks: distances 2N²(d + 2), αx 2N²d, about 8 N² for exp, maximum and sums."""
    return 2.0 * n * n * (OUT + 2) + 2.0 * n * n * D + 8.0 * n * n


def traffic(n: int, item: int) -> float:
    """Bytes moved for α in blocks: about 11 passes, by the product, the scaling, the softmax, the sums and αx."""
    return 11.0 * n * n * item


def limits(device: str, dtype: torch.dtype) -> dict[str, float]:
    """Peak rates of this machine in this process: matrix product (GFLOP/s), copy (GB/s) and exp (G/s, in cache)."""
    long = torch.randn(2**25, device=device, dtype=dtype)
    small = torch.randn(64, 2048, device=device, dtype=dtype)
    target, out = torch.empty_like(long), torch.empty_like(small)
    copied = 2 * long.numel() * long.element_size()
    return {
        "gflops": product_rate(device, dtype),
        "gbytes": rate(copied, lambda: target.copy_(long), device),
        "gexp": rate(50 * small.numel(), lambda: [torch.exp(small, out=out) for _ in range(50)], device),
    }


def status_bytes(field: str) -> float:
    """Memory of this process now (VmRSS) or at its peak since the last reset (VmHWM)."""
    line = next(s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith(field + ":"))
    return float(line.split()[1]) * 1024


def peak_of(name: str, n: int, device: str, dtype: torch.dtype) -> float:
    """Bytes that a method adds to the process at its peak."""
    given = problem(n, device, dtype)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        METHODS[name](*given)
        return torch.cuda.max_memory_allocated() - before
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = status_bytes("VmRSS")
    METHODS[name](*given)
    return status_bytes("VmHWM") - before


def peaks(name: str, sizes: list[int], device: str, dtype: str) -> list[float | None]:
    """Peak memory of a method at several sizes, in a separate process; None if the system does not report it."""
    command = [sys.executable, __file__, "--peaks", name, *map(str, sizes), "--device", device, "--dtype", dtype]
    # every larger array gets its own mapping, so that freed memory leaves the process before the next size
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "32768", "MALLOC_TRIM_THRESHOLD_": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return [float(line) for line in done.stdout.split()] if done.returncode == 0 else [None] * len(sizes)


def exponent(points: list[dict], key: str) -> dict[str, float] | None:
    """Growth exponent of a column in N with its standard error, over the sizes from 1024 on."""
    rows = [p for p in points if p["n"] >= 1024 and p[key]]
    if len(rows) < 3:
        rows = [p for p in points if p[key]][-3:]
    if len(rows) < 3:
        return None
    fit = linregress(
        [torch.tensor(float(p["n"])).log().item() for p in rows],
        [torch.tensor(float(p[key])).log().item() for p in rows],
    )
    return {"exponent": fit.slope, "standard_error": fit.stderr, "from_n": rows[0]["n"], "to_n": rows[-1]["n"]}


def measure(sizes: list[int], device: str, dtype: str) -> dict:
    kind = getattr(torch, dtype)
    item = torch.empty(0, dtype=kind).element_size()
    machine = limits(device, kind)
    points: dict[str, list[dict]] = {name: [] for name in METHODS}
    spent = dict.fromkeys(METHODS, 0.0)
    for n in sizes:
        given = problem(n, device, kind)
        names = [m for m in METHODS if expected_bytes(m, n, item) <= MEMORY]
        results = {m: METHODS[m](*given) for m in names}  # also the warm-up
        times: dict[str, list[float]] = {m: [] for m in names}
        for repeat in range(REPEATS):
            for m in names:
                if repeat < 3 or spent[m] < SECONDS:
                    times[m].append(timed(METHODS[m], device, *given))
                    spent[m] += times[m][-1]
        for m in names:
            error = ((results[m] - results["blocks"]).norm() / results["blocks"].norm()).item()
            assert m == "uniform" or error < (1e-3 if item == 4 else 1e-10), (m, n, error)
            points[m].append({
                "n": n, "seconds": statistics.median(times[m]), "least": min(times[m]), "most": max(times[m]),
                "repeats": len(times[m]),
                "difference_from_blocks": None if m == "uniform" else error,
            })  # fmt: skip
        for m in set(METHODS) - set(names):
            print(f"N = {n}: {m} left out, it would hold {expected_bytes(m, n, item) / 1e9:.1f} GB", flush=True)
        print(f"N = {n}: " + ", ".join(f"{m} {points[m][-1]['seconds']:.4g} s" for m in names), flush=True)
    for m, rows in points.items():
        for p, peak in zip(rows, peaks(m, [p["n"] for p in rows], device, dtype), strict=True):
            p["peak_bytes"] = peak
    for p in points["blocks"]:
        seconds = {"products": flops(p["n"]) / machine["gflops"] / 1e9, "exp": p["n"] ** 2 / machine["gexp"] / 1e9}
        p |= {"flops": flops(p["n"]), "bytes": traffic(p["n"], item), "limit_seconds": sum(seconds.values())}
        p |= {"share_of_limit": p["limit_seconds"] / p["seconds"], "gbytes_per_second": p["bytes"] / p["seconds"] / 1e9}
    growth = {m: {k: exponent(points[m], k) for k in ("seconds", "peak_bytes")} for m in METHODS}
    return {
        "what": __doc__.splitlines()[0], "d": D, "outputs": OUT, "tau": TAU, "eps": EPS, "dtype": dtype,
        "threads": torch.get_num_threads(), "cores": os.cpu_count(), **measuring.machine(device),
        "machine": machine, "points": points, "growth": growth,
    }  # fmt: skip


def table(result: dict) -> str:
    """The result as Markdown."""
    names = list(METHODS)
    lines = ["| N | " + " | ".join(f"{m}, ms | {m}, MB" for m in names) + " |", "|---|" + "--:|" * 2 * len(names)]
    for n in sorted({p["n"] for m in names for p in result["points"][m]}):
        cells = [str(n)]
        for m in names:
            p = next((p for p in result["points"][m] if p["n"] == n), None)
            cells.append(f"{1e3 * p['seconds']:.3g}" if p else "–")
            cells.append(f"{p['peak_bytes'] / 1e6:.3g}" if p and p["peak_bytes"] else "–")
        lines.append("| " + " | ".join(cells) + " |")
    cells = ["growth"]
    for m in names:
        for key in ("seconds", "peak_bytes"):
            fit = result["growth"][m][key]
            cells.append(f"N^{fit['exponent']:.2f}±{fit['standard_error']:.2f}" if fit else "–")
    lines.append("| " + " | ".join(cells) + " |")
    last, machine = result["points"]["blocks"][-1], result["machine"]
    lines += [
        "",
        f"Machine in this run: {machine['gflops']:.0f} GFLOP/s in products, {machine['gbytes']:.1f} GB/s in copies, "
        f"{machine['gexp']:.2f} G exp/s. At N = {last['n']} the blocks take {last['flops'] / 1e9:.1f} GFLOP and an "
        f"exp a pair: at least {last['limit_seconds']:.2f} s; measured {last['seconds']:.2f} s "
        f"({100 * last['share_of_limit']:.0f} % of the limit).",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = measuring.command_line(__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="largest N")
    parser.add_argument("--peaks", nargs="+", help=argparse.SUPPRESS)
    args = measuring.arguments(parser)
    if args.peaks:
        name, *sizes = args.peaks
        for n in (64, *map(int, sizes)):  # the first one warms up
            peak = peak_of(name, n, args.device, getattr(torch, args.dtype))
            print(peak if n > 64 else "")
        return
    start = time.perf_counter()
    result = measure([n for n in SIZES if n <= args.largest], args.device, args.dtype)
    result["total_seconds"] = time.perf_counter() - start
    measuring.report(table(result), result, args.out)


if __name__ == "__main__":
    main()
