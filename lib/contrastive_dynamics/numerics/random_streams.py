"""Random streams: what run k draws depends on (seed, k, purpose) and on nothing else."""

import hashlib

import torch


def stream(seed: int, run: int, purpose: str, device: torch.device | str | None = None) -> torch.Generator:
    """A separate generator for one run and one purpose.

    Its state is the first 63 bits of SHA-256(seed, run, purpose), so a run draws the same numbers alone, in a batch,
    in another order, or beside more runs. Streams on different devices differ.

    Args:
        seed: integer ≥ 0.
        run: integer ≥ 0.
        purpose: name of the draw ("start", "data", ...).
        device: by default torch's default device.
    Returns: torch.Generator on the device.
    Raises: ValueError if seed or run is negative.
    """
    if seed < 0 or run < 0:
        raise ValueError(f"seed and run must be ≥ 0, got seed={seed}, run={run}")
    digest = hashlib.sha256(f"{seed}/{run}/{purpose}".encode()).digest()
    generator = torch.Generator(device=torch.get_default_device() if device is None else device)
    generator.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return generator
