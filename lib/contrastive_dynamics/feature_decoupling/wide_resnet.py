"""Wide residual networks with pre-activation, small enough for a CPU; one set of stacked weights for all runs.

Shapes: weights are a dict of tensors, the run first: `conv [run, out, in, 3, 3]`, `gain`, `shift` `[run, channels]`.
Images `[n, 3, s, s]` of values 0 to 1, s = 8 or 32 (any multiple of 4). A layer is one of the four places where ReLU
acts on the residual stream: 1 after the stem (16 channels, s × s), 2 to 4 after the groups (16k, 32k, 64k channels,
s, s/2 and s/4 pixels on a side). Layer 4 is the last; its mean over pixels is the representation.

Runs are computed one after the other. On one thread of a CPU, one convolution per run is 1 to 2 times as fast as one
grouped convolution for all runs (16 channels of 8 × 8 or 32 × 32 pixels; for 64 channels of 2 × 2 it is the opposite),
and 3 to 12 times as fast as patches times matrices in one batched product. It also makes a run the same alone and in
any batch, bit for bit, on one device with one number of threads.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d

GROUPS, LAYERS = (1, 2, 3), (1, 2, 3, 4)
EPS = 1e-5  # added to the variance, as in PyTorch
BLOCK = 256  # images that pass at once when no gradient is needed

Weights = dict[str, Tensor]
Statistics = dict[str, tuple[Tensor, Tensor]]  # mean and variance of every normalised layer, [run, channels] each


@dataclass(frozen=True)
class WideResNet:
    """WRN-depth-width: three groups of n = (depth − 4)/6 blocks BN, ReLU, conv, BN, ReLU, conv beside a shortcut.

    Source: Zagoruyko and Komodakis, Wide Residual Networks (2016), Table 1, without dropout; wen-li-2021, Figure 1,
    which prints neither depth nor width.
    Fields:
        depth: 6n + 4, 10 to 40.
        width: k, 1 to 4.
    Raises: ValueError for another depth or width.
    """

    depth: int = 10
    width: int = 1

    def __post_init__(self):
        if not (10 <= self.depth <= 40 and self.depth % 6 == 4 and 1 <= self.width <= 4):
            raise ValueError(
                f"depth and width must be one of 10, 16, ..., 40 and 1 to 4, got {self.depth} and {self.width}"
            )

    @property
    def blocks(self) -> int:
        """Number of blocks in a group."""
        return (self.depth - 4) // 6

    @property
    def channels(self) -> tuple[int, int, int, int]:
        """Channels of layers 1 to 4."""
        return 16, 16 * self.width, 32 * self.width, 64 * self.width

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every weight of one run, by its name, in the order in which they are drawn."""
        found: dict[str, tuple[int, ...]] = {"stem.conv": (16, 3, 3, 3)}
        for group in GROUPS:
            c_in, c = self.channels[group - 1], self.channels[group]
            for block in range(self.blocks):
                name = f"{group}.{block}"
                found |= _norm(f"{name}.a", c_in) | {f"{name}.a.conv": (c, c_in, 3, 3)}
                found |= _norm(f"{name}.b", c) | {f"{name}.b.conv": (c, c, 3, 3)}
                if c_in != c:
                    found[f"{name}.shortcut.conv"] = (c, c_in, 1, 1)
                c_in = c
        return found | _norm("last", self.channels[-1])

    def initial_weights(self, generators: list[torch.Generator], dtype: torch.dtype = torch.float32) -> Weights:
        """Filters N(0, 2/fan-in), gains 1, shifts 0.

        Source: He et al., Delving Deep into Rectifiers (2015), eq. (10).
        Args:
            generators: one per run; a run's weights are on the device of its generator.
            dtype: dtype of the weights.
        Returns: `[run, ...]` by name.
        """
        shapes = self.shapes().items()
        return {name: torch.stack([_draw(g, name, shape, dtype) for g in generators]) for name, shape in shapes}

    def multiplications(self, size: int) -> int:
        """Products in a forward pass of one image of size × size pixels; a training step takes three times as many."""
        total, at = 0, {group: size >> max(0, group - 1) for group in (0, *GROUPS)}
        for name, shape in self.shapes().items():
            if name.endswith("conv"):
                group = int(name[0]) if name[0].isdigit() else 0
                total += at[group] ** 2 * shape[0] * shape[1] * shape[2] * shape[3]
        return total

    def layers(self, weights: Weights, images: Tensor, statistics: Statistics | None = None) -> list[Tensor]:
        """For one run, the inputs of ReLU at layers 1 to 4, `[n, channels, s', s']`; differentiable.

        Args:
            weights: those of one run, without its axis.
            images: `[n, 3, s, s]`.
            statistics: those of one run, or None to use those of these images, as in training.
        Cost: 2·`multiplications` flops per image.
        """

        def normed(x: Tensor, name: str) -> Tensor:
            mean, variance = statistics[name] if statistics is not None else (None, None)
            gain, shift = weights[f"{name}.gain"], weights[f"{name}.shift"]
            return batch_norm(x, mean, variance, gain, shift, training=statistics is None, eps=EPS)

        return self._pass(weights, images, normed)

    def _pass(self, weights: Weights, images: Tensor, normed) -> list[Tensor]:
        centred = (4 * images - 2).contiguous(memory_format=torch.channels_last)  # mean about 0, deviation about 1
        kept, x = [], conv2d(centred, weights["stem.conv"], padding=1)
        for group in GROUPS:
            for block in range(self.blocks):
                name, first = f"{group}.{block}", block == 0
                before = normed(x, f"{name}.a")
                if first:
                    kept.append(before)
                y, stride = before.relu(), 2 if first and group > 1 else 1
                out = conv2d(y, weights[f"{name}.a.conv"], stride=stride, padding=1)
                out = conv2d(normed(out, f"{name}.b").relu(), weights[f"{name}.b.conv"], padding=1)
                cut = weights.get(f"{name}.shortcut.conv")
                x = out + (x if cut is None else conv2d(y, cut, stride=stride))
        return [*kept, normed(x, "last")]

    def representation(self, weights: Weights, images: Tensor, statistics: Statistics | None = None) -> Tensor:
        """For one run, the mean over pixels of layer 4 after ReLU, `[n, 64k]`; arguments as `layers`."""
        return self.layers(weights, images, statistics)[-1].relu().mean((-2, -1))

    @torch.no_grad()
    def calibrated(self, weights: Weights, images: Tensor) -> Statistics:
        """Mean and variance (divided by n) of every normalised layer over given images, for evaluation.

        No running averages are kept in training: they lag, depend on the augmentation and add to the state. Here the
        images pass once, each layer normalised by its statistics over them; so for these images the network gives the
        same output with the statistics as without. Use at least some hundreds of training images, without augmentation.
        Args:
            weights: `[run, ...]`.
            images: `[n, 3, s, s]`, all at once in memory.
        Returns: `[run, channels]` by name.
        """
        found: list[dict] = []
        for w in each_run(weights):
            seen: dict = {}

            def normed(x: Tensor, name: str, w=w, seen=seen) -> Tensor:
                variance, mean = torch.var_mean(x, (0, 2, 3), correction=0)
                seen[name] = mean, variance
                return batch_norm(x, mean, variance, w[f"{name}.gain"], w[f"{name}.shift"], eps=EPS)

            self._pass(w, images, normed)
            found.append(seen)
        return {
            name: tuple(torch.stack(part) for part in zip(*(f[name] for f in found), strict=True)) for name in found[0]
        }

    @torch.no_grad()
    def responses(self, weights: Weights, statistics: Statistics, images: Tensor, layer: int = 4) -> Tensor:
        """Activations after ReLU of every run, without gradient: `[run, n, channels, s', s']`.

        Their mean over the last two axes is the representation at layer 4.
        Args:
            weights, statistics: `[run, ...]`.
            images: `[n, 3, s, s]`.
            layer: 1 to 4.
        Raises: ValueError for another layer.
        """
        if layer not in LAYERS:
            raise ValueError(f"layer must be 1 to 4, got {layer}")
        runs = zip(each_run(weights), each_run(statistics), strict=True)
        blocks = images.split(BLOCK)
        return torch.stack([torch.cat([self.layers(w, x, s)[layer - 1].relu() for x in blocks]) for w, s in runs])


def each_run(tensors: dict) -> list[dict]:
    """The weights or statistics of every run, without the run's axis, as views."""
    first = next(iter(tensors.values()))
    runs = len(first[0]) if isinstance(first, tuple) else len(first)

    def of(value, run: int):
        return tuple(part[run] for part in value) if isinstance(value, tuple) else value[run]

    return [{name: of(value, run) for name, value in tensors.items()} for run in range(runs)]


def _norm(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.gain": (channels,), f"{name}.shift": (channels,)}


def _draw(generator: torch.Generator, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    if name.endswith("conv"):
        drawn = torch.randn(shape, generator=generator, dtype=dtype, device=generator.device)
        return drawn * (2 / (shape[1] * shape[2] * shape[3])) ** 0.5
    return torch.full(shape, float(name.endswith("gain")), dtype=dtype, device=generator.device)
