"""Two-layer networks trained contrastively on images: a configuration, and all its seeds as one program."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from ...data.catalogue import DIGITS
from ...losses.activations import TRAINED, activation
from ...losses.named_losses import contrastive_loss
from ...numerics.field_types import check_fields
from ...numerics.image_patches import ImageBatch, check_crops, check_images, image_batch, random_resized_crops
from ...numerics.memory import require_memory
from ...numerics.random_streams import stream
from ..two_layers.batch_norm import Statistics
from .ensemble_training import sgd_steps
from .field_network import FieldNetwork, Weights, initial_weights

PLACES = 4
MOST = 50_000  # images of MNIST that the paper trains on
CHUNK = 50  # minibatches drawn at a time; a constant, since a stream's numbers depend on the shapes drawn from it


@dataclass(frozen=True)
class ImageTraining:
    """One configuration: a network of 4 receptive fields with M filters each, and its training.

    Without crops both views are the image itself. With crops each view is a separate random resized crop, or, with
    one_crop, both are the same crop, so that the images are augmented but the views do not differ.

    Source: tian-2023, Appendix E.3, for batch and crops, and Appendix E.2 for the rest, as in `TokenTraining`; the
        number of filters is not printed.
    Args:
        activation: one of TRAINED.
        loss: one of LOSSES.
        batch_norm: off, or the statistics that are back-propagated: both, mean, variance or none.
        views_apart: normalise first and second views apart.
        crops: make the views random resized crops.
        one_crop: use the same crop for both views; needs crops.
        scale: least and largest area of a crop as a share of the image, as in `check_crops`.
        ratio: least and largest aspect ratio of a crop, as in `check_crops`.
        filters: M ≥ 1 filters per receptive field.
        outputs: j ≥ 1.
        batch: N ≥ 2 samples, each in two views.
        rate: learning rate, > 0.
        momentum: 0 ≤ momentum < 1.
        weight_decay: ≥ 0.
    Raises: a one-line ValueError for values outside these ranges.
    """

    activation: str = "relu"
    loss: str = "infonce"
    batch_norm: str = "mean"
    views_apart: bool = True
    crops: bool = False
    one_crop: bool = False
    scale: tuple[float, float] = (0.5, 1.0)
    ratio: tuple[float, float] = (0.5, 1.5)
    filters: int = 25
    outputs: int = 50
    batch: int = 8
    rate: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 5e-3

    def __post_init__(self):
        check_fields(self)
        activation(self.activation, among=TRAINED)
        contrastive_loss(self.loss)
        Statistics.of([self.batch_norm])
        check_crops(self.scale, self.ratio)
        if self.one_crop and not self.crops:
            raise ValueError("one_crop must be False without crops, got True")
        if self.batch < 2:
            raise ValueError(f"batch must be ≥ 2, since a loss needs a negative pair, got {self.batch}")
        if self.filters < 1 or self.outputs < 1:
            raise ValueError(f"filters and outputs must be ≥ 1, got {self.filters} and {self.outputs}")
        if not (self.rate > 0 and 0 <= self.momentum < 1 and self.weight_decay >= 0):
            raise ValueError(
                "rate must be > 0, momentum in [0, 1) and weight_decay ≥ 0, "
                f"got rate={self.rate}, momentum={self.momentum}, weight_decay={self.weight_decay}"
            )

    @property
    def groups(self) -> int:
        """Number of groups of views with separate statistics."""
        return 2 if self.views_apart and self.batch_norm != "off" else 1

    def bytes_needed(self, runs: int, images: Tensor, dtype: torch.dtype = torch.float32) -> int:
        """Estimated memory of `train_on_images`: images, weights with gradients and momentum, tables, drawn views."""
        pixels, n = images.shape[-1] ** 2, 2 * self.batch
        weights = self.filters * (pixels + PLACES * self.outputs)
        tables = PLACES * n * (6 * self.filters + 3 * self.outputs)
        return dtype.itemsize * (images.numel() + runs * (4 * weights + tables + 5 * CHUNK * n * pixels))


def train_on_images(
    training: ImageTraining,
    images: Tensor,
    seeds: Sequence[int],
    steps: int,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Iterator[Weights]:
    """Train one network per seed for `steps` minibatches; yields the weights after each, changed in place.

    Filters `[run, 4, M, (s/2)²]`, top layer `[run, 4, M, j]`. With and without crops, networks of one seed start alike
    and see the same images in the same order; a run is the same whether it is trained alone or beside others.

    Source: tian-2023, Appendix E.3.
    Args:
        training: the configuration.
        images: `[n, s, s]` with values from 0 to 1, n ≥ batch, s even.
        seeds: one per network, at least one.
        steps: number of minibatches, ≥ 1.
        device: where to train, by default torch's default device.
        dtype: dtype of the weights and of the minibatches.
    Raises: ValueError for arguments outside these ranges and for too little memory.
    Cost: 12·N·4·M·(s²/4 + j) flops per step and run.
    """
    seeds, device = list(seeds), torch.get_default_device() if device is None else torch.device(device)
    _check_run(training, images, seeds, steps)
    what = f"{len(seeds)} networks of 4·{training.filters} filters on {len(images)} images"
    require_memory(training.bytes_needed(len(seeds), images, dtype), device, what)
    streams = [stream(seed, 0, "weights", device) for seed in seeds]
    size = PLACES, training.filters, images.shape[-1] ** 2 // PLACES, training.outputs
    yield from sgd_steps(
        FieldNetwork(activation(training.activation, TRAINED), Statistics.of([training.batch_norm])),
        initial_weights(streams, *size, dtype),
        islice(image_minibatches(training, images.to(device, dtype), seeds), steps),
        contrastive_loss(training.loss),
        rate=training.rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
    )


def image_minibatches(training: ImageTraining, images: Tensor, seeds: Sequence[int]) -> Iterator[ImageBatch]:
    """Endless minibatches, drawn CHUNK at a time on the device of the images and in their dtype.

    Every pass goes through the images in a new random order and leaves out the last n mod N.

    Args:
        training: the configuration.
        images: `[n, s, s]`, as in `train_on_images`.
        seeds: one per network.
    """
    device = images.device
    orders = [_passes(stream(seed, 0, "minibatches", device), len(images), training.batch) for seed in seeds]
    boxes = [stream(seed, 0, "crops", device) for seed in seeds]
    while True:
        seen = torch.stack([torch.stack(list(islice(order, CHUNK))) for order in orders])  # [run, step, N]
        views = images[seen].unsqueeze(2)
        if training.crops:
            views = views.expand(-1, -1, 1 if training.one_crop else 2, -1, -1, -1)
            views = random_resized_crops(views, boxes, training.scale, training.ratio)
        for step in views.unbind(1):
            yield image_batch(step, training.groups)


def _passes(g: torch.Generator, count: int, batch: int) -> Iterator[Tensor]:
    """Positions of the images of one minibatch after another, int64 `[N]`."""
    while True:
        yield from torch.randperm(count, generator=g, device=g.device)[: count - count % batch].view(-1, batch)


def _check_run(training: ImageTraining, images: Tensor, seeds: Sequence[int], steps: int) -> None:
    """Raise a one-line ValueError if there are no steps or no seeds, or for images that cannot be trained on."""
    if steps < 1 or not seeds:
        raise ValueError(f"steps and the number of seeds must be ≥ 1, got {steps} and {len(seeds)}")
    if images.ndim != 3 or len(images) < training.batch:
        raise ValueError(f"images must be [n, s, s] with n ≥ {training.batch} (the batch), got {tuple(images.shape)}")
    check_images(images)
    if not images.is_floating_point() or not (images.min() >= 0 and images.max() <= 1):
        raise ValueError(
            f"images must be fractions ≥ 0 and ≤ 1, got {images.dtype} values {images.min()} to {images.max()}"
        )


def digit_images(data: str, device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
    """Images as fractions of the brightest pixel, and the digits they show.

    Source: tian-2023, Appendix E.3.
    Args:
        data: "digits" (1797 images of 8 × 8 pixels) or "mnist" (the first 50,000 training images, 28 × 28).
        device: device of the result, by default torch's default device.
    Returns: images `[n, s, s]`, digits int64 `[n]`.
    Raises: ValueError for any other name; DataError as `catalogue`.
    """
    if data not in DIGITS:
        raise ValueError(f"data must be one of {', '.join(DIGITS)}, got {data!r}")
    read, brightest = DIGITS[data]
    found = read()
    device = torch.get_default_device() if device is None else torch.device(device)
    images, labels = (torch.from_numpy(part[:MOST]).to(device) for part in (found.images, found.labels))
    return images.float() / brightest, labels.long()


def trained_filters(
    training: ImageTraining,
    data: str,
    seeds: Sequence[int],
    steps: int,
    *,
    device: torch.device | str | None = None,
    watch: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Tensor:
    """The filters w after training on `digit_images`.

    Args:
        training: the configuration.
        data: as in `digit_images`.
        seeds: one per network.
        steps: number of minibatches, ≥ 1.
        device: where to train, by default torch's default device.
        watch: wraps the steps, as a progress bar does.
    Returns: `[run, K, M, d]`.
    Raises: as `digit_images` and `train_on_images`.
    """
    weights = train_on_images(training, digit_images(data, device)[0], seeds, steps, device)
    for _ in watch(range(steps)):
        last = next(weights)
    return last.w
