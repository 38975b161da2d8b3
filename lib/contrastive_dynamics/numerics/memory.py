"""Whether a computation fits a device's memory, checked before it starts; and keeping freed memory for reuse."""

import ctypes
import os
from functools import cache

import torch

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt


def device_memory(device: torch.device | str = "cpu") -> float:
    """Bytes of memory: the free memory of a CUDA device, or all memory of the machine for the CPU; inf if unknown."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not available on every system
        return float("inf")


def require_memory(needed: float, device: torch.device | str, what: str) -> None:
    """Raise a one-line ValueError if a computation needs more memory than the device has.

    Args:
        needed: bytes.
        device: where they are needed.
        what: plural name of what needs them, for the message.
    """
    there = device_memory(device)
    if needed > there:
        raise ValueError(f"memory: must be at most {there / 1e9:.3g} GB on {device}, {what} need {needed / 1e9:.3g} GB")


@cache
def keep_freed_memory() -> bool:
    """Let the allocator keep freed memory for later requests; returns whether it can (glibc only).

    The steps of a training free and request the same tensors of about a megabyte each. By default glibc returns these
    to the system, and each comes back page by page, with one fault per page, which takes a third of the time of a step.
    The setting applies to the whole process, whose memory then no longer shrinks. Results are the same.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, another system
        return False
    largest, never = 32 << 20, 1 << 30  # bytes: the most that the first may be; the most that was ever needed
    return bool(mallopt(_MMAP_THRESHOLD, largest) and mallopt(_TRIM_THRESHOLD, never))
