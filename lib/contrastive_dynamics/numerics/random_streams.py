"""Random streams: what run k draws depends on (seed, k, purpose) and on nothing else."""

import hashlib

import torch


def stream(seed: int, run: int, purpose: str, device: torch.device | str | None = None) -> torch.Generator:
    """A generator of its own for one run and one purpose.

    The state is the first 63 bits of SHA-256(seed, run, purpose), so a run draws the same numbers alone,
    in a batch, reordered, or with more runs beside it. Streams of different devices differ.

    Args: seed and run are non-negative integers; purpose names the draw ("start", "data", ...); device, by default
        torch's default device.
    Raises: ValueError if seed or run is negative.
    """
    if seed < 0 or run < 0:
        raise ValueError(f"stream: seed and run must be 0 or more, got seed={seed}, run={run}")
    digest = hashlib.sha256(f"{seed}/{run}/{purpose}".encode()).digest()
    generator = torch.Generator(device=torch.get_default_device() if device is None else device)
    generator.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return generator
