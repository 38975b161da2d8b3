"""Where the runs of a sweep are computed: processes on this machine, or the workers of a running scheduler."""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ..common.environment import allow_open_files
from ..common.errors import BookError
from ..common.formats import SCHEDULER, intact
from ..common.interrupts import sigint_blocked
from .job import Job, run_job

ANSWER_SECONDS = 10  # timeout for a scheduler's answer
FILE_SECONDS = 60  # timeout for its file, on the disk of a cluster
LOOPBACK = "127.0.0.1"  # whoever reaches a scheduler can run code as its user
QUEUED = 2  # jobs submitted for each thread of a worker, so that no thread waits


class Pool:
    """A sweep's view of a cluster of dask.distributed. `resources` are those that a run needs of its worker."""

    def __init__(self, client, local: bool, resources: dict[str, float]):
        from distributed import as_completed

        self.client, self.local, self.resources = client, local, resources
        self.arrived = as_completed([], loop=client.loop)

    def places(self) -> int:
        """Number of jobs that run at a time: one per thread of a worker, limited by its resources."""
        workers = self.client.scheduler_info(n_workers=-1).get("workers", {})  # empty if the scheduler is lost
        return sum(
            int(min([w["nthreads"], *(w["resources"].get(r, 0) // need for r, need in self.resources.items())]))
            for w in workers.values()
        )

    def room(self) -> int:
        """Number of jobs that are submitted at a time."""
        return QUEUED * max(1, self.places())

    def submit(self, key: str, job: Job) -> None:
        self.arrived.add(self.client.submit(run_job, job, key=key, pure=False, resources=self.resources))

    def next(self) -> tuple[str, dict]:
        """The key and result of the next job that ends; raises BookError if the scheduler is lost."""
        future = next(self.arrived)
        key, state = future.key, future.status
        if state == "finished":
            result = future.result()
        elif state == "error":
            result = {"status": "failed", "message": _why(future.exception())}
        else:
            raise BookError("the scheduler was lost; what is finished stays: run the same command again")
        future.release()
        return key, result


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _why(error: BaseException) -> str:
    """Why a worker returned no result; the job itself raises nothing."""
    from distributed import KilledWorker

    line = _first_line(error)
    if isinstance(error, KilledWorker):
        return f"the worker was lost: {line}"
    return f"the worker could not begin ({type(error).__name__}: {line}); does it have this environment?"


def _one_gpu_per_worker(cards: list[str]):
    """A plugin that gives worker number k the k-th of these GPUs, also after a restart."""
    from distributed import WorkerPlugin

    class OneGpu(WorkerPlugin):
        def setup(self, worker) -> None:
            os.environ["CUDA_VISIBLE_DEVICES"] = cards[int(worker.name) % len(cards)]

    return OneGpu()


def gpus() -> list[str]:
    """The GPUs of this machine that torch sees, as CUDA_VISIBLE_DEVICES names them."""
    try:
        import torch
    except ImportError:
        return []
    count, visible = torch.cuda.device_count(), os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return visible.split(",")[:count] if visible else [str(k) for k in range(count)]


@contextlib.contextmanager
def open_pool(jobs: int | None = None, scheduler: str | None = None, on_gpu: bool = False) -> Iterator[Pool]:
    """A cluster of processes on this machine, or the one at a scheduler's address.

    `jobs` is the number of processes, by default one per core, or one per GPU for points that need one. A scheduler's
    workers must share the file system, and offer the resource GPU for such points.

    Raises BookError if dask is not installed, the scheduler does not answer, or both jobs and scheduler are given.
    """
    try:
        import distributed
    except ImportError:
        raise BookError("dask is not installed: pip install -e '.[run,cluster]'") from None
    if scheduler and jobs:
        raise BookError(f"--jobs {jobs}: the scheduler at {scheduler} has its own workers; give only one of the two")
    if jobs is not None and jobs < 1:
        raise BookError(f"--jobs: must be ≥ 1, got {jobs}")
    resources = {"GPU": 1} if on_gpu else {}
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what can be fixed is reported in one line
    with contextlib.ExitStack() as stack:
        if scheduler:
            client = stack.enter_context(_reached(distributed, scheduler))
        else:
            client = stack.enter_context(_started(distributed, jobs, on_gpu))
        yield Pool(client, not scheduler, resources)


@contextlib.contextmanager
def _reached(distributed, address: str) -> Iterator:
    """A client of an existing scheduler, by its address or the path of the file to which it writes its address."""
    by_file = address.endswith(".json")
    try:
        where = intact(_written(Path(address)), SCHEDULER)["address"] if by_file else address
        # a client that cannot even try waits at its end, and prints a traceback
        distributed.comm.resolve_address(where)
        if where.startswith("tls:") and not distributed.Security().get_connection_args("client").get("ssl_context"):
            raise ValueError("TLS is not set up here, which the page on sweeps describes")
        client = distributed.Client(where, timeout=ANSWER_SECONDS, set_as_default=False)
    except (ValueError, RuntimeError) as error:  # a RuntimeError where TLS is required and the address has none
        raise BookError(f"--scheduler {address}: {_first_line(error)}; is the address right?") from None
    except (OSError, TimeoutError) as error:
        advice = "is it running, is the address right, may this machine reach it?"
        problem = f"no answer within {ANSWER_SECONDS} s ({_first_line(error)})"
        raise BookError(f"--scheduler {address}: {problem}; {advice}") from None
    with client:
        yield client


def _written(path: Path) -> Path:
    """Wait for the file of a scheduler that may have just started; raises BookError after a timeout."""
    for _ in range(10 * FILE_SECONDS):
        if path.is_file() and path.stat().st_size:
            return path
        time.sleep(0.1)
    raise BookError(f"--scheduler {path}: no such file after {FILE_SECONDS} s; has the scheduler started?")


@contextlib.contextmanager
def _started(distributed, jobs: int | None, on_gpu: bool) -> Iterator:
    cores, cards = os.cpu_count() or 1, gpus() if on_gpu else []
    count = jobs or len(cards) or cores
    allow_open_files(128 + 16 * count)
    share = str(max(1, cores // count))  # of the cores, for the parallel parts of a point
    quiet = {"TQDM_DISABLE": "1", "OMP_NUM_THREADS": share, "LOKY_MAX_CPU_COUNT": share}
    options = dict(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,  # kernels are separate processes, which it does not count
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",  # any free port, since a second sweep may run on this machine
        resources={"GPU": 1} if on_gpu else None,
        env=quiet,
        silence_logs=50,
    )
    with contextlib.ExitStack() as stack:
        try:
            with sigint_blocked():
                cluster = stack.enter_context(distributed.LocalCluster(**options))
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        except (OSError, RuntimeError, TimeoutError) as error:  # such as "Nanny failed to start."
            line = _first_line(error)
            raise BookError(f"--jobs {count}: a worker died while it started ({line}); run the same command") from None
        if len(cards) > 1:
            client.register_plugin(_one_gpu_per_worker(cards))
        yield client
