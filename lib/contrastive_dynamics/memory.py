"""Whether a computation fits a device's memory, asked before it starts."""

import os

import torch


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
