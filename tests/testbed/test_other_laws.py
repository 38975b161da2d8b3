"""Views that are not Gaussian, and outputs of unit length: the law's relatives, against enumeration and quadrature."""

import math

import pytest
import torch

from contrastive_dynamics.alignment_and_balance.contrastive_force import population_loss as loss_of_signs
from contrastive_dynamics.alignment_and_balance.model import Signs, sign_vectors
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.testbed.independent_latents import inverse_tilt, latent_shares, tilted_correlation
from contrastive_dynamics.testbed.unit_length import (
    mean_cosine,
    resultant_length,
    unit_length_shares,
    unit_length_temperature,
)

RHO = torch.tensor([0.7, 0.5, 0.2, 0.0], dtype=torch.float64)


def test_signs_have_the_inverse_hyperbolic_tangent():
    h = torch.linspace(0, 3, 7, dtype=torch.float64)
    assert torch.allclose(tilted_correlation(h, "signs"), h.tanh(), atol=1e-14)
    assert torch.allclose(inverse_tilt(RHO, "signs"), RHO.atanh(), atol=1e-12)
    shares, tau = latent_shares(RHO, None, "signs")
    assert torch.allclose(shares * tau, RHO.atanh()) and float(tau) == pytest.approx(float(RHO.atanh().sum()))


@pytest.mark.parametrize("law", ["signs", "uniform", "sparse"])
def test_small_h_is_gaussian_and_the_next_term_is_the_kurtosis_s(law):
    """K(s) = s²/2 + κs⁴/24 + …, and so D(h) = h + h³κ(κ + 3)/6 + …, κ the excess kurtosis."""
    kurtosis = {"signs": -2.0, "uniform": -1.2, "sparse": 7.0}[law]
    h = torch.tensor([0.01, 0.02], dtype=torch.float64)
    cubic = (tilted_correlation(h, law) - h) / h.pow(3)
    assert torch.allclose(cubic, torch.full_like(h, kurtosis * (kurtosis + 3) / 6), rtol=0.02)


@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_shares_of_signs_minimise_the_exact_loss_of_modalities(tau):
    """The loss by enumeration of all sign vectors, negatives averaged in closed form, K → ∞; any G of one encoder."""
    d = 4
    rho = torch.tensor([0.8, 0.4, 0.0, 0.0], dtype=torch.float64)
    shares, found = latent_shares(rho, tau, "signs")
    assert float(found) == pytest.approx(tau, abs=1e-9)
    u = sign_vectors(d) / math.sqrt(d)
    first, second = u.repeat_interleave(len(u), 0), u.repeat(len(u), 1)
    weights = (1 + d * rho * first * second).prod(-1) / len(u) ** 2  # P[a, b] = (1 + ρab)/4 for each coordinate

    def loss(g):
        each = [
            loss_of_signs(g[None] * d, Signs(a[None], b[None]), tau, 1e12) for a, b in zip(first, second, strict=True)
        ]
        return float((weights * torch.cat(each)).sum())

    best = loss(torch.diag(shares))
    for k in range(6):
        root = torch.diag(shares.sqrt()) + 0.1 * torch.randn(d, d, generator=stream(k, 0, "off"), dtype=torch.float64)
        assert loss(root.mT @ root / root.square().sum()) > best + 1e-5


def test_shares_at_a_fixed_temperature_are_stationary_and_sum_to_one():
    for law in ("signs", "uniform", "sparse"):
        shares, tau = latent_shares(RHO, 1.0, law)
        level = RHO - tilted_correlation(shares * tau, law)
        active = shares > 0
        assert float(shares.sum()) == pytest.approx(1) and torch.allclose(level[active], level[0], atol=1e-9)
        assert (level[~active] <= level[0]).all()
    light, heavy = (latent_shares(RHO, 1.0, law)[0] for law in ("signs", "sparse"))
    assert light[0] > 0.6 > heavy[0]  # light tails concentrate, heavy ones spread: the law says 0.6


def test_mean_cosine_and_resultant_length_in_one_dimension_and_by_sampling():
    assert mean_cosine(0.6, 1) == pytest.approx(2 / math.pi * math.asin(0.6))
    assert resultant_length(0.7, 1) == pytest.approx(math.tanh(0.7))
    assert resultant_length(2.0, 3) == pytest.approx(1 / math.tanh(2) - 1 / 2)  # Langevin's function
    x, noise = torch.randn(2, 200_000, 3, generator=stream(1, 0, "x"), dtype=torch.float64)
    y = 0.8 * x + 0.6 * noise
    cosines = (x * y).sum(-1) / x.norm(dim=-1) / y.norm(dim=-1)
    assert mean_cosine(0.8, 3) == pytest.approx(float(cosines.mean()), abs=5e-3)


def test_unit_length_temperature():
    """Near the mean norm's rρ for many directions of weak correlation, far above it for strong ones."""
    assert unit_length_temperature(0.2, 400) == pytest.approx(80, rel=0.05)
    assert unit_length_temperature(0.95, 4) > 3 * 3.8
    for rho, r in ((0.3, 2), (0.9, 5), (0.99, 16)):
        tau = unit_length_temperature(rho, r)
        assert resultant_length(tau, r) == pytest.approx(mean_cosine(rho, r), abs=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: latent_shares(RHO, 0.0, "signs"), "latent_shares: tau_squared must be > 0 and below 60, got 0.0"),
        (
            lambda: latent_shares(RHO, 1.0, "normal"),
            "law must be signs, uniform or sparse, got 'normal': for normal .*",
        ),
        (lambda: unit_length_temperature(1.0, 3), r"rho and directions must be in \(0, 1\) and ≥ 1, got 1.0 and 3"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


def test_the_fixed_point_of_unequal_correlations_is_the_formula_s_where_they_are_equal():
    shares, tau = unit_length_shares(torch.full((4,), 0.6), 2**9, 2**11)
    assert tau == pytest.approx(unit_length_temperature(0.6, 4), rel=0.03)
    assert (shares - 0.25).abs().max() < 0.02 and float(shares.sum()) == pytest.approx(1)


def test_at_the_fixed_point_positives_and_weighted_negatives_agree():
    """In the means of s and of f_jf'_j − ½(f_j² + f'_j²)s, on draws that the solution has not seen."""
    rho, generator = torch.tensor([0.8, 0.5, 0.2], dtype=torch.float64), torch.Generator().manual_seed(7)
    shares, tau = unit_length_shares(rho, 2**9, 2**11)
    x, e, other = torch.randn(3, 3000, 3, generator=generator, dtype=torch.float64)
    f, g, h = (
        torch.nn.functional.normalize(shares.sqrt() * y, dim=-1) for y in (x, rho * x + (1 - rho**2).sqrt() * e, other)
    )
    weight = torch.softmax(tau * f @ h.mT, 1)

    def means(second, s, mean):
        moved = [
            mean(f[:, j, None] * second[..., j] - (f[:, j, None] ** 2 + second[..., j] ** 2) * s / 2) for j in range(3)
        ]
        return torch.stack([mean(s), *moved])

    of_positives = means(g[:, None], (f * g).sum(1, keepdim=True), torch.mean)
    of_negatives = means(h[None], f @ h.mT, lambda of: (weight * of).sum(1).mean())
    assert (of_positives - of_negatives).abs().max() < 0.02


@pytest.mark.parametrize("rho", [torch.tensor([0.5, 1.0]), torch.tensor([0.0, 0.5]), torch.tensor(0.5)])
def test_a_fixed_point_is_refused_for_other_correlations(rho):
    with pytest.raises(ValueError, match="unit_length_shares: rho must be"):
        unit_length_shares(rho)
