"""The environment in which a result was made: versions, device, arithmetic, memory."""

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from .errors import BookError


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on."""
    found = {"python": platform.python_version()}
    for name in ("torch", "numpy", "scipy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def device_of(wanted: str) -> str:
    """The device of a run: `auto` is CUDA if available, else the CPU (never MPS, which has no float64).

    Args:
        wanted: `auto`, or one of torch's device names.

    Raises:
        BookError: CUDA on a machine that has none.
    """
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise BookError("device: got 'cuda', but this machine offers none; allowed here are auto, cpu")
    return wanted


def device_name(device: str) -> str:
    """The device in words: the GPU's name, or the processor and its cores."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = match[1].strip() if match else model
    return f"{model}, {os.cpu_count()} cores"


def arithmetic() -> dict[str, object]:
    """What decides the last bits of a result on a CPU: the instructions that torch uses, its threads, and numpy's BLAS.

    Two processors that both have AVX512 may get other products from OpenBLAS, which has code for each kind of them.
    """
    import torch
    from threadpoolctl import threadpool_info

    found = {str(one.get("architecture")) for one in threadpool_info() if one["user_api"] == "blas"}
    capability = torch.backends.cpu.get_cpu_capability()
    return {"capability": capability, "blas": ", ".join(sorted(found)), "threads": torch.get_num_threads()}


def peak_megabytes(device: str) -> float:
    """Peak memory of this process so far, including the GPU's if one is used, in MB (2^20 bytes)."""
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes on macOS, in kB on Linux
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    if device.startswith("cuda"):
        import torch

        peak += torch.cuda.max_memory_allocated(device) / 2**20
    return round(peak)
