"""The four papers' data as worlds: tokens, half moons, two modalities, sparse codes. Each wraps its room's sampler.

Shapes as in `worlds`; every world has exact moments.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from ..alignment_and_balance.model import model_scales, sample_signs
from ..data.half_moons import half_moon_moments, half_moons
from ..feature_decoupling.sparse_coding import SparseCoding
from ..feature_decoupling.view_correlation import cross_moment, second_moment
from ..nonlinearity.networks.token_generators import WILDCARD, TokenGenerators
from ..numerics.stiefel import haar
from .pairs import Moments, Pairs, per_run


class Tokens:
    """One-hot tokens at K places, from a pool of G generators; centred. Shared is the generator, as G − 1 contrasts.

    Source: tian-2023, Section 5.
    Args:
        pool: `[run, G, K]` patterns over d tokens, as `draw_generators` makes them.
        dtype: of the views; moments are in double precision.
    """

    tied = True

    def __init__(self, pool: TokenGenerators, dtype: torch.dtype = torch.float64):
        self.pool, self.dtype = pool, dtype
        self.runs, self.count, self.places = pool.patterns.shape
        self.inputs = self.places * pool.d
        given = pool.fields().given.flatten(2)  # P[token a at place k | generator], [run, G, K·d]
        self.means = given - given.mean(1, keepdim=True)  # E[x|generator], centred, [run, G, D]
        self.centre = given.mean(1, keepdim=True)
        ones = torch.ones(self.count, 1, dtype=torch.float64, device=pool.patterns.device)
        # orthonormal to the constant, times √G: of a uniform generator they have mean 0 and covariance I
        self.contrasts = torch.linalg.qr(ones, mode="complete").Q[:, 1:] * self.count**0.5

    def shared(self, n, generators):
        picked = [torch.randint(self.count, (n,), generator=g, device=g.device) for g in generators]
        return self.contrasts[torch.stack(picked)].to(self.dtype)

    def private(self, n, generators):
        """A token for each place, which is seen where the generator leaves it free."""
        size = (n, self.places)
        drawn = [torch.randint(self.pool.d, size, generator=g, device=g.device) for g in generators]
        return torch.stack(drawn).to(self.dtype)

    def render(self, shared, private, modality):
        picked = (shared.double() @ self.contrasts.mT).argmax(-1)
        patterns = self.pool.patterns.gather(1, picked.unsqueeze(-1).expand(-1, -1, self.places))
        return self._one_hot(torch.where(patterns == WILDCARD, private.to(patterns.dtype), patterns))

    def _one_hot(self, tokens: Tensor) -> Tensor:
        letters = torch.arange(self.pool.d, dtype=tokens.dtype, device=tokens.device)
        one_hot = (tokens.unsqueeze(-1) == letters).flatten(-2)
        return one_hot.to(self.dtype).sub_(self.centre.to(self.dtype))

    def pairs(self, n, generators):
        """The batches of tian-2023, in their stream; the latents are not recorded there."""
        first, second = self.pool.views(generators, n, 1)[0].split(n, 1)
        nothing = torch.zeros(len(first), n, 0, dtype=self.dtype, device=first.device)
        return Pairs(self._one_hot(first), self._one_hot(second), nothing, nothing)

    def moments(self):
        cross = self.means.mT @ self.means / self.count
        given = (self.means + self.centre).unflatten(-1, (self.places, -1))
        blocks = torch.diag_embed(given) - given.unsqueeze(-1) * given.unsqueeze(-2)
        auto = cross.clone().unflatten(1, (self.places, -1)).unflatten(-1, (self.places, -1))
        auto.diagonal(dim1=1, dim2=3).add_(blocks.mean(1).movedim(1, -1))
        auto = auto.flatten(3).flatten(1, 2)
        return Moments(auto, auto, cross)


class Moons:
    """Two half moons in each of several planes, of given sizes, rotated into D inputs, with noise in both views.

    Source: esser-2023, Example 1, in more dimensions.
    Args:
        sizes: of the planes, > 0; S = 2·planes ≤ D.
        inputs: D.
        generators: of the rotations, one per run.
        variance: of the noise, ≥ 0.
        points: on the moons of each plane, even.
        dtype: of the views; moments are in double precision.
    Raises: ValueError for other sizes.
    """

    tied = True

    def __init__(
        self, sizes, inputs: int, generators: list[torch.Generator], variance: float = 0.1, points: int = 200,
        dtype: torch.dtype = torch.float64,
    ):  # fmt: skip
        if 2 * len(sizes) > inputs or not min(sizes) > 0 or not 0 <= variance < math.inf:
            got = f"{list(sizes)}, {inputs} and {variance}"
            raise ValueError(f"Moons: sizes, inputs and variance must be > 0, ≥ 2·planes and ≥ 0, got {got}")
        self.inputs, self.variance = inputs, variance
        device = generators[0].device
        mean, second = half_moon_moments(points, device)
        self.root = torch.linalg.cholesky(second - mean.outer(mean))
        self.points = torch.linalg.solve_triangular(self.root, (half_moons(points, device) - mean).mT, upper=False).mT
        scales = torch.tensor(sizes, dtype=torch.float64, device=device)
        planes = torch.block_diag(*(size * self.root for size in scales))
        self.patterns = haar(generators, inputs, 2 * len(sizes)) @ planes  # [run, D, S]
        self.directions = self.patterns.mT
        self.points, self.shown = self.points.to(dtype), self.directions.to(dtype)

    def shared(self, n, generators):
        size = (n, self.patterns.shape[-1] // 2)
        picked = [torch.randint(len(self.points), size, generator=g, device=g.device) for g in generators]
        return self.points[torch.stack(picked)].flatten(-2)

    def private(self, n, generators):
        return per_run(torch.randn, generators, n, self.inputs, dtype=self.shown.dtype).mul_(self.variance**0.5)

    def render(self, shared, private, modality):
        return shared @ self.shown + private

    def moments(self):
        cross = self.patterns @ self.patterns.mT
        noise = self.variance * torch.eye(self.inputs, dtype=cross.dtype, device=cross.device)
        return Moments(cross + noise, cross + noise, cross)


class Modalities:
    """x_A = Āu_A, x_B = B̄u_B with Ā = B̄ = diag(scales): r shared signs, d − r private ones of each modality.

    Source: ren-li-2023, Section 3.
    Args:
        sigma: σ_p > 0 of the signal, `[r]`.
        noise: σ_ξ ≥ 0.
        dim: d ≥ r.
        tied: whether one encoder serves both modalities; the paper has two.
    Raises: ValueError as `model_scales`.
    """

    def __init__(self, sigma: Tensor, noise: float, dim: int, tied: bool = False):
        self.scales, self.rank, self.inputs, self.tied = model_scales(sigma, noise, dim), len(sigma), dim, tied
        self.directions = torch.diag(self.scales)[: self.rank].unsqueeze(0)

    def shared(self, n, generators):
        return self._signs(n, self.rank, generators)

    def private(self, n, generators):
        return self._signs(n, self.inputs - self.rank, generators)

    def _signs(self, n: int, count: int, generators: list[torch.Generator]) -> Tensor:
        bits = torch.stack([torch.randint(2, (n, count), generator=g, device=g.device) for g in generators])
        return (1 - 2 * bits).to(self.scales.dtype)

    def render(self, shared, private, modality):
        return self.scales * torch.cat([shared, private], -1) / self.inputs**0.5

    def pairs(self, n, generators):
        """Pairs of `sample_signs`, in its stream."""
        first, second = sample_signs(self.rank, self.inputs, n, generators, self.scales.dtype)
        latents = (second * self.inputs**0.5).split([self.rank, self.inputs - self.rank], -1)
        return Pairs(self.scales * first, self.scales * second, *latents)

    def moments(self):
        squares = self.scales.square() / self.inputs
        signal = torch.arange(self.inputs, device=squares.device) < self.rank
        auto, cross = (torch.diag(x).unsqueeze(0) for x in (squares, squares * signal))
        return Moments(auto, auto, cross)


class SparseCodes:
    """x = Mz + ξ, the dense noise ξ private; the paper's pairs are two masks of one x.

    Source: wen-li-2021, Definitions 2.1 and 2.3.
    Args:
        model: with a dictionary per run.
        dtype: of the views, by default the model's; moments are in its precision.
    """

    tied = True

    def __init__(self, model: SparseCoding, dtype: torch.dtype | None = None):
        self.drawn = replace(model, dictionary=model.dictionary.to(dtype or model.dtype))
        self.model, self.inputs, self.directions = model, model.dictionary.shape[-2], model.dictionary.mT

    def shared(self, n, generators):
        return self.drawn.latents(n, generators) / self.model.active**0.5

    def private(self, n, generators):
        return self.drawn.dense_noise(n, generators)

    def render(self, shared, private, modality):
        return self.model.active**0.5 * shared @ self.drawn.dictionary.mT + private

    def pairs(self, n, generators):
        """Masked pairs of `SparseCoding.views`, in its stream."""
        latents, x = self.drawn.sample(n, generators)
        noise = x - latents @ self.drawn.dictionary.mT
        return Pairs(*self.drawn.views(x, generators), latents / self.model.active**0.5, noise)

    def moments(self):
        auto = cross_moment(self.model, "plain")
        return Moments(auto, auto, self.model.active * self.model.dictionary @ self.model.dictionary.mT)

    def native_moments(self):
        auto = second_moment(self.model)
        return Moments(auto, auto, cross_moment(self.model))
