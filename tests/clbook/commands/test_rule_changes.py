"""A rule that is changed after a run judges it only under an entry of `changed` that tells the old rule and verdict."""

import datetime
import json

import pytest
from stand_in import CLAIMS, SOURCE, build_stand_in
from typer.testing import CliRunner

from clbook.claims.claim_table import Claims
from clbook.cli import app
from clbook.commands import committed, record
from clbook.commands.rule_changes import check_changes, with_verdicts
from clbook.common.errors import BookError
from clbook.notebook.results import stored_runs
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import CURRENT, all_states, notebook_stamp

torch = pytest.importorskip("torch")
PRINTED = "rule: {between: [1.0e-13, 1.0e-10]}"
FITTED = "rule: {at_least: 1.0}"  # what was measured is 3
MISPRINT = CLAIMS.replace("erratum: a factor", "slip: misprint\n  erratum: a factor")
WANTED = "add to its `changed` an entry with date, why, old_rule"
TODAY = datetime.datetime.now(datetime.UTC).date().isoformat()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return build_stand_in(tmp_path, claims=MISPRINT)


def entry(date=TODAY, rule="in [1e-13, 1e-10]", verdict="misprint") -> str:
    return f'changed: [{{date: "{date}", old_rule: "{rule}", old_verdict: "{verdict}", why: a test}}]'


def rewrite(files, *lines: str, old: str = PRINTED) -> None:
    assert MISPRINT.count(old) == 1
    files.claims.write_text(MISPRINT.replace(old, "\n  ".join(lines)))


def verdict_of(files, profile: str) -> str:
    return stored_runs(files)[profile].verdicts["thm-1-a"].verdict


@pytest.mark.parametrize("force", [False, True])
def test_a_misprint_does_not_become_reproduced_by_another_rule(files, force):
    path = record.record("stand-in", "smoke")
    before, stored = path.read_bytes(), json.loads(path.read_text())["run"]["claims"]["thm-1-a"]
    assert stored["judged"] == {"rule": "in [1e-13, 1e-10]", "verdict": "misprint", "changes": 0, "regime": ""}
    rewrite(files, FITTED)
    done = CliRunner().invoke(app, ["record", "stand-in", "--profile", "smoke", *["--force"] * force])
    assert done.exit_code == 2 and path.read_bytes() == before
    assert done.stderr == (
        "clbook: chapters/stand-in/claims.yaml: claim thm-1-a: "
        "its rule is not the one that judged records/stand-in/smoke.json; "
        f'{WANTED} "in [1e-13, 1e-10]" and old_verdict "misprint"\n'
    )


@pytest.mark.parametrize("told", [{"rule": "≤ 1"}, {"verdict": "reproduced"}, {"verdict": "not reproduced"}])
def test_an_entry_must_tell_the_rule_and_the_verdict_that_are_stored(files, told):
    record.record("stand-in", "smoke")
    rewrite(files, FITTED, entry(**told))
    with pytest.raises(BookError, match=WANTED):
        record.record("stand-in", "smoke")


def test_under_an_entry_the_record_is_judged_anew_and_the_entry_is_used_up(files):
    path = record.record("stand-in", "smoke")
    rewrite(files, FITTED, entry(verdict="misprint, in the default run too"))
    assert record.record("stand-in", "smoke") == path and verdict_of(files, "smoke") != "misprint"
    judged = json.loads(path.read_text())["run"]["claims"]["thm-1-a"]["judged"]
    assert judged["rule"] == "≥ 1" and judged["changes"] == 1
    rewrite(files, "rule: {at_least: 2.0}", entry())
    with pytest.raises(BookError, match='old_rule "≥ 1"'):
        record.record("stand-in", "smoke")


def test_execute_refuses_as_well_and_an_older_stamp_takes_entries_since_its_run(files):
    before = files.notebook.read_bytes()
    assert "judged" not in notebook_stamp(files.notebook)["claims"]["thm-1-a"]
    for entries in ([], [entry("2026-01-31")]):
        rewrite(files, FITTED, *entries)
        for force in (False, True):
            with pytest.raises(BookError, match="thm-1-a: its rule is not the one that judged chapters/stand-in.ipynb"):
                committed.execute(files, force)
    assert files.notebook.read_bytes() == before
    rewrite(files, FITTED, entry())
    assert committed.execute(files).startswith("0 cells executed") and committed.is_current(files)
    assert notebook_stamp(files.notebook)["claims"]["thm-1-a"]["judged"]["changes"] == 1
    assert all(one.state == CURRENT for one in all_states(files.root))


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("statement: It is positive.", "statement: It is above 0.", False),
        ("statement: It is positive.", "statement: It is positive.\n  note: seen", False),
        ("id: thm-1\n", "id: thm-0\n", False),
        ("- id: lem-1", "- id: lem-0\n  locator: x\n  statement: x\n  kind: bound\n  needs: time\n- id: lem-1", False),
        ("at_least: 0.0", "at_least: 0.00", False),
        ("at_least: 0.0", "at_least: 0.5", True),
        ("by_chance: true", "clear: 0", True),
        ("by_chance: true", "by_chance: true\n  least: 9", True),
        ("by_chance: true", "by_chance: true\n  stand_in: a run of 9 seeds", True),
        ("  slip: misprint\n", "", True),
    ],
)
def test_what_decides_a_verdict_needs_an_entry_and_wording_does_not(files, old, new, refused):
    stamp = with_verdicts(notebook_stamp(files.notebook), Claims.load(files.claims), code := ChapterCode(files))
    assert MISPRINT.count(old) == 1
    files.claims.write_text(MISPRINT.replace(old, new))
    if not refused:
        return check_changes(stamp, Claims.load(files.claims), "x", code)
    with pytest.raises(BookError, match=WANTED):
        check_changes(stamp, Claims.load(files.claims), "x", code)


NARROW = SOURCE.replace("control=scale)", "control=scale, regime=scale < 9)")


def test_the_regime_belongs_to_the_rule(files):
    """A regime that is added or narrowed after a run needs an entry."""
    record.record("stand-in", "smoke")
    files.source.write_text(NARROW)
    with pytest.raises(BookError, match="thm-1: its regime is not"):
        record.record("stand-in", "smoke")
    told = entry(rule="≤ 1e-10", verdict="reproduced")
    files.claims.write_text(MISPRINT.replace("id: thm-1\n", f"id: thm-1\n  {told}\n"))
    path = record.record("stand-in", "smoke")
    assert json.loads(path.read_text())["run"]["claims"]["thm-1"]["judged"]["regime"] == "scale < 9"
    files.source.write_text(NARROW.replace("scale < 9", "scale < 8"))
    with pytest.raises(BookError, match="thm-1: its regime is not the one that judged records/stand-in/smoke.json"):
        record.record("stand-in", "smoke")


def test_a_claim_that_moved_to_the_other_notebook_is_compared_there(files):
    stamp = json.loads(record.record("stand-in", "smoke").read_text())["run"]
    stamp["claims"]["thm-1-a"]["judged"]["regime"] = "n > 1"
    claims, code = Claims.load(files.claims), ChapterCode(files)
    with pytest.raises(BookError, match="its regime is not the one"):
        check_changes(stamp, claims, "here", code)
    del code.claims["thm-1-a"]
    check_changes(stamp, claims, "here", code)
