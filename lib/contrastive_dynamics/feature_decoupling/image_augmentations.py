"""Views of an image for contrastive training: the image itself, a random part, or a part with changed colours.

Shapes: images `[run, n, 3, s, s]`, RGB of values 0 to 1; one stream per run.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..numerics.image_patches import Boxes, check_crops, random_boxes, resized_crops

AUGMENTATIONS = ("none", "crop", "full")
_JITTERED, _GREY = 0.8, 0.2  # shares of the images


@dataclass(frozen=True)
class Augmentation:
    """A random change of an image.

    none: no change; crop: a random part of `scale` of the area at full size, mirrored at random if `flip`; full: crop,
    then brightness, contrast, saturation and hue, in this order, for 4 images in 5, then grey for 1 in 5. With
    strength c the first three factors are uniform in 1 ± 0.8c; the hue turns by up to ± `hue` of a
    circle. SimCLR takes c = 1 and hue 0.2 for ImageNet, ½ and 0.1 for CIFAR-10; it also blurs ImageNet, and applies the
    four in random order.
    Source: wen-li-2021, Figures 2 to 4 (which name "crop-resize" and print no number); Chen et al., A Simple Framework
    for Contrastive Learning (2020), Appendix A.
    Fields:
        arm: one of AUGMENTATIONS.
        scale, ratio: area and aspect ratio of a crop, as in `check_crops`.
        flip: whether crops are mirrored at random.
        strength: c, 0 to 1.
        hue: 0 to 0.5, as a share of the circle.
    Raises: ValueError outside these ranges.
    """

    arm: str = "full"
    scale: tuple[float, float] = (0.2, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip: bool = True
    strength: float = 0.5
    hue: float = 0.1

    def __post_init__(self):
        if self.arm not in AUGMENTATIONS or not (0 <= self.strength <= 1 and 0 <= self.hue <= 0.5):
            got = f"arm={self.arm!r}, strength={self.strength}, hue={self.hue}"
            raise ValueError(
                f"arm, strength and hue must be one of {', '.join(AUGMENTATIONS)}, 0 to 1 and 0 to 0.5, got {got}"
            )
        check_crops(self.scale, self.ratio)

    def __call__(self, images: Tensor, streams: list[torch.Generator]) -> Tensor:
        """An augmented copy of every image.

        Args:
            images: `[run, n, 3, s, s]`.
            streams: one per run, on the device of the images.
        Returns: the same shape; for "none" the images themselves.
        Raises: ValueError for another shape.
        Cost: about 30 flops per pixel and channel for "crop", 150 for "full"; 6 copies of the images.
        """
        if images.ndim != 5 or images.shape[2] != 3 or len(streams) != len(images):
            raise ValueError(
                "images and streams must be [run, n, 3, s, s] and one per run, "
                f"got {tuple(images.shape)} and {len(streams)}"
            )
        if self.arm == "none":
            return images
        views = self._cropped(images, streams)
        return views if self.arm == "crop" else recoloured(views, streams, self.strength, self.hue)

    def _cropped(self, images: Tensor, streams: list[torch.Generator]) -> Tensor:
        n, channels, size = images.shape[1:4]
        boxes = random_boxes(streams, n, size, self.scale, self.ratio)
        boxes = Boxes(*(part.unsqueeze(-1).expand(-1, -1, channels) for part in boxes))  # one box for all three colours
        views = resized_crops(images, boxes)
        if not self.flip:
            return views
        return torch.where(_uniform(streams, n, 1)[..., None, None] < 0.5, views.flip(-1), views)


def recoloured(images: Tensor, streams: list[torch.Generator], strength: float, hue: float) -> Tensor:
    """Colour jitter for 4 images in 5 and grey for 1 in 5, see `Augmentation`.

    kornia's functions take one factor per image; its random modules draw from the global seed and are not used.
    Args:
        images: `[run, n, 3, s, s]`.
        streams: one per run; 6n numbers are drawn from each.
        strength: c, 0 to 1.
        hue: 0 to 0.5.
    Returns: as images, values 0 to 1.
    """
    from kornia.color import rgb_to_grayscale
    from kornia.enhance import (
        adjust_brightness_accumulative,
        adjust_contrast_with_mean_subtraction,
        adjust_hue,
        adjust_saturation_with_gray_subtraction,
    )

    flat = images.flatten(0, 1)
    drawn = _uniform(streams, images.shape[1], 6).flatten(0, 1).to(images.dtype)
    factors = 1 + 0.8 * strength * (2 * drawn[:, :3] - 1)
    x = adjust_brightness_accumulative(flat, factors[:, 0])
    x = adjust_contrast_with_mean_subtraction(x, factors[:, 1])
    x = adjust_saturation_with_gray_subtraction(x, factors[:, 2])
    x = adjust_hue(x, 2 * math.pi * hue * (2 * drawn[:, 3] - 1))
    x = torch.where(drawn[:, 4].view(-1, 1, 1, 1) < _JITTERED, x, flat)
    x = torch.where(drawn[:, 5].view(-1, 1, 1, 1) < _GREY, rgb_to_grayscale(x), x)
    return x.view_as(images)


def _uniform(streams: list[torch.Generator], *shape: int) -> Tensor:
    return torch.stack([torch.rand(shape, generator=g, device=g.device, dtype=torch.float64) for g in streams])
