"""Whether a computation fits a device's memory, asked before it starts; and what is done with freed memory."""

import ctypes
import os
from functools import cache

import torch

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt


def device_memory(device: torch.device | str = "cpu") -> float:
    """Bytes of memory: free ones of a CUDA device, all of the machine for the CPU, infinite where nobody can tell."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return float("inf")


def require_memory(needed: float, device: torch.device | str, what: str) -> None:
    """Raises ValueError, in one line, where `what` needs more bytes than the device has."""
    there = device_memory(device)
    if needed > there:
        raise ValueError(f"memory: {what} need {needed / 1e9:.3g} GB, allowed are {there / 1e9:.3g} GB on {device}")


@cache
def keep_freed_memory() -> bool:
    """Let the allocator keep what is freed for what is asked for next; returns whether it can (glibc only).

    The steps of a training free and ask for the same tensors of about a megabyte each. By default glibc hands these
    back to the system, and each comes back page by page, at a fault a page: a third of the time of a step. Holds for
    the whole process, whose memory then no longer shrinks. Results are the same.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, another system
        return False
    largest, never = 32 << 20, 1 << 30  # bytes; the most that the first may be, and the most that was ever needed
    return bool(mallopt(_MMAP_THRESHOLD, largest) and mallopt(_TRIM_THRESHOLD, never))
