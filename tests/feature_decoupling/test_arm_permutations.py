import pytest
import torch

from contrastive_dynamics.feature_decoupling.arm_permutations import (
    planted_clusters,
    planted_sparse_firing,
)
from contrastive_dynamics.feature_decoupling.unit_statistics import neighbour_accuracy, silhouette
from contrastive_dynamics.numerics.random_streams import stream


def test_planted_clusters_are_found_and_the_control_is_not():
    labels = torch.arange(4).repeat(60)
    half, scores = labels[: len(labels) // 2], []
    for far in (6.0, 0.0):
        x = planted_clusters(labels, 6, far, stream(0, 0, "plant")).unsqueeze(0).double()
        accuracy = neighbour_accuracy(x[:, : len(half)], half, x[:, len(half) :], half, 5)
        scores.append((float(accuracy), float(silhouette(x, labels))))
    assert scores[0][0] > 0.95 and scores[0][1] > 0.3 and scores[1][0] < 0.5 and abs(scores[1][1]) < 0.1


def test_planted_firing_has_the_share():
    responses = torch.randn(50, 40, generator=stream(0, 0, "fire"))
    found = planted_sparse_firing(responses, 0.1)
    assert ((found > 0).sum(-1) == 4).all() and (found >= 0).all()
    assert ((planted_sparse_firing(responses, 0.001) > 0).sum(-1) == 1).all()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="width and separation must be ≥ 3 and ≥ 0, got 2 and 1.0"):
        planted_clusters(torch.arange(3), 2, 1.0, stream(0, 0, "x"))
    with pytest.raises(ValueError, match=r"share and units must be in \(0, 1\) and ≥ 2, got 1.0 and 4"):
        planted_sparse_firing(torch.zeros(2, 4), 1.0)
