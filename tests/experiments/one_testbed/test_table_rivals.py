"""Harder questions to the table: what is subtracted from what, in small trainings and in made numbers."""

import torch

from experiments.one_testbed import COLUMNS, balances, beside_the_best, private_over_law, rival_runs
from experiments.one_testbed.table_rivals import SMALL_WORLD


def test_every_question_is_asked_in_its_worlds():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # as a chapter does
    try:
        found = rival_runs([1, 2], 3, 16)
    finally:
        torch.set_default_dtype(before)
    assert set(found["kept"]) == set(COLUMNS)
    assert set(found["balance"]) == set(COLUMNS) - {"sparse codes"}
    assert set(found["private"]) == {"tokens", "moons", "sparse codes", SMALL_WORLD}
    assert set(found["kept"]["moons"]) == {"constraint", "positives", "τ² = 3", "τ² = 8", "τ² = 20"}
    assert all(x.shape == (2,) and x.isfinite().all() for of in found.values() for w in of.values() for x in w.values())


def test_the_best_opponent_is_the_best_on_average():
    kept = {"moons": {"constraint": [0.9, 0.9], "positives": [0.1, 0.2], "τ² = 3": [1.0, 0.0], "τ² = 8": [0.7, 0.6],
                      "τ² = 20": [0.5, 0.5]}}  # fmt: skip
    kept = {w: {n: torch.tensor(x) for n, x in of.items()} for w, of in kept.items()}
    arms = beside_the_best(kept)
    assert torch.allclose(arms["observed"]["moons"], torch.tensor([0.2, 0.3]))
    assert torch.allclose(arms["control"]["moons"], torch.tensor([-0.6, -0.4]))


def test_balance_is_beside_positives_and_the_start_and_the_small_world_is_a_control():
    one = {"positives": torch.ones(2), "InfoNCE": torch.full((2,), 3.0), "untrained": torch.full((2,), 2.0)}
    arms = balances({"moons": one})
    assert list(arms["observed"]) == list(arms["control"]) == ["moons"]
    assert float(arms["observed"]["moons"][0]) == 3 and float(arms["control"]["moons"][0]) == 1.5
    gained = {"gained over the law's": torch.ones(2)}
    arms = private_over_law({"moons": gained, SMALL_WORLD: gained})
    assert list(arms["observed"]) == ["moons"] and list(arms["control"]) == [SMALL_WORLD]
