"""Images seen through disjoint receptive fields: four quadrants, minibatches of their pixels, random resized crops.

Shapes: runs first; images `[run, n, s, s]`; K places with d = (s/2)² pixels each; 2N views.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

ATTEMPTS = 10  # boxes drawn for a crop before the central box is taken


@dataclass(frozen=True)
class ImageBatch:
    """One minibatch of dense inputs, one row per view; a `field_network.Batch`.

    inputs: `[run, K, group, r, d]`, where the group axis has size 1 if all groups have the same rows.
    shares: `[run, K, group, 1, r]`, all equal to 1/r.
    The 2N = group·r views are ordered by group, so the first views come first.
    """

    inputs: Tensor
    shares: Tensor

    def filtered(self, w: Tensor) -> Tensor:
        """wᵀx of every row, `[run, K, group or 1, r, M]`. Cost: 2·2N·K·d·M flops per run."""
        return (self.inputs.flatten(2, 3) @ w.mT).unflatten(2, self.inputs.shape[2:4])

    def on_filters(self, gradient: Tensor) -> Tensor:
        """The adjoint of `filtered`: `[run, K, group, r, M]` to `[run, K, M, d]`. Cost: the same."""
        if self.inputs.shape[2] == 1:
            gradient = gradient.sum(2, keepdim=True)
        return gradient.flatten(2, 3).mT @ self.inputs.flatten(2, 3)

    def sum_over_places(self, table: Tensor) -> Tensor:
        """f_i = Σ_k table[k, i]: `[run, K, 2N, j]` to `[run, 2N, j]`."""
        return table.sum(1)

    def sum_over_views(self, f: Tensor) -> Tensor:
        """The adjoint, f at every place: `[run, 2N, j]` to `[run, K, 2N, j]`, as a view without a copy."""
        return f.unsqueeze(1).expand(-1, self.shares.shape[1], -1, -1)


def image_batch(views: Tensor, groups: int = 2) -> ImageBatch:
    """The minibatch of one or two views of each image; a single view also stands for an equal second one.

    Args:
        views: `[run, 2 or 1, N, s, s]`.
        groups: number of groups with separate statistics: 2 (first and second views apart) or 1. The choice makes no
            difference if the views are equal; the rows are then stored once and read twice.
    Returns: ImageBatch.
    Raises: ValueError for another number of views or groups, and as `quadrants`.
    """
    if views.ndim != 5 or views.shape[1] not in (1, 2) or groups not in (1, 2):
        raise ValueError(
            f"views must be [run, 2 or 1, N, s, s] and groups 2 or 1, got views {tuple(views.shape)} in {groups} groups"
        )
    inputs = quadrants(views).movedim(-2, 1)  # [run, K, 2 or 1, N, d]
    if groups == 1 and views.shape[1] == 2:
        inputs = inputs.flatten(2, 3).unsqueeze(2)
    groups, rows = groups if views.shape[1] == 2 else 2, inputs.shape[3]
    shares = inputs.new_full((*inputs.shape[:2], groups, 1, rows), 1 / rows)
    return ImageBatch(inputs, shares)


def quadrants(images: Tensor) -> Tensor:
    """The receptive fields upper left, upper right, lower left, lower right.

    Source: tian-2023, Appendix E.3 and Figure 12.
    Args:
        images: `[..., s, s]`, s even.
    Returns: `[..., 4, (s/2)²]`.
    Raises: ValueError for images that are not square or have odd s.
    """
    check_images(images)
    half = images.shape[-1] // 2
    return images.unflatten(-1, (2, half)).unflatten(-3, (2, half)).transpose(-3, -2).flatten(-2).flatten(-3, -2)


def check_images(images: Tensor) -> None:
    """Raise a one-line ValueError unless the images `[..., s, s]` are square with even s ≥ 2."""
    height, width = images.shape[-2:] if images.ndim >= 2 else (0, 0)
    if height != width or width % 2 or width < 2:
        raise ValueError(f"quadrants: images must be square and of an even size, got {tuple(images.shape)}")


class Boxes(NamedTuple):
    """Boxes in whole pixels: top, left, height and width, all of one shape `[...]`, in double precision."""

    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor


def random_boxes(
    streams: list[torch.Generator],
    count: int,
    size: int,
    scale: tuple[float, float] = (0.5, 1.0),
    ratio: tuple[float, float] = (0.5, 1.5),
) -> Boxes:
    """Boxes of random area and shape inside a square image.

    Area a·s² with a uniform in scale, width/height r log-uniform in ratio: width round(s√(ar)), height round(s√(a/r)).
    The first of ten such draws that fits the image is taken and placed uniformly at random; if none fits, the box is
    the largest central one that the ratios allow.

    Source: tian-2023, Appendix E.3; torchvision, RandomResizedCrop.get_params.
    Args:
        streams: one generator per run; 22·count numbers are drawn from each.
        count: boxes per run.
        size: s, ≥ 1.
        scale: range of a, as in `check_crops`.
        ratio: range of r, as in `check_crops`.
    Returns: Boxes of shape `[run, count]` on the device of the streams.
    """
    drawn = [torch.rand(count, 2 * ATTEMPTS + 2, generator=g, device=g.device, dtype=torch.float64) for g in streams]
    area, shape, place = torch.stack(drawn).split([ATTEMPTS, ATTEMPTS, 2], -1)
    area = size * size * (scale[0] + (scale[1] - scale[0]) * area)
    low, high = math.log(ratio[0]), math.log(ratio[1])
    shape = (low + (high - low) * shape).exp()
    width, height = (area * shape).sqrt().round(), (area / shape).sqrt().round()
    fits = (width >= 1) & (width <= size) & (height >= 1) & (height <= size)
    first = (~fits).long().cumprod(-1).sum(-1)  # the number of draws before the first that fits; ten if none fits
    found, at = first < ATTEMPTS, first.clamp(max=ATTEMPTS - 1).unsqueeze(-1)
    height = torch.where(found, height.gather(-1, at)[..., 0], max(1, round(size / max(1, ratio[0]))))
    width = torch.where(found, width.gather(-1, at)[..., 0], max(1, round(size * min(1, ratio[1]))))
    free = torch.stack([size - height, size - width], -1)
    corner = torch.where(found.unsqueeze(-1), (place * (free + 1)).floor(), (free / 2).floor())
    return Boxes(*corner.unbind(-1), height, width)


def resized_crops(images: Tensor, boxes: Boxes) -> Tensor:
    """The part of each image inside its box, resized to s×s by bilinear interpolation.

    Nothing is smoothed first, since the part is only ever enlarged.
    Output pixel i reads the row top + clamp((i + ½)·height/s − ½, 0, height − 1), and likewise the column: the same as
    `torch.nn.functional.interpolate` of the box, corners not aligned.

    Args:
        images: `[..., s, s]`.
        boxes: of shape `[...]`, inside the image.
    Returns: as images.
    Cost: about 10 flops per pixel.
    """
    size, lead = images.shape[-1], images.shape[:-2]
    pixels = torch.arange(size, device=images.device, dtype=torch.float64) + 0.5

    def read(start: Tensor, length: Tensor) -> Tensor:  # in grid_sample's units: −1 is the first pixel, 1 the last
        start, length = start.reshape(-1, 1), length.reshape(-1, 1)
        at = start + (pixels * (length / size) - 0.5).clamp(min=0).minimum(length - 1)
        return (2 * at / max(1, size - 1) - 1).to(images.dtype)

    rows, columns = read(boxes.top, boxes.height), read(boxes.left, boxes.width)
    shape = len(rows), size, size
    grid = torch.stack([columns.unsqueeze(1).expand(shape), rows.unsqueeze(2).expand(shape)], -1)
    found = grid_sample(images.reshape(-1, 1, size, size), grid, padding_mode="border", align_corners=True)
    return found.view(*lead, size, size)


def random_resized_crops(
    images: Tensor,
    streams: list[torch.Generator],
    scale: tuple[float, float] = (0.5, 1.0),
    ratio: tuple[float, float] = (0.5, 1.5),
) -> Tensor:
    """A random part of every image, resized to full size.

    Source: tian-2023, Appendix E.3 ("transforms.RandomResizedCrop((28,28), scale=(0.5, 1.0), ratio=(0.5, 1.5))").
    Args:
        images: `[run, ..., s, s]`.
        streams: one generator per run, on the device of the images.
        scale: range of the share of the area, as in `check_crops`.
        ratio: range of width over height, as in `check_crops`.
    Returns: as images.
    Raises: ValueError for another number of streams, images that are not square, or scale and ratio outside their
        ranges.
    Cost: as `resized_crops`.
    """
    check_crops(scale, ratio)
    if len(streams) != len(images) or images.shape[-1] != images.shape[-2]:
        raise ValueError(
            "streams must be one per run and images square, "
            f"got {len(streams)} streams for images {tuple(images.shape)}"
        )
    between = images.shape[1:-2]
    boxes = random_boxes(streams, math.prod(between), images.shape[-1], scale, ratio)
    return resized_crops(images, Boxes(*(part.unflatten(1, between) if between else part[:, 0] for part in boxes)))


def check_crops(scale: tuple[float, float], ratio: tuple[float, float]) -> None:
    """Raise a one-line ValueError unless 0 < scale[0] ≤ scale[1] ≤ 1 and 0 < ratio[0] ≤ ratio[1] < ∞."""
    pairs = len(scale) == len(ratio) == 2
    if not (pairs and 0 < scale[0] <= scale[1] <= 1 and 0 < ratio[0] <= ratio[1] < math.inf):
        raise ValueError(
            f"scale and ratio must be pairs, 0 < least ≤ largest < ∞, and scale ≤ 1, got scale={scale}, ratio={ratio}"
        )
