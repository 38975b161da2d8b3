"""A chapter in two notebooks is one chapter: one row of claims, one record, and nothing goes stale by a move."""

import json

import nbformat
import pytest
from form import chapter_problems
from stand_in import SOURCE, write_stand_in
from stand_in_pair import APPENDIX, CHAPTER, split, write_pair
from typer.testing import CliRunner

from clbook.cli import app
from clbook.commands import committed, record, runs
from clbook.commands.comparison import read_stamp
from clbook.commands.verify_plan import jobs
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook.results import load_results
from clbook.provenance import staleness
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.records import read_record
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import (
    CURRENT,
    all_states,
    notebook_stamp,
    notebooks_stamp,
)
from clbook.provenance.stamps import whole_cost

pytest.importorskip("torch")
CLAIMS = ["thm-1", "thm-1-a", "fig-1"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_pair(tmp_path)


def readings(root, name: str = "stand-in") -> dict:
    return notebook_stamp(root / "chapters" / f"{name}.ipynb")["readings"]


def test_the_two_notebooks_are_one_chapter(files):
    assert chapter_names(files.root) == ["stand-in"]
    assert [one.stem for one in files.notebooks] == ["stand-in", "stand-in-appendix"]
    assert {one.claims for one in files.notebooks} == {files.claims}
    story = ChapterCode(files)
    assert list(story.claims) == CLAIMS
    assert [story.units[at].part for at in story.claims.values()] == [0, 1, 1]
    assert not list(chapter_problems(story))


def test_an_appendix_is_named_only_where_a_single_notebook_is_meant(files):
    assert ChapterFiles.find_notebooks("stand-in-appendix", files.root).notebooks[0].part == 1
    assert ChapterFiles.find_notebooks("stand-in", files.root).part is None
    with pytest.raises(BookError, match="stand-in-appendix is part of stand-in"):
        ChapterFiles.find("stand-in-appendix", files.root)
    ChapterFiles(files.root, "stand-in", 1).source.unlink()
    with pytest.raises(BookError, match="did you mean stand-in"):
        ChapterFiles.find_notebooks("stand-in-appendix", files.root)


def test_no_digest_changes_if_a_claim_moves_to_the_appendix(files, tmp_path):
    alone = ChapterDigests(ChapterCode(write_stand_in(tmp_path / "alone")), {})
    both = ChapterDigests(ChapterCode(files), {})
    assert [both.claim(c).digest for c in CLAIMS] == [alone.claim(c).digest for c in CLAIMS]
    assert [both.claim(c).reaches for c in CLAIMS] == [alone.claim(c).reaches for c in CLAIMS]


def test_no_cell_of_one_notebook_needs_a_cell_of_the_other(files):
    split(files, appendix=APPENDIX.replace("torch.tensor(-scale)", "torch.tensor(-double)"))
    story = ChapterCode(files)
    assert {story.units[n].part for n in story.needed(story.claims["thm-1-a"])} == {1}


def test_its_parameters_are_those_of_the_chapter(files):
    split(files, appendix=APPENDIX.replace("scale: float = 1.0", "scale: float = 1.5"))
    with pytest.raises(BookError, match=r"^stand-in-appendix.py: its parameters must be those of stand-in.py$"):
        ChapterCode(files)


def test_an_error_names_the_notebook_and_the_cell_in_it(files):
    split(files, appendix=APPENDIX.replace("falling =", "falling = = "))
    with pytest.raises(BookError, match=r"^stand-in-appendix.py: code cell 3, line 1"):
        ChapterCode(files).units  # noqa: B018


def test_what_has_moved_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = write_stand_in(tmp_path)
    assert committed.execute(files) == "executed"
    before = notebook_stamp(files.notebook)
    split(files)
    assert all(one.state == CURRENT for one in all_states(tmp_path)) and not committed.is_current(files)
    said = committed.execute(files)
    assert "stand-in: 0 cells executed" in said and "stand-in-appendix: 0 cells executed" in said
    assert committed.is_current(files) and committed.execute(files) == ""
    assert readings(tmp_path) | readings(tmp_path, "stand-in-appendix") == before["readings"]
    assert list(readings(tmp_path)) == ["thm-1"]
    assert all(one.state == CURRENT for one in all_states(tmp_path)) and len(all_states(tmp_path)) == 3
    split(files, SOURCE, APPENDIX)
    ChapterFiles(tmp_path, "stand-in", 1).source.unlink()  # and back
    ChapterFiles(tmp_path, "stand-in", 1).notebook.unlink()
    assert committed.execute(files) == "4 cells executed for 2 claims and 1 other cells"  # they were lost with it


def test_a_run_has_both_notebooks_and_one_list_of_claims(files, tmp_path):
    rows = runs.run(runs.plan("stand-in", out=tmp_path / "out"))
    assert [row["anchor"] for row in rows] == CLAIMS
    there = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert there == ["claims.json", "run.json", "stand-in-appendix.ipynb", "stand-in.ipynb"]
    assert list(read_stamp(tmp_path / "out")["readings"]) == CLAIMS
    rows = runs.run(runs.plan("stand-in", out=tmp_path / "only", only="fig-1"))
    assert [row["anchor"] for row in rows] == ["fig-1"]
    assert [path.name for path in (tmp_path / "only").glob("*.ipynb")] == ["stand-in-appendix.ipynb"]
    rows = runs.run(runs.plan("stand-in-appendix", out=tmp_path / "one"))
    assert [row["anchor"] for row in rows] == CLAIMS[1:]
    made = json.loads((tmp_path / "one" / "run.json").read_text())
    assert made["chapter"] == "stand-in" and list(made["claims"]) == CLAIMS[1:]


def test_a_notebook_that_fails_leaves_no_run(files, tmp_path):
    split(files, appendix=APPENDIX.replace("torch.tensor(-scale)", "torch.tensor(1 / 0)"))
    with pytest.raises(BookError, match=r"stand-in-appendix.*partial notebook: \S+/out.failed/stand-in-appendix.ipynb"):
        runs.run(runs.plan("stand-in", out=tmp_path / "out"))
    assert not (tmp_path / "out").exists() and (tmp_path / "out.failed" / "stand-in-appendix.ipynb").is_file()


def test_there_is_one_record_a_profile(files):
    path = record.record("stand-in", "smoke")
    stamp = read_record(path)["run"]
    assert list(stamp["readings"]) == CLAIMS and stamp["later"] == []
    assert record.record("stand-in", "smoke") is None
    (job,) = jobs(files.root, "stand-in", [], "smoke")
    assert job.wanted == CLAIMS
    split(files, appendix=APPENDIX.replace("0.01 * (s % 3)", "0.02 * (s % 3)"))
    stale = [one for one in all_states(files.root) if one.state != CURRENT]
    assert [one.claim for one in stale if one.where.startswith("records/")] == ["fig-1"]
    record.record("stand-in", "smoke")
    after = read_record(path)["run"]
    assert after["readings"]["thm-1"] == stamp["readings"]["thm-1"] and len(after["cells"]) == len(stamp["cells"])
    assert after["readings"]["fig-1"] != stamp["readings"]["fig-1"]


def test_the_notebooks_count_as_one_stored_run(files):
    committed.execute(files)
    assert [row.claim.id for row in load_results(files.root) if row.profile == "default"] == CLAIMS
    said = CliRunner().invoke(app, ["execute", "stand-in-appendix"]).output
    assert said == "stand-in-appendix: nothing to do, the notebook is up to date\n"
    whole = nbformat.read(files.notebook, as_version=4)
    assert CHAPTER.count("# %%") == len(whole.cells)


def test_the_longer_notebook_with_its_later_cells_is_what_a_run_costs(files, monkeypatch):
    committed.execute(files)
    stamps = {one.notebook: notebook_stamp(one.notebook) for one in files.notebooks}
    cells = stamps[files.notebooks[1].notebook]["cells"]
    name = next(name for name, entry in cells.items() if " " in entry)
    cells[name] = cells[name].split()[0] + " 5000.00"
    monkeypatch.setattr(staleness, "notebook_stamp", lambda path, files: stamps[path])
    together = notebooks_stamp(files)
    assert together["seconds"] < 5000 <= whole_cost(together) < 5100
