"""A sweep of a chapter's smoke profile beside bare papermill runs of the same points, and the planning of a large grid.

    python benchmarks/sweep_load.py --points 200 --out records/benchmarks/sweep-load.json

Both run two points at a time: the sweep on two workers, papermill in two processes. The overhead is the time per point
of the sweep over that of papermill, minus one. Papermill runs the first `--bare` points, half of them before the sweep
and half after it, so that a change in the machine's speed shows; the seconds that the chapter itself stamps on both
show it, too. The client's memory is read after each point. A grid of 10,000 points is planned but not run. With 200
points of the default chapter this takes an hour on two cores.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean

import psutil
from measuring import arguments, command_line, machine, report

from clbook.commands.notebooks import build
from clbook.common.sources import ChapterFiles
from clbook.notebook.results import notebook_stamp
from clbook.sweep.cluster import open_pool
from clbook.sweep.grid import Grid, plan_grid
from clbook.sweep.run_sweep import run_sweep

JOBS, PLANNED = 2, 10_000
SHARE = str(max(1, (os.cpu_count() or 1) // JOBS))  # of the cores, as for the sweep's workers


def bare(chapter: str, parameters: dict, out: str) -> None:
    """What a reader without the sweep would do."""
    import papermill

    files = ChapterFiles.find(chapter)
    os.environ.update(CLBOOK_ROOT=str(files.root), OMP_NUM_THREADS=SHARE, LOKY_MAX_CPU_COUNT=SHARE)
    papermill.execute_notebook(
        build(files), out, parameters, cwd=files.source.parent, kernel_name="python3", progress_bar=False
    )


def begin(number: int) -> None:
    import papermill  # noqa: F401

    time.sleep(1)  # so that each process takes one


def seconds_bare(chapter: str, points: list, folder: Path) -> float:
    with ProcessPoolExecutor(JOBS, mp_context=get_context("spawn")) as pool:
        list(pool.map(begin, range(JOBS)))  # the sweep's workers, too, are ready before its clock starts
        began = time.perf_counter()
        jobs = [pool.submit(bare, chapter, p.parameters, str(folder / f"{p.id}.ipynb")) for p in points]
        for job in jobs:
            job.result()
        return time.perf_counter() - began


def own_seconds(notebooks: Iterable[Path]) -> float:
    """The chapter's own seconds, averaged over notebooks."""
    return fmean(notebook_stamp(path)["seconds"] for path in notebooks)


def seconds_swept(grid: Grid, folder: Path) -> tuple[float, list[float]]:
    """Seconds, and the client's memory in MB after each point."""
    process, memory = psutil.Process(), []
    with open_pool(jobs=JOBS) as pool:
        following = pool.next

        def watched() -> tuple[str, dict]:
            result = following()
            memory.append(process.memory_info().rss / 2**20)
            return result

        pool.next = watched
        began = time.perf_counter()
        outcome = run_sweep(grid, folder, nullcontext(pool), print)
        assert not outcome.failed, outcome.failed
        return time.perf_counter() - began, memory


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--chapter", default="collapse-and-constraints")
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--bare", type=int, default=40)
    args = arguments(parser)
    if not 2 <= args.bare <= args.points:
        sys.exit(f"--bare {args.bare}: allowed is 2 or more, at most the {args.points} points")
    began = time.perf_counter()
    planned = len(plan_grid(args.chapter, [f"first_seed=0..{PLANNED - 1}"], profile="smoke").points)
    planning = time.perf_counter() - began
    grid = plan_grid(args.chapter, [f"first_seed=1000..{999 + args.points}"], profile="smoke")
    half = args.bare // 2
    with tempfile.TemporaryDirectory() as scratch:
        alone, sweep = Path(scratch), Path(scratch) / "sweep"
        before = seconds_bare(args.chapter, grid.points[:half], alone) / half
        swept, memory = seconds_swept(grid, sweep)
        after = seconds_bare(args.chapter, grid.points[half : 2 * half], alone) / half
        own = own_seconds(alone.glob("*.ipynb")), own_seconds(sweep.glob("runs/*/*.ipynb"))
    each, ours = (before + after) / 2, swept / args.points
    result = {
        "chapter": args.chapter,
        "points": args.points,
        "points_bare": 2 * half,
        "papermill_seconds_a_point": each,
        "papermill_before_and_after": [before, after],
        "sweep_seconds_a_point": ours,
        "overhead": ours / each - 1,
        "chapter_seconds_bare_and_swept": own,
        "client_mb": [round(m) for m in memory[:: max(1, args.points // 10)]],
        "planned_points": planned,
        "planning_seconds": planning,
        **machine(args.device),
    }
    text = (
        f"{args.points} points of {args.chapter}, two at a time: papermill {before:.1f} s a point before and "
        f"{after:.1f} s after, sweep {ours:.1f} s, overhead {100 * result['overhead']:.0f} %\n"
        f"of a run the chapter itself took {own[0]:.1f} s under papermill, {own[1]:.1f} s in the sweep\n"
        f"client's memory over the sweep: {result['client_mb']} MB\n"
        f"{planned} points planned in {planning:.1f} s"
    )
    report(text, result, args.out)


if __name__ == "__main__":
    main()
