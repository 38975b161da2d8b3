"""Sparse signals in dense noise, x = M z + ξ, drawn as a stream, and the views that masks produce.

Shapes: the dictionary M `[run, d1, d]`, latents `[run, count, d]`, data and views `[run, count, d1]`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import torch
from torch import Tensor

VIEWS = ("masked", "independent", "plain")


@dataclass(frozen=True)
class SparseCoding:
    """x = M z + ξ: z_j in {-1, 0, 1} independent and symmetric, Pr(z_j ≠ 0) = p, ξ ~ N(0, σ_ξ² I).

    Source: wen-li-2021, Definition 2.1.
    Fields:
        dictionary: M `[run, d1, d]`, column-orthonormal, d ≤ d1.
        active: p in (0, 1).
        noise: σ_ξ > 0.
    Raises: ValueError if d > d1, M's columns are not orthonormal, p is outside (0, 1) or σ_ξ is not positive.
    """

    dictionary: Tensor
    active: float
    noise: float

    def __post_init__(self):
        dim, atoms = self.dictionary.shape[-2:]
        if atoms > dim:
            raise ValueError(f"d must be ≤ d1 = {dim}, got {atoms}")
        if not 0 < self.active < 1:
            raise ValueError(f"active must be in (0, 1), got {self.active}")
        if not self.noise > 0:
            raise ValueError(f"noise must be > 0, got {self.noise}")
        gram = self.dictionary.mT @ self.dictionary - torch.eye(atoms, device=self.device, dtype=self.dtype)
        if not float(gram.abs().max()) < 1e-4:
            raise ValueError(
                f"dictionary must have orthonormal columns, got |MᵀM - I| up to {float(gram.abs().max()):g}"
            )

    @property
    def device(self) -> torch.device:
        return self.dictionary.device

    @property
    def dtype(self) -> torch.dtype:
        return self.dictionary.dtype

    def part(self, runs: slice) -> "SparseCoding":
        """The same model for some of the runs."""
        return replace(self, dictionary=self.dictionary[runs])

    def latents(self, count: int, generators: list[torch.Generator]) -> Tensor:
        """z `[run, count, d]`. Cost: one uniform draw per entry."""
        uniform = self._draws(torch.rand, count, self.dictionary.shape[-1], generators)
        return (uniform < self.active / 2).to(self.dtype) - (uniform > 1 - self.active / 2).to(self.dtype)

    def dense_noise(self, count: int, generators: list[torch.Generator]) -> Tensor:
        """ξ `[run, count, d1]`. Cost: one normal draw per entry."""
        return self._draws(torch.randn, count, self.dictionary.shape[-2], generators).mul_(self.noise)

    def sample(self, count: int, generators: list[torch.Generator]) -> tuple[Tensor, Tensor]:
        """(z, x) of `count` independent samples. Cost: 2 count·d·d1 flops per run, one normal draw per entry of x."""
        latents = self.latents(count, generators)
        return latents, self.dense_noise(count, generators).baddbmm_(latents, self.dictionary.mT)

    def views(
        self, x: Tensor, generators: list[torch.Generator], views: str = "masked", rate: float = 0.5
    ) -> tuple[Tensor, Tensor]:
        """The positive pair (x⁺, x⁺⁺) made from x.

        masked: x⁺ = D x / ρ, x⁺⁺ = (I - D) x / (1 - ρ), D diagonal with Bernoulli(ρ) entries, so that the mean of both
        over masks is x; at ρ = 1/2 they are 2Dx and 2(I - D)x. independent: two masks drawn independently, x⁺⁺ = D' x /
        ρ. plain: both are x itself, not a copy.
        Source: wen-li-2021, Definition 2.3 and Appendix A.1, for ρ = 1/2.
        Args:
            x: `[run, count, d1]`.
            generators: one per run.
            views: one of VIEWS.
            rate: ρ in (0, 1).
        Raises: ValueError for other views, or a rate outside (0, 1).
        Cost: one random bit per entry and mask at ρ = 1/2, else one uniform draw; 5 passes over x.
        """
        check_views("SparseCoding.views", views, rate)
        if views == "plain":
            return x, x
        first = self._masks(x, generators, rate).mul_(x)
        if views == "masked":
            second = (x - first).mul_(1 / (1 - rate))
            return first.mul_(1 / rate), second
        second = self._masks(x, generators, rate).mul_(x)
        return first.mul_(1 / rate), second.mul_(1 / rate)

    def _masks(self, x: Tensor, generators: list[torch.Generator], rate: float) -> Tensor:
        """D `[run, count, d1]`, 0 or 1. At ρ = 1/2 eight entries share a byte: a uniform draw each takes longer than a
        product of the training step."""
        if rate != 0.5:
            return (self._draws(torch.rand, *x.shape[1:], generators) < rate).to(x.dtype)
        entries = x[0].numel()
        words = torch.empty(len(x), -(-entries // 64), dtype=torch.int64, device=self.device)
        for row, generator in zip(words, generators, strict=True):
            row.random_(-(2**63), None, generator=generator)
        places = torch.arange(8, dtype=torch.uint8, device=self.device).view(8, 1)
        bits = words.view(torch.uint8).unsqueeze(1) >> places & 1
        return bits.flatten(1)[:, :entries].to(x.dtype).view_as(x)

    def _draws(self, draw: Callable, count: int, width: int, generators: list[torch.Generator]) -> Tensor:
        """`[run, count, width]`, run k drawn from generator k."""
        runs = len(self.dictionary)
        if len(generators) != runs:
            raise ValueError(f"generators must be one per run, {runs}, got {len(generators)}")
        drawn = torch.empty(runs, count, width, device=self.device, dtype=self.dtype)
        for run, generator in enumerate(generators):
            draw(count, width, generator=generator, out=drawn[run])
        return drawn


def check_views(name: str, views: str = "masked", rate: float = 0.5) -> None:
    """Raise a one-line ValueError that begins with `name` for other views or a rate outside (0, 1)."""
    if views not in VIEWS:
        raise ValueError(f"{name}: views must be one of {', '.join(VIEWS)}, got {views!r}")
    if not 0 < rate < 1:
        raise ValueError(f"{name}: rate must be in (0, 1), got {rate}")


def paper_scales(atoms: int, active: float = 1.0, noise: float = 1.0) -> tuple[float, float]:
    """(p, σ_ξ) as the paper scales them: p = active · log log d / d and σ_ξ² = noise · √(log d) / d.

    Source: wen-li-2021, Definition 2.1, up to its constants.
    Args:
        atoms: d ≥ 3.
        active, noise: the constants in p and in σ_ξ².
    Raises: ValueError for d < 3, where log log d ≤ 0.
    """
    log = torch.log(torch.tensor(float(atoms), dtype=torch.float64))
    if atoms < 3:
        raise ValueError(f"atoms must be ≥ 3, so that log log d > 0, got {atoms}")
    return active * float(log.log()) / atoms, sqrt(noise * sqrt(float(log)) / atoms)
