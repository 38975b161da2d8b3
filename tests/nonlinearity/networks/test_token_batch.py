"""The sums over places and their adjoint against a dense one-hot matrix."""

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.token_batch import token_batches
from contrastive_dynamics.numerics.random_streams import stream

STEPS, RUNS, VIEWS, PLACES, D, OUT = 3, 2, 8, 4, 5, 6


def dense(tokens, groups):
    """One-hot `[run, 2N, K·group·d]`: a view sees the table of its group only."""
    code = torch.nn.functional.one_hot(tokens.long(), D).double()
    group = torch.arange(VIEWS) // (VIEWS // groups)
    own = torch.nn.functional.one_hot(group, groups).double()
    return torch.einsum("vg,rvkd->rvkgd", own, code).flatten(-3)


@pytest.mark.parametrize("groups", [1, 2])
def test_sums_and_adjoint_are_products_with_the_one_hot_matrix(groups):
    g = stream(0, 0, "batch")
    tokens = torch.randint(D - 1, (STEPS, RUNS, VIEWS, PLACES), generator=g, dtype=torch.int32)  # token 4 never shows
    table = torch.randn(RUNS, PLACES, groups * D, OUT, generator=g, dtype=torch.float64)
    f = torch.randn(RUNS, VIEWS, OUT, generator=g, dtype=torch.float64)
    for step, batch in enumerate(token_batches(tokens, D, groups, torch.float64)):
        x = dense(tokens[step], groups)
        assert torch.allclose(batch.sum_over_places(table), x @ table.flatten(1, 2), atol=1e-14)
        assert torch.allclose(batch.sum_over_views(f).flatten(1, 2), x.mT @ f, atol=1e-14)
        shares = x.sum(1).view(RUNS, PLACES, groups, 1, D) / (VIEWS // groups)
        assert torch.allclose(batch.shares, shares)


def test_views_that_do_not_split_into_the_groups():
    with pytest.raises(ValueError, match="groups must divide the number of views, got 2 groups and 3 views"):
        token_batches(torch.zeros(1, 1, 3, 2, dtype=torch.int32), 2, 2)
