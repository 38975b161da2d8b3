"""A step of fixed shape on CUDA, captured once as a graph and replayed: the same kernels without launch costs."""

from collections.abc import Callable
from dataclasses import fields

import torch

WARM_STEPS = 3  # run before the capture, because they choose kernels and allocate buffers


def replayed(step: Callable) -> Callable:
    """The step as a CUDA graph.

    The first steps run one by one on a side stream, and the next one is captured; later batches are copied into the
    tensors of the captured one.

    Args:
        step: function of a batch, a dataclass of tensors; it changes tensors that stay in place.
    Returns: a function with the same effect as step.
    Raises: torch's RuntimeError for a step that cannot be captured and for batches of another shape.
    """
    graph, static, count = torch.cuda.CUDAGraph(), None, 0

    def call(batch) -> None:
        nonlocal static, count
        count += 1
        if count <= WARM_STEPS:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                step(batch)
            torch.cuda.current_stream().wait_stream(side)
            return
        if static is None:
            static = type(batch)(*(getattr(batch, field.name).clone() for field in fields(batch)))
            with torch.cuda.graph(graph):  # records the step without computing it
                step(static)
        for field in fields(batch):
            getattr(static, field.name).copy_(getattr(batch, field.name))
        graph.replay()

    return call
