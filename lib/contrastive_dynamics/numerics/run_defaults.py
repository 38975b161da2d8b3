"""What every run needs: its block of seeds, its device, torch's defaults."""


def seed_block(first: int, count: int) -> range:
    """The seeds first, …, first + count − 1 of a run."""
    return range(first, first + count)


def resolve_device(wanted: str) -> str:
    """The device of a run: `auto` is CUDA if available, else the CPU (never MPS, which has no float64).

    Args:
        wanted: `auto`, or one of torch's device names.
    Returns: the name of the device.
    Raises: ValueError for CUDA on a machine that has none.
    """
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError("device: got 'cuda', but this machine offers none; allowed here are auto, cpu")
    return wanted


def torch_defaults(device: str) -> None:
    """Float64, tensors on the run's device, and one thread: the chapters' operations are too small to split."""
    import torch

    torch.set_default_dtype(torch.float64)
    if device != "cpu":  # setting a default device slows down every call
        torch.set_default_device(device)
    torch.set_num_threads(1)
