"""Training of wide residual networks on images, contrastively or with labels: all runs of one arm at once, resumable.

Shapes: images `[n, 3, s, s]` of values 0 to 1, labels int64 `[n]`; weights `[run, ...]` by name, those of the network
and of the head on its representation: `head.hidden` `[run, 64k, 64k]`, `head.out` `[run, out, 64k]`, `head.shift`
`[run, out]`.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from ..losses.pairwise_importance import require_temperature
from ..numerics.memory import keep_freed_memory
from ..numerics.random_streams import stream
from .encoder_state import EncoderState, training_key
from .image_augmentations import Augmentation
from .wide_resnet import Weights, WideResNet, each_run

OBJECTIVES = ("contrastive", "supervised")
_PURPOSES = ("weights", "minibatches", "augmentations")


@dataclass(frozen=True)
class EncoderTraining:
    """One arm: a network, its objective, and its training.

    The paper prints none of this; the settings are common practice. Contrastive: both views of a minibatch through
    network and head W²·ReLU(W¹h), NT-Xent with a temperature (`nt_xent`; the paper's theory has no head and does not
    normalise); if the views are the images themselves, these pass once. Supervised: one view, cross entropy of a linear
    layer. SGD with momentum, weight decay on matrices and filters alone, a cosine decay of the rate to 0, no warm-up.
    Source: Chen et al., A Simple Framework for Contrastive Learning (2020), Sections 2.1, 3; wen-li-2021, Figures 1–4.
    Fields:
        objective: one of OBJECTIVES.
        network, augmentation: the architecture and the views.
        epochs: ≥ 1.
        batch: N ≥ 2.
        rate: initial learning rate, > 0.
        momentum: in [0, 1).
        weight_decay: ≥ 0.
        temperature: τ > 0.
        projection: outputs of the contrastive head, ≥ 1.
        autocast: whether products are in bfloat16; weights stay in float32.
    Raises: ValueError outside these ranges.
    """

    objective: str = "contrastive"
    network: WideResNet = field(default_factory=WideResNet)
    augmentation: Augmentation = field(default_factory=Augmentation)
    epochs: int = 20
    batch: int = 128
    rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    temperature: float = 0.5
    projection: int = 64
    autocast: bool = False

    def __post_init__(self):
        if self.objective not in OBJECTIVES:
            raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}")
        if self.epochs < 1 or self.batch < 2 or self.projection < 1:
            got = f"{self.epochs}, {self.batch}, {self.projection}"
            raise ValueError(f"epochs, batch, projection must be ≥ 1, ≥ 2, ≥ 1, got {got}")
        if not (self.rate > 0 and 0 <= self.momentum < 1 and self.weight_decay >= 0):
            got = f"{self.rate}, {self.momentum}, {self.weight_decay}"
            raise ValueError(f"rate, momentum, weight_decay must be > 0, in [0, 1), ≥ 0, got {got}")
        require_temperature("temperature", self.temperature)

    def initial_weights(self, generators: list[torch.Generator], classes: int, dtype: torch.dtype) -> Weights:
        """Network as `WideResNet.initial_weights`, then the head: N(0, 2/fan-in) before a ReLU, else N(0, 1/fan-in).

        Args:
            generators: one per run.
            classes: number of labels, used by the supervised objective.
            dtype: dtype of the weights.
        """
        weights, c = self.network.initial_weights(generators, dtype), self.network.channels[-1]

        def drawn(out: int, gain: float) -> Tensor:
            how = {"dtype": dtype, "device": generators[0].device}
            return torch.stack([torch.randn(out, c, generator=g, **how) for g in generators]) * (gain / c) ** 0.5

        if self.objective == "supervised":
            shift = weights["last.shift"].new_zeros(len(generators), classes)
            return weights | {"head.out": drawn(classes, 1), "head.shift": shift}
        return weights | {"head.hidden": drawn(c, 2), "head.out": drawn(self.projection, 1)}


class Streams(NamedTuple):
    """One generator per run and purpose, all on one device."""

    weights: list[torch.Generator]
    minibatches: list[torch.Generator]
    augmentations: list[torch.Generator]

    @classmethod
    def of(cls, seed: int, runs: Iterable[int], device: torch.device | str | None = None) -> "Streams":
        """The streams of some runs of a seed; arms with the same seed start alike and see the images in the same order.

        Args:
            seed: ≥ 0.
            runs: numbers of the runs, ≥ 0.
            device: device of the generators, by default torch's.
        """
        runs = list(runs)
        return cls(*([stream(seed, run, purpose, device) for run in runs] for purpose in _PURPOSES))


def nt_xent(z: Tensor, z_view: Tensor, temperature: float) -> Tensor:
    """The normalised, temperature-scaled cross entropy of 2N outputs, each with its other view as its class.

    −(1/2N) Σ_i log(e^{s_ii'/τ} / Σ_{j ≠ i} e^{s_ij/τ}), s the cosines, j over the other 2N − 1, i' the other view.
    Source: Chen et al. (2020), eq. (1).
    Args:
        z, z_view: outputs for both views, `[N, out]`, N ≥ 2.
        temperature: τ > 0.
    Returns: `[]`.
    Raises: ValueError for another temperature or shape.
    Cost: 8·N²·out flops, 8·N² numbers.
    """
    require_temperature("nt_xent: temperature", temperature)
    if z.ndim != 2 or z.shape != z_view.shape or len(z) < 2:
        got = f"{tuple(z.shape)}, {tuple(z_view.shape)}"
        raise ValueError(f"nt_xent: z and z_view must be [N, out], N ≥ 2, got {got}")
    both = normalize(torch.cat([z, z_view]), dim=-1)
    logits = (both @ both.mT / temperature).fill_diagonal_(-math.inf)
    return cross_entropy(logits, torch.arange(len(both), device=z.device).roll(len(z)))


def train_encoders(
    training: EncoderTraining,
    images: Tensor,
    labels: Tensor,
    streams: Streams,
    *,
    path: Path | str | None = None,
    save_every: float = 300.0,
    watch: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> tuple[Weights, Tensor]:
    """Train all runs of an arm to the end, resuming from the file at `path` if there is one.

    In every epoch each run sees the images in its own order; the last n mod N are left out. Every `save_every` seconds
    and at the end, the state, streams included, is written to a temporary file, which is moved into place. Resumed
    training gives the same result as uninterrupted training, bit for bit on a CPU (on CUDA as far as its convolutions
    are reproducible).
    Source: wen-li-2021, Figures 1 to 4.
    Args:
        training: the arm.
        images: `[n, 3, s, s]`, n ≥ N, s a multiple of 4, on the device of the streams.
        labels: `[n]`, from 0, on the same device; not read by the contrastive objective.
        streams: generators, one per run and purpose.
        path: file of the state, or None.
        save_every: seconds between two writes.
        watch: wraps the remaining steps, as a progress bar does.
    Returns: weights `[run, ...]`, and the loss of every step `[step, run]`.
    Raises: ValueError for arguments outside these ranges, or a file that is damaged or from another training: other
        settings, seeds or kind of device, other images or labels or another order of them.
    Cost: per step and run, 6·views·N·`multiplications` flops, and about 30·views·N·channels·s² numbers.
    """
    _check(training, images, labels, streams)
    if images.device.type == "cpu":
        keep_freed_memory()
    state, saved = _start(training, images, labels, streams, path), time.monotonic()
    for step in watch(range(state.step, state.steps)):
        _advance(state, training, images, labels, streams)
        if path is not None and (time.monotonic() - saved >= save_every or step + 1 == state.steps):
            state.save(path, streams)
            saved = time.monotonic()
    return state.weights, state.losses


def _start(training: EncoderTraining, images: Tensor, labels: Tensor, streams: Streams, path) -> EncoderState:
    """The state before the first step, or the one stored at `path`."""
    runs, n = len(streams.weights), len(images)
    weights = training.initial_weights(streams.weights, int(labels.max()) + 1, images.dtype)
    velocity = {name: torch.zeros_like(w) for name, w in weights.items()}
    order = torch.zeros(runs, n, dtype=torch.int64, device=images.device)
    losses = images.new_zeros(training.epochs * (n // training.batch), runs)
    key = {} if path is None else training_key(training, images, labels, streams)
    state = EncoderState(key, 0, weights, velocity, order, losses)
    return state.load(path, streams) if path is not None and Path(path).exists() else state


def _advance(state: EncoderState, training: EncoderTraining, images: Tensor, labels: Tensor, streams: Streams) -> None:
    n, b, device = len(images), training.batch, images.device
    k = state.step % (n // b)
    if k == 0:
        state.order = torch.stack([torch.randperm(n, generator=g, device=device) for g in streams.minibatches])
    at = state.order[:, k * b : (k + 1) * b]
    views = _views(training, images[at], streams.augmentations)
    rate = training.rate * (1 + math.cos(math.pi * state.step / state.steps)) / 2
    for run, weights in enumerate(each_run(state.weights)):
        leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
        with torch.enable_grad():
            loss = _loss(training, leaves, views[run], labels[at[run]])
            gradients = torch.autograd.grad(loss, list(leaves.values()))
        state.losses[state.step, run] = loss.detach()
        _descend(weights, each_run(state.velocity)[run], gradients, rate, training)
    state.step += 1


def _views(training: EncoderTraining, batch: Tensor, streams: list[torch.Generator]) -> Tensor:
    """`[run, N or 2N, 3, s, s]`, first views first; N if there is one view or both are the images themselves."""
    if training.objective == "contrastive" and training.augmentation.arm != "none":
        batch = torch.cat([batch, batch], 1)
    return training.augmentation(batch, streams)


def _loss(training: EncoderTraining, weights: Weights, views: Tensor, labels: Tensor) -> Tensor:
    with torch.autocast(views.device.type, torch.bfloat16) if training.autocast else nullcontext():
        h = training.network.representation(weights, views)
        if training.objective == "supervised":
            return cross_entropy((h @ weights["head.out"].mT + weights["head.shift"]).to(views.dtype), labels)
        z = ((h @ weights["head.hidden"].mT).relu() @ weights["head.out"].mT).to(views.dtype)
        first, second = z.chunk(2) if len(views) > training.batch else (z, z)
        return nt_xent(first, second, training.temperature)


@torch.no_grad()
def _descend(weights: Weights, velocity: Weights, gradients: tuple, rate: float, training: EncoderTraining) -> None:
    """v ← μv + g + λw, w ← w − ηv, in place, λ for matrices and filters only."""
    for (name, w), g in zip(weights.items(), gradients, strict=True):
        v = velocity[name].mul_(training.momentum).add_(g)
        if w.ndim > 1:
            v.add_(w, alpha=training.weight_decay)
        w.sub_(v, alpha=rate)


def _check(training: EncoderTraining, images: Tensor, labels: Tensor, streams: Streams) -> None:
    if images.ndim != 4 or images.shape[1] != 3 or images.shape[-1] % 4 or images.shape[-1] != images.shape[-2]:
        raise ValueError(f"images must be [n, 3, s, s], s = 4, 8, ..., got {tuple(images.shape)}")
    if len(images) < training.batch or labels.shape != (len(images),):
        got = f"{len(images)} images, labels {tuple(labels.shape)}"
        raise ValueError(f"images must be ≥ {training.batch}, with one label each, got {got}")
    if not streams.weights or len({len(part) for part in streams}) > 1:
        raise ValueError(f"streams must be three per run, one per purpose, got {[len(part) for part in streams]}")
