"""Losses of dead networks, of batches without negatives, of outputs of any size: an answer or a refusal, never NaN."""

import math

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.testbed.losses import NORMS, Alignment, Bilinear, Distances, InfoNCE, Spectral

WITH_NEGATIVES = {"infonce": InfoNCE, "spectral": Spectral}


def outputs(dtype=torch.float64, runs=2, n=64, z=8):
    g = stream(0, 0, "outputs")
    first = torch.randn(runs, n, z, generator=g, dtype=torch.float64)
    return tuple(x.to(dtype) for x in (first, first + 0.05 * torch.randn(runs, n, z, generator=g, dtype=torch.float64)))


@pytest.mark.parametrize("strangers", [False, True])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("make", [*WITH_NEGATIVES.values(), lambda norm: Alignment(norm)])
def test_a_run_whose_outputs_are_all_zero_gets_the_loss_of_nothing_and_no_gradient(make, norm, strangers):
    loss, given = make(norm=norm), outputs()
    views = [x * torch.tensor([0.0, 1.0]).view(2, 1, 1) for x in given]
    views = [x.requires_grad_() for x in views]
    others = (tuple(x.detach() for x in views),) if strangers and not isinstance(loss, Alignment) else ()
    value = loss(*views, *others)
    slopes = torch.autograd.grad(value.sum(), views)
    nothing = 2 * math.log(65 if others else 64) if isinstance(loss, InfoNCE) else 0.0
    assert value[0].item() == pytest.approx(nothing)
    assert bool(value.isfinite().all()) and all(not slope[0].any() and slope.isfinite().all() for slope in slopes)
    alive = loss(*(x[1:] for x in given), *(tuple(y[1:] for y in each) for each in others))
    assert value[1].item() == pytest.approx(alive.item())


@pytest.mark.parametrize("loss", [InfoNCE(), Spectral(), Bilinear()])
def test_a_batch_without_negatives_is_refused(loss):
    one = [x[:, :1] for x in outputs()]
    with pytest.raises(ValueError, match=f"{type(loss).__name__}: must have two pairs or more, .*, got 1"):
        loss(*one)
    assert bool(loss(*one, tuple(one)).isfinite().all())
    with pytest.raises(ValueError, match=f"{type(loss).__name__}: must have a stranger or more, got none"):
        loss(*one, tuple(x[:, :0] for x in one))


@pytest.mark.parametrize("norm", ["mean", "unit"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("make", [*WITH_NEGATIVES.values(), lambda tau, norm: Alignment(norm)])
def test_half_precision_loses_what_the_outputs_lose_and_no_more(make, dtype, norm):
    """In half precision throughout, a loss of 0.047 came out as 0.0625: it is a difference of large numbers."""
    loss, given = make(20.0, norm=norm), outputs(dtype)
    found, exact = loss(*given), loss(*(x.double() for x in given))
    assert found.dtype == torch.float32 and torch.allclose(found.double(), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tau", [0.0, -1.0, 1e-39, 1e39, math.inf, math.nan])
def test_no_temperature_that_single_precision_cannot_hold(tau):
    for loss in WITH_NEGATIVES.values():
        with pytest.raises(ValueError, match="tau_squared and sides must be > 0 "):
            loss(tau)


@pytest.mark.parametrize("norm", ["mean", "unit"])
@pytest.mark.parametrize(("dtype", "scales"), [(torch.float32, (1e-20, 1e17)), (torch.float64, (1e-158, 1e151))])
@pytest.mark.parametrize("make", [*WITH_NEGATIVES.values(), Distances, lambda norm: Alignment(norm)])
def test_outputs_as_short_or_long_as_is_said_have_the_loss_of_any_multiple(make, dtype, scales, norm):
    loss, given = make(norm=norm), outputs(dtype)

    def found(scale):
        views = [(x * scale).requires_grad_() for x in given]
        value = loss(*views)
        return value.detach(), *(slope * scale for slope in torch.autograd.grad(value.sum(), views))

    for scale in scales:
        for there, here in zip(found(scale), found(1.0), strict=True):
            assert here.any() and torch.allclose(there, here, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("norm", ["mean", "unit"])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_beyond_these_lengths_they_count_as_dead_and_make_no_nan(scale, norm):
    views = [(x * scale).requires_grad_() for x in outputs(torch.float32)]
    value = InfoNCE(norm=norm)(*views)
    slopes = torch.autograd.grad(value.sum(), views)
    assert value.tolist() == pytest.approx([2 * math.log(64)] * 2) and not any(slope.any() for slope in slopes)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("make", [InfoNCE, Spectral, lambda norm: Alignment(norm), lambda norm: Bilinear()])
def test_views_or_strangers_of_another_shape_are_refused(make, norm):
    """One run was repeated for each of the other view's."""
    (first, second), loss = outputs(), make(norm=norm)
    others = [(first[:1], second), (first, second[:1]), (first[:, :9], second), (first[..., :3], second)]
    for views in others:
        with one_line_error(ValueError, r"outputs must be \[run, n, z\] in both views"):
            loss(*views)
    if not isinstance(loss, Alignment):
        for strangers in ((first[:1], second), (first, second[:1]), (first, second[..., :3])):
            with one_line_error(ValueError, r"strangers \[run, l, z\], got"):
                loss(first, second, strangers)
        if not isinstance(loss, Bilinear):  # a stranger for each pair
            assert loss(first, second, (first[:, :9], second[:, :9])).isfinite().all()
