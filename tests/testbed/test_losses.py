"""Losses of dead networks, of batches without negatives, and in half precision: an answer or a refusal, never NaN."""

import math

import pytest
import torch

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.testbed.losses import NORMS, Alignment, Bilinear, InfoNCE, Spectral

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
