"""NaN is out of every range, whichever way round the comparison is written."""

import math

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.nonlinearity.one_filter.finite_population import FinitePopulation
from contrastive_dynamics.nonlinearity.one_filter.gaussian_mixture import random_gaussian_mixture
from contrastive_dynamics.nonlinearity.one_filter.latent_models import bernoulli_levels, latent_categorical
from contrastive_dynamics.nonlinearity.one_filter.modulated_growth import integrated_blow_up
from contrastive_dynamics.nonlinearity.one_filter.noisy_views import noisy_views
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import sphere_flow
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import batch_statistics
from contrastive_dynamics.nonlinearity.two_layers.common_clock_flow import common_clock_flow
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import ConditionalFields, contrasts
from contrastive_dynamics.nonlinearity.two_layers.two_layer_flow import top_layer_after
from contrastive_dynamics.numerics.random_streams import stream

NAN = torch.tensor([math.nan, 1.0])
HALF = torch.tensor([0.5, 0.5])
PAIR = torch.eye(2)


def sphere(step=0.5, tol=1e-10):
    return sphere_flow(lambda w: torch.eye(2), torch.ones(1, 2), step, tol)


def clock(horizon=1.0, turn=0.1):
    return common_clock_flow(None, torch.ones(1, 1, 1, 2), None, horizon, turn=turn)


CALLS = {
    "q": lambda: bernoulli_levels(NAN),
    "probabilities": lambda: latent_categorical(PAIR, NAN),
    "y0": lambda: integrated_blow_up(math.nan, 1.0),
    "spread": lambda: random_gaussian_mixture([stream(0, 0, "nan")], 2, 1, math.nan),
    "noise": lambda: noisy_views([stream(0, 0, "nan")], 2, 1, 0, math.nan),
    "prob": lambda: FinitePopulation(NAN, PAIR),
    "step": lambda: sphere(step=math.nan),
    "tol": lambda: sphere(tol=math.nan),
    "eps": lambda: batch_statistics(PAIR, PAIR, math.nan),
    "time": lambda: top_layer_after(PAIR, PAIR, math.nan),
    "horizon": lambda: clock(horizon=math.nan),
    "turn": lambda: clock(turn=math.nan),
    "given": lambda: ConditionalFields(PAIR[None], NAN.expand(2, 1, 2), HALF),
    "prior": lambda: contrasts(NAN, torch.zeros(2, 1, 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_nan_is_refused(name):
    with one_line_error(ValueError, rf"(?=.*\bmust\b).*\b{name}\b"):
        CALLS[name]()
