import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.contrastive_force import non_contrastive_force
from contrastive_dynamics.alignment_and_balance.modality_scores import condition_number
from contrastive_dynamics.alignment_and_balance.model import all_signs, initial_maps, model_scales
from contrastive_dynamics.alignment_and_balance.predictor_flow import (
    PredictorMaps,
    predictor_flow,
    predictor_velocity,
)
from contrastive_dynamics.alignment_and_balance.two_modality_flow import velocity
from contrastive_dynamics.numerics.random_streams import stream

SIGMA = torch.tensor([1.5, 0.9], dtype=torch.float64)


def streams(runs, purpose):
    return [stream(0, run, purpose) for run in range(runs)]


def random_predictors(width, generators):
    """Independent entries N(0, 1/m), `[run, m, m]`."""
    return torch.stack([torch.randn(width, width, generator=g, dtype=torch.float64) for g in generators]) / width**0.5


def lump_noise(map_, scales, rank):
    """The map with its d − r noise columns, of one scale, replaced by m of the same K_ξK_ξᵀ, and its scales."""
    columns = torch.linalg.qr(map_[..., rank:].mT, mode="r").R.mT  # K_ξ = RᵀQᵀ
    return torch.cat([map_[..., :rank], columns], -1), scales[..., : rank + columns.shape[-1]]


def start(kind="random", runs=2, m=3, d=5):
    scales = model_scales(SIGMA, 0.5, d).expand(runs, -1)
    maps = initial_maps(scales, m, streams(runs, "start"), 2)
    if kind == "none":
        return PredictorMaps(*maps), scales
    eye = torch.eye(m, dtype=torch.float64).expand(runs, -1, -1)
    pair = [eye, eye] if kind == "identity" else [random_predictors(m, streams(runs, side)) for side in "ab"]
    return PredictorMaps(*maps, *pair), scales


def times(end, count=2):
    return torch.linspace(0, end, count, dtype=torch.float64)


def enumerated_loss(w, data, predictors, stop_gradient):
    """−½E[p_A·sg(f_B) + p_B·sg(f_A)] of weights and data, all positive pairs enumerated, norms from their outputs."""
    y = [u @ x.T @ weight for u, x, weight in zip(all_signs(2, 5), data, w, strict=True)]
    f = [x / x.square().sum(1).mean().sqrt() for x in y]
    p = [x if q is None else x @ q.T for x, q in zip(f, predictors, strict=True)]
    p = [x / x.square().sum(1).mean().sqrt() for x in p]
    targets = [x.detach() for x in f] if stop_gradient else f
    return -((p[0] * targets[1]).sum(1).mean() + (p[1] * targets[0]).sum(1).mean()) / 2


@pytest.mark.parametrize("kind", ["none", "identity", "random"])
@pytest.mark.parametrize("stop_gradient", [True, False])
def test_velocity_is_minus_the_gradient_in_weights_and_predictors(kind, stop_gradient):
    maps, scales = start(kind)
    how = {"predictor_rate": 0.7, "decay": 0.2, "predictor_decay": 0.3}
    found = predictor_velocity(maps, scales, 2, stop_gradient=stop_gradient, **how)
    data = [
        torch.linalg.qr(torch.randn(7, 5, generator=stream(0, 0, side), dtype=torch.float64))[0] * scales[0]
        for side in "ab"
    ]
    for run in range(2):
        w = [(x / scales[0] ** 2 @ k[run].T).requires_grad_() for x, k in zip(data, maps[:2], strict=True)]
        predictors = [None if p is None else p[run].clone().requires_grad_() for p in maps[2:]]
        trained = [*w, *(p for p in predictors if p is not None)]
        gradients = torch.autograd.grad(enumerated_loss(w, data, predictors, stop_gradient), trained)
        for move, g, x, k in zip(found[:2], gradients, data, maps[:2], strict=False):
            torch.testing.assert_close(move[run], -g.T @ x - 0.2 * k[run], rtol=1e-10, atol=1e-14)
        for move, g, p in zip(found[2:], gradients[2:], maps[2:], strict=False):
            torch.testing.assert_close(move[run], -0.7 * g - 0.3 * p[run], rtol=1e-10, atol=1e-14)
        assert kind != "none" or found[2] is found[3] is None


def test_the_stop_gradient_alone_halves_the_velocity_without_negatives():
    maps, scales = start("none")
    exact = velocity(maps.map_a, maps.map_b, scales, non_contrastive_force(2, 5))
    for stop_gradient, factor in ((False, 1), (True, 0.5)):
        found = predictor_velocity(maps, scales, 2, stop_gradient=stop_gradient)
        for move, part in zip(found[:2], exact, strict=True):
            torch.testing.assert_close(move, factor * part, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("stop_gradient", [True, False])
def test_the_flow_keeps_its_norms_and_with_the_stop_gradient_a_difference_of_matrices(stop_gradient):
    maps, scales = start()
    rho = torch.tensor([0.5, 2.0], dtype=torch.float64)
    path, drift = predictor_flow(
        maps, scales, 2, times(6.0, 4), stop_gradient=stop_gradient, predictor_rate=rho, rtol=1e-9
    )
    assert path.map_a.shape == (4, 2, 3, 5) and path.predictor_b.shape == (4, 2, 3, 3) and (drift < 1e-7).all()

    def difference(k, p):
        return p.mT @ p / rho.view(-1, 1, 1) - (k / scales.unsqueeze(1)) @ (k / scales.unsqueeze(1)).mT

    gap = difference(path.map_a, path.predictor_a) - difference(maps.map_a, maps.predictor_a)
    assert (gap.abs().amax() < 1e-7) == stop_gradient
    moved = (path.map_a[-1] - maps.map_a).norm() / maps.map_a.norm()
    assert moved > 0.1


def test_weight_decay_shrinks_every_norm_by_its_factor():
    maps, scales = start()
    how = {"stop_gradient": True, "decay": 0.1, "predictor_decay": torch.tensor([0.3, 0.2], dtype=torch.float64)}
    path, drift = predictor_flow(maps, scales, 2, times(3.0), rtol=1e-9, **how)
    assert (drift < 1e-7).all()
    sizes = path.predictor_a.norm(dim=(-2, -1))
    torch.testing.assert_close(
        sizes[1] / sizes[0], torch.tensor([-0.9, -0.6], dtype=torch.float64).exp(), rtol=1e-6, atol=0
    )


def test_runs_are_the_same_alone_and_in_a_batch():
    maps, scales = start()
    both, _ = predictor_flow(maps, scales, 2, times(3.0), stop_gradient=True, rtol=1e-10)
    for run in range(2):
        one = PredictorMaps(*(x[run : run + 1] for x in maps))
        alone, _ = predictor_flow(one, scales[:1], 2, times(3.0), stop_gradient=True, rtol=1e-10)
        torch.testing.assert_close(alone.map_a[-1, 0], both.map_a[-1, run], rtol=1e-7, atol=1e-9)


def test_lumped_noise_trains_the_same_signal():
    maps, scales = start(m=3, d=40)
    lumped = [lump_noise(k, scales, 2) for k in maps[:2]]
    assert lumped[0][0].shape == (2, 3, 5) and lumped[0][1].shape == (2, 5)
    short = PredictorMaps(lumped[0][0], lumped[1][0], *maps[2:])
    how = {"stop_gradient": True, "predictor_rate": 0.3, "rtol": 1e-10}
    whole, _ = predictor_flow(maps, scales, 2, times(20.0), **how)
    found, _ = predictor_flow(short, lumped[0][1], 2, times(20.0), **how)
    torch.testing.assert_close(found.map_a[-1, :, :, :2], whole.map_a[-1, :, :, :2], rtol=1e-6, atol=1e-8)


def test_a_predictor_without_the_stop_gradient_loses_a_signal():
    """As the literature says of one encoder: only both together keep the signals apart."""
    scales = model_scales(SIGMA, 0.5, 6).expand(4, -1)
    maps = initial_maps(scales, 12, streams(4, "start"), 2)
    eye = torch.eye(12, dtype=torch.float64).expand(4, -1, -1)
    ends = {}
    for stop_gradient in (True, False):
        path, _ = predictor_flow(PredictorMaps(*maps, eye, eye), scales, 2, times(60.0), stop_gradient=stop_gradient)
        ends[stop_gradient] = condition_number(path.map_a[-1], 2)
    assert (ends[True] < ends[False]).all()


def test_arguments_outside_their_range():
    maps, scales = start()
    good = {"stop_gradient": True}
    for change, text in (
        ({"maps": maps._replace(predictor_b=None)}, r"predictors must be \[2, 3, 3\] both, or None both, got .* None"),
        ({"maps": maps._replace(predictor_a=torch.eye(3))}, r"got \[3, 3\], \[2, 3, 3\]"),
        ({"maps": maps._replace(map_b=0 * maps.map_b)}, "must be finite and not 0"),
        ({"maps": maps._replace(map_b=maps.map_b[:, :2])}, r"got \[2, 3, 5\], \[2, 2, 5\]"),
        ({"rank": 6}, "rank must be 1 to d = 5, got 6"),
        ({"times": torch.tensor([0.0])}, "times must be"),
        ({"predictor_rate": -1.0}, "predictor_rate must be ≥ 0"),
        ({"decay": float("nan")}, "decay must be ≥ 0"),
        ({"predictor_decay": torch.ones(3)}, "predictor_decay must be ≥ 0"),
    ):
        arguments = {"maps": maps, "scales": scales, "rank": 2, "times": times(1.0)} | good | change
        with one_line_error(ValueError, text):
            predictor_flow(**arguments)
