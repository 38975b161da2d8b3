"""The four papers' worlds at the sizes of the chapter, each with the pairs that its paper trains on."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.nonlinearity.networks.token_generators import draw_generators
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.paper_worlds import Modalities, Moons, SparseCodes, Tokens
from contrastive_dynamics.testbed.view_makers import Native
from contrastive_dynamics.testbed.worlds import World

SINGLE = torch.float32  # of views; moments are in double precision
WORLDS = ("tokens", "moons", "modalities", "sparse codes")


class Setting(NamedTuple):
    """A world and its pairs; `views.moments(world)` are their exact moments."""

    world: World
    views: Native


def four_worlds(seeds: Sequence[int]) -> dict[str, Setting]:
    """Tokens, moons, two modalities and sparse codes, small enough for a second of training.

    tokens: 20 generators of length 3 over 6 places of 10 tokens, 3 candidates each; S = 19, D = 60. moons: 6 planes of
    sizes 1.5 to 0.6, noise variance 0.1; S = 12, D = 32. modalities: σ from 2 to 1, noise 0.8, two encoders; S = 6,
    D = 16. sparse codes: 16 atoms, p = 0.064, noise variance 0.104, complementary masks; S = 16, D = 128.
    Args:
        seeds: of the pool, the rotation and the dictionary, one run each; equal seeds give equal worlds.
    """
    sizes = torch.linspace(1.5, 0.6, 6).tolist()
    sparse = SparseCoding(random_dictionary(128, 16, streams(seeds, 1, "dictionary")), 0.064, 0.104**0.5)
    worlds = {
        "tokens": Tokens(draw_generators(streams(seeds, 1, "pool"), 20, 6, 3, 10, 3), SINGLE),
        "moons": Moons(sizes, 32, streams(seeds, 1, "rotation"), dtype=SINGLE),
        "modalities": Modalities(torch.linspace(2, 1, 6, dtype=torch.float64), 0.8, 16),
        "sparse codes": SparseCodes(sparse, SINGLE),
    }
    return {name: Setting(world, Native()) for name, world in worlds.items()}
