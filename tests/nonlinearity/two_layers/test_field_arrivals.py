"""Arrivals on one clock: the gradient is that of (15) and (178), steps converge, a scale drops out under BatchNorm."""

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import project_out
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import (
    enumerate_inputs,
    modulated_velocity,
    random_fields,
)
from contrastive_dynamics.nonlinearity.two_layers.field_arrivals import (
    arrivals,
    clocked_gradient,
    scaled_fields,
    token_starts,
)
from contrastive_dynamics.nonlinearity.two_layers.token_fields import boosted_tokens
from contrastive_dynamics.nonlinearity.two_layers.two_layer import gradient, rank_one_gram, top_direction
from contrastive_dynamics.numerics.random_streams import stream

RELU = activation("relu")
SCALE = torch.tensor([0.5, 1.0, 1.0, 2.0], dtype=torch.float64)


def starts(networks=12):
    return token_starts([stream(0, k, "starts") for k in range(networks)], 4, 6)


@pytest.mark.parametrize(("normalisation", "batch_norm"), [("off", False), ("fields", True)])
def test_gradient_is_that_of_the_paper(normalisation, batch_norm):
    model = random_fields([stream(0, k, "fields") for k in range(5)], 2, 3, 20, 5)
    w = torch.nn.functional.normalize(torch.randn(5, 3, 5, generator=stream(0, 9, "w"), dtype=torch.float64), dim=-1)
    ours = project_out(w, clocked_gradient(model, w, RELU, normalisation))
    theirs = modulated_velocity(model, w, RELU, batch_norm=batch_norm)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["linear", "relu", "leaky_relu"])
def test_gradient_meets_the_enumerated_two_layer_network(name):
    model, act, w = boosted_tokens(3, 4, 0.6), activation(name), token_starts([stream(0, 0, "w")], 3, 4)[0]
    x, p = enumerate_inputs(model)
    s = top_direction(x, w.unsqueeze(1), act, p)
    expected = gradient(x, w.unsqueeze(1), rank_one_gram(s), act, p).squeeze(1)
    torch.testing.assert_close(clocked_gradient(model, w, act), expected, rtol=0, atol=1e-14)


def test_one_sigma_for_the_layer_is_only_a_faster_clock():
    model, w = boosted_tokens(4, 6, 0.5), starts()
    directions = [
        torch.nn.functional.normalize(clocked_gradient(model, w, RELU, name).flatten(1), dim=-1)
        for name in ("off", "layer")
    ]
    torch.testing.assert_close(*directions)


def test_batch_norm_takes_the_scale_out():
    model, w = boosted_tokens(4, 6, 0.5), starts()
    scaled = scaled_fields(model, SCALE)
    torch.testing.assert_close(
        clocked_gradient(scaled, w, RELU, "fields"), clocked_gradient(model, w, RELU, "fields"), rtol=1e-7, atol=1e-10
    )


def test_halved_steps_agree_on_ends_and_nearly_on_times():
    model, w = boosted_tokens(4, 6, 0.8), starts(20)
    coarse, fine = (arrivals(model, w, RELU, "fields", steps=steps) for steps in (100, 199))
    assert (coarse.token == fine.token).double().mean() >= 0.97
    share, finer = coarse.arrived.double().mean((1, 2)), fine.arrived[::2].double().mean((1, 2))
    assert (share - finer).abs().max() < 0.05


def test_every_start_lets_a_token_in():
    w = starts(200)
    assert w.amax(-1).min() > 0
    torch.testing.assert_close(w.norm(dim=-1), torch.ones_like(w[..., 0]))


def test_arguments_outside_their_range_are_refused():
    model, w = boosted_tokens(4, 6, 0.5), starts(1)
    with pytest.raises(ValueError, match="normalisation must be one of"):
        clocked_gradient(model, w, RELU, "batch")
    with pytest.raises(ValueError, match="end must be"):
        arrivals(model, w, RELU, end=0.01)
