"""Small two-class problems from a labelled set of images, split into training and held-out rows.

Shapes: images `[count, d]`, one row per image; the training rows of a problem `[2·m, d]` (m of each class, the first
class first), then its held-out rows.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Problem(NamedTuple):
    """The rows of one problem; y is 0 for the first class of the pair and 1 for the second."""

    x: Tensor  # [2·per_class, d]
    y: Tensor  # [2·per_class]
    x_held_out: Tensor  # [k, d]
    y_held_out: Tensor  # [k]


def class_pairs(classes: list[int], labels: Tensor, per_class: int) -> list[tuple[int, int]]:
    """A flat list of classes grouped into pairs, after checking that every pair has enough images.

    Args:
        classes: the classes of all pairs in a row; each pair has two different ones.
        labels: class of each image, `[count]`.
        per_class: training images per class, ≥ 2; every class needs at least a tenth as many more images to hold out.
    Returns: the pairs.
    Raises: ValueError for an odd number of classes or none, a class paired with itself, a class that no image has, or a
        per_class outside its range.
    """
    if not classes or len(classes) % 2:
        raise ValueError(f"classes must be pairs, an even number ≥ 2, got {len(classes)} classes")
    pairs = list(zip(classes[::2], classes[1::2], strict=True))
    if same := [pair for pair in pairs if pair[0] == pair[1]]:
        raise ValueError(f"a pair must be two different classes, got {same[0]}")
    for one in dict.fromkeys(classes):
        count = int((labels == one).sum())
        if count == 0:
            allowed = ", ".join(map(str, labels.unique().tolist()))
            raise ValueError(f"class must be one of {allowed}, got {one}")
        if not 2 <= per_class <= count * 10 // 11:
            raise ValueError(
                f"per_class must be 2 to {count * 10 // 11}, as class {one} has {count} images "
                f"and a tenth as many are held out, got {per_class}"
            )
    return pairs


def two_class_problem(
    images: Tensor, labels: Tensor, pair: tuple[int, int], per_class: int, generator: torch.Generator
) -> Problem:
    """per_class random training images of each class; all others are held out, equally many of both classes.

    The more are held out, the less chance is in an accuracy: with 400 images the error of sampling is up to 0.025.

    Source: esser-2023, Figure 4: "two classes with 200 datapoints each".
    Args:
        images: one row per image, `[count, d]`.
        labels: class of each image, `[count]`.
        pair: the two classes.
        per_class: training images per class, as checked by `class_pairs`.
        generator: on the CPU.
    Returns: Problem on the device of the images.
    Cost: one permutation per class.
    """
    rows = [torch.nonzero(labels == one).squeeze(-1).cpu() for one in pair]
    rows = [r[torch.randperm(len(r), generator=generator, device="cpu")] for r in rows]
    held_out = min(len(r) - per_class for r in rows)
    parts = []
    for first, last in ((0, per_class), (per_class, per_class + held_out)):
        parts.append(images[torch.cat([r[first:last] for r in rows]).to(images.device)])
        parts.append(torch.arange(2, device=images.device).repeat_interleave(last - first))
    return Problem(*parts)
