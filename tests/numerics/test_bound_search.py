import pytest
import torch

from contrastive_dynamics.numerics.bound_search import climb
from contrastive_dynamics.numerics.random_streams import stream


def test_it_climbs_to_the_maximum_of_each_row():
    peaks = torch.tensor([[1.0, -2.0], [0.3, 0.4], [5.0, 5.0]])
    found = climb(lambda x: -(x - peaks).square().sum(-1), torch.zeros(3, 2), steps=2000, rate=0.02)
    assert torch.allclose(found, peaks, atol=1e-3)


def test_the_best_point_met_is_kept_and_never_worse_than_the_start():
    start = torch.randn(20, generator=stream(0, 0, "climb"))

    def wavy(x):
        return torch.sin(5 * x) + 0.1 * x

    found = climb(wavy, start, steps=50, rate=1.0)  # a rate that overshoots
    assert (wavy(found) >= wavy(start)).all()


def test_rows_do_not_see_each_other():
    start = torch.randn(6, 3, generator=stream(0, 1, "climb"))

    def objective(x):
        return -(x**4).sum(-1) + x.prod(-1)

    together = climb(objective, start, steps=30)
    assert torch.equal(together[2:3], climb(objective, start[2:3], steps=30))


@pytest.mark.parametrize("bad", [{"steps": 0}, {"rate": 0.0}])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="steps must be ≥ 1 and rate > 0, got"):
        climb(torch.sum, torch.zeros(1), **bad)
