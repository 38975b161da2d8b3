"""Noisy views: idle coordinates are noise alone, and a run does not depend on the others."""

import pytest
import torch

from contrastive_dynamics.nonlinearity.one_filter.noisy_views import noisy_views
from contrastive_dynamics.numerics.random_streams import stream


def streams(*runs):
    return [stream(0, k, "views") for k in runs]


def test_samples_views_and_idle_coordinates():
    x0, x, x_view = noisy_views(streams(0, 1), 5000, 2, 3, 0.5)
    assert x0.shape == x.shape == x_view.shape == (2, 5000, 5)
    assert x0[..., 2:].abs().max() == 0 and x0[..., :2].abs().max() <= 1
    noise = torch.cat((x - x0, x_view - x0), -1)
    covariance = noise.mT @ noise / 5000
    torch.testing.assert_close(covariance[0], torch.eye(10, dtype=x.dtype) / 12, rtol=0, atol=0.01)


def test_a_run_is_the_same_alone():
    both, alone = noisy_views(streams(0, 1), 7, 2, 1, 1.0), noisy_views(streams(1), 7, 2, 1, 1.0)
    assert all(torch.equal(b[1], a[0]) for b, a in zip(both, alone, strict=True))


@pytest.mark.parametrize("given", [(0, 2, 1, 1.0), (5, 0, 1, 1.0), (5, 2, -1, 1.0), (5, 2, 1, -1.0)])
def test_arguments_outside_their_range_are_refused(given):
    with pytest.raises(ValueError, match="there must be a generator"):
        noisy_views(streams(0), *given)
