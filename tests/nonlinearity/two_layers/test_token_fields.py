import pytest
import torch

from contrastive_dynamics.nonlinearity.two_layers.token_fields import boosted_tokens

F64 = torch.float64


def test_marginals_are_uniform_whatever_the_boost():
    model = boosted_tokens(2, 5, 0.7)
    given = model.given.transpose(0, 1)
    assert torch.equal(model.points[1], torch.eye(5, dtype=F64)) and model.prior.tolist() == [0.5, 0.5]
    assert torch.allclose(given.sum(-1), torch.ones(2, 2, dtype=F64))
    assert torch.allclose(given.mean(-2), torch.full((2, 5), 0.2, dtype=F64))
    assert torch.allclose(given[0, 1, 0] - given[0, 0, 0], torch.tensor(0.28, dtype=F64))


def test_bad_boost_is_refused():
    with pytest.raises(ValueError, match="boost must be ≥ 0 and ≤ 1, and d ≥ 2, got boost=2"):
        boosted_tokens(2, 3, 2)
