"""The default run of every chapter: elapsed and processor seconds, beside the rate of a large product around it.

    python benchmarks/default_runs.py --out records/benchmarks/default-runs.json
    python benchmarks/default_runs.py one-testbed

A chapter's two notebooks run side by side, as by `clbook run`. Processor seconds are also given as large products:
how many products of two 1536 × 1536 matrices in float32 a core computes in that time, at the mean of the rates before
and after the run. This ratio compares machines and commits; seconds of a busy or slower core do not.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

import torch
from measuring import arguments, command_line, machine, product_rate, report, table

from clbook.common.sources import ChapterFiles, chapter_names, find_root
from clbook.provenance.staleness import notebooks_stamp

DEAREST = 10
OF_A_PRODUCT = 2 * 1536**3 / 1e9  # Gflop


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime


def dearest(files: ChapterFiles, folder: Path) -> dict[str, float]:
    """The cells of a run that took longest: how a sentence names each -> its elapsed seconds."""
    stamp = notebooks_stamp(files, folder)
    seconds = {cell: float(str(kept).split()[1]) for cell, kept in stamp["cells"].items() if len(str(kept).split()) > 1}
    return dict(sorted(seconds.items(), key=lambda row: -row[1])[:DEAREST])


def measure(name: str) -> dict:
    """Run a chapter with its defaults into a folder that is removed."""
    files = ChapterFiles.find(name)
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "clbook", "run", name, "--no-page", "--out", str(Path(scratch) / "run")]
        before, spent, start = product_rate("cpu", torch.float32), processor_seconds(), time.perf_counter()
        subprocess.run(command, cwd=files.root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        elapsed, used = time.perf_counter() - start, processor_seconds() - spent
        rates = before, product_rate("cpu", torch.float32)
        cells = dearest(files, Path(scratch) / "run")
    mean = sum(rates) / 2
    row = {"chapter": name, "elapsed": round(elapsed, 1), "processor": round(used, 1), "gflops": round(mean, 1)}
    return row | {"products": round(used * mean / OF_A_PRODUCT), "dearest": {k: round(v, 1) for k, v in cells.items()}}


def shown(result: dict) -> str:
    """The table of all runs, and the dearest cells of each."""
    rows = [{key: value for key, value in run.items() if key != "dearest"} for run in result["runs"]]
    cells = [[run["chapter"], *(f"{v:8.1f}  {k}" for k, v in run["dearest"].items()), ""] for run in result["runs"]]
    return "\n".join([table("default runs: seconds, Gflop/s of a product, products", rows), *chain(*cells)])


if __name__ == "__main__":
    parser = command_line(__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", help="default: all")
    options = arguments(parser)
    torch.set_num_threads(1)
    runs = [measure(name) for name in options.chapters or chapter_names(find_root())]
    result = machine("cpu") | {"runs": runs}
    report(shown(result), result, options.out)
    print(json.dumps({key: sum(run[key] for run in runs) for key in ("elapsed", "processor", "products")}))
