"""Generated pictures with captions: one to four of twelve named objects on a small canvas, and encoders without labels.

Shapes: n scenes, L = 12 objects, c captions per scene; pictures `[n, 3, 24, 24]`; captions `[n, c, 17]` as indices into
WORDS, with −1 where there is no word; features `[n, 192]` of pictures and `[..., 192]` of texts. Real tensors are
float32. Objects and encoders are the same for every generator: their random parts have streams of their own.
"""

import functools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.random_streams import stream

NAMES = tuple("circle ring square frame triangle diamond cross star moon bar pole checker".split())
_OPENINGS = ("there is", "we see", "here is", "this shows")
_SIZES = ("small", "large")
WORDS = (*NAMES, *"there is we see here this shows and a".split(), *_SIZES)
_SIDE, _MOST = 24, 4
_FEATURES, _WORD_SIZE = 192, 64
_BLOCK = 50  # pictures filtered at once, few enough to stay in the cache


class Scenes(NamedTuple):
    """Pictures, captions as word indices, and which objects are present."""

    pictures: Tensor  # [n, 3, 24, 24]
    captions: Tensor  # [n, c, 17]
    labels: Tensor  # [n, 12], bool


class ScenePairs(NamedTuple):
    """Frozen features of the pictures, of the captions and of the prompts "this is a NAME", and the labels."""

    images: Tensor  # [n, 192]
    captions: Tensor  # [n, c, 192]
    prompts: Tensor  # [12, 192]
    labels: Tensor  # [n, 12], bool
    names: tuple[str, ...]


def scene_pairs(
    count: int,
    generator: torch.Generator,
    *,
    decay: float = 0.8,
    mention: float = 0.7,
    noise: float = 0.05,
    captions: int = 2,
) -> ScenePairs:
    """Scenes passed through both frozen encoders.

    Args and Raises: as `draw_scenes`.
    Returns: ScenePairs on the generator's device.
    Cost: 1.2·10⁷ flops per scene.
    """
    scenes = draw_scenes(count, generator, decay=decay, mention=mention, noise=noise, captions=captions)
    prompts = encode_texts(_numbers([f"this is a {name}" for name in NAMES], generator.device))
    return ScenePairs(encode_pictures(scenes.pictures), encode_texts(scenes.captions), prompts, scenes.labels, NAMES)


def draw_scenes(
    count: int,
    generator: torch.Generator,
    *,
    decay: float = 0.8,
    mention: float = 0.7,
    noise: float = 0.05,
    captions: int = 2,
) -> Scenes:
    """Scenes of one to four objects, each number equally likely, drawn without replacement with weights decay^l.

    Objects lie anywhere, each with its own size, angle and brightness; later ones cover earlier ones. A caption starts
    with one of four openings and lists the objects in its own random order, as in "there is a ring and a small cross";
    half of the small or large objects are called so.

    Args:
        count: number of scenes, ≥ 1.
        generator: source of the random numbers; the result is on its device.
        decay: in (0, 1]; with the default, objects appear in 47 % to 5 % of the scenes; with 1, all equally often.
        mention: in [0, 1], the probability that a caption names an object of the scene; it always names at least one.
        noise: ≥ 0, standard deviation of the noise of a pixel; colours are in [0, 1].
        captions: captions per scene, ≥ 1.
    Returns: Scenes on the generator's device.
    Raises: ValueError for an argument outside its range.
    """
    if count < 1 or captions < 1 or not (0 < decay <= 1 and 0 <= mention <= 1 and 0 <= noise < math.inf):
        got = f"count={count}, decay={decay}, mention={mention}, noise={noise}, captions={captions}"
        allowed = "count, captions of 1 or more, 0 < decay <= 1, 0 <= mention <= 1, noise of 0 or more"
        raise ValueError(f"draw_scenes must have {allowed}, got {got}")
    rank = torch.arange(len(NAMES), device=generator.device)
    # the largest values of ln(weight) + Gumbel noise are a weighted draw without replacement
    gumbel = -(-_uniform(generator, count, len(NAMES)).log()).log()
    objects = (rank.float() * math.log(decay) + gumbel).topk(_MOST).indices
    numbers = torch.randint(1, _MOST + 1, (count, 1), generator=generator, device=generator.device)
    there = rank[:_MOST] < numbers
    size = _uniform(generator, count, _MOST)
    pictures = _paint(objects, there, size, noise, generator)
    labels = torch.zeros(count, len(NAMES), dtype=torch.bool, device=generator.device).scatter(1, objects, there)
    return Scenes(pictures, _captions(objects, there, size, mention, captions, generator), labels)


def encode_pictures(pictures: Tensor) -> Tensor:
    """Random 5 × 5 filters with random shifts, ReLU, the mean over the picture; standardised by reference scenes.

    The reference scenes are fixed.

    Args:
        pictures: `[n, 3, 24, 24]`.
    Returns: `[n, 192]`.
    Error: that of float32.
    Cost: 1.2·10⁷ flops per picture.
    """
    mean, scale = (part.to(pictures.device) for part in _reference()[:2])
    return (_picture_features(pictures) - mean) / scale


def encode_texts(words: Tensor) -> Tensor:
    """tanh(½Wv/√64), with v the sum of random vectors of the words; standardised by fixed reference captions.

    The order of the words does not matter.

    Args:
        words: `[..., words]`, indices into WORDS, −1 for no word.
    Returns: `[..., 192]`.
    Error: that of float32.
    Cost: 2.5·10⁴ flops per text.
    """
    mean, scale = (part.to(words.device) for part in _reference()[2:])
    return (_text_features(words) - mean) / scale


@functools.cache
def _reference() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean and deviation of the features of a thousand fixed scenes; these are part of the encoders."""
    scenes = draw_scenes(1000, stream(0, 0, "reference scenes", "cpu"))
    features = _picture_features(scenes.pictures), _text_features(scenes.captions).flatten(0, 1)
    return tuple(part for f in features for part in (f.mean(0), f.std(0)))


@functools.cache
def _encoder(part: str, *shape: int) -> Tensor:
    return torch.randn(
        shape, generator=stream(0, 0, f"scene encoder, {part}", "cpu"), device="cpu", dtype=torch.float32
    )


def _picture_features(pictures: Tensor) -> Tensor:
    filters = _encoder("filters", _FEATURES, 3, 5, 5).to(pictures.device) / 75**0.5
    shifts = 0.2 * _encoder("shifts", _FEATURES).to(pictures.device)
    parts = (torch.nn.functional.conv2d(part, filters, shifts).relu() for part in pictures.split(_BLOCK))
    return torch.cat([part.mean((-2, -1)) for part in parts])


def _text_features(words: Tensor) -> Tensor:
    vectors = _encoder("words", len(WORDS), _WORD_SIZE).to(words.device)
    vectors = torch.cat([vectors, torch.zeros_like(vectors[:1])])  # the last row stands for −1, no word
    weights = _encoder("texts", _WORD_SIZE, _FEATURES).to(words.device) / (2 * _WORD_SIZE**0.5)
    return (vectors[words].sum(-2) @ weights).tanh()


def _uniform(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float32)


def _stencils(x: Tensor, y: Tensor) -> Tensor:
    """Which points of [−1, 1]² belong to each of the twelve shapes, in the order of NAMES: `[12, ...]`, bool."""
    a, b, r = x.abs(), y.abs(), (x.square() + y.square()).sqrt()
    box = torch.maximum(a, b)
    shapes = [r < 0.85, (r < 0.95) & (r > 0.5), box < 0.8, (box < 0.9) & (box > 0.5)]
    shapes += [(y > -0.8) & (y + 2 * a < 0.9), a + b < 0.95, (torch.minimum(a, b) < 0.28) & (box < 0.95)]
    shapes += [a.sqrt() + b.sqrt() < 1.05, (r < 0.95) & ((x - 0.45).square() + y.square() > 0.45)]
    shapes += [(b < 0.3) & (a < 0.98), (a < 0.3) & (b < 0.98), (box < 0.95) & (x * y > 0)]
    return torch.stack(shapes)


def _paint(objects: Tensor, there: Tensor, size: Tensor, noise: float, generator: torch.Generator) -> Tensor:
    n, device = len(objects), objects.device
    half = 3 + 2 * size
    angles = 0.6 * _uniform(generator, n, _MOST) - 0.3
    centres = half + (_SIDE - 2 * half) * _uniform(generator, 2, n, _MOST)
    bright = 0.6 + 0.4 * _uniform(generator, n, _MOST, 1)
    kinds = torch.arange(len(NAMES), device=device, dtype=torch.float32)
    turns = 2 * math.pi * 5 / 12 * kinds  # a circle of hues on which neighbouring objects are far apart
    hues = 0.6 + 0.4 * torch.stack([(turns + phase).cos() for phase in (0.0, 2.1, 4.2)], -1)
    colours = (bright * hues[objects])[..., None, None]
    at = torch.arange(_SIDE, device=device, dtype=torch.float32) + 0.5
    pictures = torch.zeros(n, 3, _SIDE, _SIDE, dtype=torch.float32, device=device)
    for k in range(_MOST):
        (cx, cy), h, angle = (part[..., k, None, None] for part in (centres, half, angles))
        x, y = (at - cx) / h, (cy - at[:, None]) / h
        shapes = _stencils(angle.cos() * x - angle.sin() * y, angle.sin() * x + angle.cos() * y)
        mask = shapes[objects[:, k], torch.arange(n, device=device)] & there[:, k, None, None]
        pictures = torch.where(mask.unsqueeze(1), colours[:, k], pictures)
    return pictures + noise * torch.randn(pictures.shape, generator=generator, device=device, dtype=torch.float32)


def _numbers(texts: list[str] | tuple[str, ...], device: torch.device) -> Tensor:
    """Word indices of texts with equally many words, `[text, words]`."""
    return torch.tensor([[WORDS.index(word) for word in text.split()] for text in texts], device=device)


def _captions(
    objects: Tensor, there: Tensor, size: Tensor, mention: float, captions: int, generator: torch.Generator
) -> Tensor:
    shape, device = (len(objects), captions, _MOST), objects.device
    which = torch.randint(len(_OPENINGS), shape[:2], generator=generator, device=device)
    named = there.unsqueeze(1) & (_uniform(generator, *shape) < mention)
    # named objects come first, then the unnamed ones that are present; the first in line is always mentioned
    order = (_uniform(generator, *shape) + 2 * ~there.unsqueeze(1) + ~named).argsort(-1)
    said = torch.cat([torch.ones_like(named[..., :1]), named.gather(-1, order)[..., 1:]], -1).unsqueeze(-1)
    objects, size = (part.unsqueeze(1).expand(shape).gather(-1, order) for part in (objects, size))
    told = _uniform(generator, *shape) < 0.5
    small, large = (WORDS.index(word) for word in _SIZES)
    how = torch.where(told & (size < 0.3), small, torch.where(told & (size > 0.7), large, -1))
    link, article = torch.full_like(objects, WORDS.index("and")), torch.full_like(objects, WORDS.index("a"))
    words = torch.where(said, torch.stack([link, article, how, objects], -1), -1).flatten(-2)
    return torch.cat([_numbers(_OPENINGS, device)[which], words[..., 1:]], -1)  # no "and" before the first object
