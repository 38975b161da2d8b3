"""The notebooks of a chapter run in parallel, one per core: each computes on one thread."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


class Stopped(BaseException):
    """The job was told to stop because another one failed or Ctrl-C was pressed."""


def side_by_side(jobs: Sequence[Callable[[threading.Event], T]], at_once: int | None = None) -> list[T]:
    """The results of all jobs, in their order.

    Args:
        jobs: Functions of an event; a long one must poll the event and raise Stopped soon after it is set.
        at_once: Number of jobs that run at a time; None means one per core.

    Raises:
        KeyboardInterrupt, or what the first job that fails raises. The other jobs have ended by then.
    """
    from joblib import cpu_count

    stop, workers = threading.Event(), min(len(jobs), at_once or cpu_count())
    if workers <= 1:
        return [job(stop) for job in jobs]

    def watched(job: Callable[[threading.Event], T]) -> T:
        if stop.is_set():
            raise Stopped
        try:
            return job(stop)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(workers, thread_name_prefix="notebooks") as pool:
        started = [pool.submit(watched, job) for job in jobs]
        try:
            wait(started)
        finally:  # Ctrl-C arrives here, not in the jobs
            stop.set()
    for error in sorted(filter(None, (job.exception() for job in started)), key=lambda e: isinstance(e, Stopped)):
        raise error
    return [job.result() for job in started]
