"""All fixed points of one filter on random densities in the plane, with their gap and roughness."""

import torch
from torch import Tensor

from contrastive_dynamics.losses.activations import Activation
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import CircleFixedPoints, circle_fixed_points
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import EigenCheck, eigen_check, roughness
from contrastive_dynamics.nonlinearity.one_filter.planar_density import DiscPopulation, random_disc_population


def density_fixed_points(
    generators: list[torch.Generator], act: Activation, radius: float = 1.0
) -> tuple[CircleFixedPoints, DiscPopulation, EigenCheck, Tensor]:
    """Where the flow of a filter rests on random densities on a disc, and by how much its gap exceeds its roughness.

    Source: tian-2023, Definition 2 and Theorem 1, which promises stability where λ_gap > ρ.
    Args:
        generators: one per density.
        act: the activation h.
        radius: of the disc, > 0.
    Returns: the fixed points, the density of each, which of them are LMEs, and λ_gap − ρ, `[point]`.
    Raises: ValueError without a generator.
    Error: pairs of fixed points less than two degrees apart are missed.
    """
    populations = random_disc_population(generators, radial=12, angular=24, radius=radius)

    def field_at(run: Tensor):
        return populations.at(run).matrix_field(act)

    rest = circle_fixed_points(field_at, len(generators), populations.coefficients, angles=180)
    here, field = populations.at(rest.run), field_at(rest.run)
    check = eigen_check(field, rest.w)
    margin = check.gap - roughness(field, rest.w)
    return rest, here, check, margin
