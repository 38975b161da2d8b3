import math

import pytest
import torch
from torch.nn.functional import normalize

from contrastive_dynamics.losses.gated_covariance import project_out
from contrastive_dynamics.nonlinearity.one_filter.latent_models import relu_off_plane
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.nonlinearity.two_layers.common_clock_flow import common_clock_flow, field_matrices
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import modulated_velocity
from contrastive_dynamics.nonlinearity.two_layers.field_arrivals import clocked_gradient
from contrastive_dynamics.nonlinearity.two_layers.token_fields import boosted_tokens
from contrastive_dynamics.numerics.random_streams import stream

ACT, D = relu_off_plane(), 6


def filters(runs, k):
    w = uniform_on_sphere([stream(0, j, "one clock") for j in range(2 * runs * k)], D).view(-1, k, D)
    return w[(w.amax(-1) > 0.2).all(-1)][:runs]  # every filter lets something through


@pytest.mark.parametrize("batch_norm", [False, True])
def test_matrices_drive_the_flow_of_theorem_5_and_corollary_3(batch_norm):
    model, w = boosted_tokens(4, D, 0.6), filters(10, 4)
    m = field_matrices(model, w, ACT, batch_norm=batch_norm)
    expected = modulated_velocity(model, w, ACT, batch_norm=batch_norm)
    assert torch.allclose(project_out(w, (m @ w.unsqueeze(-1)).squeeze(-1)), expected, atol=1e-12)
    assert torch.linalg.eigvalsh(m).min() > -1e-14


@pytest.mark.parametrize("modulation", [0.0, 0.5, 1.0])
def test_modulation_scales_the_coupling_alone(modulation):
    model, w = boosted_tokens(3, D, 0.6), filters(10, 3)
    m = field_matrices(model, w, ACT, modulation)
    assert torch.allclose(
        (m @ w.unsqueeze(-1)).squeeze(-1), clocked_gradient(model, w, ACT, "off", modulation), atol=1e-13
    )


@pytest.mark.parametrize("batch_norm", [False, True])
def test_flow_meets_plain_small_steps(batch_norm):
    model, w, horizon = boosted_tokens(3, D, 0.8), filters(20, 3), 3.0
    flow = common_clock_flow(model, w, ACT, horizon, batch_norm=batch_norm, turn=0.005, max_steps=5000)
    for _ in range(600):
        w = normalize(w + horizon / 600 * modulated_velocity(model, w, ACT, batch_norm=batch_norm), dim=-1)
    assert (flow.w - w).norm(dim=-1).quantile(0.95) < 0.02


def test_halving_the_turn_moves_the_arrivals_little():
    model, w = boosted_tokens(4, D, 0.5), filters(60, 4)
    coarse, fine = (common_clock_flow(model, w, ACT, 1e8, turn=turn) for turn in (0.1, 0.05))
    assert (coarse.token == fine.token).double().mean() > 0.97
    both = coarse.time.isfinite() & fine.time.isfinite() & (fine.time > 0)
    assert (coarse.time[both] / fine.time[both]).log().median().abs() < 0.1


def test_wait_grows_by_sixteen_where_the_boost_halves_and_not_with_batch_norm():
    w = filters(15, 4)
    w = w[(w.amax(-1) < 0.85).all(-1)]

    def second(boost, batch_norm):
        flow = common_clock_flow(boosted_tokens(4, D, boost), w, ACT, 1e16, batch_norm=batch_norm, until=2)
        return flow.time.sort(-1).values[:, 1]

    for batch_norm, exponent in ((False, 4), (True, 0)):
        ratio = (second(0.02, batch_norm) / second(0.04, batch_norm)).log() / math.log(2)
        assert float(ratio.median()) == pytest.approx(exponent, abs=0.01)


def test_a_filter_that_lets_nothing_through_stays_and_a_run_is_the_same_alone():
    w = filters(6, 3)
    w[2, 1] = -normalize(w[2, 1].abs(), dim=-1)
    model = boosted_tokens(3, D, 0.5)
    flow = common_clock_flow(model, w, ACT, 50.0, batch_norm=True)
    assert torch.allclose(flow.w[2, 1], w[2, 1]) and flow.token[2, 1] == -1 and flow.time[2, 1] == torch.inf
    alone = common_clock_flow(model, w[4:5], ACT, 50.0, batch_norm=True)
    assert torch.allclose(alone.w[0], flow.w[4], atol=1e-9) and torch.allclose(alone.time[0], flow.time[4])


def test_bad_horizon_is_refused():
    with pytest.raises(ValueError, match="horizon and turn must be > 0, got horizon=0 and turn=0.1"):
        common_clock_flow(boosted_tokens(2, D, 0.5), filters(1, 2), ACT, 0)
