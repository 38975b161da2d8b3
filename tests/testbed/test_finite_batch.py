import math

import pytest
import torch

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.testbed.finite_batch import (
    FiniteBatch,
    finite_batch_shares,
    mean_log_deficit,
    normalisation_term,
)

SPECTRA = {
    "six": [0.9, 0.7, 0.5, 0.3, 0.1, 0.0],
    "four": [0.8, 0.55, 0.35, 0.2, 0.0, 0.0],
    "weak": [0.3, 0.2, 0.1, 0.0],
    "equal": [0.95] * 4,
}


def of(rho):
    return torch.tensor(rho, dtype=torch.float64)


def first_order(h, rho):
    """lim N·Δ_N = 2Π_j(1 − h_jρ_j)⁻¹ − Π_j(1 − 2h_j²)^{−1/2} − 1 for h_j² < ½ and h_jρ_j < 1, no normalisation's term.

    The first product is E e^{positive − v/2}, the mean excess of the positive pair in the denominator; the second E e^v
    the variance of the negatives' mean. Derived: E log M̂ = log m + E(M̂ − m)/m − Var M̂/2m² + …, then means of e^{ax²}.
    """
    return 2 / (1 - h * rho).prod(-1) - (1 - 2 * h.square()).prod(-1).rsqrt() - 1


def sampled_correction(h, rho, n, batches, batch_norm, seed):
    """Δ_N and its gradient with their standard errors, from the loss itself over fresh batches.

    The spectral loss of the same batch, whose mean is Σ(h² − 2hρ) for every n, is taken off.
    """
    g, values, slopes = stream(seed, 0, "batches"), [], []
    for _ in range(batches):
        x, noise = torch.randn(2, n, len(h), generator=g, dtype=torch.float64)
        y, leaf = rho * x + (1 - rho.square()).sqrt() * noise, h.clone().requires_grad_()
        s = (x * leaf) @ y.mT
        own = s.diagonal()
        spectral = (s.square().sum() - own.square().sum()) / (n * (n - 1)) - 2 * own.mean()
        share = leaf / leaf.sum()
        t = s / ((x.square() @ share).mean() * (y.square() @ share).mean()).sqrt() if batch_norm else s
        loss = (t.logsumexp(-1) + t.logsumexp(-2) - 2 * t.diagonal()).mean() - 2 * math.log(n)
        (slope,) = torch.autograd.grad(loss - spectral, leaf)
        values.append(float((loss - spectral).detach()))
        slopes.append(slope)
    values, slopes = of(values), torch.stack(slopes)
    return values.mean(), values.std() / batches**0.5, slopes.mean(0), slopes.std(0) / batches**0.5


def test_deficit_of_few_and_of_many_negatives():
    root = torch.tensor([0.3, 0.8], dtype=torch.float64)
    expanded = root.square().exp().sub(1) / 2000
    assert torch.allclose(mean_log_deficit(root, 1000), expanded, rtol=0.03)
    one = mean_log_deficit(torch.tensor([0.5, 3.0], dtype=torch.float64), 1)
    assert torch.allclose(one, torch.tensor([0.125, 4.5], dtype=torch.float64), atol=1e-8)  # E log e^{√v ξ} = 0
    drawn = torch.randn(20_000, 30, generator=stream(1, 0, "xi"), dtype=torch.float64)
    for sigma in (1.0, 2.5):
        logs = (sigma * drawn).logsumexp(-1) - math.log(30)
        error = float(logs.std()) / 20_000**0.5
        found = float(mean_log_deficit(torch.tensor([sigma], dtype=torch.float64), 30))
        assert abs(sigma**2 / 2 - float(logs.mean()) - found) < 4 * error


def test_the_table_of_deficits_interpolates():
    exact = FiniteBatch(64, 2)
    root = torch.linspace(0.1, 8.5, 7, dtype=torch.float64)
    assert torch.allclose(exact.deficit(root.square()), mean_log_deficit(root, 63), atol=1e-5)


def test_for_weak_correlations_and_many_pairs_it_is_the_first_order():
    rho = of([0.3, 0.2, 0.1])
    h = rho * 1.1
    for batch_norm in (False, True):
        more = normalisation_term(h, rho) if batch_norm else 0
        expected = (first_order(h, rho) + more) / 2000
        assert float(FiniteBatch(2000, 3, batch_norm).correction(h, rho)) == pytest.approx(float(expected), rel=0.03)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_against_batches(batch_norm):
    for name, n, batches in (("six", 32, 800), ("weak", 32, 800)):
        rho = of(SPECTRA[name])
        h = 1.05 * rho + 0.01
        value, error, slope, errors = sampled_correction(h, rho, n, batches, batch_norm, 3)
        exact, leaf = FiniteBatch(n, len(rho), batch_norm), h.clone().requires_grad_()
        found = exact.correction(leaf, rho)
        (of_slope,) = torch.autograd.grad(found, leaf)
        assert abs(float(found.detach() - value)) < 4 * float(error) + 0.1 * abs(float(value))
        assert (of_slope - slope).abs().max() < 4 * errors.max() + 0.1 * slope.abs().max()


@pytest.mark.parametrize(("name", "n", "batches"), [("six", 64, 300), ("equal", 64, 300)])
def test_the_loss_is_stationary_at_the_corrected_shares(name, n, batches):
    """Half its gradient there is the error in h; at the law without correction it is many times larger."""
    rho = of(SPECTRA[name])
    shares, tau = finite_batch_shares(rho, n)
    errors = []
    for h in (shares * tau, rho + 1e-3):
        _, _, slope, error = sampled_correction(h, rho, n, batches, True, 4)
        errors.append(float((h - rho + slope / 2).sum()))
    assert abs(errors[0]) < 0.015 * float(tau) + 2 * float(error.norm())
    assert abs(errors[1]) > 2 * abs(errors[0])


def test_at_a_fixed_temperature_it_is_a_soft_threshold_and_tends_to_the_law():
    rho = of(SPECTRA["six"])
    shares, tau = finite_batch_shares(rho, 64, 1.0)
    assert float(tau) == pytest.approx(1.0) and (shares[3:] < 1e-6).all()
    many, _ = finite_batch_shares(rho, 20_000, 1.0)
    assert torch.allclose(many[:3], of([0.5333, 0.3333, 0.1333]), atol=3e-3)


def test_bad_input():
    with pytest.raises(ValueError, match="^FiniteBatch: batch must be ≥ 3 and directions 1 to 64, got 2 and 4$"):
        finite_batch_shares(of(SPECTRA["weak"]), 2)
