import math

import pytest
import torch

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.labels_needed import labels_to_reach, linear_labels, probe_curve
from contrastive_dynamics.feature_decoupling.linear_probes import downstream_labels, draw_w_star, regression_probe
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.numerics.random_streams import stream


def streams(purpose, runs=2):
    return [stream(0, run, purpose) for run in range(runs)]


def test_a_target_is_reached_between_counts_on_a_logarithmic_scale():
    scores = torch.tensor([[0.0, 0.5, 0.1], [0.4, 0.6, 0.1], [0.8, 0.7, 0.2]])
    found = labels_to_reach([10, 100, 1000], scores, torch.tensor([0.2, 0.5, 0.3]))
    assert found.tolist() == pytest.approx([10 * math.sqrt(10), 10, math.inf])
    assert labels_to_reach([10, 100, 1000], scores, 0.6).tolist() == pytest.approx([10**2.5, 100, math.inf])


def test_raw_x_needs_as_many_labels_as_least_squares_on_gaussians():
    dim, p, sigma, share = 24, 0.3, 0.6, 0.5
    model = SparseCoding(random_dictionary(dim, 6, streams("dictionary", 6)), p, sigma)
    z, x = model.sample(6000, streams("x", 6))
    y = downstream_labels(z, draw_w_star(streams("w*", 6), 6, 8))[0]
    count = round(linear_labels(dim, p, sigma, share))
    r2 = probe_curve(x[:, :2000], y[:, :2000], x[:, 2000:], y[:, 2000:], [count]).mean()
    plain = 1 - _error(x, y, count)
    limit = p / (p + sigma**2)
    assert abs(float(plain) - share * limit) < 0.05 and share * limit - 0.05 < float(r2) < limit


def _error(x, y, count):
    w = torch.linalg.lstsq(x[:, :count], y[:, :count]).solution
    return (y[:, 2000:] - x[:, 2000:] @ w).square().sum((1, 2)).mean() / y[:, 2000:].square().sum((1, 2)).mean()


def test_a_curve_is_the_probe_at_each_count():
    g = stream(0, 0, "curve")
    x, y = torch.randn(2, 80, 5, generator=g).double(), torch.randn(2, 80, 3, generator=g).double()
    found = probe_curve(x[:, :40], y[:, :40], x[:, 40:], y[:, 40:], [8, 40])
    assert found.shape == (2, 2)
    torch.testing.assert_close(found[0], regression_probe(x[:, :8], y[:, :8], x[:, 40:], y[:, 40:]).mean(-1))


def test_bad_input_is_named():
    x = torch.zeros(1, 4, 2)
    for counts in ([], [1, 3], [3, 3], [2, 5]):
        with pytest.raises(ValueError, match=r"^counts must increase from 2 or more up to 4, got \["):
            probe_curve(x, x, x, x, counts)
    with pytest.raises(ValueError, match=r"^counts must increase from above 0, one per score, got \[1\] for 2$"):
        labels_to_reach([1], torch.zeros(2, 1), 0.5)
    with pytest.raises(ValueError, match=r"^dim, active, noise and share must be .*, got 0, 0.3, 0.3 and 0.5$"):
        linear_labels(0, 0.3, 0.3)
