"""One negative against quadrature and descent, more against the law of many."""

import numpy as np
import pytest
import torch
from scipy.special import expit, roots_genlaguerre

from contrastive_dynamics.testbed.few_negatives import InGroups, best_scale, one_negative
from contrastive_dynamics.testbed.losses import InfoNCE


@pytest.mark.parametrize(("directions", "rho"), [(1, 0.3), (3, 0.8), (16, 0.4), (64, 0.2), (8, -0.5)])
def test_one_negative_forgets_the_number_of_directions(directions, rho):
    """The minimum over a common scale, by Gauss quadrature in ‖x‖² and in the difference of scores."""
    size, weight = roots_genlaguerre(80, directions / 2 - 1)
    normal, mass = np.polynomial.hermite_e.hermegauss(120)
    w = (weight / weight.sum())[:, None] * (mass / mass.sum())
    delta = rho * 2 * size[:, None] + np.sqrt((2 - rho**2) * 2 * size)[:, None] * normal
    h = rho
    for _ in range(40):
        s = expit(-h * delta)
        h += (w * delta * s).sum() / (w * delta**2 * s * (1 - s)).sum()
    assert h == pytest.approx(float(one_negative(torch.tensor(rho, dtype=torch.float64))), abs=1e-7)


def test_all_of_the_gradient_vanishes_there():
    """Three unequal directions, every entry of H, from 2·10⁶ draws; at H = diag ρ it does not."""
    rho, generator = torch.tensor([0.8, 0.5, -0.2], dtype=torch.float64), torch.Generator().manual_seed(5)
    x, e, other = torch.randn(3, 2_000_000, 3, generator=generator, dtype=torch.float64)
    apart = rho * x + (1 - rho**2).sqrt() * e - other

    def slope(h):
        s = torch.sigmoid(-(x * h * apart).sum(1))
        return -(x * s[:, None]).mT @ apart / len(x)

    assert float(slope(one_negative(rho)).abs().max()) < 2e-3 < 1e-2 < float(slope(rho).abs().max())


def test_more_negatives_bring_the_scale_down_to_the_correlation():
    found = best_scale(0.4, 4, [1, 7, 63], 2**12, [1, 2, 3]).mean(0)
    assert float(found[0]) == pytest.approx(1 / (1 - 0.08), abs=0.004)
    assert float(found[0]) > float(found[1]) > float(found[2]) > 1 and float(found[2]) < 1.01


def test_groups_are_batches_of_their_own():
    generator = torch.Generator().manual_seed(6)
    first, second = torch.randn(2, 2, 12, 3, generator=generator, dtype=torch.float64)
    loss = InfoNCE(1.0, norm="none")
    found = InGroups(loss, 4)(first, second)
    for run in range(2):
        parts = [loss(a[None], b[None]) for a, b in zip(first[run].split(4), second[run].split(4), strict=True)]
        assert float(found[run]) == pytest.approx(float(sum(parts) / 3), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: InGroups(InfoNCE(1.0), 2), "without norm"),
        (lambda: InGroups(InfoNCE(1.0, norm="none"), 1), "≥ 2"),
        (lambda: InGroups(InfoNCE(1.0, norm="none"), 3)(torch.zeros(1, 8, 2), torch.zeros(1, 8, 2)), "divide"),
        (lambda: best_scale(1.0, 3, [1], 8, [1]), "rho"),
        (lambda: best_scale(0.5, 0, [1], 8, [1]), "directions"),
        (lambda: best_scale(0.5, 3, [], 8, [1]), "negatives"),
        (lambda: best_scale(0.5, 3, [1], 9, [1]), "power of 2"),
    ],
)
def test_what_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
