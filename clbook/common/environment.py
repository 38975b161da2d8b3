"""The environment in which a result was made: versions, device, arithmetic, memory."""

import os
import platform
import re
import sys
from importlib import metadata
from multiprocessing import active_children
from pathlib import Path

from .errors import BookError

MOST_FILES = 4096  # more than any command opens, and no more than macOS allows


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on."""
    result = {"python": platform.python_version()}
    for name in ("torch", "numpy", "scipy"):
        try:
            result[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return result


def device_of(wanted: str) -> str:
    """The device to run on: `auto` is CUDA if available, else the CPU (never MPS, which has no float64).

    Args:
        wanted: `auto`, or one of torch's device names.

    Raises:
        BookError: CUDA was asked for and is not available.
    """
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise BookError("device: got 'cuda', but this machine offers none; allowed here are auto, cpu")
    return wanted


def device_name(device: str) -> str:
    """The GPU's name, or the processor's with its number of cores."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = match[1].strip() if match else model
    return f"{model}, {os.cpu_count()} cores"


def arithmetic() -> dict[str, object]:
    """What the last bits of a result on a CPU depend on: torch's instruction set and threads, and numpy's BLAS.

    OpenBLAS has kernels for each type of processor, so even two with AVX512 may differ in the last bits.
    """
    import torch
    from threadpoolctl import threadpool_info

    blas = {str(pool.get("architecture")) for pool in threadpool_info() if pool["user_api"] == "blas"}
    capability = torch.backends.cpu.get_cpu_capability()
    return {"capability": capability, "blas": ", ".join(sorted(blas)), "threads": torch.get_num_threads()}


def arithmetic_key(device: str) -> str:
    """What the last bits of a result depend on, as one text: versions, `arithmetic` and the device's type or name.

    Training can turn a last bit into another network, so kept pieces of runs are told apart by this text.
    """
    return repr([sorted(versions().items()), sorted(arithmetic().items()), device])


def allow_open_files(needed: int = 128) -> None:
    """Raise this process's limit of open files as far as it may; raises BookError if it stays below `needed`."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    most = MOST_FILES if hard == unlimited else min(hard, MOST_FILES)
    if unlimited != soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if unlimited != soft < needed:
        raise BookError(f"open files: at least {needed} are needed, the limit is {soft} (ulimit -n)")


def require_home() -> None:
    """Raise BookError where this user has no home: HOME is not set, and the system's list of users has no entry."""
    try:
        Path.home()
    except RuntimeError:
        raise BookError("this user has no home: set HOME to a folder that can be written") from None


def peak_megabytes(device: str) -> float:
    """Peak memory in MB (2^20 bytes) of this process and the workers that it has now, with the GPU's if one is used.

    The sum of the peaks of the processes, which need not be at the same time: what suffices for all of them together.
    """
    peak = _own_peak() + sum(_peak_of(worker.pid) for worker in active_children())
    if device.startswith("cuda"):
        import torch

        peak += torch.cuda.max_memory_allocated(device) / 2**20
    return round(peak)


def _own_peak() -> float:
    """As `_peak_of`, for this process on any system."""
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes on macOS, in kB on Linux
    # on Linux ru_maxrss may be that of the process which started this one
    return _peak_of(os.getpid()) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _peak_of(process: int) -> float:
    """Peak resident memory of a process in MB; 0 if it has ended, or the system has no /proc."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(peak[1]) / 2**10 if peak else 0.0
