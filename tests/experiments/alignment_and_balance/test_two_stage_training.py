"""Set-ups that the chapter and its appendix share."""

import math

import pytest
import torch

from contrastive_dynamics.alignment_and_balance import (
    WideStage,
    WideState,
    all_signs,
    condition_number,
    initial_maps,
    model_scales,
    non_contrastive_solution,
    wide_condition_number,
    wide_start,
    wide_training,
)
from contrastive_dynamics.numerics.random_streams import stream
from experiments.alignment_and_balance import (
    TwoStages,
    both_times,
    distance_from_limit,
    ends_without_negatives,
    first_time_at,
    largest_change_of_a_flip,
    misalignment_and_noise,
    nearly_equal_maps,
    one_temperature,
    power_with_and_without,
    require_sizes,
    some_pairs,
    stopped,
    train_two_stages,
    unrelated_pairs,
)
from experiments.alignment_and_balance.two_stage_training import maps_with_lumped_noise

SIGMA = [1.5, 1.0]


@pytest.fixture(autouse=True)
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def generators(count, purpose):
    return [stream(3, k, purpose, "cpu") for k in range(count)]


def test_both_stages_follow_each_other():
    scales = model_scales(torch.tensor(SIGMA), 0.5, 4).expand(2, 4)
    maps = initial_maps(scales, 30, generators(2, "start"), 2)
    plan = TwoStages((0.1, 2.0), 8.0, (torch.linspace(0, 1, 3), torch.linspace(0, 2, 5)))
    a, b, error = train_two_stages(*maps, scales, all_signs(2, 4), plan)
    assert a.shape == b.shape == (7, *maps[0].shape) and error.max() < 1e-5
    assert torch.equal(a[0], maps[0])
    assert both_times(plan).tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]


def test_one_temperature_trains_every_pair_of_temperature_and_dimension():
    cases, path = one_temperature(torch.tensor([SIGMA]), 0.5, [50.0, 1e3], [0.3, 4.0], 8.0)
    assert cases == [(0.3, 50.0), (0.3, 1e3), (4.0, 50.0), (4.0, 1e3)]
    assert path.condition.shape == (141, 4) and path.s[-1].tolist() == [1000.0] * 4
    alone = wide_training(torch.tensor([SIGMA]), 0.5, 1e3, [WideStage(1000.0, 0.3)], torch.tensor([0.0, 1.0]), 8.0)
    assert float(path.condition[-1, 1]) == pytest.approx(float(alone.condition[-1, 0]), rel=1e-5)


def test_a_narrow_and_a_wide_network_end_as_the_limit_says():
    sigma, d = torch.tensor([SIGMA]), 100
    ends = non_contrastive_solution(wide_start(sigma, 0.5, d - 2.0), sigma, 0.5, torch.tensor([math.inf]))
    exact = float(wide_condition_number(ends))
    a, b = ends_without_negatives(SIGMA, [0.5], [d - 2.0], 10**10, generators(2, "lumped"))
    assert condition_number(a, 2).tolist() == pytest.approx([exact] * 2, rel=1e-3)
    assert (a[..., :2] - b[..., :2]).abs().max() < 1e-4 * a.abs().max()
    two, _ = ends_without_negatives(SIGMA, [0.3, 1.2], [49.0, 49.0], 10**10, generators(2, "lumped"))
    assert condition_number(two, 2).tolist() == pytest.approx([exact] * 2, rel=1e-3)


def test_a_lumped_column_has_the_length_of_the_columns_it_stands_for():
    a, b, scales = maps_with_lumped_noise(SIGMA, [0.5, 2.0], [1e6, 400.0], 50, generators(3, "lengths"))
    assert a.shape == b.shape == (3, 4, 4) and scales[0].tolist() == [*SIGMA, 0.5, 2.0]
    expected = torch.tensor([0.5 * 1e3, 2.0 * 20.0])
    for k in (a, b):
        torch.testing.assert_close(k[..., 2:].norm(dim=-2), expected.expand(3, 2), rtol=0.05, atol=0)
    with pytest.raises(ValueError, match="one of each per group"):
        maps_with_lumped_noise(SIGMA, [0.5], [10.0, 10.0], 50, generators(1, "x"))


def test_maps_of_one_condition_number():
    for orthogonal in (True, False):
        a, b = nearly_equal_maps(5, 3, 10.0, stream(0, 0, "maps", "cpu"), orthogonal=orthogonal)
        torch.testing.assert_close(condition_number(a, 3), torch.full((5,), 10.0))
        assert (a[..., :3] - b[..., :3]).norm(dim=(-2, -1)).max() < 1e-3
        gram = a[..., :3].mT @ a[..., :3]
        off = gram - torch.diag_embed(gram.diagonal(dim1=-2, dim2=-1))
        assert (off.abs().max() < 1e-12) == orthogonal
    with pytest.raises(ValueError, match="condition must be ≥ 1"):
        nearly_equal_maps(1, 2, 0.5, stream(0, 0, "maps", "cpu"), orthogonal=True)


def test_partners_that_share_nothing_and_a_few_pairs():
    signs = all_signs(2, 4)
    apart = unrelated_pairs(signs)
    assert (apart.u_a.mT @ apart.u_b).abs().max() < 1e-12 < (signs.u_a.mT @ signs.u_b).abs().max()
    few = some_pairs(signs, 5, stream(0, 0, "few", "cpu"))
    rows = {tuple(row) for row in torch.cat(few, -1).tolist()}
    assert len(rows) == 5 and rows <= {tuple(row) for row in torch.cat(signs, -1).tolist()}


def test_values_count_up_to_the_stop():
    condition = torch.tensor([[3.0, 3.0], [1.0, 2.0], [4.0, 2.0]])
    values = torch.tensor([[1.0, 1.0], [2.0, 2.0], [9.0, 9.0]])
    assert stopped(values, condition, 1.05).amax(0).tolist() == [2.0, 9.0]


def test_distance_of_the_limit_from_itself():
    a = torch.diag(torch.tensor([2.0, 1.0, 0.5])).expand(2, 1, 3, 3)
    squares = a.square().sum(-2)[..., :2]
    limit = WideState(squares, squares, torch.zeros(2, 1))
    assert distance_from_limit(limit, a, a).tolist() == [0]
    assert distance_from_limit(limit, a, 0 * a).tolist() == pytest.approx([math.sqrt(17) / 5])


def test_powers_and_sizes():
    sizes = [1.0, 2.0, 4.0]
    found = power_with_and_without(torch.tensor(sizes)[:, None] ** -0.5, sizes)
    assert [x.tolist() for x in found.values()] == [pytest.approx([-0.5])] * 2
    require_sizes(2, sizes=sizes)
    for wrong in ([1.0], [2.0, 1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="2 or more values, ascending"):
            require_sizes(2, sizes=wrong)


def test_a_level_is_reached_between_two_rows_and_never_without_a_fall():
    times = torch.tensor([0.0, 1.0, 4.0])[:, None].expand(3, 3)
    values = torch.tensor([[1.0, 0.001, 1.0], [0.1, 0.001, 0.5], [1e-4, 0.001, 0.4]])
    assert first_time_at(values, times, 0.01).tolist() == pytest.approx([2.0, 0.0, math.inf])


def test_a_time_does_not_depend_on_the_rows():
    sigma, stages = torch.tensor([SIGMA]), [WideStage(20.0, None)]
    paths = [wide_training(sigma, 0.5, 1e3, stages, torch.linspace(0, 1, rows)) for rows in (101, 1001)]
    coarse, fine = (float(first_time_at(misalignment_and_noise(p), p.s, 0.01)) for p in paths)
    assert coarse == pytest.approx(fine, rel=2e-3) and 1 < fine < 20


def test_training_that_is_stopped_has_not_ended():
    how = SIGMA, [0.5], [98.0], 10**6
    early, ended = (ends_without_negatives(*how, generators(2, "stop"), stop)[0] for stop in (0.5, math.inf))
    assert (condition_number(early, 2) < 0.8 * condition_number(ended, 2)).all()


def test_the_change_of_a_flip_is_that_of_the_outputs():
    maps = torch.randn(3, 4, 3, generator=stream(0, 0, "flips", "cpu"))
    u = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3) / math.sqrt(3)
    flipped = torch.stack([u * (1 - 2 * (torch.arange(3) == p)) for p in range(3)])
    square = ((u - flipped) @ maps[:, None].mT).square().sum(-1).amax((1, 2))
    mean_square = (u @ maps.mT).square().sum(-1).mean(-1)
    torch.testing.assert_close(largest_change_of_a_flip(maps), square / (4 * mean_square))
    assert largest_change_of_a_flip(torch.eye(4)) == pytest.approx(1 / 4)
