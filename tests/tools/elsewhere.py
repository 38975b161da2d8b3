"""A device other than the CPU that every machine has: tensors that claim to live elsewhere but are computed here.

An operation that mixes tensors from both places fails, as it would with CUDA, and so does numpy on a tensor from
elsewhere. So code that works both on the CPU and here has put every tensor where its inputs are.
In this mode the device `meta` means elsewhere; nothing else here uses that device.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

ELSEWHERE = torch.device("meta")
_aten = torch.ops.aten
_INDEXED = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)
_MIXED = (_aten._to_copy.default, _aten.copy_.default, _aten.index.Tensor)  # CUDA, too, accepts an index from the CPU


class FarTensor(torch.Tensor):
    """A tensor elsewhere; `near` is the tensor on which it is computed."""

    @staticmethod
    def __new__(cls, near: torch.Tensor) -> "FarTensor":
        how = {"strides": near.stride(), "storage_offset": near.storage_offset(), "dtype": near.dtype}
        far = torch.Tensor._make_wrapper_subclass(cls, near.shape, device=ELSEWHERE, **how)
        far.near = near
        return far

    def __repr__(self) -> str:
        return f"FarTensor({self.near})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _compute(function, args, kwargs or {})


class FarGenerator(torch.Generator):
    """A generator that claims to live elsewhere."""

    device = ELSEWHERE

    def __new__(cls) -> "FarGenerator":
        return super().__new__(cls, device="cpu")


class _Dispatch(TorchDispatchMode):
    """Makes tensors with device `meta` FarTensors."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _compute(function, args, kwargs or {})


class _FromNumbers(TorchFunctionMode):
    """Does the same for tensors made from numbers, which no dispatch sees."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in (torch.tensor, torch.as_tensor) and not isinstance(args[0], torch.Tensor):
            if torch.device(kwargs.get("device") or torch.get_default_device()) == ELSEWHERE:
                return FarTensor(function(*args, **kwargs | {"device": "cpu"}))
        if function is torch.Tensor.__format__ and isinstance(args[0], FarTensor):  # torch formats no subclass
            return format(args[0].near, *args[1:])
        if function in _INDEXED and isinstance(args[0], FarTensor):  # torch would make a list a `meta` tensor, unread
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            index = tuple(FarTensor(torch.tensor(i, device="cpu")) if isinstance(i, list) else i for i in index)
            return function(args[0], index, *args[2:], **kwargs)
        return function(*args, **kwargs)


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """While this is active, `meta` is a device with tensors and generators; restores the default device."""
    here = torch.Generator

    class Generator(here):
        def __new__(cls, device="cpu"):
            return FarGenerator() if torch.device(device) == ELSEWHERE else here(device)

    torch.Generator = Generator
    FarTensor.tolist = lambda far: far.near.tolist()  # torch does not offer it to subclasses
    try:
        with _FromNumbers(), _Dispatch():
            yield
    finally:
        torch.Generator = here
        torch.set_default_device(None)


def _compute(function, args, kwargs):
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    far = any(isinstance(t, FarTensor) for t in tensors)
    if far and function not in _MIXED and any(not isinstance(t, FarTensor) and t.ndim > 0 for t in tensors):
        raise RuntimeError(f"{function} got tensors of two devices: elsewhere and the CPU")
    if kwargs.get("device") is not None:
        far = torch.device(kwargs["device"]) == ELSEWHERE
        kwargs = kwargs | {"device": "cpu"}

    def near(value):
        return value.near if isinstance(value, FarTensor) else value

    out = function(*tree_map(near, args), **tree_map(near, kwargs))
    if function._schema.is_mutable and function._schema.name.endswith("_"):  # in place
        if torch.Tag.inplace_view in function.tags:  # squeeze_ and the like: the wrapper's own shape changes, too
            with no_dispatch():
                function(*args, **kwargs)
        return args[0]
    return tree_map(lambda value: FarTensor(value) if far and isinstance(value, torch.Tensor) else value, out)
