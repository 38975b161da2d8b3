"""A run of one's own: what is allowed is said in one line before anything runs, and the law is told where it holds."""

import pytest
import torch

from experiments.one_testbed.own_runs import LOSSES, NETWORKS, VIEWS, WORLDS, Map, Plan, headline, own_map

SMALL = {"taus": (0.5, 2.0), "noises": (0.0,), "seeds": (0, 1), "steps": 5, "batch": 16}


def plan(world="moons", views="native", network="linear", loss="infonce", **changed) -> Plan:
    return Plan(world, views, network, loss, **SMALL | changed)


@pytest.mark.parametrize("part", ["world", "views", "network", "loss"])
def test_an_unknown_name_is_refused_in_one_line(part):
    with pytest.raises(ValueError, match=rf"^{part} must be one of .*, got 'nothing'$"):
        plan(**{part: "nothing"})


@pytest.mark.parametrize(
    ("changed", "said"), [({"taus": (0.0,)}, "> 0"), ({"noises": (-1.0,)}, "≥ 0"), ({"seeds": ()}, "empty")]
)
def test_other_arguments_are_refused_before_anything_runs(changed, said):
    with pytest.raises(ValueError, match=said):
        plan(**changed)


@pytest.mark.parametrize("world", WORLDS)
def test_every_part_fits_every_world(world):
    chosen = zip([*VIEWS] * 2, [*NETWORKS] * 3, [*LOSSES] * 3, strict=False)
    for views, network, loss in list(chosen)[: len(VIEWS)]:
        found = own_map(plan(world, views, network, loss, taus=(1.0,), seeds=(0,)))
        assert found.rank.shape == (1, 1) and bool(found.rank.isfinite().all() & found.kept.isfinite().all())


def test_the_law_is_told_for_linear_networks_alone():
    assert own_map(plan()).law.shape == (1, 2)
    assert own_map(plan(network="relu")).law is None and own_map(plan(loss="unit-infonce")).law is None
    assert own_map(plan("modalities", taus=(20.0,))).law is None  # beyond Σρ of two encoders


def test_a_linear_network_comes_to_the_law():
    found = own_map(plan(steps=200, batch=128, noises=(0.0, 0.6)))
    torch.testing.assert_close(found.rank, found.law, rtol=0.08, atol=0)
    assert bool((found.kept[0] > found.kept[1]).all())  # noise


def test_the_cost_counts_networks():
    assert plan(noises=(0.0, 0.1, 0.2)).cost[0] == 12
    assert plan(steps=10).cost[1] == 2 * plan().cost[1]


def test_the_headline_of_a_map_says_what_the_run_shows_and_names_its_parts():
    rank, law = torch.tensor([[12.0, 15.0]]), torch.tensor([[16.0, 16.0]])
    said = headline(plan("sparse-codes", loss="spectral"), Map(rank, rank, law))
    assert said == (
        "The law (dashed) misses the rank by 25% at most:\nsparse-codes, native views, linear, spectral, 5 steps"
    )
    assert headline(plan(network="relu"), Map(rank, rank, None)).endswith("relu, infonce, 5 steps")
