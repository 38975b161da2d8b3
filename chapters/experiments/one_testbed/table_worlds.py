"""The table's four worlds at one size, and the variants that its conditions name."""

import torch
from torch import Tensor

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.nonlinearity.networks.token_generators import draw_generators
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.stiefel import haar
from contrastive_dynamics.testbed.pairs import Moments, Pairs
from contrastive_dynamics.testbed.paper_worlds import Modalities, Moons, SparseCodes, Tokens
from contrastive_dynamics.testbed.view_makers import Apart, Native
from contrastive_dynamics.testbed.worlds import LAWS, World

SINGLE = torch.float32
SHARED = {"tokens": 18, "moons": 12, "modalities": 6, "sparse codes": 16}
# S. Tokens: places × candidates; views share 15 to 17 directions, as places depend and a pool may leave one unused
# how the paper makes its pairs: masks of sparse codes, private latents redrawn elsewhere
NATIVE = {"tokens": Apart(), "moons": Apart(), "modalities": Apart(), "sparse codes": Native()}
COLUMNS = tuple(SHARED)


def tokens(seeds: tuple[int, ...]) -> Tokens:
    """A pool of 20 generators over 6 places, one run per seed; it has no noise to scale."""
    pool = draw_generators(streams(list(seeds), 1, "pool"), count=20, places=6, length=3, d=10, p=3)
    return Tokens(pool, SINGLE)


def moons(seeds: tuple[int, ...], variance: float = 0.1) -> Moons:
    """Six planes of two moons each, in 32 inputs."""
    sizes = torch.linspace(1.5, 0.6, 6).tolist()
    return Moons(sizes, 32, streams(list(seeds), 1, "rotation"), variance, dtype=SINGLE)


def signal() -> Tensor:
    """σ_p of the two modalities."""
    return torch.linspace(2.0, 1.0, 6, dtype=SINGLE)


def modalities(noise: float = 1.0, tied: bool = False) -> Modalities:
    """Two modalities of 16 inputs; no part of them is random.

    Args:
        noise: by how much the noise is stronger.
        tied: whether one encoder sees both.
    """
    return Modalities(signal(), 0.8 * noise, 16, tied=tied)


def sparse_codes(seeds: tuple[int, ...]) -> SparseCodes:
    """16 atoms in 128 inputs."""
    return SparseCodes(SparseCoding(_atoms(seeds, 128, 16), 0.064, 0.104**0.5))


def small_sparse_codes(seeds: tuple[int, ...], noise: float = 1.0) -> SparseCodes:
    """8 atoms in 32 inputs, so that a network may have as many outputs as inputs; noise times the usual."""
    return SparseCodes(SparseCoding(_atoms(seeds, 32, 8), 0.064, noise * 0.104**0.5))


def placed_sparse_codes(seeds: tuple[int, ...]) -> SparseCodes:
    """Four places of 32 inputs with 4 atoms each."""
    places = [_atoms(seeds, 32, 4, f" {place}") for place in range(4)]
    blocks = torch.stack([torch.block_diag(*blocks_of_run) for blocks_of_run in zip(*places, strict=True)])
    return SparseCodes(SparseCoding(blocks, 0.064, 0.104**0.5))


def _atoms(seeds: tuple[int, ...], dim: int, atoms: int, place: str = "") -> Tensor:
    """Random orthonormal columns `[run, dim, atoms]`."""
    return random_dictionary(dim, atoms, streams(list(seeds), 1, "dictionary" + place), SINGLE)


class SparseModalities(Modalities):
    """Two modalities whose shared latents are sparse, ±√10 with probability 1/10, and not signs."""

    def shared(self, n, generators):
        return LAWS["sparse"](n, self.rank, generators, self.scales.dtype)

    def pairs(self, n, generators):
        """Private latents redrawn, as the paper's sampler has signs."""
        return Apart()(self, n, generators)


class SpreadModality(Modalities):
    """One modality, rotated at random, so that each feature is spread over all inputs.

    Args:
        dim: d.
        generators: of the rotations, one per run.
    """

    def __init__(self, dim: int, generators: list[torch.Generator]):
        super().__init__(signal(), 0.8, dim, tied=True)
        self.rotation = haar(generators, dim, dim, SINGLE)
        self.directions = (self.rotation * self.scales).mT[:, : self.rank]

    def render(self, shared, private, modality):
        return super().render(shared, private, modality) @ self.rotation.mT

    def pairs(self, n, generators) -> Pairs:
        """Private latents redrawn, then rotated."""
        return Apart()(self, n, generators)

    def moments(self) -> Moments:
        return Moments(*(self.rotation @ m @ self.rotation.mT for m in super().moments()))


def spread_modality(seeds: tuple[int, ...]) -> SpreadModality:
    """One modality spread over 64 inputs, one rotation per seed."""
    return SpreadModality(64, streams(list(seeds), 1, "rotation of a modality"))


def feature_directions(world: World) -> Tensor:
    """The pattern of each shared feature, `[run or 1, S, D]`; of tokens e_a − 1/d for each candidate a of a place."""
    if not isinstance(world, Tokens):
        return world.directions
    d = world.pool.d
    seen = world.pool.candidates().flatten(1)
    picked = seen.float().topk(SHARED["tokens"], dim=-1).indices  # a pool may leave a candidate unused
    return torch.block_diag(*[torch.eye(d) - 1 / d] * world.places)[picked]
