"""Only what is stale or asked for is computed: `run --only`, `execute`, `record`."""

import json

import nbformat
import pytest
from stand_in import SOURCE, build_stand_in, write_stand_in
from typer.testing import CliRunner

from clbook.cli import app
from clbook.commands import committed, record, runs
from clbook.common.errors import BookError
from clbook.notebook.shown import code_cells
from clbook.provenance.records import read_record
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import (
    CURRENT,
    all_old_pictures,
    all_states,
    notebook_stamp,
)

torch = pytest.importorskip("torch")
DRAWN = """
# %%
trace = chapter.files.root / "trace"
with open(trace, "a") as file:
    print("FIGURE", file=file)
shown = falling

# %% tags=["hide-input", "remove-output"]
import matplotlib.pyplot as plt
from clbook.notebook import glue

fig, ax = plt.subplots(figsize=(1, 1))
ax.plot([0, falling], color="red")
glue.figure(fig, "plot")

# %% [markdown]
# ```{glue:figure} plot
# :alt: A line.
# ```
"""
CHANGED = """at_least: %s}
  changed:
  - {date: "2026-11-25", old_rule: "≥ 0", old_verdict: reproduced, why: a test}"""
FIRST = "# %%\nfalling ="
LAST = '# %% tags=["remove-cell"]'
LOGGED = '# %%\nwith open(chapter.files.root / "trace", "a") as file:\n    print("DOUBLE", file=file)\ndouble ='
WITH_FIGURE = SOURCE.replace("# %%\ndouble =", LOGGED).replace(LAST, DRAWN.lstrip() + "\n" + LAST)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, WITH_FIGURE)


def traced(files) -> list[str]:
    """What has run since the last call."""
    path = files.root / "trace"
    found = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def edit(files, old: str, new: str) -> None:
    text = files.source.read_text()
    assert old in text
    files.source.write_text(text.replace(old, new))


def test_a_run_of_some_claims_has_their_cells_and_figures_and_no_others(files, tmp_path):
    done = runs.plan("stand-in", [], "smoke", out=tmp_path / "out", only="thm-1-a")
    rows = runs.run(done)
    assert [row["anchor"] for row in rows] == ["thm-1-a"] and traced(files) == []
    notebook = nbformat.read(tmp_path / "out" / "stand-in.ipynb", as_version=4)
    sources = "\n".join(cell.source for cell in code_cells(notebook))
    assert 'glue.figure(fig, "plot")' in sources and 'judge("fig-1"' not in sources and "double =" not in sources
    assert "image/png" in str(notebook) and '"thm-1"' not in sources
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"stand-in.ipynb", "claims.json", "run.json"}
    made = json.loads((tmp_path / "out" / "run.json").read_text())
    assert made["claims"].keys() == {"thm-1-a"} and made["pictures"].keys() == {"plot"}


def test_the_cost_is_said_before(files, tmp_path):
    build_stand_in(files.root, source=WITH_FIGURE)
    plan = runs.plan("stand-in", out=tmp_path / "out", only="thm-1, fig-1")
    assert plan.only == ("thm-1", "fig-1")
    assert plan.cost() == "4 of 10 cells; in the committed notebook they took 0 s"
    files.notebook.unlink()
    assert plan.cost() == "4 of 10 cells; no stored run says how long they take"


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("thm-11", "--only: stand-in has no claim 'thm-11'; did you mean thm-1?"),
        ("thm-1,lem-1", "--only: stand-in/lem-1 has no cell because it is not run: a GPU for a day"),
        ("", "--only: stand-in has no claim ''"),
    ],
)
def test_a_claim_that_cannot_be_run_is_one_line(files, only, said):
    done = CliRunner().invoke(app, ["run", "stand-in", "--only", only])
    assert (done.exit_code, done.stderr) == (2, f"clbook: {said}\n")


def test_execute_runs_what_is_stale_and_keeps_the_rest(files):
    assert committed.execute(files) == "executed" and traced(files) == ["DOUBLE", "FIGURE"]
    before = notebook_stamp(files.notebook)
    edit(files, "-scale)", "-2 * scale)")
    assert committed.execute(files) == "5 cells executed for 1 claims and 3 other cells"
    after = notebook_stamp(files.notebook)
    assert traced(files) == ["FIGURE"]  # the other claim's cell was not run
    assert after["readings"]["fig-1"] == before["readings"]["fig-1"] and len(after["later"]) == 1
    assert after["claims"]["thm-1-a"]["run"] == 1 and after["claims"]["thm-1"]["run"] == 0
    notebook = nbformat.read(files.notebook, as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1)) and "image/png" in str(notebook)
    assert committed.is_current(files) and all(one.state == CURRENT for one in all_states(files.root))


def test_execute_runs_a_figure_cell_alone_and_no_claim(files):
    committed.execute(files)
    traced(files)
    before = notebook_stamp(files.notebook)
    edit(files, '"red"', '"blue"')
    assert all(one.state == CURRENT for one in all_states(files.root)) and not committed.is_current(files)
    assert committed.execute(files).endswith("for 0 claims and 1 other cells") and traced(files) == []
    after = notebook_stamp(files.notebook)
    assert after["readings"] == before["readings"] and after["later"] == []
    assert after["pictures"]["plot"] != before["pictures"]["plot"] and committed.is_current(files)


def test_a_figure_cell_that_draws_no_more_leaves_no_picture_behind(files):
    committed.execute(files)
    edit(files, 'glue.figure(fig, "plot")', 'if falling > 1e9:\n    glue.figure(fig, "plot")')
    committed.execute(files)
    assert notebook_stamp(files.notebook)["pictures"] == {} and committed.is_current(files)


def test_a_changed_rule_or_prose_is_written_without_a_run(files, monkeypatch):
    committed.execute(files)
    monkeypatch.setattr(committed, "run_notebook", None)
    edit(files, "# A stand-in", "# Another")
    files.claims.write_text(files.claims.read_text().replace("at_least: 0.0}", CHANGED % 2.0))
    assert committed.execute(files).startswith("0 cells executed")
    shown = files.notebook.read_text()
    assert "fig-1: not reproduced" in shown and "# Another" in shown and committed.is_current(files)


def test_a_failure_in_a_part_leaves_the_notebook(files):
    committed.execute(files)
    before = files.notebook.read_bytes()
    edit(files, "-scale)", "-scale / 0)")
    with pytest.raises(BookError, match="ZeroDivisionError"):
        committed.execute(files)
    assert files.notebook.read_bytes() == before


def test_a_record_runs_what_is_stale_and_its_figures(files):
    path = record.record("stand-in", "smoke", other_seeds=1)
    assert traced(files) == ["DOUBLE", "FIGURE"]  # the second block has the claim that chance decides, alone
    first = read_record(path)
    assert list(first["other_seeds"][0]["readings"]) == ["fig-1"] and record.record("stand-in", "smoke") is None
    edit(files, "-scale)", "scale)")
    picture = path.with_suffix("") / "plot.png"
    drawn = picture.read_bytes()
    assert record.record("stand-in", "smoke") == path and traced(files) == []
    second = read_record(path)
    assert second["run"]["claims"]["thm-1-a"]["run"] == 1 and second["run"]["claims"]["thm-1"]["run"] == 0
    others = [found["other_seeds"][0] for found in (first, second)]
    assert others[0]["readings"] == others[1]["readings"] and others[1]["later"] == []
    assert picture.read_bytes() != drawn
    assert second["run"]["pictures"]["plot"] != first["run"]["pictures"]["plot"]
    assert all(one.state == CURRENT for one in all_states(files.root) if one.where.startswith("records/"))


def test_a_record_redraws_a_figure_when_asked_and_takes_up_a_rule_without_a_run(files):
    path = record.record("stand-in", "smoke")
    picture = path.with_suffix("") / "plot.png"
    drawn = picture.read_bytes()
    edit(files, '"red"', '"blue"')
    assert record.record("stand-in", "smoke") is None and picture.read_bytes() == drawn
    assert all_old_pictures(files.root) == {"records/stand-in/smoke.json": ["plot"]}
    assert "smoke.json, drawn by earlier cells (" in CliRunner().invoke(app, ["stale"]).stdout
    assert record.record("stand-in", "smoke", figures=True) == path and picture.read_bytes() != drawn
    assert all_old_pictures(files.root) == {"records/stand-in/smoke.json": []}
    traced(files)
    files.claims.write_text(files.claims.read_text().replace("at_least: 0.0}", CHANGED % 0.5))
    assert record.record("stand-in", "smoke") == path and traced(files) == []
    assert all(one.state == CURRENT for one in all_states(files.root) if one.where.startswith("records/"))


def test_a_damaged_record_is_run_again_as_a_whole(files, capsys):
    path = record.record("stand-in", "smoke")
    path.write_text(path.read_text().replace('"stand-in"', '"stand-on"'))
    traced(files)
    assert record.record("stand-in", "smoke") == path and traced(files) == ["DOUBLE", "FIGURE"]
    assert "does not fit its seal" in capsys.readouterr().err and read_record(path)["run"]["chapter"] == "stand-in"


def test_seconds_of_cells_are_known_outside_of_notebooks(files):
    stamp = read_record(record.record("stand-in", "smoke"))["run"]
    timed = [name for name, entry in stamp["cells"].items() if " " in entry]
    assert len(timed) == len(stamp["cells"]) == sum(unit.whole for unit in ChapterCode(files).units)
