"""Digits of 8 × 8 pixels in random colours: the colour tells an image from the others, the shape tells its class.

Shapes: images `[n, 3, 8, 8]`, RGB with values from 0 to 1, float32; labels int64 `[n]`.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import catalogue

GAP = 0.25  # smallest difference in luminance between stroke and ground
TRIES = 32  # pairs of colours drawn for each image; 38 % are far enough apart
TEST = 5  # every fifth image, in the order of the file, is held out for the test
_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, ITU-R BT.601
_HEXAGON = ((1.0, 0.0), (-0.5, 0.75**0.5), (-0.5, -(0.75**0.5)))  # red, green and blue in the plane of hues


class ColouredDigits(NamedTuple):
    """Images and the digits they show, always split in the same way: 1437 for training and 360 for testing."""

    images: Tensor  # [1437, 3, 8, 8]
    labels: Tensor  # [1437]
    test_images: Tensor  # [360, 3, 8, 8]
    test_labels: Tensor  # [360]


def coloured_digits(generator: torch.Generator, hint: float = 0.0) -> ColouredDigits:
    """scikit-learn's 1797 digits, each in a random colour on a random ground: (1 − a)·ground + a·stroke.

    Here a is the pixel divided by its largest value. Both colours are uniform in the RGB cube, and the lighter one is
    the stroke. Of 32 pairs of colours the first whose luminances differ by at least ¼ is taken, so that the shape
    remains visible in grey (if there is none, the first pair: one image in 10⁶). Colours are drawn independently of the
    class, except that with probability `hint` an image takes the pair whose stroke is closest to the hue of its class;
    the hues of the classes are 36° apart. Colour then carries evidence of the class too, as it does in natural images.
    This is the declared substitute for CIFAR-10 in a default run, for wen-li-2021, Figures 1 to 4.

    Args:
        generator: source of the random numbers; the result is on its device.
        hint: probability, 0 to 1.
    Returns: ColouredDigits.
    Raises: ValueError for another hint.
    Cost: 10⁶ flops.
    """
    if not 0 <= hint <= 1:
        raise ValueError(f"hint must be from 0 to 1, got {hint}")
    found, device = catalogue.digits(), generator.device
    amount = torch.from_numpy(found.images).to(device).float().view(-1, 1, 8, 8) / 16
    labels = torch.from_numpy(found.labels).to(device).long()
    ground, stroke = _colours(labels, hint, generator)
    images = torch.lerp(ground[..., None, None], stroke[..., None, None], amount)
    test = torch.arange(len(labels), device=device) % TEST == 0
    return ColouredDigits(images[~test], labels[~test], images[test], labels[test])


def _colours(labels: Tensor, hint: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ground and stroke colours `[n, 3]`, the stroke being the lighter."""
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
