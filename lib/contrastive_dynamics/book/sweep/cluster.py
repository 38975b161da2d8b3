"""Where the points of a sweep run: a cluster of processes on this machine, or one that a scheduler's address names."""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ..ground.errors import BookError
from .job import Job, run_job

ANSWER_SECONDS = 10  # that a scheduler is given
FILE_SECONDS = 60  # that one is given to write its file, on the disk of a cluster
QUEUED = 2  # jobs handed over for each thread of a worker, so that none waits


class Pool:
    """A cluster of dask.distributed, as a sweep uses it. `resources` are what a point needs of its worker."""

    def __init__(self, client, local: bool, resources: dict[str, float]):
        from distributed import as_completed

        self.client, self.local, self.resources = client, local, resources
        self.arrived = as_completed([], loop=client.loop)

    def places(self) -> int:
        """How many jobs run at a time: one on each thread of a worker, as far as it offers the resources."""
        workers = self.client.scheduler_info(n_workers=-1).get("workers", {})  # nothing of a scheduler that is lost
        return sum(
            int(min([w["nthreads"], *(w["resources"].get(r, 0) // need for r, need in self.resources.items())]))
            for w in workers.values()
        )

    def room(self) -> int:
        """How many jobs are handed over at a time."""
        return QUEUED * max(1, self.places())

    def submit(self, key: str, job: Job) -> None:
        self.arrived.add(self.client.submit(run_job, job, key=key, pure=False, resources=self.resources))

    def next(self) -> tuple[str, dict]:
        """The key and result of the next job that ends; raises BookError where the scheduler is lost."""
        future = next(self.arrived)
        key, state = future.key, future.status
        if state == "finished":
            result = future.result()
        elif state == "error":
            result = {"status": "failed", "said": _why(future.exception())}
        else:
            raise BookError("the scheduler was lost; what is finished stays: run the same command again")
        future.release()
        return key, result


def _why(error: BaseException) -> str:
    """Why a worker gave no result of a job, which itself raises nothing."""
    from distributed import KilledWorker

    said = (str(error).splitlines() or [""])[0]
    if isinstance(error, KilledWorker):
        return f"the worker was lost: {said}"
    return f"the worker could not begin ({type(error).__name__}: {said}); does it have this environment?"


def _one_gpu_a_worker(cards: list[str]):
    """A plugin that gives worker number k the k-th of these GPUs, after a restart too."""
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
    count, given = torch.cuda.device_count(), os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return given.split(",")[:count] if given else [str(k) for k in range(count)]


@contextlib.contextmanager
def open_pool(jobs: int | None = None, scheduler: str | None = None, on_gpu: bool = False) -> Iterator[Pool]:
    """A cluster of `jobs` processes here, by default one a core, or one a GPU for points that need one; or the one at
    a scheduler's address, whose workers must share the file system, and offer the resource GPU for such points.

    Raises BookError where dask is not installed, the scheduler does not answer, or both are asked for.
    """
    try:
        import distributed
    except ImportError:
        raise BookError("dask is not installed: pip install -e '.[run,cluster]'") from None
    if scheduler and jobs:
        raise BookError(f"--jobs {jobs}: the scheduler at {scheduler} has workers of its own, allowed is one of both")
    if jobs is not None and jobs < 1:
        raise BookError(f"--jobs: got {jobs}, allowed is 1 or more")
    resources = {"GPU": 1} if on_gpu else {}
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what can be mended is said in one line
    with contextlib.ExitStack() as stack:
        if scheduler:
            client = stack.enter_context(_reached(distributed, scheduler))
        else:
            client = stack.enter_context(_started(distributed, jobs, on_gpu))
        yield Pool(client, not scheduler, resources)


@contextlib.contextmanager
def _reached(distributed, address: str) -> Iterator:
    """A client of a scheduler that stands; the address may be that of the file in which it writes its own."""
    by_file = address.endswith(".json")
    try:
        where = {"scheduler_file": _written(Path(address))} if by_file else {"address": address}
        client = distributed.Client(**where, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        advice = "is it running, is the address right, may this machine reach it?"
        within = FILE_SECONDS if by_file else ANSWER_SECONDS
        raise BookError(f"--scheduler {address}: no answer within {within} s ({said}); {advice}") from None
    with client:
        yield client


def _written(path: Path) -> str:
    """The scheduler's file, which a job that has just begun may not have written yet; raises TimeoutError."""
    for _ in range(10 * FILE_SECONDS):
        if path.is_file() and path.stat().st_size:
            return str(path)
        time.sleep(0.1)
    raise TimeoutError("no such file")


@contextlib.contextmanager
def _started(distributed, jobs: int | None, on_gpu: bool) -> Iterator:
    cores, cards = os.cpu_count() or 1, gpus() if on_gpu else []
    count = jobs or len(cards) or cores
    share = str(max(1, cores // count))  # of the cores, for what a point runs in parallel
    quiet = {"TQDM_DISABLE": "1", "OMP_NUM_THREADS": share, "LOKY_MAX_CPU_COUNT": share}
    cluster = distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,  # the kernels are processes of their own, which it does not count
        dashboard_address=":0",  # else a second sweep on a machine warns of the first one
        resources={"GPU": 1} if on_gpu else None,
        env=quiet,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        if len(cards) > 1:
            client.register_plugin(_one_gpu_a_worker(cards))
        yield client
