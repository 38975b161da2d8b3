"""Random problems have the moments, spectra and ranges that they state, and draw the same from the same stream."""

import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.random_problems import (
    ball_points,
    gaussian_layers,
    gaussian_pairs,
    gaussian_views,
    indefinite_matrix,
    signed_eigenvalues,
)
from contrastive_dynamics.numerics.random_streams import stream, streams


def test_a_positive_lies_near_its_anchor_and_a_negative_elsewhere():
    x, positives, negatives = gaussian_pairs(stream(0, 0, "pairs"), 20_000, 3, p=2, q=1)
    assert x.shape == (20_000, 3) and positives.shape == (20_000, 2, 3) and negatives.shape == (20_000, 1, 3)
    noise = positives - x[:, None]
    assert float(noise.std()) == pytest.approx(0.3, rel=0.02) and abs(float((noise[:, 0] * x).mean())) < 0.01
    assert abs(float((negatives[:, 0] * x).mean())) < 0.02
    assert gaussian_pairs(stream(0, 0, "pairs"), 4, 3, q=0)[2] is None


def test_views_have_the_moments_that_come_with_them():
    x, positives, negatives, mean, moment = gaussian_views(stream(0, 0, "views"), 500, 100, 4, p=1, q=2, shift=0.7)
    for points in (x, negatives):
        flat = points.flatten(0, -2)
        torch.testing.assert_close(flat.mean(0), mean, atol=0.03, rtol=0)
        torch.testing.assert_close(flat.mT @ flat / len(flat), moment, atol=0.06, rtol=0)
    assert float((positives - x.unsqueeze(-2)).std()) == pytest.approx(0.3, rel=0.02)


@pytest.mark.parametrize("negative", [0, 2, 5])
def test_a_matrix_has_its_spectrum(negative):
    c, values, vectors = indefinite_matrix(stream(1, 0, "basis"), 5, negative)
    assert int((values < 0).sum()) == negative and bool((values.diff() > 0).all())
    torch.testing.assert_close(torch.linalg.eigvalsh(c), values)
    torch.testing.assert_close(c @ vectors, vectors * values)


def test_signed_eigenvalues_ascend_and_keep_their_distance():
    lam = signed_eigenvalues(stream(2, 0, "spectra"), 200, 6, 2)
    assert bool(((lam < 0).sum(-1) == 2).all()) and bool((lam.diff(dim=-1) > 0).all())
    assert float(lam.abs().min()) >= 1 / 6 and float(lam.abs().sort(-1).values.diff(dim=-1).min()) >= 1 / 6


def test_points_of_the_ball_are_uniform():
    radius = ball_points(stream(3, 0, "ball"), 50_000, 4).squeeze(-1).norm(dim=-1)
    shares = [float((radius <= r).double().mean()) for r in (0.5, 0.8, 1.0)]
    assert shares == pytest.approx([0.5**4, 0.8**4, 1], abs=0.01)


def test_layers_are_normal_and_one_run_draws_as_in_a_batch():
    w1, w2 = gaussian_layers(streams([4], 30, "layers"), 50, 3, 2)
    assert w1.shape == (30, 50, 3) and w2.shape == (30, 50, 2)
    assert float(torch.cat([w1, w2], -1).std()) == pytest.approx(1, rel=0.02)
    alone = gaussian_layers([stream(4, 7, "layers")], 50, 3, 2)
    assert torch.equal(alone[0][0], w1[7]) and torch.equal(alone[1][0], w2[7])


@pytest.mark.parametrize("negative", [-1, 4])
def test_more_negative_eigenvalues_than_there_are_is_refused(negative):
    g = stream(0, 0, "refused")
    with one_line_error(ValueError, "negative must be 0..3"):
        indefinite_matrix(g, 3, negative)
    with one_line_error(ValueError, "negative must be 0..3"):
        signed_eigenvalues(g, 2, 3, negative)
