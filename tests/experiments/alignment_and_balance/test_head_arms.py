"""The arms of Figure 2, trained for a moment."""

import pytest
import torch

from contrastive_dynamics.alignment_and_balance import image_caption_pairs
from experiments.alignment_and_balance import ArmPlan, group_means, train_arms


@pytest.fixture(scope="module")
def found():
    train, test = image_caption_pairs("scenes", 60, 0, "cpu")
    return train_arms(train, test, train.captions, [None, 10.0], ArmPlan(0, 2, 12, [0, 3]))


def test_shapes_and_the_part_of_each_image(found):
    assert found["accuracy"].shape == (2, 2, 2) and found["right"].shape == (2, 2, 2, 1000)
    torch.testing.assert_close(found["right"].mean(-1), found["accuracy"], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found["recalled"].mean(-1), found["recall"], rtol=1e-5, atol=1e-6)


def test_arms_begin_alike_and_part(found):
    for name in ("accuracy", "distances", "products", "stable rank", "condition"):
        assert torch.equal(found[name][0, 0], found[name][0, 1])
    assert not torch.equal(found["condition"][1, 0], found["condition"][1, 1])


def test_groups_keep_the_mean():
    values = torch.arange(120.0)
    assert group_means(values).shape == (40,) and float(group_means(values).mean()) == pytest.approx(59.5)
    assert group_means(values[:7]).tolist() == values[:7].tolist()
    unequal = torch.randn(130, generator=torch.Generator().manual_seed(0))
    assert abs(group_means(unequal).mean() - unequal.mean()) < 0.1 * unequal.std() / 130**0.5


def test_leaving_groups_out_surrounds_the_whole(found):
    for name in ("distances", "stable rank", "condition"):
        groups = found[f"{name}, groups"]
        assert groups.shape == (2, 2, 40)
        low, high = groups.amin(-1), groups.amax(-1)
        assert bool(((low <= found[name][-1]) & (found[name][-1] <= high)).all())
