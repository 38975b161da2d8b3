import math

import numpy as np
import pytest
from scipy.special import ndtr

from contrastive_dynamics.feature_decoupling.sparse_coding import paper_scales
from contrastive_dynamics.feature_decoupling.threshold_rates import threshold_rates

P, SIGMA = paper_scales(16, 0.5, 1.0)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(200)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
GRID = np.linspace(-9, 9, 40_001)
DENSITY = np.exp(-(GRID**2) / 2) / math.sqrt(2 * math.pi) * (GRID[1] - GRID[0])


def soft(u, level):
    return np.maximum(u - level, 0) - np.maximum(-u - level, 0)


@pytest.mark.parametrize("level", [0.2, 0.65, 0.9])
def test_masked_rates_are_those_of_a_neuron_with_a_little_noise_in_it(level):
    spread, s = math.sqrt(2) * SIGMA, 1e-3
    output = P * float(soft(1 + spread * GRID, level) @ DENSITY)  # z = 0 gives none, z = -1 the same as 1
    seen = float(np.where(abs(1 + spread * GRID) >= level, 1 + spread * GRID, 0) @ DENSITY)
    noise = spread * NODES  # ⟨e, x⁺⟩, of which s times itself is in ⟨w, x⁺⟩
    fires = ndtr((1 + s * noise - level) / spread) + ndtr((-1 - s * noise - level) / spread)
    dense = output * float((noise * fires) @ WEIGHTS) / s
    found = threshold_rates(P, SIGMA, level)
    assert found.atom == pytest.approx(output * seen, rel=1e-4)
    assert found.dense == pytest.approx(dense, rel=1e-4)


@pytest.mark.parametrize("level", [0.0, 0.3, 0.65])
def test_plain_rates_are_those_of_a_neuron_with_a_little_noise_in_it(level):
    s, atom, dense = 1e-4, 0.0, 0.0
    for z, chance in ((0, 1 - P), (1, P / 2), (-1, P / 2)):
        u = z + SIGMA * GRID
        atom += chance * float((soft(u, level) * u) @ DENSITY)
        for x, weight in zip(SIGMA * NODES, WEIGHTS, strict=True):  # ⟨e, x⟩
            dense += chance * weight * x * float(soft(u + s * x, level) @ DENSITY) / s
    found = threshold_rates(P, SIGMA, level, "plain")
    assert found.atom == pytest.approx(atom, rel=1e-4)
    assert found.dense == pytest.approx(dense, rel=1e-3)


def test_without_a_bias_they_are_the_rates_of_stage_one():
    assert threshold_rates(P, SIGMA, 0.0) == pytest.approx((P, 0.0), abs=1e-12)
    assert threshold_rates(P, SIGMA, 0.0, "plain") == pytest.approx((P + SIGMA**2, SIGMA**2), rel=1e-12)


def test_at_the_papers_scales_the_dense_rate_is_a_sixth_of_the_atoms():
    atom, dense = (rate / P for rate in threshold_rates(P, SIGMA, 0.65))
    assert (round(atom, 2), round(dense, 3)) == (0.37, 0.055)


def test_bad_input_is_named():
    for given in ((1.0, 0.3, 0.5, "masked"), (0.3, 0.0, 0.5, "masked"), (0.3, 0.3, -0.1, "masked")):
        with pytest.raises(ValueError, match=r"^views, active, noise and bias_ratio must be masked or plain, .*, got "):
            threshold_rates(*given)
    with pytest.raises(ValueError, match="got 'independent', 0.3, 0.3 and 0.5$"):
        threshold_rates(0.3, 0.3, 0.5, "independent")
