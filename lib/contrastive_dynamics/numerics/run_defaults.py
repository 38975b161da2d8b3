"""What every run of a chapter sets in its process."""


def torch_defaults(device: str) -> None:
    """Float64, tensors on the run's device, and one thread: the chapters' operations are too small to split."""
    import torch

    torch.set_default_dtype(torch.float64)
    if device != "cpu":  # setting a default device slows down every call
        torch.set_default_device(device)
    torch.set_num_threads(1)
