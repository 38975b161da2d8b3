"""Features that a frozen network gives two augmented views of a photograph: real pairs that no linear map makes.

The network is EfficientNet-Lite0, trained on labels of ImageNet. It sees small photographs, enlarged a little, so it
recognises less than at its own size; the law asks only that it stays as it is.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from ..alignment_and_balance.pretrained_encoders import LITE, lite0
from ..data import catalogue
from ..feature_decoupling.image_augmentations import Augmentation
from ..numerics.random_streams import stream

NUMBERS = 48  # principal components that are kept
_ENLARGED = 64  # pixels of a side that the network sees; at 48 its last map is one pixel, and 99 % of it zeros
_BLOCK = 256  # images that are encoded at once


def photograph_features(split: str) -> tuple[Tensor, Tensor]:
    """Features `[n, NUMBERS]` of two augmented views of n = 4034 photographs, row by row; computed once per process.

    They are the training photographs of `cifar10-exact`, every second one held out, as its own test photographs are too
    few. Views are parts of 50 to 100 % of the area at full size, mirrored, with SimCLR's changes of colour. They are
    drawn once, from a stream of their own, and are the same for every seed. Features are coordinates along the
    principal axes of the training views.
    Args:
        split: train or test.
    Returns: first and second views, float32, on torch's default device.
    Raises: ValueError for another split; DataError for files or packages that are missing or damaged.
    Cost: the network on 16,136 photographs, a minute on one core; 90 MB.
    """
    if split not in ("train", "test"):
        raise ValueError(f"photograph_features: split must be train or test, got {split!r}")
    return _features()[split]


@functools.cache
def _features() -> dict[str, tuple[Tensor, Tensor]]:
    device = torch.get_default_device()
    encode, images = lite0(device), catalogue.cifar10("train", name="cifar10-exact").images
    change, drawn = Augmentation("full", scale=(0.5, 1.0)), stream(0, 0, "views for a frozen network")
    parts = {"train": images[::2], "test": images[1::2]}
    raw = {
        split: [encoded_views(encode, torch.from_numpy(part).to(device), change, drawn) for _ in range(2)]
        for split, part in parts.items()
    }
    axes = principal_axes(torch.cat(raw["train"]), NUMBERS)
    return {split: tuple(view @ axes for view in views) for split, views in raw.items()}


def encoded_views(
    encode: Callable[[Tensor], Tensor], images: Tensor, change: Augmentation, drawn: torch.Generator
) -> Tensor:
    """Features `[n, p]` of one changed view of each image.

    Args:
        encode: a frozen network, `[b, 3, s, s]` to `[b, p]`, for images scaled by (x − 127)/128.
        images: `[n, s, s, 3]`, bytes.
        change: of every image.
        drawn: what the changes are drawn from.
    Raises: ValueError for images of another shape.
    Cost: that of `encode`, block by block.
    """
    if images.ndim != 4 or images.shape[-1] != 3:
        raise ValueError(f"encoded_views: images must be [n, s, s, 3], got {list(images.shape)}")
    mean, deviation = (torch.tensor(part, device=images.device).view(3, 1, 1) for part in LITE)
    found = []
    for block in images.split(_BLOCK):
        view = change(block.permute(0, 3, 1, 2)[None].float() / 255, [drawn])[0]
        larger = interpolate(view, size=(_ENLARGED, _ENLARGED), mode="bilinear", align_corners=False)
        found.append(encode(((larger - mean) / deviation).float()))
    return torch.cat(found)


def principal_axes(features: Tensor, count: int) -> Tensor:
    """The axes `[p, count]` along which features `[n, p]` vary most, in descending order.

    Raises: ValueError for a count that n or p does not allow.
    """
    if not 1 <= count <= min(features.shape[1], len(features) - 1):
        raise ValueError(f"principal_axes: count must be 1 to min(p, n − 1), got {count} of {list(features.shape)}")
    return torch.linalg.eigh(torch.cov(features.double().T)).eigenvectors.flip(-1)[:, :count].float()
