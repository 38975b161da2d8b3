"""Digits of 8 × 8 pixels in colours of their own: colour tells an image from the others, shape tells its class.

Shapes: images `[n, 3, 8, 8]`, RGB of values 0 to 1, float32; labels int64 `[n]`.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import catalogue

GAP = 0.25  # least difference of luminance between stroke and ground
TRIES = 32  # pairs of colours drawn for an image; 38 % are far enough apart
TEST = 5  # every fifth image, in the order of the file, is for the test
_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, ITU-R BT.601
_HEXAGON = ((1.0, 0.0), (-0.5, 0.75**0.5), (-0.5, -(0.75**0.5)))  # red, green and blue in the plane of hues


class ColouredDigits(NamedTuple):
    """Images and the digits they show, split once for all: 1437 to train on and 360 to test."""

    images: Tensor  # [1437, 3, 8, 8]
    labels: Tensor  # [1437]
    test_images: Tensor  # [360, 3, 8, 8]
    test_labels: Tensor  # [360]


def coloured_digits(generator: torch.Generator, hint: float = 0.0) -> ColouredDigits:
    """scikit-learn's 1797 digits, each in a random colour on a random ground: (1 − a)·ground + a·stroke.

    a is the pixel over its largest value. Both colours are uniform in the RGB cube, the lighter is the stroke; of 32
    pairs the first whose luminances differ by ¼ is taken, so that the shape is there in grey as well (if none do, the
    first: one image in 10⁶). Colours are drawn apart from the class, except that with probability `hint` an image takes
    the pair whose stroke is nearest to the hue of its class, 36° a class: then colour is evidence of the class too, as
    it is in natural images. The named substitute for CIFAR-10 of a default run, for wen-li-2021, Figures 1 to 4.
    Args: generator, on whose device all is made; hint, 0 to 1. Raises: ValueError for another hint. Cost: 10⁶ flops.
    """
    if not 0 <= hint <= 1:
        raise ValueError(f"coloured_digits: got hint={hint}, allowed are 0 to 1")
    found, device = catalogue.digits(), generator.device
    amount = torch.from_numpy(found.images).to(device).float().view(-1, 1, 8, 8) / 16
    labels = torch.from_numpy(found.labels).to(device).long()
    ground, stroke = _colours(labels, hint, generator)
    images = torch.lerp(ground[..., None, None], stroke[..., None, None], amount)
    test = torch.arange(len(labels), device=device) % TEST == 0
    return ColouredDigits(images[~test], labels[~test], images[test], labels[test])


def _colours(labels: Tensor, hint: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ground and stroke `[n, 3]`, the stroke the lighter."""
    count, how = len(labels), {"device": generator.device, "dtype": torch.float32}
    drawn = torch.rand(count, TRIES, 2, 3, generator=generator, **how)
    hinted = torch.rand(count, 1, generator=generator, **how) < hint
    light = drawn @ torch.tensor(_LUMINANCE, **how)
    order = light.argsort(-1).unsqueeze(-1).expand(-1, -1, -1, 3)
    ground, stroke = drawn.gather(2, order).unbind(2)
    turn = 2 * math.pi / 10 * labels.float()
    along = stroke @ torch.tensor(_HEXAGON, **how) @ torch.stack([turn.cos(), turn.sin()], -1).unsqueeze(-1)
    score = torch.where(hinted, along.squeeze(-1), -torch.arange(TRIES, **how))
    close = light.diff(dim=-1).abs().squeeze(-1) < GAP
    at = (score - 2 * TRIES * close).argmax(-1).view(-1, 1, 1).expand(-1, 1, 3)
    return ground.gather(1, at).squeeze(1), stroke.gather(1, at).squeeze(1)
