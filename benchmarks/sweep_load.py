"""A sweep of a chapter's smoke profile beside bare papermill runs of the same points, and a large grid planned.

    python benchmarks/sweep_load.py --points 200 --out records/benchmarks/sweep-load.json

Both run two points at a time: the sweep on two workers, papermill in two processes. The overhead is the time a point
of the sweep over that of papermill, less one. The client's memory is read after each point; planned is a grid of 10,000
points, of which none is run. With 200 points of the default chapter an hour or two on two cores.
"""

import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

import psutil
from measuring import arguments, command_line, machine, report

from contrastive_dynamics.book.cluster import open_pool
from contrastive_dynamics.book.grid import Grid, plan_grid
from contrastive_dynamics.book.notebooks import build
from contrastive_dynamics.book.sources import ChapterFiles
from contrastive_dynamics.book.sweep import run_sweep

JOBS, PLANNED = 2, 10_000


def bare(chapter: str, parameters: dict, out: str) -> None:
    """What a reader without the sweep would do."""
    import papermill

    files = ChapterFiles.find(chapter)
    os.environ.update(CLBOOK_ROOT=str(files.root), OMP_NUM_THREADS="1", LOKY_MAX_CPU_COUNT="1")
    papermill.execute_notebook(
        build(files), out, parameters, cwd=files.source.parent, kernel_name="python3", progress_bar=False
    )


def seconds_bare(grid: Grid, folder: Path) -> float:
    with ProcessPoolExecutor(JOBS, mp_context=get_context("spawn")) as pool:
        began = time.perf_counter()
        jobs = [
            pool.submit(bare, grid.files.name, point.parameters, str(folder / f"{point.id}.ipynb"))
            for point in grid.points
        ]
        for job in jobs:
            job.result()
        return time.perf_counter() - began


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
    args = arguments(parser)
    began = time.perf_counter()
    planned = len(plan_grid(args.chapter, [f"first_seed=0..{PLANNED - 1}"], profile="smoke").points)
    planning = time.perf_counter() - began
    grid = plan_grid(args.chapter, [f"first_seed=1000..{999 + args.points}"], profile="smoke")
    with tempfile.TemporaryDirectory() as scratch:
        alone = seconds_bare(grid, Path(scratch))
        swept, memory = seconds_swept(grid, Path(scratch) / "sweep")
    each, ours = alone / args.points, swept / args.points
    result = {
        "chapter": args.chapter,
        "points": args.points,
        "papermill_seconds_a_point": each,
        "sweep_seconds_a_point": ours,
        "overhead": ours / each - 1,
        "client_mb": [round(memory[0]), round(memory[len(memory) // 2]), round(memory[-1])],
        "planned_points": planned,
        "planning_seconds": planning,
        **machine(args.device),
    }
    text = (
        f"{args.points} points of {args.chapter}, two at a time: papermill {each:.1f} s a point, sweep {ours:.1f} s, "
        f"overhead {100 * result['overhead']:.0f} %\n"
        f"client's memory after the first, the middle and the last point: {result['client_mb']} MB\n"
        f"{planned} points planned in {planning:.1f} s"
    )
    report(text, result, args.out)


if __name__ == "__main__":
    main()
