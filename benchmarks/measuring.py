"""What the benchmarks share: timing a call, the rate of a product, the machine in words, the command line."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("", "lib", "chapters")]
from clbook.common import environment  # noqa: E402

Calls = dict[str, Callable[[], object]]
REPEATS, SHORTEST = 7, 0.005  # SHORTEST: least seconds of a repeat


def timed(call: Callable, device: str, *given: torch.Tensor) -> float:
    """Seconds of one call, including what it left running on a GPU."""
    start = time.perf_counter()
    call(*given)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def least_seconds(calls: Calls, device: str) -> dict[str, float]:
    """Least seconds of one call each; a repeat consists of as many calls as take SHORTEST seconds."""
    many = {}
    for name, call in calls.items():
        call()
        many[name] = 1 + int(SHORTEST / timed(call, device))
    least = dict.fromkeys(calls, float("inf"))
    for repeat in range(REPEATS):
        for name in list(calls)[:: 1 if repeat % 2 else -1]:
            seconds = timed(lambda name=name: [calls[name]() for _ in range(many[name])], device)
            least[name] = min(least[name], seconds / many[name])
    return least


def rate(count: float, call: Callable, device: str) -> float:
    """Operations per second of a call of `count` operations, the best of five, in units of 1e9."""
    return count / min(timed(call, device) for _ in range(5)) / 1e9


def product_rate(device: str, dtype: torch.dtype) -> float:
    """GFLOP/s of a large matrix product in this process."""
    m = 8192 if device == "cuda" else 1536
    square = torch.randn(m, m, device=device, dtype=dtype)
    return rate(2 * m**3, lambda: square @ square, device)


def cache_bytes() -> int | None:
    """Size of the level-2 cache of a core, which Linux tells."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if (index / "level").read_text().strip() == "2":
            return 1024 * int((index / "size").read_text().strip().removesuffix("K"))
    return None


def machine(device: str) -> dict:
    """The machine on which a result was measured."""
    return {"device": device, "device_name": environment.device_name(device), "versions": environment.versions()}


def command_line(what: str) -> argparse.ArgumentParser:
    """The options that every benchmark has: --out and --device."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    return parser


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parsed options; ends the program if CUDA is requested but absent."""
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("--device cuda: got no CUDA device, allowed here is cpu")
    return args


def table(title: str, rows: list[dict]) -> str:
    """Rows of one kind as text, below the names of their columns."""
    lines = [" | ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()) for row in rows]
    return "\n".join([title, " | ".join(rows[0]), *lines, ""])


def tables(result: dict, names: Iterable[str], unit: str) -> str:
    """`table` of some lists of rows in a result, one below the other."""
    return "\n".join(table(f"{name}, {unit}", result[name]) for name in names)


def run(what: str, measure: Callable[[str], dict], shown: Callable[[dict], str]) -> None:
    """A benchmark without further options: measure on the requested device, print, write."""
    args = arguments(command_line(what))
    result = measure(args.device)
    report(shown(result), result, args.out)


def report(text: str, result: dict, out: Path | None) -> None:
    """Print the table, and write the result if a file is named."""
    print(text)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1) + "\n")
