"""How a world's samples become positive pairs: a view maker works in every world, and gives pairs and exact moments.

A view maker is called with a world, a number n and one generator per run, and returns Pairs. `moments(world)` are their
second moments, exact where the world's are.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .pairs import Moments, Pairs, per_run
from .worlds import World, exact_moments, redrawn


@dataclass(frozen=True)
class Native:
    """The pairs of the world's paper, in its sampler's stream; for a world without one, private latents redrawn."""

    def __call__(self, world: World, n: int, generators: list[torch.Generator]) -> Pairs:
        return world.pairs(n, generators) if hasattr(world, "pairs") else redrawn(world, n, generators)

    def moments(self, world: World) -> Moments:
        return world.native_moments() if hasattr(world, "native_moments") else exact_moments(world)


@dataclass(frozen=True)
class Apart:
    """The same shared latents, private ones of each view's own."""

    def __call__(self, world: World, n: int, generators: list[torch.Generator]) -> Pairs:
        return redrawn(world, n, generators)

    def moments(self, world: World) -> Moments:
        return exact_moments(world)


@dataclass(frozen=True)
class Coupled:
    """The same private latents in both views: no augmentation. With one encoder both views are one sample."""

    def __call__(self, world: World, n: int, generators: list[torch.Generator]) -> Pairs:
        shared, private = world.shared(n, generators), world.private(n, generators)
        first = world.render(shared, private, 0)
        return Pairs(first, world.render(shared, private, 1), shared, private)

    def moments(self, world: World) -> Moments:
        _require_one_rendering(world, "Coupled")
        first = exact_moments(world).first
        return Moments(first, first, first)


@dataclass(frozen=True)
class Masked:
    """Complementary masks of one sample, x⁺ = Dx/ρ and x⁺⁺ = (I − D)x/(1 − ρ), D of Bernoulli(ρ) entries.

    The moments are those of `view_correlation`: the cross moment loses its diagonal, that of a view gains (1/ρ − 1) of
    it.
    Source: wen-li-2021, Definition 2.3.
    Args:
        rate: ρ in (0, 1).
    Raises: ValueError for another rate.
    """

    rate: float = 0.5

    def __post_init__(self):
        if not 0 < self.rate < 1:
            raise ValueError(f"Masked: rate must be in (0, 1), got {self.rate}")

    def __call__(self, world: World, n: int, generators: list[torch.Generator]) -> Pairs:
        whole = Coupled()(world, n, generators)
        dtype = whole.first.dtype
        kept = (per_run(torch.rand, generators, *whole.second.shape[1:], dtype=dtype) < self.rate).to(dtype)
        return whole._replace(first=whole.first * kept / self.rate, second=whole.second * (1 - kept) / (1 - self.rate))

    def moments(self, world: World) -> Moments:
        _require_one_rendering(world, "Masked")
        whole = exact_moments(world).first
        diagonal = torch.diag_embed(whole.diagonal(dim1=-2, dim2=-1))
        first, second = (whole + (1 / rate - 1) * diagonal for rate in (self.rate, 1 - self.rate))
        return Moments(first, second, whole - diagonal)


@dataclass(frozen=True)
class Noisy:
    """One sample with fresh N(0, std²) on every input of both views.

    Args:
        std: ≥ 0.
        views: what gives the pair before the noise.
    Raises: ValueError for another std.
    """

    std: float
    views: object = Coupled()

    def __post_init__(self):
        if not 0 <= self.std < float("inf"):
            raise ValueError(f"Noisy: std must be ≥ 0 and finite, got {self.std}")

    def __call__(self, world: World, n: int, generators: list[torch.Generator]) -> Pairs:
        pairs = self.views(world, n, generators)
        added = [self.std * per_run(torch.randn, generators, *x.shape[1:], dtype=x.dtype) for x in pairs[:2]]
        return pairs._replace(first=pairs.first + added[0], second=pairs.second + added[1])

    def moments(self, world: World) -> Moments:
        before = self.views.moments(world)
        return Moments(*(m + self.std**2 * _unit(m) for m in before[:2]), before.cross)


@dataclass(frozen=True)
class Shuffled:
    """A control: the views of a pair come from different samples, so nothing is shared.

    Args:
        views: what makes the pairs before they are parted.
    """

    views: object = Native()

    def __call__(self, world: World, n: int, generators: list[torch.Generator]) -> Pairs:
        pairs = self.views(world, n, generators)
        return pairs._replace(first=pairs.first.roll(1, 1))

    def moments(self, world: World) -> Moments:
        moments = self.views.moments(world)
        return moments._replace(cross=torch.zeros_like(moments.cross))


def _unit(m: Tensor) -> Tensor:
    return torch.eye(m.shape[-1], dtype=m.dtype, device=m.device)


def _require_one_rendering(world: World, name: str) -> None:
    """Coupled views of two modalities share private latents, of which `moments` says nothing."""
    if not world.tied:
        raise ValueError(f"{name}: exact moments need a world of one encoder, got {type(world).__name__} of two")
