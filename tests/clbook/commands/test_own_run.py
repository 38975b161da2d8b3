"""A reader's own run is what its own parameters decide, and no profile cuts it."""

import pytest
from checkout import ROOT

from clbook.commands import runs
from clbook.common.errors import BookError


@pytest.fixture(autouse=True)
def book(monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))


@pytest.mark.parametrize(("name", "figure"), [("one-testbed", "ot-plot-own"), ("nonlinearity", "plot-own")])
def test_it_runs_its_cells_its_figure_and_nothing_that_another_figure_needs(name, figure):
    plan = runs.plan(name, own=True)
    cells = [plan.code.units[n] for n in plan.units if plan.code.units[n].whole]
    assert len(cells) == 3 and figure in cells[1].texts and cells[2].closes
    assert not [unit for unit in cells if unit.judges]
    assert plan.out.name.startswith(f"{name}-own-")


def test_no_profile_cuts_what_is_the_reader_s():
    plan = runs.plan("one-testbed", ["own_loss=spectral", "own_seeds=1"], profile="smoke", own=True)
    default = runs.plan("one-testbed", own=True).parameters
    own = runs.own_parameters(default)
    assert {name: plan.parameters[name] for name in own} == {name: default[name] for name in own} | {
        "own_loss": "spectral",
        "own_seeds": 1,
    }
    assert plan.parameters["table_steps"] < default["table_steps"]


def test_it_is_refused_where_there_is_none_and_beside_claims():
    with pytest.raises(BookError, match="--own: alignment-and-balance has no run of your own"):
        runs.plan("alignment-and-balance", own=True)
    with pytest.raises(BookError, match="--own: not with --only count"):
        runs.plan("one-testbed", only="count", own=True)
