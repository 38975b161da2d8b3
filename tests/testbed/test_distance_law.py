"""The law of squared distances against descent on its loss, and against InfoNCE with many drawn negatives."""

import pytest
import torch

from contrastive_dynamics.testbed.distance_law import (
    distance_filling,
    excess_at,
    learned_distance_temperature,
)
from contrastive_dynamics.testbed.losses import Distances, InfoNCE
from contrastive_dynamics.testbed.soft_threshold import water_filling

RHO = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.1, 0.0], dtype=torch.float64)
SIGNED = torch.tensor([0.6, 0.2, 0.2, -0.3], dtype=torch.float64)


def distance_loss(m, c, tau):
    """L(M) of the module's docstring: InfoNCE of one side under distances for infinitely many negatives, less log N."""
    v = torch.linalg.eigvalsh(tau * m)
    positives = (tau * m * (torch.eye(len(m), dtype=m.dtype) - c)).sum()
    return positives - (v.log1p() + v / (1 + v)).sum() / 2


@pytest.mark.parametrize("tau", [0.3, 1.0, 5.0, 12.0])
@pytest.mark.parametrize("rho", [RHO, SIGNED], ids=["falling", "signed"])
def test_descent_over_all_encoders_ends_at_the_law(rho, tau):
    """From a random W of unit norm, in axes that are not those of C."""
    generator = torch.Generator().manual_seed(1)
    axes = torch.linalg.qr(torch.randn(len(rho), len(rho), generator=generator, dtype=torch.float64))[0]
    c, w = axes @ rho.diag() @ axes.mT, torch.randn(len(rho), len(rho), generator=generator, dtype=torch.float64)
    w.requires_grad_()
    optimiser = torch.optim.LBFGS(
        [w], max_iter=2000, tolerance_grad=1e-11, tolerance_change=1e-15, line_search_fn="strong_wolfe"
    )

    def loss():
        optimiser.zero_grad()
        m = w.mT @ w / w.square().sum()
        value = distance_loss(m, c, tau)
        value.backward()
        return value

    optimiser.step(loss)
    with torch.no_grad():
        m = axes.mT @ (w.mT @ w / w.square().sum()) @ axes
    law = distance_filling(rho, tau)
    assert float((m - law.diag()).abs().max()) < 2e-4
    assert float(distance_loss(m, rho.diag(), tau) - distance_loss(law.diag(), rho.diag(), tau)) > -1e-12


def test_the_population_loss_is_that_of_drawn_pairs():
    generator = torch.Generator().manual_seed(2)
    rho, scale = torch.tensor([0.8, 0.3], dtype=torch.float64), torch.tensor([1.1, 0.6], dtype=torch.float64)
    x, e = torch.randn(2, 4000, 2, generator=generator, dtype=torch.float64)
    first, second = x * scale, (rho * x + (1 - rho**2).sqrt() * e) * scale
    with torch.no_grad():
        found = Distances(1.0, norm="none")(first[None], second[None]) / 2 - torch.log(torch.tensor(4000.0))
    assert float(found) == pytest.approx(float(distance_loss(scale.square().diag(), rho.diag(), 1.0)), abs=0.02)


@pytest.mark.parametrize("tau", [0.2, 1.0, 7.0])
def test_shares_have_one_price_above_the_threshold_and_none_below_it(tau):
    g = distance_filling(RHO, tau)
    assert float(g.sum()) == pytest.approx(1, abs=1e-12) and bool((g >= 0).all())
    level = RHO - excess_at(tau * g)
    filled = g > 1e-9
    assert float(level[filled].max() - level[filled].min()) < 1e-9 and bool(
        (RHO[~filled] <= level[filled].max() + 1e-9).all()
    )


def test_the_thresholds_of_both_laws_coincide_where_one_direction_is_left():
    """At a small τ² the strongest direction takes all under both; weak ones get 2/3 of what inner products give."""
    assert torch.allclose(distance_filling(RHO, 1e-3), water_filling(RHO, 1e-3))
    weak = torch.tensor([1e-4], dtype=torch.float64)
    assert float(learned_distance_temperature(weak)) == pytest.approx(2e-4 / 3, rel=1e-3)


def test_the_count_is_that_of_the_formula():
    v = 2 / ((9 - 8 * RHO).sqrt() - 1) - 1
    assert float(learned_distance_temperature(RHO)) == pytest.approx(float(v.sum()), rel=1e-13)
    assert float(v.sum()) == pytest.approx(7.18995, abs=1e-4)
    assert torch.isinf(learned_distance_temperature(torch.tensor([1.0])))


def test_outputs_of_unit_length_have_infonce_itself():
    generator = torch.Generator().manual_seed(3)
    first, second = torch.randn(2, 3, 16, 5, generator=generator, dtype=torch.float64)
    a, b = (loss(2.0, norm="unit")(first, second) for loss in (Distances, InfoNCE))
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_the_loss_is_that_of_its_logits_and_its_gradient_too():
    generator = torch.Generator().manual_seed(4)
    first, second = (y.requires_grad_() for y in torch.randn(2, 2, 7, 3, generator=generator, dtype=torch.float64))
    value = Distances(1.7, norm="none")(first, second)
    logits = -1.7 / 2 * (first[:, :, None] - second[:, None]).square().sum(-1)
    own = logits.diagonal(dim1=1, dim2=2)
    plain = (logits.logsumexp(2) + logits.logsumexp(1) - 2 * own).mean(1)
    torch.testing.assert_close(value, plain, rtol=1e-12, atol=1e-12)
    found, wanted = (torch.autograd.grad(y.sum(), (first, second), retain_graph=True) for y in (value, plain))
    torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("rho", "tau", "said"),
    [
        ([1.2], 1.0, "−1 to 1"),
        ([0.5], 0.0, "> 0"),
        ([0.5], float("inf"), "> 0"),
        ([], 1.0, "S ≥ 1"),
        ([float("nan")], 1.0, "−1 to 1"),
    ],
)
def test_what_the_law_refuses(rho, tau, said):
    with pytest.raises(ValueError, match=said):
        distance_filling(torch.tensor(rho, dtype=torch.float64), tau)
