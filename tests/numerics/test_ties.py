"""Ties: what rounding puts between equal inner products, and how tied values share places."""

import itertools

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ties import rounding_margin, top_shares


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("terms", [1, 3, 64, 513])
def test_equal_inner_products_differ_by_less_than_the_margin_and_others_by_more(dtype, terms):
    x, y = (torch.randn(17, terms, generator=stream(0, 0, what), dtype=dtype) for what in ("x", "y"))
    ways = [(x * y).sum(-1), (x @ y.mT).diagonal(), (x.flip(1) @ y.flip(1).mT).diagonal()]
    ways += [((x / 3) @ (y * 3).mT).diagonal(), x.mul(y).cumsum(-1)[:, -1]]
    margin = rounding_margin(terms, dtype) * x.norm(dim=-1) * y.norm(dim=-1)
    assert all(bool(((a - b).abs() <= margin).all()) for a, b in itertools.combinations(ways, 2))
    assert rounding_margin(terms, dtype) < 1e-4  # and a difference that anybody would see is none of rounding


def plain_shares(values, count, margin):
    last = sorted(values, reverse=True)[count - 1]
    above, tied = (
        sum(test(v) for v in values) for test in (lambda v: v > last + margin, lambda v: abs(v - last) <= margin)
    )
    return [1 if v > last + margin else (count - above) / tied if abs(v - last) <= margin else 0 for v in values]


def test_places_are_shared_value_by_value_and_in_any_order():
    values = torch.randint(0, 5, (6, 12), generator=stream(0, 0, "values")).double()
    shaken = values + 1e-9 * torch.rand(6, 12, generator=stream(0, 0, "rounding"), dtype=torch.float64)
    order = torch.randperm(12, generator=stream(0, 0, "order"))
    for count in range(1, 13):
        shares = top_shares(shaken, count, 1e-8)
        expected = [plain_shares(row, count, 1e-8) for row in values.tolist()]
        torch.testing.assert_close(shares, torch.tensor(expected, dtype=torch.float64))
        torch.testing.assert_close(shares.sum(-1), torch.full((6,), float(count), dtype=torch.float64))
        torch.testing.assert_close(top_shares(shaken[:, order], count, 1e-8), shares[:, order])
    distinct = torch.randn(4, 9, generator=stream(0, 0, "distinct"), dtype=torch.float64)
    expected = torch.zeros_like(distinct).scatter(-1, distinct.topk(4).indices, 1)
    assert torch.equal(top_shares(distinct, 4, 1e-12), expected)  # without ties: the largest
    for count in (0, 10):
        with one_line_error(ValueError, f"count must be 1 to 9, got {count}"):
            top_shares(distinct, count, 0)


def test_shares_stay_on_the_device():
    with elsewhere():
        assert top_shares(torch.arange(5.0).to(ELSEWHERE), 2, 1e-8).device == ELSEWHERE
