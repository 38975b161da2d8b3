"""Image–caption pairs of Figure 2 by name, split into training and test: generated scenes, or COCO through encoders."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.random_streams import stream

NAMES = ("scenes", "coco-human", "coco-labels", "coco-2014")
MODELS = "CONTRASTIVE_MODELS"  # names a folder with both of the paper's models; if unset, they come from the hub
IMAGE_MODEL, TEXT_MODEL = "microsoft/resnet-101", "roberta-base"
_TEST_SCENES = 1000


class Pairs(NamedTuple):
    """The rows of one split: features, standardised with the mean and deviation of the training part."""

    images: Tensor  # [n, p], float32
    captions: Tensor  # [n, c, q]
    prompts: Tensor  # [L, q], of "This is a NAME"
    labels: Tensor  # [n, L], bool
    names: tuple[str, ...]


def image_caption_pairs(
    data: str,
    scenes: int,
    seed: int,
    device: torch.device | str,
    watch: Callable[[Iterable, str], Iterable] = lambda items, label: items,
) -> tuple[Pairs, Pairs]:
    """Training and test pairs passed through frozen encoders.

    scenes: `generated_scenes.scene_pairs`, `scenes` for training and 1000 for test, drawn from `seed`;
    coco-human, coco-labels: the compact copy of COCO through the small encoders; coco-2014: the official files through
    RoBERTa and ResNet101, train2014 and val2014. `encoded_pairs` stores the features, which take minutes to hours. The
    environment variable CONTRASTIVE_MODELS names a folder with `resnet-101` and `roberta-base`; without it they are
    fetched from the hub.
    Source: ren-li-2023, Section 6.
    Args:
        data: one of NAMES.
        scenes: number of training scenes, ≥ 2.
        seed: seed of the generated scenes.
        device: device of the features.
        watch: watch(iterable, label) wraps a progress bar around long work.
    Returns: (training, test).
    Raises: ValueError for another name or fewer scenes, DataError for files that are missing.
    """
    if data not in NAMES or scenes < 2:
        raise ValueError(f"data and scenes must be one of {', '.join(NAMES)} and ≥ 2, got {data!r} and {scenes}")
    if data == "scenes":
        from ..data.generated_scenes import scene_pairs

        counts = {"training scenes": scenes, "test scenes": _TEST_SCENES}
        parts = [scene_pairs(n, stream(seed, 0, what, device)) for what, n in counts.items()]
    else:
        parts = _coco(data, device, watch)
    return _standardised(*parts)


def _standardised(train, test) -> tuple[Pairs, Pairs]:
    """Scale every feature to mean 0 and variance 1 over the training part; features that do not vary become 0."""

    def by(values: Tensor) -> Callable[[Tensor], Tensor]:
        mean, scale = values.mean(0), values.std(0)
        return lambda x: ((x - mean) / torch.where(scale > 0, scale, 1)).float()

    image, text = by(train.images), by(train.captions.flatten(0, 1))
    return tuple(
        Pairs(image(part.images), text(part.captions), text(part.prompts), part.labels, tuple(part.names))
        for part in (train, test)
    )


def _coco(data: str, device: torch.device | str, watch: Callable[[Iterable, str], Iterable]) -> list:
    """Both parts of a COCO data set as `encoded_pairs.EncodedPairs`, float32 on the device."""
    from ..data import coco
    from .encoded_pairs import encode_pairs
    from .pretrained_encoders import paper_pair, small_pair

    coco.check(data)
    encoders = paper_pair(*_models(), device) if data == "coco-2014" else small_pair(device)

    def encoded(pairs: coco.Coco):
        return encode_pairs(pairs, *encoders, watch=lambda items: watch(items, f"features of {pairs.name}")).to(device)

    if data == "coco-2014":
        return [encoded(coco.coco_2014(split)) for split in ("train", "val")]
    whole = encoded(coco.coco_compact(data.removeprefix("coco-")))
    return [whole.part(~whole.test), whole.part(whole.test)]


def _models() -> tuple[str, str]:
    """Where to find ResNet101 and RoBERTa."""
    folder = os.environ.get(MODELS)
    names = IMAGE_MODEL, TEXT_MODEL
    return names if folder is None else tuple(str(Path(folder) / Path(name).name) for name in names)
