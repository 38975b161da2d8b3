"""Worlds: data models whose shared and private features are known, and a world of given canonical correlations.

A world draws shared latents, which both views carry and which are whitened, and private ones of a view, and renders a
view from them. Views are centred. Shapes: runs first; n samples, S shared and P private latents, D inputs.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from .pairs import Moments, Pairs, per_run

_SAMPLES = 4096  # on which a world's promise is checked


class World(Protocol):
    """What a world has to offer. `moments`, `pairs` and `native_moments` are optional.

    moments(): Moments of two views with the same shared latents and private latents of their own, exact.
    pairs(n, generators): Pairs of the paper's own sampler, in its stream.
    native_moments(): Moments of these, if they differ from `moments`.
    """

    tied: bool  # one encoder for both views, or one per view
    inputs: int  # D

    def shared(self, n: int, generators: list[torch.Generator]) -> Tensor:
        """`[run, n, S]`, of mean 0 and covariance I."""

    def private(self, n: int, generators: list[torch.Generator]) -> Tensor:
        """`[run, n, P]`, independent of the shared ones."""

    def render(self, shared: Tensor, private: Tensor, modality: int) -> Tensor:
        """`[run, n, D]`, centred; modality 0 or 1 of the first or second view."""


class GivenCorrelations:
    """D independent coordinates of one law, of variance 1, whose first S have the correlations ρ across the views.

    normal: x = √ρ s + √(1 − ρ) p. Other laws keep their marginals: x = s with probability √ρ and p otherwise,
    separately in each view, so that the correlation is ρ.
    Args:
        rho: ρ in [0, 1], `[S]`, or `[run, S]` if the runs differ.
        inputs: D ≥ S; the other coordinates are private.
        law: one of LAWS.
        tied: whether one encoder serves both views.
        dtype: of the views; moments are in double precision.
    Raises: ValueError for another argument.
    """

    def __init__(
        self, rho, inputs: int | None = None, law: str = "normal", tied: bool = True, dtype: torch.dtype = torch.float64
    ):
        rho = torch.as_tensor(rho, dtype=torch.float64)
        self.count = rho.shape[-1] if rho.ndim else 0
        self.inputs, self.tied = self.count if inputs is None else inputs, tied
        self.law, self.dtype = law, dtype
        if not 1 <= self.count <= self.inputs or not bool(((rho >= 0) & (rho <= 1)).all()):
            got = f"{float(rho.min()):g} to {float(rho.max()):g}, {self.count} of them, and {inputs}"
            raise ValueError(f"rho and inputs must be 0 to 1, [S] or [run, S], and ≥ S, got {got}")
        if law not in LAWS:
            raise ValueError(f"law must be one of {', '.join(LAWS)}, got {law!r}")
        self.rho = torch.nn.functional.pad(rho, (0, self.inputs - self.count)).view(-1, 1, self.inputs)

    def shared(self, n, generators):
        return LAWS[self.law](n, self.count, generators, self.dtype)

    def private(self, n, generators):
        """The private values, and after them the coins that choose, unless the law is normal."""
        values = LAWS[self.law](n, self.inputs, generators, self.dtype)
        if self.law == "normal":
            return values
        return torch.cat([values, per_run(torch.rand, generators, n, self.inputs, dtype=self.dtype)], -1)

    def render(self, shared, private, modality):
        shared = torch.nn.functional.pad(shared, (0, self.inputs - self.count))
        weight = self.rho.to(shared).sqrt()
        if self.law == "normal":
            return weight * shared + (1 - self.rho.to(shared)).sqrt() * private
        values, coins = private.chunk(2, -1)
        return torch.where(coins < weight, shared, values)

    def moments(self) -> Moments:
        cross = torch.diag_embed(self.rho.squeeze(1))
        unit = torch.eye(self.inputs, dtype=cross.dtype).expand_as(cross)
        return Moments(unit, unit, cross)


Generators = list[torch.Generator]


def _normal(n: int, size: int, generators: Generators, dtype: torch.dtype) -> Tensor:
    return per_run(torch.randn, generators, n, size, dtype=dtype)


def _signs(n: int, size: int, generators: Generators, dtype: torch.dtype) -> Tensor:
    return torch.where(per_run(torch.rand, generators, n, size, dtype=dtype) < 0.5, -1.0, 1.0).to(dtype)


def _uniform(n: int, size: int, generators: Generators, dtype: torch.dtype) -> Tensor:
    return (2 * per_run(torch.rand, generators, n, size, dtype=dtype) - 1) * 3**0.5


def _sparse(n: int, size: int, generators: Generators, dtype: torch.dtype) -> Tensor:
    """±√10 with probability 1/10, else 0."""
    uniform = per_run(torch.rand, generators, n, size, dtype=dtype)
    return ((uniform < 0.05).to(dtype) - (uniform > 0.95).to(dtype)) * 10**0.5


LAWS: dict[str, Callable[[int, int, Generators, torch.dtype], Tensor]] = {
    "normal": _normal, "signs": _signs, "uniform": _uniform, "sparse": _sparse,
}  # fmt: skip


def exact_moments(world: World) -> Moments:
    """The world's moments; raises ValueError for a world that has none: sample them then."""
    if not hasattr(world, "moments"):
        raise ValueError(f"{type(world).__name__} has no exact moments: use sample_moments of pairs of it")
    return world.moments()


def redrawn(world: World, n: int, generators: list[torch.Generator]) -> Pairs:
    """Pairs with the same shared latents and private ones of each view's own."""
    shared = world.shared(n, generators)
    private = [world.private(n, generators) for _ in range(2)]
    views = [world.render(shared, p, modality) for modality, p in enumerate(private)]
    return Pairs(*views, shared, private[1])


def require_world(world: World, generators: list[torch.Generator]) -> None:
    """Raise a one-line ValueError unless the world keeps its promises on a sample: shapes, shared latents whitened.

    Args:
        world: any.
        generators: one per run; of a purpose of their own, as draws are taken from them.
    Cost: 4096 samples per run.
    """
    name = type(world).__name__
    try:
        shared = world.shared(_SAMPLES, generators)
        view = world.render(shared, world.private(_SAMPLES, generators), 1)
    except RuntimeError as error:
        raise ValueError(f"{name}: must be made for {len(generators)} runs, or for any, got {error}") from error
    if shared.shape[:2] != (len(generators), _SAMPLES) or view.shape != (*shared.shape[:2], world.inputs):
        got = f"{list(shared.shape)} and {list(view.shape)}"
        raise ValueError(f"{name}: shared and render must give [run, n, S] and [run, n, {world.inputs}], got {got}")
    if not shared.shape[-1]:  # what the views share is not known
        return
    second = shared.mT @ shared / _SAMPLES
    kurtosis = shared.pow(4).mean(1).sqrt().amax()  # of a sample of heavy tails more is asked
    off = (second - torch.eye(shared.shape[-1]).to(second)).abs().amax()
    mean = shared.mean(1).abs().amax()
    if float(torch.maximum(off, mean)) > 6 * float(kurtosis.clamp(min=1.8)) / _SAMPLES**0.5:
        got = f"a mean up to {float(mean):.2g} and a covariance that is off by {float(off):.2g}"
        raise ValueError(f"{name}: shared latents must be whitened, of mean 0 and covariance I, got {got}")
