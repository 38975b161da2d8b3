"""Independent calls side by side, in processes of one thread each."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import torch

T = TypeVar("T")


def default_workers() -> int:
    """Processes for training on the CPU: one per available core (LOKY_MAX_CPU_COUNT sets fewer), 4 at most."""
    from joblib import cpu_count

    return min(4, cpu_count())


def side_by_side(
    call: Callable[..., T],
    cases: Sequence[tuple],
    watch: Callable[[Iterable], Iterable] = iter,
    workers: int | None = None,
) -> list[T]:
    """call(*case) of every case, in order; the results do not depend on the number of workers.

    The processes stay for the next call. On another default device than a CPU, and with one worker, the cases are
    computed one after the other in this process.
    Args:
        call: a function of a module, on one thread.
        cases: its arguments; what takes longest comes first.
        watch: wraps the cases in a progress bar.
        workers: processes, by default `default_workers()`: one per core, or as LOKY_MAX_CPU_COUNT says.
    Raises: as the call.
    Cost: two seconds to start a process; a result crosses as bytes.
    """
    workers = (workers or default_workers()) if torch.get_default_device().type == "cpu" else 1
    if min(workers, len(cases)) <= 1:
        return [call(*case) for case in watch(cases)]
    from joblib import Parallel, delayed

    jobs = (delayed(_as_bytes)(call, case, torch.get_default_dtype()) for case in cases)
    done = Parallel(workers, return_as="generator", batch_size=1, max_nbytes=None)(jobs)
    return [pickle.loads(next(done)) for _ in watch(cases)]


def _as_bytes(call: Callable, case: tuple, dtype: torch.dtype) -> bytes:
    """The result in a worker; tensors themselves would cross in shared memory, which may be scarce."""
    torch.set_num_threads(1)
    torch.set_default_dtype(dtype)
    return pickle.dumps(call(*case))
