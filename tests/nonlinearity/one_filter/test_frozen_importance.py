"""A frozen Gaussian importance: the field by its expansion meets the pairs, and the roughness its closed form."""

import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.frozen_importance import frozen_gaussian_field
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import roughness
from contrastive_dynamics.nonlinearity.one_filter.planar_density import random_disc_population
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

RELU, TAU = activation("relu"), 2e-3


def case(runs, **rule):
    streams = [stream(0, k, "density") for k in range(runs)]
    return random_disc_population(streams, radius=0.1, **rule), uniform_on_sphere(streams, 2)


def test_expansion_and_pairs_meet_away_from_the_frozen_filter():
    pop, w = case(3, radial=4, angular=6)
    v = uniform_on_sphere([stream(1, k, "other") for k in range(3)], 2)
    by_pairs = pop.matrix_field(RELU, TAU, frozen=w)(v)
    torch.testing.assert_close(frozen_gaussian_field(pop, w, RELU, TAU)(v), by_pairs, rtol=1e-9, atol=1e-16)


def test_roughness_by_differences_tends_to_its_closed_form():
    pop, w = case(4)
    field, closed = frozen_gaussian_field(pop, w, RELU, TAU), pop.boundary_roughness(w, RELU, TAU)
    coarse, fine = ((roughness(field, w, step) / closed - 1).abs().max() for step in (2e-5, 1e-5))
    assert fine < 1e-5 and 1.9 < coarse / fine < 2.1  # the frozen α has a kink on the plane: first order
