"""Prints a digest of canonical directions from moments: the worlds' own, and those of samples, one encoder or two."""

import hashlib

import torch

from contrastive_dynamics.testbed import canonical_correlations
from contrastive_dynamics.testbed.pairs import Moments, sample_moments
from experiments.one_testbed.four_worlds import four_worlds

# an earlier library has one function for moments and samples
axes_of = getattr(canonical_correlations, "moment_axes", None) or canonical_correlations.canonical_axes


def draws(count: int = 300, inputs: int = 9, lacking: int = 2):
    """Moments of random samples in several units, of full rank and of less, in both precisions."""
    generator = torch.Generator().manual_seed(7)
    for units in (torch.ones(inputs), torch.linspace(0.1, 3, inputs)):
        views = torch.randn(2, 3, count, inputs, generator=generator, dtype=torch.float64) * units.double()
        views[1] += views[0]
        views[0, 1, :, :lacking] = 0
        repeated = torch.cat([views, views[..., :1]], -1)
        for dtype in (torch.float32, torch.float64):
            yield sample_moments(tuple(views.to(dtype)))
            yield sample_moments(tuple(repeated.to(dtype)))


def main() -> None:
    seen = hashlib.sha256()
    worlds = [(setting.world, setting.views.moments(setting.world)) for setting in four_worlds((1, 2)).values()]
    cases = [(moments, world.tied) for world, moments in worlds]
    cases += [(moments, tied) for moments in draws() for tied in (True, False)]
    cases.append((Moments(torch.eye(3), torch.eye(2), torch.full((3, 2), 0.1)), False))
    for moments, tied in cases:
        seen.update(b"".join(part.contiguous().numpy().tobytes() for part in axes_of(moments, tied=tied)))
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
