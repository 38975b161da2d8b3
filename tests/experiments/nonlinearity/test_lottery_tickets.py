"""Which filters are kept, and tickets that are the wide network where nothing is pruned."""

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.numerics.random_streams import stream
from experiments.nonlinearity.lottery_tickets import ARMS, kept, kept_filters, ticket_coverage

SMALL = TokenTraining(candidates=2, beta=3, places=3, tokens=6, generators=7, length=2, outputs=5, batch=12)


def layer():
    """One place with six filters: 0 and 1 show token 2 (1 more clearly), 3 shows token 4, 5 is long and shows none."""
    w = torch.zeros(1, 1, 6, 6)
    w[0, 0, 0, 2], w[0, 0, 0, 3] = 1.0, 0.3
    w[0, 0, 1, 2] = 0.5
    w[0, 0, 3, 4] = 2.0
    w[0, 0, 5] = 3.0
    candidates = torch.zeros(1, 1, 6, dtype=torch.bool)
    candidates[..., [2, 4]] = True
    return w, candidates


def test_the_filters_that_are_kept():
    w, candidates = layer()
    for seed in range(5):
        index = kept_filters(w, candidates, 2, [stream(seed, 0, "tickets")])
        assert set(index["one per candidate"].flatten().tolist()) == {1, 3}
        assert set(index["magnitude"].flatten().tolist()) == {3, 5}
        assert set(index["shortest"].flatten().tolist()) == {2, 4}
        three = kept_filters(w, candidates, 3, [stream(seed, 0, "tickets")])["one per candidate"].flatten().tolist()
        assert {1, 3} < set(three) and len(set(three)) == 3
    drawn = {
        tuple(kept_filters(w, candidates, 2, [stream(s, 0, "tickets")])["random"].flatten().tolist()) for s in range(9)
    }
    assert len(drawn) > 3
    with pytest.raises(ValueError, match="count must be"):
        kept_filters(w, candidates, 1, [stream(0, 0, "tickets")])


def test_what_is_kept_does_not_depend_on_the_process():
    """Chapters compute in float64 by default, the processes that train several parts do not."""
    w = torch.zeros(1, 2, 40, 6)
    kept_by, before = {}, torch.get_default_dtype()
    try:
        for dtype in (torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            kept_by[dtype] = kept_filters(w, torch.zeros(1, 2, 6, dtype=torch.bool), 5, [stream(0, 0, "tickets")])
    finally:
        torch.set_default_dtype(before)
    one, other = (found["random"] for found in kept_by.values())
    assert torch.equal(one, other)


def test_kept_weights_belong_together():
    weights = starting_weights([(SMALL, 1), (SMALL, 2)], "cpu")
    index = torch.tensor([5, 0]).expand(2, 3, 2)
    found = kept(weights, index)
    assert torch.equal(found.w, weights.w[:, :, [5, 0]]) and torch.equal(found.v, weights.v[:, :, [5, 0]])
    assert isinstance(found, Weights)


def test_coverage_of_tickets():
    found = ticket_coverage(SMALL, [1, 2, 3], 40, workers=1)
    assert set(found) == {"wide", *ARMS, *(f"{arm}, returned" for arm in ARMS)}
    assert all(values.shape == (3,) and bool(((values >= 0) & (values <= 1)).all()) for values in found.values())
    alone = ticket_coverage(SMALL, [3], 40, workers=1)
    assert all(torch.allclose(found[name][2:], alone[name]) for name in found)
