"""Pairs of which only samples are known, as a world: two random views of a digit, of a patch of a photograph, of a
photograph through a frozen network, or yours.

A `Draw` takes n and one generator per run and returns both views `[run, n, D]`. The world centres and whitens them by
a sample: gradient descent then takes every direction at one speed, and the law, which does not depend on coordinates,
meets no direction that is merely slow.
"""

from collections.abc import Callable
from copy import copy

import numpy as np
import torch
from torch import Tensor

from ..data import catalogue
from ..feature_decoupling.image_augmentations import Augmentation
from ..numerics.image_patches import random_resized_crops
from ..numerics.random_streams import streams
from .frozen_features import photograph_features
from .pairs import Moments, Pairs, per_run

Draw = Callable[[int, list[torch.Generator]], tuple[Tensor, Tensor]]
DATA = ("digits", "cifar10-exact", "cifar10-jpeg", "cifar10", "cifar10-features")
_BLOCK = 10_000  # pairs that are drawn at once
_SIDE = 6  # of a patch, in pixels


class DrawnPairs:
    """The world of a `Draw`, for one encoder. What its views share is not known: no latents, and no exact moments.

    Args:
        draw: see the module.
        count: pairs of the sample that centres and whitens, well above D.
        seed: of this sample.
    Raises: ValueError for views in whose sample a direction has no variance.
    """

    tied = True

    def __init__(self, draw: Draw, count: int = 50_000, seed: int = 0):
        self.draw, self.repeat = draw, 1
        moments, means = sampled(draw, count, streams([seed], 1, "frame"))
        self.inputs, self.centre = len(means), means.float()
        values, vectors = torch.linalg.eigh((moments.first + moments.second) / 2)
        if float(values[0]) <= self.inputs * 1e-9 * float(values[-1]):
            raise ValueError(f"DrawnPairs: every direction of the views must vary, got a variance of {values[0]:.2g}")
        self.spectrum = values.flip(0)  # variances of the principal components, before whitening
        self.root = (vectors * values.rsqrt()).float()

    def of(self, draw: Draw) -> "DrawnPairs":
        """The same centre and whitening for other pairs, such as held-out ones."""
        other = copy(self)
        other.draw = draw
        return other

    def repeated(self, repeat: int) -> "DrawnPairs":
        """The same world, whose runs come in groups of `repeat` with one seed: the pairs of a group are drawn once."""
        other = copy(self)
        other.repeat = repeat
        return other

    def whitened(self, n: int, generators: list[torch.Generator]) -> tuple[Tensor, Tensor]:
        """Both views `[run, n, D]`, float32."""
        return tuple((x - self.centre) @ self.root for x in self.draw(n, generators))

    def shared(self, n, generators):
        return torch.zeros(len(generators), n, 0)

    def private(self, n, generators):
        """The whole pair: what its views share is not known."""
        both = torch.cat(self.whitened(n, generators[:: self.repeat]), -1)
        return both.repeat_interleave(self.repeat, 0)

    def render(self, shared, private, modality):
        return private.chunk(2, -1)[modality]

    def pairs(self, n, generators):
        private = self.private(n, generators)
        return Pairs(*private.chunk(2, -1), self.shared(n, generators), private)


def sampled(draw: Draw, count: int, generators: list[torch.Generator]) -> tuple[Moments, Tensor]:
    """Moments of `count` pairs of one run about their mean, in double precision, and the mean of both views `[D]`.

    Args:
        draw: see the module.
        count: ≥ 2; block by block, so that memory does not grow with it.
        generators: one.
    Cost: the draws, and 6·count·D² flops.
    """
    sums, total, left = 0, 0, count
    while left:
        views = [x[0].double() for x in draw(min(left, _BLOCK), generators)]
        total = total + torch.stack([x.sum(0) for x in views])
        sums = sums + torch.stack([views[a].mT @ views[b] for a, b in ((0, 0), (1, 1), (0, 1))])
        left -= len(views[0])
    means = total / count
    outer = torch.stack([torch.outer(means[a], means[b]) for a, b in ((0, 0), (1, 1), (0, 1))])
    return Moments(*((sums - count * outer) / (count - 1))), means.mean(0)


def image_draw(data: str, split: str = "train") -> Draw:
    """Two augmented views of an image, flat, with N(0, noise²) on every number.

    digits: parts of 70 to 100 % of the area at full size, brightness 1 ± 0.4, noise 0.2; D = 64. CIFAR-10: patches of
    6 × 6 pixels, of which a view is a part of 50 to 100 % of the area at full size, mirrored, with SimCLR's changes of
    colour, noise 0.1; D = 108. cifar10-features: see `photograph_features`, without noise; D = 48.
    Args:
        data: one of DATA.
        split: train or test; every second digit is a test digit.
    Raises: ValueError for another name; DataError for files that are missing or damaged.
    """
    if data not in DATA or split not in ("train", "test"):
        raise ValueError(f"image_draw: data must be one of {', '.join(DATA)}, train or test, got {data!r}, {split!r}")
    if data == "digits":
        images = _here(catalogue.digits().images[split == "test" :: 2]).float() / 16
        return lambda n, generators: _twice(_digit_view, _picked(images, n, generators), generators, 0.2)
    if data == "cifar10-features":
        return from_samples(*photograph_features(split))
    images = _here(catalogue.cifar10(split, name=data).images).permute(0, 3, 1, 2)
    change = Augmentation("full", scale=(0.5, 1.0))
    return lambda n, generators: _twice(change, _patches(images, n, generators), generators, 0.1)


def from_samples(first: Tensor, second: Tensor) -> Draw:
    """Pairs at random from samples `[n, D]` of your own two views, such as features of a frozen network.

    No pair is drawn twice at once while there are enough: a stranger that equals the anchor would be no stranger.
    Raises: ValueError for samples of other shapes.
    """
    if first.ndim != 2 or first.shape != second.shape:
        got = f"{list(first.shape)} and {list(second.shape)}"
        raise ValueError(f"from_samples: both views must be [n, D] of one size, got {got}")

    def draw(n: int, generators: list[torch.Generator]) -> tuple[Tensor, Tensor]:
        rows = torch.stack([_rows(len(first), n, g) for g in generators])
        return first[rows], second[rows]

    return draw


def _rows(count: int, n: int, generator: torch.Generator) -> Tensor:
    if n <= count:
        return torch.randperm(count, generator=generator, device=generator.device)[:n]
    return torch.randint(count, (n,), generator=generator, device=generator.device)


def shuffled(draw: Draw) -> Draw:
    """A control: both views of a pair come from different images."""
    return lambda n, generators: (lambda views: (views[0].roll(1, 1), views[1]))(draw(n, generators))


def _here(images: np.ndarray) -> Tensor:
    """On the device that the generators of `streams` are on."""
    return torch.from_numpy(np.ascontiguousarray(images)).to(torch.get_default_device())


def _twice(view, images: Tensor, generators: list[torch.Generator], noise: float) -> tuple[Tensor, Tensor]:
    """Two views of every image, each with its own noise, flat."""
    views = [view(images, generators) for _ in range(2)]
    added = [noise * per_run(torch.randn, generators, *images.shape[1:], dtype=torch.float32) for _ in views]
    return tuple((x + more).flatten(2) for x, more in zip(views, added, strict=True))


def _digit_view(images: Tensor, generators: list[torch.Generator]) -> Tensor:
    parts = random_resized_crops(images, generators, (0.7, 1.0), (3 / 4, 4 / 3))
    drawn = per_run(torch.rand, generators, images.shape[1], 1, 1, dtype=torch.float32)
    return parts * (0.6 + 0.8 * drawn)


def _picked(images: Tensor, n: int, generators: list[torch.Generator]) -> Tensor:
    return images[torch.stack([torch.randint(len(images), (n,), generator=g, device=g.device) for g in generators])]


def _patches(images: Tensor, n: int, generators: list[torch.Generator]) -> Tensor:
    """A patch of each of n random images, `[run, n, 3, s, s]`, values 0 to 1."""
    count, _, size, _ = images.shape
    found, side = [], torch.arange(_SIDE)
    for g in generators:
        which = torch.randint(count, (n, 1, 1, 1), generator=g, device=g.device)
        rows, columns = torch.randint(size - _SIDE + 1, (2, n, 1), generator=g, device=g.device) + side
        found.append(images[which, torch.arange(3)[:, None, None], rows[:, None, :, None], columns[:, None, None, :]])
    return torch.stack(found).float() / 255
