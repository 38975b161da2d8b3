"""Fixed points of random densities: at rest, on their own density, and stable where the theorem promises it."""

import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import roughness
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import sphere_velocity
from contrastive_dynamics.numerics.random_streams import streams
from experiments.nonlinearity.density_optima import density_fixed_points

RELU = activation("relu")


def test_each_point_is_at_rest_on_its_density_and_the_margin_is_that_of_the_theorem():
    rest, here, check, margin = density_fixed_points(streams([0], 6, "density"), RELU, radius=0.5)
    field = here.matrix_field(RELU)
    assert set(rest.run.tolist()) == set(range(6)) and here.radius == 0.5
    assert float(sphere_velocity(field, rest.w).norm(dim=-1).max()) < 1e-9
    torch.testing.assert_close(margin, check.gap - roughness(field, rest.w))
    promised = check.is_lme & (margin > 0)
    assert bool(promised.any()) and bool(rest.stable[promised].all())
