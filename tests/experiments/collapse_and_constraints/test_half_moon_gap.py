import pytest
import torch

from experiments.collapse_and_constraints.half_moon_gap import AT_ONCE, half_moon_gap

SMALL = {"h": 12, "n": 6, "first_seed": 3, "rate": 0.01, "keep": [0, 2, 5]}


def gap(name="tanh", networks=2, **changes):
    return half_moon_gap(name, networks=networks, **(SMALL | changes))


def test_a_network_is_the_same_among_more():
    few, many = gap(networks=2), gap(networks=AT_ONCE + 2)
    for key, value in few.items():
        assert value.shape == (3, 2) and many[key].shape == (3, AT_ONCE + 2)
        assert torch.allclose(value, many[key][:, :2], atol=1e-12)


def test_a_linear_network_is_its_own_twin():
    found = gap("linear", keep=[0, 20])
    assert float(found["difference"].max()) < 1e-12 and float(found["linear"].min()) > 0.01


def test_the_mean_at_n_times_the_rate_is_the_sum():
    summed, mean = gap(), gap(mean=True, rate=SMALL["rate"] * SMALL["n"])
    assert all(torch.allclose(value, mean[key], atol=1e-12) for key, value in summed.items())


def test_blocks_are_watched():
    seen = []

    def watch(blocks):
        seen.extend(blocks)
        return blocks

    gap(networks=AT_ONCE + 1, watch=watch)
    assert [len(block) for block in seen] == [AT_ONCE, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "gelu"}, "activation: must be one of linear, relu, tanh"),
        ({"h": 1}, "h must be ≥ 2, networks and outputs ≥ 1, got h=1"),
        ({"networks": 0}, "networks=0"),
        ({"n": 5}, "n must be an even integer ≥ 2, got 5"),
        ({"keep": [1, 2]}, r"keep must begin with 0 and ascend, got \[1, 2\]"),
    ],
)
def test_bad_choices_are_one_line(changes, message):
    with pytest.raises(ValueError, match=message):
        gap(**changes)
