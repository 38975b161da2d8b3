"""The table: arms do not depend on each other, scores of made networks, words from numbers, every planned cell."""

from dataclasses import replace

import pytest
import torch
from bs4 import BeautifulSoup

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.canonical_correlations import canonical_axes
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.losses import Alignment, InfoNCE
from contrastive_dynamics.testbed.pairs import sample_moments
from contrastive_dynamics.testbed.view_makers import Apart, Coupled
from contrastive_dynamics.testbed.worlds import require_world
from experiments.one_testbed.table import (
    ABSENT,
    COLUMNS,
    CONDITIONS,
    MET,
    MISSED,
    ROWS,
    STAYS,
    TRAVELS,
    UNDECIDED,
    UNREAD,
    Cell,
    Row,
    arms_of_claim,
    cell_outcomes,
    p_value,
    row_words,
    seed_interval,
    table_column,
    table_of,
)
from experiments.one_testbed.table_arms import Arm, Ended, RelativeThreshold, Training, trained_arms, untrained
from experiments.one_testbed.table_page import MARKS, Square, table_html
from experiments.one_testbed.table_plan import PLAN
from experiments.one_testbed.table_scores import constrained_rank, matched, private_share, strength_ratio
from experiments.one_testbed.table_trainings import train_in_world, train_outputs_equal_shared
from experiments.one_testbed.table_worlds import SHARED, SpreadModality

SEEDS = (1, 2)
TRAINING = Training(SEEDS, 4, 16)


@pytest.fixture(scope="module")
def worlds():
    return {name: PLAN[name].world(SEEDS) for name in COLUMNS}


def test_an_arm_is_the_same_alone_and_among_others(worlds):
    arms = {"a": Arm(Apart(), Alignment()), "b": Arm(Coupled(), InfoNCE(1.0)), "c": Arm(Apart(), InfoNCE(3.0))}
    together = trained_arms(worlds["moons"], arms, Linear(4), TRAINING)
    for name, arm in arms.items():
        alone = trained_arms(worlds["moons"], {name: arm}, Linear(4), TRAINING)[name]
        assert torch.allclose(alone.trained.encoders[0]["w"], together[name].trained.encoders[0]["w"], rtol=1e-5)
        assert torch.allclose(alone.scores.kept, together[name].scores.kept, rtol=1e-4)
    start = untrained(worlds["moons"], Linear(4), TRAINING)
    assert not torch.allclose(start.trained.encoders[0]["w"], together["a"].trained.encoders[0]["w"])


def test_scores_of_a_network_that_is_made(worlds):
    """One neuron per feature wins all; a network of private directions has nothing else."""
    start = untrained(worlds["modalities"], Linear(16), TRAINING)
    unit = torch.eye(16).expand(2, -1, -1)

    def made(w) -> Ended:
        return start._replace(
            trained=start.trained.__class__(worlds["modalities"], Linear(16), ({"w": w}, {"w": w}), {}, w)
        )

    assert torch.allclose(matched(made(unit)), torch.ones(2, 6).double())
    assert torch.allclose(private_share(made(unit[:, 6:])), torch.ones(2).double())
    assert private_share(made(unit[:, :6])).abs().max() < 1e-6
    x = worlds["modalities"].scales.double() ** 2
    p = x[:6] / x[:6].sum()
    assert torch.allclose(constrained_rank(made(unit), "modalities"), torch.exp(-(p * p.log()).sum()))


def test_strengths_are_compared_over_shared_directions_alone(worlds):
    """Tokens share fewer directions than places have candidates; equal shares of these are a ratio of 1."""
    axes = canonical_axes(Apart().moments(worlds["tokens"]), tied=True)
    shared = axes.rho > 1e-3
    assert int(shared.sum(-1).max()) < SHARED["tokens"]
    start = untrained(worlds["tokens"], Linear(axes.rho.shape[-1]), TRAINING)

    def ratio(w):
        encoders = ({"w": w + 1},)  # a constant output: the numbers of a place sum to 0
        return strength_ratio(start._replace(trained=replace(start.trained, encoders=encoders)), "tokens")

    w = axes.second.where(shared.unsqueeze(-2), 0.0).mT.clone()
    assert torch.allclose(ratio(w), torch.ones(2).double(), atol=1e-4)
    w[:, 0] *= 2  # the shares are squares, and their root is taken
    assert torch.allclose(ratio(w), torch.full((2,), 2.0).double(), atol=1e-4)


def test_a_relative_threshold_has_no_scale():
    x = torch.randn(2, 50, 6, generator=torch.Generator().manual_seed(0))
    w = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1))
    on, off = RelativeThreshold(3), RelativeThreshold(3, 0.0)
    assert torch.allclose(on({"w": 5 * w}, x)[0], 5 * on({"w": w}, x)[0], rtol=1e-5, atol=1e-5)
    assert torch.equal(off({"w": w}, x)[0], x @ w.mT)
    share = (on({"w": w}, x)[0] == 0).double().mean()
    assert 0.6 < float(share) < 0.76  # |N(0, 1)| below 1


def test_the_variants_keep_a_worlds_promises():
    for name, planned in PLAN.items():
        seeds = planned.settings(TRAINING).seeds
        assert seeds == ((1, 2, 3) if name.endswith("places") else (1, 2))
        require_world(planned.world(seeds), streams(list(seeds), 1, "promise"))
    spread = SpreadModality(8, streams(list(SEEDS), 1, "rotation"))
    sampled = sample_moments(Apart()(spread, 40_000, streams(list(SEEDS), 1, "pairs")))
    for found, exact in zip(sampled, spread.moments(), strict=True):
        assert (found - exact).abs().max() < 0.05


def cells_of(row: Row, value: float, cells) -> dict[str, Cell]:
    """Cells that meet a rule "at least 0" by a value, the control missing it."""
    spread = torch.tensor([-0.01, 0.0, 0.01, 0.0]).double()
    return {c: Cell(spread + value, spread - 1) for c in cells}


def test_words_come_from_numbers():
    row, t3 = ROWS["t3"], ("tokens", "moons", "modalities", "sparse codes")
    cells = cells_of(row, 1.0, t3) | cells_of(row, -1.0, ("moons",))
    found = cell_outcomes({"t3": cells})["t3"]
    assert found == {"tokens": MET, "moons": MISSED, "modalities": MET, "sparse codes": MET}
    assert row_words(found | {"sparse codes, places": MISSED}, row)["sparse codes"] == "with conditions"
    assert row_words(found, row)["moons"] == "does not travel"
    unclear = {"t3": cells | {"tokens": cells["tokens"]._replace(control=cells["tokens"].value)}}
    assert row_words(cell_outcomes(unclear)["t3"], row)["tokens"] == "undecided"  # its control meets the rule
    home = Row("moons", ("moons",), at_least=0.0)
    assert row_words(found, home) == dict.fromkeys(COLUMNS, UNREAD)
    assert row_words(found | {"moons": "undecided"}, home) == dict.fromkeys(COLUMNS, "undecided")
    assert row_words(found, ROWS["coupled"])["tokens"] == "does not apply"


def test_a_claim_reads_nothing_abroad_if_its_home_is_not_reproduced():
    names = (*ROWS["w3"].met, *ROWS["w3"].missed)
    cells = cells_of(ROWS["w3"], 1.0, names)
    assert set(arms_of_claim("w3", cells)["outside"]) == set(ROWS["w3"].missed)
    failed = cells | cells_of(ROWS["w3"], 0.0, ("sparse codes",))
    assert set(arms_of_claim("w3", failed)) == {"observed", "control"}
    assert set(arms_of_claim("w3", failed)["observed"]) == {"sparse codes"}


def test_a_shortfall_is_positive_where_the_line_is_missed():
    values = torch.tensor([0.0, 2.0])
    assert Row(None, (), at_least=0.5).shortfall(values).tolist() == [0.5, -1.5]
    assert Row(None, (), at_most=0.5).shortfall(values).tolist() == [-0.5, 1.5]


def test_intervals_are_those_of_student():
    values = torch.tensor([1.0, 2.0, 3.0, 4.0]).double()
    low, high = seed_interval(values, 0.05)
    assert (low + high) / 2 == pytest.approx(2.5) and high - 2.5 == pytest.approx(3.18245 * 1.29099 / 2, rel=1e-4)
    assert p_value(values, high) == pytest.approx(0.05)
    assert p_value(torch.ones(3), 1.0) == 1 and p_value(torch.ones(3), 0.0) == 0


@pytest.mark.parametrize("world", COLUMNS)
def test_a_column_has_every_cell_that_rows_name(world, monkeypatch):
    """Two steps: the numbers say nothing, but are there, one per seed."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    of = table_column(world, SEEDS, 2, 16)
    assert set(of["scores"]) > {"positives", "0.2", "20"} and 0 < of["sum"] < SHARED[world] + 1
    cells = table_of([of])
    for name, row in ROWS.items():
        named = {c for c in (*row.met, *row.missed) if c.partition(",")[0] == world}
        assert named <= set(cells[name]), name
        for cell in cells[name].values():
            assert cell.value.shape == cell.control.shape and len(cell.value) in (2, 3)
            assert bool(cell.value.isfinite().all()) and bool(cell.control.isfinite().all())
            assert cell.value.dtype == torch.float64


def test_workers_change_no_bit(worlds):
    cases = [(train_outputs_equal_shared, worlds[name], name, TRAINING) for name in ("moons", "modalities")]
    seen = []
    alone, apart = (side_by_side(train_in_world, cases, lambda of: seen.append(of) or of, n) for n in (1, 2))
    assert seen == [cases, cases]
    for one, other in zip(alone, apart, strict=True):
        for arm in ("1", "20"):
            assert all(torch.equal(a, b) for a, b in zip(one[arm].scores, other[arm].scores, strict=True))


def test_bad_input():
    with pytest.raises(ValueError, match="^table_column: seeds must be ≥ 2, got 1$"):
        table_column("moons", [1], 2, 16)
    with pytest.raises(
        ValueError, match="^column must be one of tokens, moons, modalities, sparse codes, got 'planes'$"
    ):
        table_column("planes", SEEDS, 2, 16)


def test_the_table_as_html_has_every_square_with_its_word():
    squares = [Square("travels", "0.97 ±0.02", "0.10", True), Square("does not apply", "", "", False)]
    page = BeautifulSoup(table_html("1 < 2", ["a", "b"], {("E1 & so on", "needs ≤ 1"): squares}), "html.parser")
    assert page.caption.get_text() == "1 < 2" and [th.get_text() for th in page.thead.select("th")] == ["a", "b"]
    first, second = page.tbody.select("td")
    assert first.b["aria-label"] == "travels" and "home" in first["class"] and "0.97 ±0.02" in first.get_text()
    assert first.small.get_text() == "control 0.10" and second.small is None and "home" not in second["class"]
    assert page.tbody.th.get_text() == "E1 & so onneeds ≤ 1"
    assert page.p.get_text() == "● travels · – does not apply"


def test_every_word_has_a_mark():
    assert set(MARKS) == {TRAVELS, CONDITIONS, STAYS, UNDECIDED, UNREAD, ABSENT}
