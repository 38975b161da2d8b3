"""The relative error of a whole tensor, and of each entry of a batch."""

import pytest
import torch

from contrastive_dynamics.numerics.relative_error import relative_error, relative_errors

F64 = torch.float64


def test_it_is_the_distance_over_the_size():
    expected = torch.tensor([3.0, 4.0], dtype=F64)
    assert relative_error(expected + torch.tensor([0.3, 0.4], dtype=F64), expected) == pytest.approx(0.1)
    assert relative_error(expected, expected) == 0.0


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_each_entry_of_the_batch_has_its_own(batch):
    generator = torch.Generator().manual_seed(0)
    ours, expected = torch.randn(2, 2, 3, 4, 5, generator=generator, dtype=F64)
    found = relative_errors(ours, expected, batch)
    assert found.shape == ours.shape[:batch]
    pairs = zip(ours.reshape(-1, *ours.shape[batch:]), expected.reshape(-1, *ours.shape[batch:]), strict=True)
    assert found.flatten().tolist() == pytest.approx([relative_error(a, b) for a, b in pairs])
