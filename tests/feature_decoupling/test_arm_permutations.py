import pytest
import torch

from contrastive_dynamics.feature_decoupling.arm_permutations import (
    arm_orders_met,
    paired_permutation_p,
    planted_clusters,
    planted_sparse_firing,
    shuffled_arms,
)
from contrastive_dynamics.feature_decoupling.unit_statistics import neighbour_accuracy, silhouette
from contrastive_dynamics.numerics.random_streams import stream


def test_a_shuffle_keeps_each_start_and_draws_every_order_alike():
    values = torch.arange(3.0).view(3, 1).expand(3, 6000) + 10 * torch.arange(6000.0)
    found = shuffled_arms(values, stream(0, 0, "shuffle"))
    assert torch.equal(found.sort(0).values, values)
    orders = arm_orders_met(found)
    assert len(orders) == 6 and sum(orders.values()) == 6000
    assert max(abs(count - 1000) for count in orders.values()) < 4.5 * (1000 * 5 / 6) ** 0.5
    assert arm_orders_met(values)[(0, 1, 2)] == 6000


def test_p_of_a_sign_test_by_hand_and_drawn():
    assert paired_permutation_p(torch.tensor([1.0, 2.0, 3.0])) == 1 / 8
    assert paired_permutation_p(torch.tensor([-1.0, 2.0, 3.0])) == 2 / 8  # flips: none, or the first
    assert paired_permutation_p(torch.zeros(4)) == 1.0
    values = torch.randn(16, generator=stream(0, 0, "p")) + 0.4
    exact = paired_permutation_p(values)
    drawn = paired_permutation_p(torch.cat([values, torch.zeros(1)]), stream(0, 1, "p"), 40_000)
    assert abs(drawn - exact) < 4 * (exact / 40_000) ** 0.5 + 1e-4 and 0 < exact < 0.5


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
    with pytest.raises(ValueError, match=r"shuffled_arms: values must be \[arm, start\], 2 to 6 arms, got \(1, 3\)$"):
        shuffled_arms(torch.zeros(1, 3), stream(0, 0, "x"))
    with pytest.raises(ValueError, match=r"\[start\], ≥ 1, and given above 16 starts, got \(17,\), 10000 and None"):
        paired_permutation_p(torch.zeros(17))
    with pytest.raises(ValueError, match="width and separation must be ≥ 3 and ≥ 0, got 2 and 1.0"):
        planted_clusters(torch.arange(3), 2, 1.0, stream(0, 0, "x"))
    with pytest.raises(ValueError, match=r"share and units must be in \(0, 1\) and ≥ 2, got 1.0 and 4"):
        planted_sparse_firing(torch.zeros(2, 4), 1.0)
