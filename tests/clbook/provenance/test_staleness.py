"""`clbook stale`: which stored results are out of date, and why."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from checkout import ROOT, import_path
from stand_in import build_stand_in, execute
from stand_in_pair import APPENDIX, CHAPTER, split
from typer.testing import CliRunner

from clbook.claims.claim_table import Claims
from clbook.cli import app
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.library import Library
from clbook.provenance.records import sealed_record
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import (
    CURRENT,
    all_old_pictures,
    all_states,
    notebook_stamp,
    stored_stamps,
)
from clbook.provenance.stamps import seal

EXCUSED = ROOT / "records" / "stale.yaml"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return build_stand_in(tmp_path)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def changed(root: Path) -> dict[str, tuple]:
    return {one.claim: (one.state, one.changed) for one in all_states(root) if one.state != CURRENT}


def test_a_fresh_run_is_current(files):
    assert changed(files.root) == {} and len(all_states(files.root)) == 3


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("# A stand-in", "# Another", {}),
        ("-scale)", "-2 * scale)", {"thm-1-a": ("stale", ("the cell of falling",))}),
        ('mode: str = "plain"', 'mode: str = "fancy"', {}),
        ("first_seed: int = 1000", "first_seed: int = 1", {"fig-1": ("stale", ("the cell that judges fig-1",))}),
        ("control=scale)", "control=2 * scale)", {"thm-1": ("stale", ("the cell that judges thm-1",))}),
    ],
)  # fmt: skip
def test_a_change_makes_stale_what_it_may_change_and_names_itself(files, old, new, found):
    edit(files.source, old, new)
    assert changed(files.root) == found


def test_a_changed_default_makes_stale_what_reads_it(files):
    edit(files.source, "scale: float = 1.0", "scale: float = 1.5")
    assert {claim: state for claim, (state, _) in changed(files.root).items()} == {"thm-1": "stale", "thm-1-a": "stale"}


def test_a_changed_rule_asks_for_a_judgement(files):
    edit(files.claims, "at_most: 1.0e-10", "at_most: 1.0e-9")
    assert changed(files.root) == {"thm-1": ("rule changed", ("its rule",))}


def test_a_claim_that_is_new_or_gone_is_stale(files):
    edit(files.source, 'judge("fig-1"', 'judge("lem-1"')
    assert changed(files.root) == {
        "fig-1": ("stale", ("no cell judges it any more",)),
        "lem-1": ("stale", ("no reading is stored",)),
    }


def test_a_claim_that_moves_to_the_other_notebook_is_neither_stale_nor_counted_twice(files):
    split(files)  # the appendix has no notebook yet
    assert changed(files.root) == {} and len(all_states(files.root)) == 3
    for part in files.notebooks:
        nbformat.write(execute(part), part.notebook)
    assert changed(files.root) == {} and len(all_states(files.root)) == 3
    cell = APPENDIX[APPENDIX.index("# %%\nfalling") : APPENDIX.index('# %% tags=["nbval-check-output"]\nrows')]
    close = '# %% tags=["remove-cell"]'
    split(files, CHAPTER.replace(close, cell + close), APPENDIX.replace(cell, ""))
    assert changed(files.root) == {} and len(all_states(files.root)) == 3
    edit(files.source, "-scale)", "-2 * scale)")
    assert changed(files.root) == {"thm-1-a": ("stale", ("the cell of falling",))}
    files.notebooks[1].notebook.unlink()
    assert changed(files.root).keys() == {"thm-1-a", "fig-1"} and len(all_states(files.root)) == 3


def test_the_command_lists_and_counts(files):
    edit(files.source, "-scale)", "-2 * scale)")
    done = CliRunner().invoke(app, ["stale"])
    assert "chapters/stand-in.ipynb, stale: thm-1-a\n    the cell of falling\n" in done.stdout
    assert "1 of 3 stored readings are not current" in done.stdout and done.exit_code == 1
    rows = json.loads(CliRunner().invoke(app, ["stale", "--json"]).stdout)
    assert rows[1] == {
        "chapter": "stand-in",
        "claim": "thm-1-a",
        "where": "chapters/stand-in.ipynb",
        "state": "stale",
        "changed": ["the cell of falling"],
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.update(format=1), "records/stand-in/paper.json: format 1"),
        (lambda s: s["readings"].clear(), "stand-in/paper.json: does not fit its seal"),
    ],
)
def test_a_record_of_another_format_or_a_damaged_one_is_one_line(files, change, said):
    stamp = notebook_stamp(files.notebook)
    change(stamp)
    path = files.record("paper")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(sealed_record([stamp], 1)))
    done = CliRunner().invoke(app, ["stale"])
    assert done.exit_code == 1 and done.stderr == "" and said.partition("/")[2] in done.stdout
    assert "3 of 6 stored readings are not current" in done.stdout  # damaged, they are counted
    path.write_text("<<<<<<< ours")
    assert "damaged: conflict markers of a merge" in CliRunner().invoke(app, ["stale"]).stdout


def test_records_are_held_against_their_profile_as_it_is_now(files):
    stamp = notebook_stamp(files.notebook)
    path = files.record("smoke")
    path.parent.mkdir(parents=True)
    small = stamp | {"profile": "smoke", "parameters": stamp["parameters"] | {"seeds": 3}}
    other = small | {"parameters": small["parameters"] | {"first_seed": 2000}}
    path.write_text(json.dumps(sealed_record([seal(small), seal(other)], 2)))
    assert {one.claim for one in all_states(files.root) if one.state != CURRENT} == {"fig-1"}  # made with four seeds
    wheres = [one.where.removeprefix("records/stand-in/") for one in stored_stamps(files)]
    assert wheres == ["chapters/stand-in.ipynb", "smoke.json", "smoke.json, first_seed=2000"]


def test_it_needs_neither_torch_nor_git():
    code = (
        "import sys; from clbook.provenance.staleness import all_states; from pathlib import Path; "
        f"print(len(all_states(Path({str(ROOT)!r}), ['collapse-and-constraints'])), 'torch' in sys.modules)"
    )
    environment = {"PATH": "", "PYTHONPATH": import_path()}  # no git is found
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and int(done.stdout.split()[0]) > 50 and done.stdout.split()[1] == "False", done.stderr


@pytest.fixture(scope="module")
def old():
    """The old pictures of the committed records."""
    return all_old_pictures(ROOT)


def test_what_is_committed_is_current_or_excused_with_a_reason(old):
    """No headline changes silently: what is stale in records is listed in records/stale.yaml, and nothing else is."""
    excused = yaml.safe_load(EXCUSED.read_text(encoding="utf-8")) or {}
    claims = [(one.where, one.claim) for one in all_states(ROOT) if one.state != CURRENT]
    pictures = [(where, name) for where, names in old.items() for name in names]
    for kind, found in (("claims", claims), ("pictures", pictures)):
        assert set(found) == {(where, name) for where, row in excused.items() for name in row.get(kind, ())}
    for where, row in excused.items():
        assert where.startswith("records/") and row.keys() <= {"claims", "pictures", "reason"}, where
        assert len(row["reason"]) > 20, f"{where}: say why it is stale, and what would mend it"


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_chapter_places_no_picture_that_earlier_cells_drew(old, name):
    sources = [one.source.read_text() for one in ChapterFiles(ROOT, name).notebooks if one.source.is_file()]
    placed = {found for source in sources for found in re.findall(r"\{record-figure\} (\S+)", source)}
    where = f"records/{name}/paper.json"
    excused = (yaml.safe_load(EXCUSED.read_text(encoding="utf-8")) or {}).get(where, {}).get("pictures", ())
    assert placed & set(old.get(where, ())) <= set(excused)


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_every_reading_that_is_stored_has_its_digests(name):
    story, rows = ChapterCode(ChapterFiles(ROOT, name), Library()), Claims.load(ChapterFiles(ROOT, name).claims).rows
    for one in stored_stamps(ChapterFiles(ROOT, name)):
        belong = {claim for claim in story.claims if one.holds(story, claim)}
        assert one.stamp["readings"].keys() <= one.stamp["claims"].keys() == belong
        # another block of seeds holds what chance decides
        whole = story.claims.keys() if one.whole else {claim for claim in story.claims if rows[claim].by_chance}
        assert one.part is not None or belong >= whole
