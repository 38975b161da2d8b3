"""Stored results: what notebooks and records hold, judged by the present rules."""

import copy
import json

import pytest
from stand_in import build_stand_in, write_stand_in
from stand_in_record import GRID, GRID_CLAIMS

from clbook.claims.claim_table import Claims
from clbook.notebook.results import headlines, load_results, stored_runs, verdicts_of
from clbook.provenance.records import sealed_record
from clbook.provenance.staleness import notebook_stamp
from clbook.provenance.stamps import seal


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    monkeypatch.delenv("CLBOOK_PROFILE", raising=False)
    return build_stand_in(tmp_path)


def rows(files):
    return {row.claim.id: row for row in load_results(files.root)}


def record(files, change=lambda stamp: None, profile="paper", others=()):
    stamp = copy.deepcopy(notebook_stamp(files.notebook)) | {"profile": profile}
    change(stamp)
    stamp = seal(stamp)
    path = files.record(profile)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sealed_record([stamp, *others], 1)))
    return stamp


def test_the_stamp_says_what_made_the_result(files):
    stamp = notebook_stamp(files.notebook)
    assert stamp["chapter"] == "stand-in" and stamp["profile"] == "default"
    assert stamp["parameters"] == {"seeds": 4, "first_seed": 1000, "scale": 1.0, "mode": "plain"}
    assert stamp["readings"]["thm-1"] == {"observed": {"": 0.0}, "control": {"": 1.0}, "advocate": {"": 1.0}}
    made = {"versions", "device", "capability", "blas", "threads", "seconds", "peak_mb", "time"}
    assert {"seal", "data", *made} <= stamp.keys()


def test_a_notebook_that_is_absent_or_never_ran_has_no_stamp(tmp_path):
    assert notebook_stamp(tmp_path / "no.ipynb") is None
    (tmp_path / "empty.ipynb").write_text('{"cells": [{"cell_type": "code", "outputs": [{"output_type": "stream"}]}]}')
    assert notebook_stamp(tmp_path / "empty.ipynb") is None


def test_every_claim_has_a_row_in_the_order_of_the_file(files):
    found = rows(files)
    assert list(found) == ["thm-1", "thm-1-a", "fig-1", "lem-1"]
    verdicts = [row.verdict for row in found.values()]
    assert verdicts == ["reproduced", "contradicted", "reproduced", "not run"]
    wanted = "id paper locator statement kind verdict profile data observed expected interval tolerance"
    wanted += " tolerance_reason seeds control run verdicts"
    assert all(set(wanted.split()) <= row.to_json().keys() for row in found.values())
    json.dumps([row.to_json() for row in found.values()])


def test_a_row_holds_what_was_measured(files):
    row = rows(files)["fig-1"].to_json()
    assert row["id"] == "nobody-2020/fig-1" and row["tolerance"] == [0.0] and row["rule"] == "≥ 0"
    assert row["observed"] == {"": [1.01, 1.02, 1.0, 1.01]} and row["seeds"] == [1000, 1003]
    low, high = row["interval"][""]
    assert low < 1.01 < high and row["control"]["what"] == "the opposite sign" and not row["run"]["stale"]
    assert row["verdicts"] == [
        {
            "profile": "default",
            "data": "generated",
            "verdict": "reproduced",
            "observed": row["observed"],
            "stale": False,
        }
    ]


def test_a_claim_that_was_not_run_says_what_it_takes(files):
    row = rows(files)["lem-1"]
    assert (row.reason, row.profile, row.run, row.verdicts) == ("a GPU for a day", None, None, ())


def test_without_a_notebook_every_claim_stands_as_not_run(tmp_path):
    found = rows(write_stand_in(tmp_path))
    assert {row.verdict for row in found.values()} == {"not run"}
    assert found["thm-1"].reason == "no stored run has it"


def test_stored_values_are_judged_by_the_present_rules(files):
    files.claims.write_text(files.claims.read_text().replace("{at_least: 0.0}", "{at_least: 2.0}"))
    row = rows(files)["fig-1"]
    assert row.verdict == "not reproduced" and not row.stale  # a rule asks for no other run


def test_a_claim_that_no_longer_stands_is_left_out(files):
    stamp = notebook_stamp(files.notebook)
    stamp["readings"] |= {"gone": stamp["readings"]["thm-1"], "lem-1": stamp["readings"]["thm-1"]}
    assert set(verdicts_of(stamp, Claims.load(files.claims))) == {"thm-1", "thm-1-a", "fig-1"}


def test_the_record_of_the_paper_s_size_is_the_headline_if_the_present_code_made_it(files):
    record(files, lambda stamp: stamp["readings"]["thm-1"].update(observed={"": 0.5}))
    row = rows(files)["thm-1"]
    assert (row.verdict, row.profile) == ("not reproduced", "paper")
    assert [(run.profile, run.verdict) for run in row.verdicts] == [
        ("default", "reproduced"),
        ("paper", "not reproduced"),
    ]


def test_a_stale_record_is_shown_and_is_not_the_headline(files):
    record(files, lambda stamp: stamp["claims"]["thm-1"].update(reading="0" * 64))
    row = rows(files)["thm-1"]
    assert row.profile == "default" and [run.stale for run in row.verdicts] == [False, True]
    assert rows(files)["fig-1"].profile == "paper"  # only the claim whose reading is stale


def test_a_record_alone_is_the_headline_even_if_stale(files):
    record(files, lambda stamp: stamp["claims"]["thm-1"].update(reading="0" * 64))
    files.notebook.unlink()
    row = rows(files)["thm-1"]
    assert row.profile == "paper" and row.stale


def test_recurrence_counts_the_other_blocks_of_seeds(files):
    same, other = (copy.deepcopy(notebook_stamp(files.notebook)) for _ in range(2))
    other["readings"]["fig-1"]["observed"] = {"": [-1.0, -1.1, -1.2]}
    for stamp, first in ((same, 2000), (other, 3000)):
        stamp["parameters"]["first_seed"] = first
    record(files, others=[seal(same), seal(other)])
    blocks = {"paper": ["reproduced"], "default": ["reproduced", "not reproduced"]}
    assert stored_runs(files)["paper"].blocks["fig-1"] == rows(files)["fig-1"].recurs == blocks
    row = rows(files)["fig-1"]
    assert (row.verdict, row.reason) == (
        "undecided",
        '"reproduced" in 2 of 3 blocks of seeds, not in all, so it stays open',
    )
    (headline,) = (headlines(files)[claim] for claim in ("fig-1",))
    assert headline.found.verdict == "undecided" and headline.blocks == 3


def test_of_a_grid_the_shares_are_shown_and_the_networks_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path, source=GRID, claims=GRID_CLAIMS)
    row = rows(files)["fig-1"]
    assert row.verdict == "reproduced" and row.seeds == (1000, 1003) and row.interval == {"wide": (1.0, 1.0)}
    assert row.to_json()["observed"] == row.verdicts[0].observed == {"wide": 1.0}
    assert len(notebook_stamp(files.notebook)["readings"]["fig-1"]["observed"]["wide: β = 1"]) == 4
