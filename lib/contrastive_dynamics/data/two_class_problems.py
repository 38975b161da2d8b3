"""Small two-class problems from a labelled image set: what is trained on, what is held out.

Shapes: images `[count, d]`, one row an image; of a problem the training rows `[2·m, d]` (m of each class, first class
first) and the held-out rows.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Problem(NamedTuple):
    """Rows of one problem; y is 0 for the first class of the pair and 1 for the second."""

    x: Tensor  # [2·per_class, d]
    y: Tensor  # [2·per_class]
    x_held_out: Tensor  # [k, d]
    y_held_out: Tensor  # [k]


def class_pairs(classes: list[int], labels: Tensor, per_class: int) -> list[tuple[int, int]]:
    """A flat list of classes as pairs, once every pair can be drawn.

    Args: classes, an even number, two different ones a pair; labels `[count]`; per_class, 2 or more, images of a class
        that are trained on, so that at least as many as a tenth of it are held out.
    Raises: ValueError, in one line, for classes that no image has, a class paired with itself, too many images.
    """
    if not classes or len(classes) % 2:
        raise ValueError(f"class_pairs: got {len(classes)} classes, allowed are pairs, an even number of 2 or more")
    pairs = list(zip(classes[::2], classes[1::2], strict=True))
    if same := [pair for pair in pairs if pair[0] == pair[1]]:
        raise ValueError(f"class_pairs: got the pair {same[0]}, allowed are two different classes")
    for one in dict.fromkeys(classes):
        count = int((labels == one).sum())
        if count == 0:
            allowed = ", ".join(map(str, labels.unique().tolist()))
            raise ValueError(f"class_pairs: got class {one}, allowed are {allowed}")
        if not 2 <= per_class <= count * 10 // 11:
            raise ValueError(
                f"class_pairs: got {per_class} images a class, allowed are 2 to {count * 10 // 11}: "
                f"class {one} has {count}, and a tenth as many are held out"
            )
    return pairs


def two_class_problem(
    images: Tensor, labels: Tensor, pair: tuple[int, int], per_class: int, generator: torch.Generator
) -> Problem:
    """per_class random images of either class to train on; of the others up to as many to hold out, alike of both.

    Source: esser-2023, Figure 4: "two classes with 200 datapoints each". Args: as `class_pairs`; the generator lives on
    the CPU. Returns: Problem on the device of the images. Cost: one permutation a class.
    """
    rows = [torch.nonzero(labels == one).squeeze(-1).cpu() for one in pair]
    rows = [r[torch.randperm(len(r), generator=generator, device="cpu")] for r in rows]
    held_out = min(per_class, *(len(r) - per_class for r in rows))
    parts = []
    for first, last in ((0, per_class), (per_class, per_class + held_out)):
        parts.append(images[torch.cat([r[first:last] for r in rows]).to(images.device)])
        parts.append(torch.arange(2, device=images.device).repeat_interleave(last - first))
    return Problem(*parts)
