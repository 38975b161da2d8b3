"""A sweep: a work queue of a grid's runs, done by a cluster in any order; after an interruption it resumes."""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from ..commands.jupyter_kernel import disk_errors
from ..commands.output_place import held, is_empty, place_errors
from ..commands.request import named_profile
from ..common.atomic import atomic_write
from ..common.durations import duration
from ..common.errors import BookError
from ..common.parameters import profile_parameters
from .cluster import gpus, open_pool
from .grid import Grid
from .job import Job
from .sweep_folder import DEFINITION, POINTS, REASON, VERSION, failed_folder, is_done, read_definition, run_folder
from .sweep_table import TABLE, read_table, write_table

ATTEMPTS = 2


@dataclass
class Outcome:
    """The state of the runs of a sweep; `failed` has the reason for each failure."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def _claim(grid: Grid, folder: Path) -> None:
    """Write the folder's definition, or check that the existing one equals this sweep's; raises BookError."""
    wanted = {"version": VERSION, **grid.to_json()}
    if (folder / DEFINITION).exists():
        existing = read_definition(folder)
        differ = [key for key, value in wanted.items() if existing.get(key) != value]
        if differ == ["points"]:
            change = "made by other code, with other fixed parameters or another choice of --fold or --only"
            raise BookError(f"{folder}: {change}; choose another --out")
        if differ:
            raise BookError(f"{folder}: another sweep (its {', '.join(differ)} differ); choose another --out")
        return
    if not is_empty(folder, ".lock", POINTS):
        raise BookError(f"{folder}: not empty and not a sweep; choose another --out")
    points = {p.id: {"parameters": p.parameters, "run": p.run, "block": p.block} for p in grid.points}
    for name, content in {POINTS: points, DEFINITION: wanted}.items():
        atomic_write(folder / name, json.dumps(content, indent=None if name == POINTS else 1) + "\n")


@contextlib.contextmanager
def _cleared(folder: Path, pool: AbstractContextManager) -> Iterator:
    """Open a pool, and remove the incomplete folders of killed workers before and after.

    If a sweep is interrupted, a scheduler's workers may still be writing, so nothing is removed then.
    """
    alone = False
    try:
        with pool as workers:
            if alone := workers.local:
                _clear(folder)
            yield workers
        alone = True
    finally:
        if alone:
            _clear(folder)


def _clear(folder: Path) -> None:
    for path in (folder / "runs").glob(".*"):
        shutil.rmtree(path, ignore_errors=True)


def _remove_damaged(folder: Path, waiting: list[str]) -> None:
    """Remove the folders of runs that lack `run.json`, since no result can be moved into their place.

    A folder appears by an atomic move, so one without the file is damaged, even if other workers still run.
    """
    for run in waiting:
        if run_folder(folder, run).is_dir() and not is_done(folder, run):
            print(f"clbook: {run_folder(folder, run)} has no run.json; its points are run again", file=sys.stderr)
            shutil.rmtree(run_folder(folder, run))


class Bar:
    """A bar with the runs done, under way and failed, and the remaining time, in a terminal or a notebook."""

    def __init__(self, total: int, done: int):
        from tqdm import tqdm

        text = "{n_fmt} of {total_fmt} runs |{bar}| {elapsed}, {remaining} left{postfix}"
        file = sys.stdout if "ipykernel" in sys.modules else sys.stderr  # in a notebook stderr is shown in red
        self.bar = tqdm(total=total, initial=done, bar_format=text, file=file, disable=None, leave=False)

    def say(self, text: str) -> None:
        self.bar.write(text)

    def show(self, outcome: Outcome, running: int) -> None:
        self.bar.set_postfix_str(f"{running} running, {len(outcome.failed)} failed", refresh=False)
        self.bar.n = len(outcome.done) + len(outcome.failed)
        self.bar.refresh()


def run_sweep(grid: Grid, folder: Path, pool: AbstractContextManager, say: Callable[[str], None] = None) -> Outcome:
    """Make all runs of a grid that have no result yet; `pool`, from `cluster.open_pool`, is opened if there are any.

    The first run is made alone, and its time predicts the cost of the rest. A run that fails keeps its partial notebook
    in ID.failed and is retried once, unless its parameters contradict each other. Raises BookError for a folder that
    contains something else or is in use, a full disk, or a lost scheduler. Idempotent: finished runs stay, and the same
    call resumes.
    """
    folder = folder.absolute()
    with place_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with held(folder / ".lock", f"{folder}: another sweep is running here"):
        _claim(grid, folder)
        (folder / "runs").mkdir(exist_ok=True)
        outcome = Outcome([run for run in grid.runs if is_done(folder, run)])
        done = set(outcome.done)
        waiting = [run for run in grid.runs if run not in done]
        _remove_damaged(folder, waiting)
        with _table_at_the_end(folder):
            if waiting:
                with _cleared(folder, pool) as workers:
                    bar = Bar(len(grid.runs), len(outcome.done))
                    with contextlib.closing(bar.bar):
                        _work_off(grid, folder, workers, waiting, outcome, bar, say or bar.say)
        return outcome


@contextlib.contextmanager
def _table_at_the_end(folder: Path) -> Iterator[None]:
    """Write the sweep's table, even if the sweep is interrupted; the interruption is then raised."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, BookError):
            write_table(read_table(folder), folder / TABLE)
        raise
    write_table(read_table(folder), folder / TABLE)


def _work_off(grid: Grid, folder: Path, pool, waiting: list[str], outcome: Outcome, bar: Bar, say) -> None:
    """Work through the queue, submitting only as many runs at a time as the pool can take."""
    queue, tries, running, first = list(reversed(waiting)), dict.fromkeys(waiting, 0), set(), True
    base = profile_parameters(grid.files, grid.profile)
    mine = uuid4().hex[:8]  # keys belong to the scheduler, which may have another sweep of the same points
    if not pool.places():
        say("no worker that can take a point has come yet; waiting for the first (Ctrl-C ends it)")
    while queue or running:
        while queue and len(running) < (1 if first else pool.room()):
            run = queue.pop()
            running.add(run)
            pool.submit(f"{run}-{tries[run]}-{mine}", _job(grid, base, run, folder))
        bar.show(outcome, len(running))
        key, result = pool.next()
        run = key.partition("-")[0]
        running.remove(run)
        tries[run] += 1
        if result["status"] == "full":
            raise BookError(
                f"{folder}: {result['message']}; what is finished stays: make room and run the same command"
            )
        if result["status"] == "done":
            outcome.done.append(run)
            shutil.rmtree(failed_folder(folder, run), ignore_errors=True)
            if first and "seconds" in result:
                first = False
                if queue:
                    say(cost(result["seconds"], len(queue), pool.places()))
        elif result["status"] != "refused" and tries[run] < ATTEMPTS:
            queue.append(run)
        else:
            _fail(folder, run, result["message"], outcome)
            first = False
    bar.show(outcome, 0)


def _job(grid: Grid, base: dict, run: str, folder: Path) -> Job:
    """The job of a run; `base` are the parameters of the grid's profile."""
    parameters, out = grid.runs[run], str(run_folder(folder, run))
    profile = named_profile(grid.profile, base, parameters)
    return Job(str(grid.files.root), grid.files.name, profile, parameters, out, grid.code, grid.only)


def _fail(folder: Path, run: str, reason: str, outcome: Outcome) -> None:
    """Record a failure, its reason also in a file beside the partial notebook."""
    outcome.failed[run] = reason
    failed_folder(folder, run).mkdir(exist_ok=True)
    (failed_folder(folder, run) / REASON).write_text(reason + "\n", encoding="utf-8")


def cost(seconds: float, runs: int, places: int) -> str:
    """The expected time of the remaining runs, from that of one run."""
    left = seconds * -(-runs // max(places, 1))
    shown = duration(left, hour_digits=1)
    return f"one run took {seconds:.0f} s; {runs} more, {places} at a time: about {shown}"


def command(grid: Grid, folder: Path, jobs: int | None, scheduler: str | None) -> int:
    """Run a sweep and print how it ended; returns 1 if points failed. Raises BookError."""
    devices = {str(parameters.get("device", "cpu")) for parameters in grid.runs.values()}
    on_gpu = any(device.startswith("cuda") for device in devices)
    on_gpu = on_gpu or "auto" in devices and scheduler is None and bool(gpus())
    with disk_errors(folder):
        outcome = run_sweep(grid, folder, open_pool(jobs, scheduler, on_gpu))
    for run, reason in outcome.failed.items():
        print(f"{run} failed: {reason}", file=sys.stderr)
    print(f"{len(outcome.done)} of {len(grid.runs)} runs done, {len(outcome.failed)} failed: {folder / TABLE}")
    return 1 if outcome.failed else 0
