"""Random streams: what run k draws depends on (seed, k, purpose) and on nothing else."""

import hashlib
from collections.abc import Iterable

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


def streams(seeds: Iterable[int], runs: int, purpose: str) -> list[torch.Generator]:
    """The generators of several runs of each seed: all of the first seed, then all of the second, and so on.

    Args:
        seeds: integers ≥ 0.
        runs: how many per seed, ≥ 1.
        purpose: as in `stream`.
    Returns: one generator per seed and run, on torch's default device.
    Raises: as `stream`; ValueError for runs below 1.
    """
    if runs < 1:
        raise ValueError(f"runs must be ≥ 1, got {runs}")
    return [stream(seed, run, purpose) for seed in seeds for run in range(runs)]
