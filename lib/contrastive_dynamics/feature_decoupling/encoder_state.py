"""The state of a training that continues after an interruption, its file, and the training that the file belongs to.

Shapes: weights `[run, ...]` by name, images `[n, 3, s, s]`, labels `[n]`.
"""

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from .wide_resnet import Weights

Streams = Sequence[list[torch.Generator]]
_ADVICE = "delete it to train from the start"


@dataclass
class EncoderState:
    """A training after `step` of its steps; `key` says of which training, empty if it is not stored."""

    key: dict[str, str]
    step: int
    weights: Weights
    velocity: Weights
    order: Tensor  # [run, n], for this epoch
    losses: Tensor  # [step, run]

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return len(self.losses)

    def save(self, path: Path | str, streams: Streams) -> None:
        """Write the state and that of the streams to a temporary file, then move it into place."""
        path = Path(path)
        aside = path.with_name(f"{path.name}.part")
        torch.save(self._content(streams), aside)
        aside.replace(path)

    def load(self, path: Path | str, streams: Streams) -> "EncoderState":
        """The stored state of the training that starts with this one; sets the streams to where they were then.

        Raises: ValueError for a file of another training, saying what differs, and for one that is damaged.
        """
        found, damaged = _read(path), ValueError(f"state at {path} is damaged or from another version; {_ADVICE}")
        if not isinstance(found, dict) or not isinstance(found.get("key"), dict):
            raise damaged
        if other := [what for what in self.key if found["key"].get(what) != self.key[what]]:
            wanted, got = (", ".join(f"{what} {key.get(what)}" for what in other) for key in (self.key, found["key"]))
            raise ValueError(f"state at {path} must be of {wanted}, got {got}")
        if _form(found) != _form(self._content(streams)) or not 0 <= found["step"] <= self.steps:
            raise damaged
        try:
            for generators, states in zip(streams, found.pop("streams"), strict=True):
                for generator, state in zip(generators, states, strict=True):
                    generator.set_state(state)
        except RuntimeError:
            raise damaged from None
        return EncoderState(**{name: _to(value, self.order.device) for name, value in found.items()})

    def _content(self, streams: Streams) -> dict:
        return vars(self) | {"streams": [[generator.get_state() for generator in part] for part in streams]}


def training_key(settings, images: Tensor, labels: Tensor, streams: Streams) -> dict[str, str]:
    """What a training depends on, in words: settings, seeds of the streams, device, and all images and labels in order.

    Args:
        settings: a dataclass.
        images, labels: the training data.
        streams: generators, by purpose and run.
    Cost: one SHA-256 of the data, about a second per GB.
    """
    seeds = [[generator.initial_seed() for generator in part] for part in streams]
    # numbers drawn on one kind of device cannot be continued on another
    where = {"settings": f"{asdict(settings)}", "streams": f"{seeds}", "device": images.device.type}
    return where | {"images": _digest(images), "labels": _digest(labels)}


def _digest(x: Tensor) -> str:
    content = x.detach().cpu().contiguous().view(torch.uint8).flatten().numpy()
    return f"{x.dtype} {list(x.shape)} sha256:{hashlib.sha256(content).hexdigest()}"


def _read(path: Path | str) -> object:
    try:
        with zipfile.ZipFile(path) as file:
            if file.testzip() is not None:  # torch.load does not compare the sums of the parts
                raise ValueError
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file raises almost anything
        raise ValueError(f"state at {path} cannot be read ({type(error).__name__}); {_ADVICE}") from None


def _form(value: object) -> object:
    """Names, shapes and types of a state, without its numbers."""
    if isinstance(value, dict):
        return {name: _form(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_form(part) for part in value]
    return (value.dtype, value.shape) if isinstance(value, Tensor) else type(value)


def _to(value, device: torch.device):
    if isinstance(value, dict):
        return {name: _to(part, device) for name, part in value.items()}
    return value.to(device) if isinstance(value, Tensor) else value
