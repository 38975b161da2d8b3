"""The table's negatives at other rates and in doubled time: which cells are trained, and what their words become."""

import pytest
import torch

from experiments.one_testbed import table_robustness
from experiments.one_testbed.table import COLUMNS, MET, MISSED, ROWS, UNDECIDED, UNREAD, row_words, table_column
from experiments.one_testbed.table_robustness import (
    CHANGES,
    NEGATIVES,
    home_cell,
    negative_arms,
    robustness,
    standings,
    with_changes,
)

SPREAD = torch.tensor([-0.01, 0.0, 0.01, 0.0]).double()


def test_every_negative_and_its_home_are_trained_and_no_other_cell(monkeypatch):
    """Two steps: the numbers say nothing. Fewer arms beside them do not change a cell."""
    monkeypatch.setattr(table_robustness, "CHANGES", {"none": (1, 1)})
    worlds = {world: robustness(world, (1, 2), 2, 16) for world in COLUMNS}
    trained = {(row, cell) for of in worlds.values() for row, cells in of["none"].items() for cell in cells}
    assert trained == {(name, cell) for name, row in NEGATIVES.items() for cell in (*row.missed, home_cell(row))}
    assert len(standings(worlds.values())) == sum(len(row.missed) for row in ROWS.values()) == 19
    assert len(negative_arms(worlds.values())["control"]["none"]) == len(NEGATIVES) == 8
    whole = table_column("modalities", (1, 2), 2, 16)["cells"]
    for name, cells in worlds["modalities"]["none"].items():
        for cell, values in cells.items():
            assert torch.allclose(values, whole[name][cell][0], rtol=1e-4, atol=1e-5), (name, cell)
    with pytest.raises(
        ValueError, match="^column must be one of tokens, moons, modalities, sparse codes, got 'planes'$"
    ):
        robustness("planes", (1, 2), 2, 16)


def test_rates_and_steps(monkeypatch):
    asked = []
    monkeypatch.setattr(table_robustness, "train_column", lambda t, *_: asked.append((t.steps, round(t.rate, 4))))
    monkeypatch.setattr(table_robustness, "NEGATIVES", {})
    assert set(robustness("moons", (1, 2), 160, 128)) == set(CHANGES)
    assert asked == [(160, 0.0333), (160, 0.3), (320, 0.1)]


def changed(*tokens, home: float = 0.4) -> list[table_robustness.Changed]:
    """T2 of tokens, whose line is at least .1, at a value under each change, and its home."""
    values = dict(zip(CHANGES, tokens, strict=True))
    return [{c: {"t2": {"tokens": SPREAD + v, "tokens, places": SPREAD + home}} for c, v in values.items()}]


def test_a_negative_that_turns_changes_its_word():
    found = {"t2": dict.fromkeys(("tokens, places", "sparse codes, places"), MET)}
    found["t2"] |= dict.fromkeys(("tokens", "moons", "sparse codes"), MISSED) | {"modalities": UNDECIDED}
    stays, opens, turns = (changed(0.0, 0.0, end) for end in (0.0, 0.1, 0.3))
    assert with_changes(found, []) == with_changes(found, stays) == found
    assert with_changes(found, changed(0.0, 0.0, 0.1, home=0.0)) == found  # its home is missed: it says nothing
    assert with_changes(found, opens) == found  # a cell of tokens is met: the word stays "with conditions"
    alone = {"t2": found["t2"] | {"tokens, places": UNDECIDED}}
    assert with_changes(alone, opens)["t2"] == alone["t2"] | {"tokens": UNDECIDED}
    turned = with_changes(found, turns)["t2"]
    assert turned == found["t2"] | {"tokens, twice the steps": MET}
    home = {"t2": found["t2"] | {"tokens, places": MISSED}}
    assert row_words(with_changes(home, turns)["t2"], ROWS["t2"])["tokens"] == "home not reproduced"
    alone = {"t3": {"tokens": MET, "moons": MISSED, "modalities": UNDECIDED, "sparse codes": MISSED}}
    moons = [
        {"twice the steps": {"t3": {"tokens": SPREAD + 0.3}}},
        {"twice the steps": {"t3": {"moons": SPREAD + 0.3}}},
    ]
    assert row_words(alone["t3"], ROWS["t3"])["moons"] == "does not travel"
    assert row_words(with_changes(alone, moons)["t3"], ROWS["t3"])["moons"] == "with conditions"
    assert standings(moons) == {("twice the steps", "t3", "moons"): MET}


def test_the_claim_reads_shortfalls():
    """Negatives miss their line by what they lack; homes, the control, by less than nothing."""
    arms = negative_arms(changed(0.0, 0.0, 0.3))
    assert arms["observed"]["thrice the rate"]["T2 tokens"] == pytest.approx([0.11, 0.1, 0.09, 0.1])
    assert arms["control"]["thrice the rate"]["T2 tokens, places"] == pytest.approx([-0.29, -0.3, -0.31, -0.3])
    assert max(arms["observed"]["twice the steps"]["T2 tokens"]) < 0
    unread = changed(0.0, 0.0, 0.3, home=0.0)
    assert negative_arms(unread)["observed"] == {} and set(negative_arms(unread)["control"]) == set(CHANGES)
    assert set(standings(unread).values()) == {UNREAD}
    assert negative_arms([]) == {"observed": {}, "control": {}}
