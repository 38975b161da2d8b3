import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.infinite_width_flow import non_contrastive_solution, wide_start
from contrastive_dynamics.alignment_and_balance.infinite_width_predictor import wide_predictor_flow
from contrastive_dynamics.alignment_and_balance.model import initial_maps, model_scales
from contrastive_dynamics.alignment_and_balance.predictor_flow import PredictorMaps, predictor_flow
from contrastive_dynamics.numerics.random_streams import stream

SIGMA = torch.tensor([[1.5, 0.9]], dtype=torch.float64)
NOISE, RANK = 0.5, 2


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def of_maps(path, rank):
    """κ_p², κ̂_p² and κ_ξ² of a path of maps."""
    a, b = path.map_a, path.map_b
    noise = a[..., rank:].square().sum((-2, -1))
    return a.square().sum(-2)[..., :rank], (a * b).sum(-2)[..., :rank], noise


def orthogonal_start(dim):
    """A network of width 2d whose columns are orthogonal: what the infinite width starts from."""
    scales = torch.diag(model_scales(SIGMA[0], NOISE, dim))
    none, eye = torch.zeros_like(scales), torch.eye(2 * dim, dtype=torch.float64)[None]
    return PredictorMaps(torch.cat([scales, none])[None], torch.cat([none, scales])[None], eye, eye), scales.sum(0)


@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_closed_equations_are_the_flow_of_orthogonal_columns(rate):
    """That flow is compared with automatic differentiation of the enumerated loss in `test_predictor_flow`."""
    maps, scales = orthogonal_start(5)
    times = numbers(0, 0.5, 3, 20)
    how = {"stop_gradient": True, "predictor_rate": rate, "rtol": 1e-11}
    path, _ = predictor_flow(maps, scales, RANK, 5 * times, **how)
    found = wide_predictor_flow(SIGMA, NOISE, 5, times, predictor_rate=rate, rtol=1e-11)
    for ours, theirs in zip(found, of_maps(path, RANK), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-9)


def test_wide_networks_come_near_it():
    scales = model_scales(SIGMA[0], NOISE, 8).expand(4, -1)
    limit = torch.cat([x.flatten(1) for x in wide_predictor_flow(SIGMA, NOISE, 8, numbers(0, 2, 10))[:2]], -1)
    gaps = []
    for width in (10**3, 10**5):
        maps = initial_maps(scales, width, [stream(0, run, "start") for run in range(4)], RANK)
        eye = torch.eye(16, dtype=torch.float64).expand(4, -1, -1)
        begun = PredictorMaps(*maps, eye, eye)
        path, _ = predictor_flow(begun, scales, RANK, 8 * numbers(0, 2, 10), stop_gradient=True)
        mine = torch.cat(of_maps(path, RANK)[:2], -1)
        gaps.append(float((mine - limit[:, None]).norm(dim=-1).amax(0).mean() / limit.norm(dim=-1).max()))
    assert gaps[0] < 0.2 and 5 < gaps[0] / gaps[1] < 20  # as 1/√m


def test_at_rest_it_keeps_the_data_s_condition_number_and_its_agreement_knows_no_dimension():
    dims = numbers(50, 500, 5e4)
    path = wide_predictor_flow(SIGMA.expand(3, -1), NOISE, dims, numbers(0, 100, 150))
    condition = (path.kappa_squared.amax(-1) / path.kappa_squared.amin(-1)).sqrt() / (1.5 / 0.9)
    assert bool((condition[1:] - 1).abs().max() < 0.01)
    agreed = (path.kappa_hat_squared / path.kappa_squared).amin(-1)[-1]
    assert agreed.max() - agreed.min() < 0.02 and agreed.min() > 0.9 and agreed.max() < 0.95


def test_noise_fades_as_the_square_of_d_over_the_time():
    """κ_ξ²/Σκ_p² → d²/(rt) for large d: at rest the signals hold all of d, and π² = κ²/σ_ξ²."""
    for dim in (500.0, 5000.0):
        times = numbers(0, 10 * dim, 1000 * dim)
        path = wide_predictor_flow(SIGMA, NOISE, dim, times)
        left = (path.noise_squared / path.kappa_squared.sum(-1))[:, 0]
        assert left[1] < 0.06 and float(left[2] * RANK * times[2] / dim) == pytest.approx(1, abs=0.04)


def test_without_learning_the_predictors_change_the_pace_alone():
    found = wide_predictor_flow(SIGMA, NOISE, 20, numbers(0, 5, 300), predictor_rate=0.0)
    end = non_contrastive_solution(wide_start(SIGMA, NOISE, 18), SIGMA, NOISE, numbers(float("inf")))
    torch.testing.assert_close(found.kappa_squared[-1], end.kappa_squared[0], rtol=1e-6, atol=0)


def test_arguments_outside_their_range():
    good = {"sigma": SIGMA, "noise": NOISE, "dim": 5, "times": numbers(0, 1)}
    for change, text in (
        ({"sigma": -SIGMA}, "must be > 0"),
        ({"noise": 0.0}, "noise and predictor_rate must be > 0 and ≥ 0"),
        ({"dim": 1}, "noise_columns must be"),
        ({"times": numbers(0, 2, 1)}, "times must be"),
        ({"predictor_rate": -1.0}, "noise and predictor_rate must be > 0 and ≥ 0"),
    ):
        with one_line_error(ValueError, text):
            wide_predictor_flow(**good | change)
