"""What a program would make a CPU wait for a GPU, found without one: operations whose result the host has to see.

In a CUDA graph such an operation is an error. The list is what torch dispatches: a number taken from a tensor (`item`,
`bool`, `float`, `if`), a shape that depends on values, a copy to the CPU that waits. `numpy()` of a CPU tensor is not
dispatched and so not seen here; the stand-in `elsewhere` refuses it.
"""

from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
WAITING = {
    _aten._local_scalar_dense,
    _aten.nonzero,
    _aten.masked_select,
    _aten._unique2,
    _aten.unique_dim,
    _aten.unique_consecutive,
    _aten.bincount,
    _aten.equal,
    _aten._linalg_check_errors,
}


class HostSyncs(TorchDispatchMode):
    """Counts the waiting operations of what runs inside, by name, in `found`."""

    def __init__(self):
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        by_mask = function is _aten.index.Tensor and any(i is not None and i.dtype == torch.bool for i in args[1])
        if function.overloadpacket in WAITING or by_mask:
            self.found[str(function)] += 1
        return function(*args, **(kwargs or {}))
