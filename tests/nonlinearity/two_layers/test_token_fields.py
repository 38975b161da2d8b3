import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import enumerate_inputs, modulated_velocity
from contrastive_dynamics.nonlinearity.two_layers.token_fields import boosted_tokens, modulated_gradient, winning_tokens
from contrastive_dynamics.nonlinearity.two_layers.two_layer import gradient, rank_one_gram, top_direction
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
K, D = 3, 4


@pytest.mark.parametrize("name", ["linear", "relu", "leaky_relu"])
def test_gradient_meets_the_enumerated_two_layer_network(name):
    model, act = boosted_tokens(K, D, 0.6), activation(name)
    w = uniform_on_sphere([stream(0, k, "w") for k in range(K)], D)
    x, p = enumerate_inputs(model)
    s = top_direction(x, w.unsqueeze(1), act, p)
    expected = gradient(x, w.unsqueeze(1), rank_one_gram(s), act, p).squeeze(1)
    assert torch.allclose(modulated_gradient(model, w, act), expected, atol=1e-14)
    assert torch.allclose(modulated_velocity(model, w, act, projected=False), expected, atol=1e-14)


def test_marginals_are_uniform_whatever_the_boost():
    model = boosted_tokens(2, 5, 0.7)
    given = model.given.transpose(0, 1)
    assert torch.equal(model.points[1], torch.eye(5, dtype=F64)) and model.prior.tolist() == [0.5, 0.5]
    assert torch.allclose(given.sum(-1), torch.ones(2, 2, dtype=F64))
    assert torch.allclose(given.mean(-2), torch.full((2, 5), 0.2, dtype=F64))
    assert torch.allclose(given[0, 1, 0] - given[0, 0, 0], torch.tensor(0.28, dtype=F64))


def test_modulation_draws_filters_to_the_token_that_tells_z():
    model = boosted_tokens(4, 6, 0.5)
    w = uniform_on_sphere([stream(0, k, "start") for k in range(800)], 6).view(200, 4, 6)
    with_top, without = (winning_tokens(model, w, activation("relu"), m) for m in (1.0, 0.0))
    assert (with_top == 0).double().mean() > 1.5 * (without == 0).double().mean()
    assert (with_top == 1).double().mean() < (without == 1).double().mean()
    assert torch.equal(winning_tokens(model, w[7], activation("relu")), with_top[7])


def test_bad_boost_is_refused():
    with pytest.raises(ValueError, match="boost must be ≥ 0 and ≤ 1, and d ≥ 2, got boost=2"):
        boosted_tokens(2, 3, 2)
