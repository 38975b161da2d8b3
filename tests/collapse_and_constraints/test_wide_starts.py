"""Starts of any width have the law of the product of two random orthonormal layers."""

import pytest
import torch
from scipy import stats

from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import draw_weights, outputs
from contrastive_dynamics.collapse_and_constraints.wide_starts import wide_starts
from contrastive_dynamics.numerics.random_streams import stream


def streams(purpose, runs=1500):
    return [stream(2, k, purpose) for k in range(runs)]


def statistics(q):
    """Numbers whose laws determine much of that of q: an entry, and the least and the largest singular value."""
    sizes = torch.linalg.svdvals(q)
    return q[:, 0, -1], sizes[:, -1], sizes[:, 0]


@pytest.mark.parametrize(("h", "d", "z"), [(5, 3, 2), (12, 3, 2), (7, 4, 1), (9, 3, 3)])
def test_law_is_that_of_two_layers(h, d, z):
    ours = wide_starts(streams("wide"), [h], d, z)[0]
    layers = outputs(draw_weights(streams("w1"), streams("w2"), h, d, z))
    for a, b in zip(statistics(ours), statistics(layers), strict=True):
        assert stats.ks_2samp(a.numpy(), b.numpy()).pvalue > 1e-3


def test_size_is_that_of_the_width():
    q = wide_starts(streams("size"), [10, 10_000, 10_000_000], 3, 2)
    squares = q.square().sum((-2, -1)).mean(-1) * torch.tensor([10.0, 1e4, 1e7]) / 6  # E‖q‖² = dz/h
    assert squares.tolist() == pytest.approx([1, 1, 1], rel=0.05)
    assert float(torch.linalg.svdvals(q).max()) < 1


def test_a_run_draws_the_same_beside_others():
    both = wide_starts(streams("few", 3), [20, 50], 3, 2)
    alone = wide_starts([stream(2, 1, "few")], [50], 3, 2)
    torch.testing.assert_close(both[1, 1], alone[0, 0], rtol=1e-13, atol=0)


@pytest.mark.parametrize(("widths", "d", "z"), [([3], 2, 2), ([], 2, 1), ([9], 2, 3), ([9], 2, 0)])
def test_a_mistaken_size_is_refused(widths, d, z):
    with pytest.raises(ValueError, match="widths must be ≥ d"):
        wide_starts(streams("bad", 1), widths, d, z)
